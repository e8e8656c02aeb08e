"""A number for each class, or one score: the library's task head for sequence classification."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax, mse_loss

from bertscope.core.attributions import NO_PLACE, Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.statement import number_of
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.evaluating import at_least_single
from bertscope.models.needed_rows import first_token_only, first_tokens
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.outputs.contrasted import between
from bertscope.models.outputs.explained import WordText, above_others, of_all, on
from bertscope.models.windows import text_windows

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


class Classifier(ModelOutput):
    """What all outputs of that task head have in common: a vector for each example."""

    task_head = "classifier"
    padding = 0

    def __init__(self, encoder: Encoder, output: Output | None = None) -> None:
        super().__init__(encoder, output)
        order = [] if output is None else self.order(encoder, output)
        # As they are where they are in order: on a GPU, numbers to choose by would be brought there each time.
        self._order = order if order != sorted(order) else slice(None)

    @classmethod
    def order(cls, encoder: Encoder, output: Output) -> list[int]:
        """Where the model has each of the task's labels; empty where they have no order."""
        return []

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        (wanted,) = output.width(Examples((), ()))
        cls.refuse_other_head(encoder, wanted, output.labels)

    @classmethod
    def refuse_other_head(cls, encoder: Encoder, wanted: int, labels: Sequence[str] = ()) -> None:
        """Refuse, with what to do, an encoder without a classifier of so many outputs, for these labels."""
        if encoder.task_head != cls.task_head:
            raise UserError(
                f"{encoder.name} has no classifier on top (it is: {encoder.task_head}); "
                f"fine-tune it first: bertscope finetune {encoder.name} --on TASK --out FOLDER"
            )
        if wanted != encoder.model.config.num_labels:
            told = {name.strip().casefold() for name in encoder.labels}
            lacks = [label for label in labels if label.strip().casefold() not in told]
            known = (
                f" (it has {', '.join(encoder.labels)}, and not {', '.join(lacks)})" if 0 < len(lacks) < 10 else ""
            )
            raise UserError(
                f"{encoder.name} gives {encoder.model.config.num_labels} outputs, the task needs {wanted}{known}; "
                "fine-tune it on this task, or choose the task it was trained on"
            )

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (self.encoder.model.config.num_labels,)

    @property
    def windows(self) -> int:
        """In how many windows a long text is read at most; 0 where it is truncated."""
        return getattr(self.output, "windows", 0)

    @property
    def rows_stand_alone(self) -> bool:  # type: ignore[override]
        return not self.windows

    def rows(self, examples: Examples, *, gold: bool = False) -> Rows:
        if not self.windows:
            return super().rows(examples, gold=gold)
        read = text_windows(self.encoder.tokenizer, examples, self.encoder.max_length, self.windows)
        right = self.output.gold(examples)[read.example] if gold and self.output else None
        return Rows(read.tokens, read.example, read.truncated, right)

    def notes_on_scored(self, examples: Examples) -> tuple[str, ...]:
        if not self.windows:
            return ()
        read = text_windows(self.encoder.tokenizer, examples, self.encoder.max_length, self.windows)
        several = int((np.bincount(read.example) > 1).sum())
        long = number_of(several, "test text is", "test texts are")
        note = f"{long} longer than {self.encoder.max_length} tokens and read in windows"
        return (f"{note}, {self.windows} at most: answers are averaged over the windows",) if several else ()

    def run(self, batch: RowBatch) -> Tensor:
        """The mean over an example's windows, where it has several."""
        logits = at_least_single(self.encoder.model(**batch.inputs).logits)
        if len(batch.examples) == len(batch.owner):
            return logits
        return batch.per_example(logits) / batch.per_example(torch.ones_like(logits[:, :1]))

    def read_tokens(self, batch: RowBatch) -> Tensor:
        first = self.encoder.family.reads_first_token(self.encoder.model.config)
        return first_tokens(batch) if first else super().read_tokens(batch)

    def outputs(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return raw

    def taught(self, raw: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        return from_teacher(raw[:, self._order], teacher, temperature, weight)

    @property
    def reads_marked_words(self) -> bool:  # type: ignore[override]
        return not self.windows

    @property
    def reads_single_tokens(self) -> bool:
        return self.encoder.family.reads_first_token(self.encoder.model.config)

    def own_form(self) -> dict[str, Any]:
        return {"form": ClassifierForm.of(self.encoder.model.config)}

    def sparing(self) -> AbstractContextManager[None]:
        return first_token_only(self.encoder)


class OneLabel(Classifier):
    """One label for each example: cross-entropy."""

    kind = "classification"
    _weights: Tensor | None = None

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        return with_classifier(base, output.labels, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        super().refuse_other(encoder, output)
        if encoder.model.config.problem_type == "multi_label_classification":
            raise UserError(
                f"{encoder.name} gives an example any number of labels, and {output.kind} one each; "
                "give it a task of several labels"
            )
        cls.order(encoder, output)

    @classmethod
    def order(cls, encoder: Encoder, output: Output) -> list[int]:
        return output.match(encoder.labels)[0]  # type: ignore[attr-defined]

    def balance(self, train: Examples) -> None:
        assert self.output is not None
        self._weights = balanced_weights(self.output.gold(train), len(self.output.labels)).to(self.encoder.device)

    def losses(self, raw: Tensor, batch: RowBatch) -> tuple[Tensor, Tensor]:
        found = cross_entropy(raw[:, self._order], batch.right, reduction="none")
        weights = torch.ones_like(found) if self._weights is None else self._weights[batch.right].to(found.dtype)
        return found * weights, weights

    def size(self, batch: RowBatch) -> float:
        return super().size(batch) if self._weights is None else float(self._weights[batch.right].sum())

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """Kullback and Leibler's, KL(whole || other), in nats."""
        return kl(whole, raw)

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        return of_all(raw[:, self._order].argmax(1) if wanted.label is None else wanted.label, batch)

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The label's logit minus the mean of the others'."""
        example, label = on(raw.device, targets.example, targets.label)
        return above_others(raw[:, self._order][example], label)

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return raw[:, self._order].argmax(1)

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        return between(raw[:, self._order], one, other)

    @property
    def mirrored(self) -> bool:
        return len(self.names) == 2

    def probability(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        example, label = on(raw.device, targets.example, targets.label)
        return raw[:, self._order].softmax(1)[example, label]


class Score(Classifier):
    """One score for each example: the squared error, in the square of the task's own unit."""

    kind = "regression"

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        return with_classifier(base, (), **how)

    def losses(self, raw: Tensor, batch: RowBatch) -> tuple[Tensor, Tensor]:
        found = (raw[:, 0] - batch.right.to(raw.dtype)).square()
        return found, torch.ones_like(found)

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """The squared change of the score, in the same unit."""
        return (raw[:, 0] - whole[:, 0]).square()

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        return of_all(NO_PLACE, batch)

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The score itself."""
        return raw[on(raw.device, targets.example)[0], 0]

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return raw[:, 0]

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        return raw[:, 0] * (one - other).sign()

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        return ["score"] * len(targets)

    @property
    def pushed(self) -> tuple[str, ...]:
        return ("score",)

    @property
    def names(self) -> tuple[str, ...]:
        return ()


def balanced_weights(gold: np.ndarray, labels: int) -> Tensor:
    """What each label counts for: n / (labels x how often it is there), so that the mean over examples is 1. A label
    that isn't there counts for nothing."""
    counts = np.bincount(gold[gold >= 0], minlength=labels)
    there = (counts > 0).sum()
    weights = np.divide(counts.sum(), there * counts, out=np.zeros(labels), where=counts > 0)
    return torch.from_numpy(weights.astype(np.float32))


def kl(whole: Tensor, other: Tensor) -> Tensor:
    """KL(whole || other) of the probabilities that logits [..., c] stand for, in nats; never below 0, but for
    rounding."""
    before, after = log_softmax(whole, -1), log_softmax(other, -1)
    return (before.exp() * (before - after)).sum(-1).clamp_min(0)


def from_teacher(student: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
    """How far the student's outputs [n, c] are from the teacher's, averaged over the examples, by their weight.

    Classes: T^2 KL(teacher || student) of the probabilities softmax(outputs / T), in nats; the factor keeps the
    gradient's size whatever the temperature. One output, a score: the squared difference.
    """
    if student.shape[-1] == 1:
        return mse_loss(student, teacher) if weight is None else weighted((student - teacher).square(), weight)
    soft, hard = (log_softmax(outputs / temperature, -1) for outputs in (student, teacher))
    if weight is not None:
        return temperature**2 * weighted(kl_div(soft, hard, reduction="none", log_target=True).sum(-1), weight)
    return temperature**2 * kl_div(soft, hard, reduction="batchmean", log_target=True)


def weighted(values: Tensor, weight: Tensor | None) -> Tensor:
    """The mean of values [example, ...], each example by its weight."""
    if weight is None:
        return values.mean()
    return (values.flatten(1).mean(1) if values.ndim > 1 else values).mul(weight).sum() / weight.sum()
