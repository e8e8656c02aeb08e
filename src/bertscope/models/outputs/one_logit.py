"""One of two labels, by a single output: rerankers and other cross-encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from bertscope.core.attributions import Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.base import RowBatch
from bertscope.models.outputs.classifier import Classifier, weighted
from bertscope.models.outputs.explained import of_all, on
from bertscope.models.outputs.several import sigmoid_kl

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


class SecondLabel(Classifier):
    """The output is the second label's log-odds; where the model calls it as the task calls its first label, the
    first's."""

    kind = "one_logit"

    def __init__(self, encoder: Encoder, output: Output | None = None) -> None:
        super().__init__(encoder, output)
        said = encoder.model.config.id2label[0].strip().casefold()
        self._sign = -1.0 if output is not None and said == output.labels[0].strip().casefold() else 1.0

    @classmethod
    def build(cls, base: Encoder, output: Output, **how: Any) -> Encoder:
        return with_classifier(base, (), **how)

    @classmethod
    def refuse_other(cls, encoder: Encoder, output: Output) -> None:
        super().refuse_other(encoder, output)
        if len(output.labels) != 2:
            raise UserError(
                f"{encoder.name} gives 1 output, and the task has {len(output.labels)} labels; fine-tune it on this "
                "task, or give it one of two labels, or of scores"
            )

    def notes_on_scored(self, examples: Examples) -> tuple[str, ...]:
        said = self.encoder.model.config.id2label[0].strip()
        turned = f"the model's one output is called {said}, as the first label: it is read with its sign turned"
        return (*super().notes_on_scored(examples), *([turned] if self._sign < 0 else []))

    def run(self, batch: RowBatch) -> Tensor:
        return self._sign * super().run(batch)

    def losses(self, raw: Tensor, batch: RowBatch) -> tuple[Tensor, Tensor]:
        found = binary_cross_entropy_with_logits(raw[:, 0], batch.right.to(raw.dtype), reduction="none")
        return found, torch.ones_like(found)

    def divergence(self, whole: Tensor, raw: Tensor, batch: RowBatch) -> Tensor:
        """KL(whole || other), in nats."""
        return sigmoid_kl(whole, raw)[:, 0]

    def targets(self, raw: Tensor, batch: RowBatch, wanted: Wanted) -> Targets:
        return of_all((raw[:, 0] > 0).long() if wanted.label is None else wanted.label, batch)

    def quantity(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        """The label's log-odds: of the second the output, of the first its negative."""
        example, label = on(raw.device, targets.example, targets.label)
        return raw[example, 0] * (2 * label - 1)

    def answers(self, raw: Tensor, batch: RowBatch) -> Tensor:
        return (raw[:, 0] > 0).long()

    def contrast(self, raw: Tensor, batch: RowBatch, one: Tensor, other: Tensor) -> Tensor:
        return raw[:, 0] * (one - other)

    @property
    def mirrored(self) -> bool:
        return True

    def probability(self, raw: Tensor, batch: RowBatch, targets: Targets) -> Tensor:
        return self.quantity(raw, batch, targets).sigmoid()

    def taught(self, raw: Tensor, teacher: Tensor, temperature: float, weight: Tensor | None = None) -> Tensor:
        """T^2 KL(teacher || student) of the probabilities sigmoid(output / T), averaged over the examples."""
        return temperature**2 * weighted(sigmoid_kl(teacher / temperature, raw / temperature), weight)
