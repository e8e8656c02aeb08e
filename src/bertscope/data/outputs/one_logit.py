"""One of two labels, of a model with a single output: rerankers and other cross-encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.outputs.classes import Classes, log_shares


@dataclass(frozen=True)
class OneLogit(Classes):
    """An `Output`: the second label's log-odds against the first's, [..., n, 1]. Above 0 it is the second."""

    kind = "one_logit"
    loss = "binary cross-entropy"

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> OneLogit:
        return cls(name, labels, metric)

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (1,)

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        self.refuse_other_width(outputs)
        first, second = self.labels
        return outputs, [f"the model has one output: above 0 it is read as {second}, otherwise as {first}"]

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.shape[-1] != 1 or len(self.labels) != 2:
            raise UserError(
                f"the model gives {outputs.shape[-1]} output, but {self.task} has {len(self.labels)} labels "
                f"({', '.join(self.labels)}); fine-tune it on this task"
            )

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return (outputs[..., 0] > 0).astype(np.int64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The binary cross-entropy, in nats."""
        return super().losses(_two(outputs), gold)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        shares = np.exp(log_shares(_two(outputs)))
        return Decisions(np.arange(len(outputs)), shares, self.predictions(outputs), gold, self.labels)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """KL(whole || other), in nats."""
        return super().divergence(_two(whole), _two(other))

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The most frequent label, for every example."""
        return np.diff(super().blind(train, examples), axis=-1)


def _two(outputs: np.ndarray) -> np.ndarray:
    """As two classes would say it, [..., 2]."""
    return np.concatenate([np.zeros_like(outputs), outputs], axis=-1)
