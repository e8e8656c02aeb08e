"""Any number of labels for each example: the library's task head for sequence classification, a sigmoid each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, logsigmoid

from bertscope.core.attributions import NO_PLACE, Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.output import Output
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.base import RowBatch
from bertscope.models.outputs.classifier import Classifier, weighted
from bertscope.models.outputs.explained import of_all, on

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


class EachLabel(Classifier):
    """Binary cross-entropy, averaged over the labels. What threshold decides is the task's to know."""

    kind = "several"

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        return with_classifier(base, output.labels, several=True, **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        cls.refuse_other_head(encoder, len(output.labels))
        if encoder.model.config.problem_type not in (None, "multi_label_classification"):
            raise UserError(
                f"{encoder.name} gives an example one label, and the task any number; fine-tune it on this task (if "
                'it does give several: write "problem_type": "multi_label_classification" into its config.json)'
            )
        cls.order(encoder, output)

    @classmethod
    def order(cls, encoder: Encoder, output: Output) -> list[int]:
        return output.match(encoder.labels)[0]  # type: ignore[attr-defined]

    def losses(self, raw: Tensor, batch: RowBatch) -> tuple[Tensor, Tensor]:
        ordered = raw[:, self._order]
        found = binary_cross_entropy_with_logits(ordered, batch.right.to(raw.dtype), reduction="none")
        return found.sum(1), torch.full_like(found[:, 0], found.shape[1])

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """KL(whole || other) in nats, averaged over the labels."""
        return sigmoid_kl(whole, raw).mean(-1)

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        """Each label that is given, and where none is the likeliest."""
        if wanted.label is not None:
            return of_all(wanted.label, batch)
        said = raw[:, self._order].detach().cpu().numpy()
        given = said > getattr(self.output, "threshold", 0.0)
        given[np.arange(len(said)), said.argmax(1)] |= ~given.any(1)
        example, label = np.nonzero(given)
        return Targets(example, np.full(len(example), NO_PLACE), label)

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The label's log-odds."""
        example, label = on(raw.device, targets.example, targets.label)
        return raw[:, self._order][example, label]

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return (raw[:, self._order] > getattr(self.output, "threshold", 0.0)).long()

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        """The log-odds of the labels that only the one has, minus those that only the other has."""
        return (raw[:, self._order] * (one - other)).sum(1)

    def probability(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        return self.quantity(raw, batch, targets).sigmoid()

    def taught(self, raw: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        """T^2 KL(teacher || student) of the probabilities sigmoid(outputs / T), averaged over labels and examples."""
        student = raw[:, self._order]
        said = teacher[:, : student.shape[1]]  # the threshold behind it teaches nothing
        return temperature**2 * weighted(sigmoid_kl(said / temperature, student / temperature), weight)


def sigmoid_kl(whole: Tensor, other: Tensor) -> Tensor:
    """KL(whole || other) of the probabilities that log-odds stand for, each for itself, in nats; never below 0, but
    for rounding."""
    share = whole.sigmoid()
    yes, no = (logsigmoid(sign * whole) - logsigmoid(sign * other) for sign in (1, -1))
    return (share * yes + (1 - share) * no).clamp_min(0)
