"""What a training is for: the loss of a batch, and the score that is followed from epoch to epoch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.core.bucketing import rounded
from bertscope.models.batches import Filled, Shape, Tokens, fill_up
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.kinds import model_output
from bertscope.training.distill import Teacher
from bertscope.training.row_course import FOLLOWED, RowCourse

if TYPE_CHECKING:
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.outputs.base import RowBatch


class Objective(Protocol):
    """All that the loop knows of what is learnt."""

    label: str
    """What is being done, beside a bar."""
    metric: str
    """What the score is called."""
    chance: float
    """The validation set's score without looking at its texts."""
    fingerprint: str
    """What tells this objective's data and settings from another's."""
    tokens: Tokens
    """The training set, as the model reads it."""
    row_course: RowCourse | None
    """Takes in how each row's label fares, step by step; None where rows have no label."""

    @property
    def lengths(self) -> np.ndarray:
        """How long each thing is that a step can have: a row of tokens, or the longest of those that go together."""

    def batch(self, things: np.ndarray) -> Any:
        """The batch of these on the device: a dataclass that `loss` takes. Where layers can be frozen, it is a
        `Batch`, whose `rows` are rows of `tokens`."""

    def fixed_batch(self, things: np.ndarray, most: int) -> Any:
        """The same on the CPU, filled up (see `Filled`) to `most` things and to one of a few shapes; None where that
        would be twice as much work."""

    def loss(self, batch: Any) -> Tensor:
        """The mean loss of a batch, with the graph that leads to it. The loop decides the precision."""

    def sized_loss(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The same, and what it counts for beside others of the same step, where nobody may wait for a number."""

    def size(self, batch: Any) -> float:
        """What that mean counts for beside those of other batches of the same step."""

    def score(self) -> Scores:
        """How good the model is by now on the validation set."""

    def finish(self) -> None:
        """Make the trained model what is kept of it."""

    def as_kept(self) -> AbstractContextManager[None]:
        """A block in which the model is that already; after it, it can be trained on, and is the same to the bit."""


class Labelled:
    """A task's right answers, of whatever kind its output is."""

    label = "fine-tuning"

    def __init__(
        self,
        encoder: Encoder,
        task: Task,
        *,
        tuned: bool = False,
        teacher: Teacher | None = None,
        balanced: bool = False,
    ) -> None:
        """
        tuned      whether the encoder does the task already: a regressor's outputs are then in the task's own units
        teacher    whom to learn from beside the labels
        balanced   whether rare labels count for more
        """
        task = task.read_by(encoder)
        self.encoder, self.task, self.teacher = encoder, task, teacher
        self.metric, self.fingerprint = task.metric, task.fingerprint
        self.chance = task.chance(task.validation)
        self._asked = model_output(encoder, task.output)
        rows = self._asked.rows(task.train, gold=True)
        self.notes = self._asked.notes_on(rows)
        if balanced:
            self._asked.balance(task.train)
        self._scale = _Scale.of(task)
        if tuned:
            self._scale.take_out_of(encoder.model)
        gold = None if rows.gold is None else self._scale.shrink(rows.gold)
        self._rows = replace(rows, tokens=replace(rows.tokens, encodings=()), gold=gold)
        self.tokens = self._rows.tokens
        alone = np.arange(len(self.tokens) + 1)
        together = np.searchsorted(rows.example, np.arange(len(task.train) + 1))
        self._starts = alone if self._asked.rows_stand_alone else together
        if self._asked.rows_stand_alone:  # each is a thing of its own: an example in one batch, its window in another
            self._rows = replace(self._rows, example=alone[:-1], truncated=np.zeros(len(self.tokens), bool))
        self.lengths = np.maximum.reduceat(self.tokens.lengths, self._starts[:-1])
        followed = task.output.kind in FOLLOWED
        self.row_course = RowCourse(len(task.train), encoder.device) if followed else None
        if teacher is not None:
            # Without dropout a regressor's scores lie off those it was trained for: they have a scale of their own.
            own = _Scale.of_scores(teacher.outputs) if self._scale.moves else self._scale
            self._taught = torch.from_numpy(own.shrink(teacher.outputs)).to(encoder.device)

    def batch(self, things: np.ndarray) -> RowBatch:
        return self._asked.batch(self._rows, self._starts, things)

    def fixed_batch(self, things: np.ndarray, most: int) -> RowBatch | None:
        counts = np.diff(self._starts)[things]
        if counts.max() * len(things) > 2 * counts.sum():
            return None
        shape = Shape(self._fixed_length(int(self.lengths[things].max())), int(counts.max()))
        filled = fill_up(things, most)
        own = np.arange(shape.rows) < np.diff(self._starts)[filled][:, None]
        batch = self._asked.batch(self._rows, self._starts, filled, shape=shape)
        return replace(batch, filled=Filled.of(filled, len(things), own.ravel()))

    def _fixed_length(self, longest: int) -> int:
        return min(rounded(longest), self.encoder.max_length)

    def loss(self, batch: RowBatch) -> Tensor:
        return self.sized_loss(batch)[0]

    def sized_loss(self, batch: RowBatch) -> tuple[Tensor, Tensor]:
        raw = self._asked.run(batch)
        totals, counts = self._asked.losses(raw, batch)
        weight = None if batch.filled is None else batch.filled.weight
        if self.row_course is not None:
            right = self._asked.answers(raw, batch) == batch.right
            self.row_course.add(_things(batch), totals / counts, right, weight)
        if weight is not None:
            totals, counts = totals * weight, counts * weight
        size = counts.sum()
        loss = totals.sum() / size
        if self.teacher is None:
            return loss, size.detach()
        taught = self._asked.taught(raw, self._taught[_things(batch)], self.teacher.temperature, weight)
        return torch.lerp(loss, taught, self.teacher.weight), size.detach()

    def size(self, batch: RowBatch) -> float:
        return self._asked.size(batch)

    def score(self) -> Scores:
        validation = self.task.validation
        predicted = self.encoder.predict(validation, self.task.output)
        return self.task.decided_by(predicted).score(predicted, validation)

    def finish(self) -> None:
        self._scale.fold_into(self.encoder.model)

    def as_kept(self) -> AbstractContextManager[None]:
        return self._scale.folded_into(self.encoder.model)


def _things(batch: RowBatch) -> Tensor:
    """[thing]: their numbers, on the device."""
    return torch.from_numpy(batch.examples).to(batch.owner.device) if not batch.filled else batch.filled.things


@dataclass(frozen=True)
class _Scale:
    """Regression trains on standardised scores, whatever their units; the units go back into the last layer."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, task: Task) -> _Scale:
        if task.kind != "regression":
            return cls(0.0, 1.0)
        return cls.of_scores(task.output.gold(task.train))

    @classmethod
    def of_scores(cls, scores: np.ndarray) -> _Scale:
        return cls(float(scores.mean()), float(scores.std()) or 1.0)

    @property
    def moves(self) -> bool:
        return (self.mean, self.deviation) != (0.0, 1.0)

    def shrink(self, labels: np.ndarray) -> np.ndarray:
        if labels.dtype.kind != "f":
            return labels
        return ((labels - self.mean) / self.deviation).astype(np.float32)

    def take_out_of(self, model: Any) -> None:
        """Make a model that speaks in the task's own units speak in standardised ones."""
        _Scale(-self.mean / self.deviation, 1 / self.deviation).fold_into(model)

    def fold_into(self, model: Any) -> None:
        """Make the model speak in the task's own units: its last linear layer takes up scale and mean."""
        if not self.moves:
            return
        last = _last_linear(model)
        with torch.no_grad():
            last.weight.mul_(self.deviation)
            last.bias.mul_(self.deviation).add_(self.mean)

    @contextmanager
    def folded_into(self, model: Any) -> Iterator[None]:
        """The same for the length of a block."""
        held = list(_last_linear(model).parameters()) if self.moves else []
        before = [(tensor, tensor.detach().clone()) for tensor in held]
        self.fold_into(model)
        try:
            yield
        finally:
            with torch.no_grad():
                for tensor, was in before:
                    tensor.copy_(was)


def _last_linear(model: Any) -> nn.Linear:
    return [module for module in model.modules() if isinstance(module, nn.Linear)][-1]
