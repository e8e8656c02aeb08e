"""Which of several candidate texts is right: a number for each, of which the highest decides.

Examples may have different numbers of candidates: outputs are [..., n, most], and `NO_CANDIDATE` where an example has
fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import NO_CANDIDATE, Examples
from bertscope.core.resampling import Value
from bertscope.data.outputs.classes import cross_entropies, kl, log_shares
from bertscope.data.outputs.label_names import labels_of
from bertscope.data.outputs.scores import summary

_GUESS = -1
"""The prediction of who has no answer: whatever is right, one of k candidates is it in one of k cases."""


@dataclass(frozen=True)
class OneChoice:
    """An `Output`."""

    task: str
    """The task's name, for messages."""
    metric: str

    kind = "choices"
    loss = "cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "guess"
    labels = ()
    counts_hits = True

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> OneChoice:
        return cls(name, metric)

    @property
    def value(self) -> Value:
        return lambda means: means[..., 0]

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (max(map(len, self._choices(examples)), default=0),)

    def gold(self, examples: Examples) -> np.ndarray:
        """[n, 2]: which candidate is right, from 0, and how many there are."""
        counts = np.array([len(texts) for texts in self._choices(examples)], dtype=np.int64)
        return np.stack([labels_of(examples, self.task), counts], axis=1)

    def learnt(self, examples: Examples) -> Any:
        return [examples.choices, None if examples.label is None else examples.label.tolist()]

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        """Candidates have no names: they stand as the examples have them."""
        return outputs, []

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.ndim < 2:
            raise ValueError(f"outputs {outputs.shape} are not a number for each candidate")

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        answered = (outputs != NO_CANDIDATE).any(-1)
        return np.where(answered, outputs.argmax(-1), _GUESS) if outputs.shape[-1] else answered - 1

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """[..., n, 1]: whether it is the right one; of a guess, how likely that is."""
        right, counts = gold.T
        return np.where(predicted == _GUESS, 1 / counts, predicted == right)[..., None]

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        return (predicted == gold[:, 0]).astype(np.float64)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        """Between candidates, which have no names; `NO_CANDIDATE` leaves no probability."""
        answered = np.flatnonzero((outputs != NO_CANDIDATE).any(-1))
        of = outputs[answered]
        return Decisions(answered, np.exp(log_shares(of)), of.argmax(-1), gold[answered, 0], ())

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        return None

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (whole != other).astype(np.float64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The cross-entropy over an example's candidates, in nats."""
        return cross_entropies(outputs, gold[:, 0])

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        """KL(whole || other) over an example's candidates, in nats."""
        return kl(whole, other)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        return {}

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """No answer, which is scored as a guess."""
        return np.full((len(examples), *self.width(examples)), NO_CANDIDATE)

    def describe(self, examples: Examples) -> dict[str, Any]:
        counts = np.array([len(texts) for texts in self._choices(examples)])
        labels = {"candidates": int(counts.sum()), "candidates per text": round(summary(counts)["mean"], 2)}
        return {"labels": labels, "majority": None}

    def _choices(self, examples: Examples) -> tuple[tuple[str, ...], ...]:
        if examples.choices is None:
            raise UserError(f"the examples have no candidate texts to choose from, as {self.task} needs them")
        return examples.choices
