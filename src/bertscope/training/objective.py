"""What a training is for: the loss of a batch, and the score that is followed from epoch to epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.models.batches import Batch, Tokens, tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.predict import TaskLogits
from bertscope.training.distill import Teacher, from_teacher

if TYPE_CHECKING:
    from bertscope.data.task import Scores, Task


class Objective(Protocol):
    """All that the loop knows of what is learnt."""

    metric: str
    """What the score is called."""
    chance: float
    """The validation set's score without looking at its texts."""
    fingerprint: str
    """What tells this objective's data and settings from another's."""
    tokens: Tokens
    """The training set; the loop makes its batches of these rows."""

    def loss(self, batch: Batch, rows: Tensor) -> Tensor:
        """The mean loss of a batch, whose rows these are of the training set, with the graph that leads to it. The
        loop decides the precision."""

    def score(self) -> Scores:
        """How good the model is by now on the validation set."""

    def finish(self) -> None:
        """Make the trained model what is kept of it."""


class Labelled:
    """A task's labels: cross-entropy, or squared error where they are scores."""

    def __init__(self, encoder: Encoder, task: Task, *, tuned: bool = False, teacher: Teacher | None = None) -> None:
        """
        tuned     whether the encoder does the task already: a regressor's outputs are then in the task's own units
        teacher   whom to learn from beside the labels
        """
        assert task.train.label is not None
        self.encoder, self.task, self.teacher = encoder, task, teacher
        self.metric, self.fingerprint = task.metric, task.fingerprint
        self.chance = task.chance(task.validation)
        self.tokens = tokenise(encoder.tokenizer, task.train, encoder.max_length)
        truncated = int(self.tokens.truncated.sum())
        of_all = f"{truncated:,} of {len(task.train):,} training texts"
        longest = f"longer than {encoder.max_length} tokens, and cut there: {of_all}"
        self.notes = (longest,) if truncated else ()
        self._logits = TaskLogits(encoder, task.output)
        self._scale = _Scale.of(task)
        if tuned:
            self._scale.take_out_of(encoder.model)
        self._labels = torch.from_numpy(self._scale.shrink(task.train.label)).to(encoder.device)
        if teacher is not None:
            # Without dropout a regressor's scores lie off those it was trained for: they have a scale of their own.
            own = _Scale.of_scores(teacher.outputs) if task.kind == "regression" else self._scale
            self._taught = torch.from_numpy(own.shrink(teacher.outputs)).to(encoder.device)

    def loss(self, batch: Batch, rows: Tensor) -> Tensor:
        logits = self._logits(batch.inputs).float()
        labels = self._labels[rows]
        if self.task.kind == "regression":
            loss = nn.functional.mse_loss(logits[:, 0], labels)
        else:
            loss = nn.functional.cross_entropy(logits, labels)
        if self.teacher is None:
            return loss
        taught = from_teacher(logits, self._taught[rows], self.teacher.temperature)
        return torch.lerp(loss, taught, self.teacher.weight)

    def score(self) -> Scores:
        validation = self.task.validation
        return self.task.score(self.encoder.predict(validation), validation)

    def finish(self) -> None:
        self._scale.fold_into(self.encoder.model)


@dataclass(frozen=True)
class _Scale:
    """Regression trains on standardised scores, whatever their units; the units go back into the last layer."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, task: Task) -> _Scale:
        if task.kind == "classification":
            return cls(0.0, 1.0)
        assert task.train.label is not None
        return cls.of_scores(task.train.label)

    @classmethod
    def of_scores(cls, scores: np.ndarray) -> _Scale:
        return cls(float(scores.mean()), float(scores.std()) or 1.0)

    def shrink(self, labels: np.ndarray) -> np.ndarray:
        if labels.dtype.kind != "f":
            return labels
        return ((labels - self.mean) / self.deviation).astype(np.float32)

    def take_out_of(self, model: Any) -> None:
        """Make a model that speaks in the task's own units speak in standardised ones."""
        _Scale(-self.mean / self.deviation, 1 / self.deviation).fold_into(model)

    def fold_into(self, model: Any) -> None:
        """Make the model speak in the task's own units: its last linear layer takes up scale and mean."""
        if (self.mean, self.deviation) == (0.0, 1.0):
            return
        last = [module for module in model.modules() if isinstance(module, nn.Linear)][-1]
        with torch.no_grad():
            last.weight.mul_(self.deviation)
            last.bias.mul_(self.deviation).add_(self.mean)
