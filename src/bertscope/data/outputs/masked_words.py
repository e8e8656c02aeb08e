"""Words of a text that are masked, and guessed from the rest: a task that any texts make, of a pretrained model.

What is right are pieces of words, and these are the tokenizer's: `Task.asked_of(model)` puts them where labels are,
[n, most], in the order in which they stand in the text, `NOTHING` behind an example's last. Outputs are a guess for
each, and how many bits the right piece took, [..., n, most, 2].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.masking import masked_count, word_counts
from bertscope.core.resampling import Value
from bertscope.core.statement import number_of
from bertscope.data.outputs.spans import only_the_model_says


@dataclass(frozen=True)
class MaskedWords:
    """An `Output`. A guess is right or wrong, and the metric is the share of right ones among all pieces."""

    task: str
    """The task's name, for messages."""
    metric: str

    kind = "masked"
    loss = "cross-entropy"
    loss_unit = "nats"
    divergence_key = "kl"
    blind_answer = "commonest piece"
    labels = ()
    counts_hits = False  # a text can have several pieces

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> MaskedWords:
        return cls(name, metric)

    @property
    def value(self) -> Value:
        return _share

    def width(self, examples: Examples) -> tuple[int, ...]:
        return (self.gold(examples).shape[1], 2)

    def gold(self, examples: Examples) -> np.ndarray:
        if examples.label is None:
            raise UserError(
                f"which pieces of the masked words of {self.task} are right depends on a model's tokenizer; "
                "score what task.asked_of(model) gives"
            )
        return examples.label

    def learnt(self, examples: Examples) -> Any:
        """The texts themselves decide what is masked, whatever the tokenizer."""
        return self.kind

    def in_order(self, outputs: np.ndarray, names: Sequence[str]) -> tuple[np.ndarray, list[str]]:
        return outputs, []

    def refuse_other_width(self, outputs: np.ndarray) -> None:
        if outputs.ndim < 3 or outputs.shape[-1] != 2:
            raise ValueError(f"outputs {outputs.shape} are not a guess and its bits for each masked piece")

    def predictions(self, outputs: np.ndarray) -> np.ndarray:
        return outputs

    def moments(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """[..., n, 2]: how many of each text's masked pieces are guessed, and how many there are."""
        there = gold != NOTHING
        right = (predicted[..., 0] == gold) & there
        return np.stack(np.broadcast_arrays(right.sum(-1), there.sum(-1)), axis=-1).astype(np.float64)

    def correct(self, predicted: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """Whether every piece is guessed; NaN of texts without any."""
        right, pieces = np.moveaxis(self.moments(predicted, gold), -1, 0)
        return np.where(pieces > 0, right == pieces, np.nan)

    def decisions(self, outputs: np.ndarray, gold: np.ndarray) -> Decisions | None:
        return None

    def by_label(self, predicted: np.ndarray, gold: np.ndarray) -> tuple[tuple[str, ...], np.ndarray] | None:
        return None

    def flips(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        return (whole[..., 0] != other[..., 0]).any(-1).astype(np.float64)

    def losses(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """The cross-entropy in nats, averaged over a text's pieces; 0 where it has none."""
        there = gold != NOTHING
        total = self.bits(outputs, gold)
        return total * np.log(2) / np.maximum(there.sum(-1), 1)

    def bits(self, outputs: np.ndarray, gold: np.ndarray) -> np.ndarray:
        """[..., n]: what all right pieces of an example took together."""
        return np.where(gold != NOTHING, outputs[..., 1], 0.0).sum(-1, dtype=np.float64)

    def divergence(self, whole: np.ndarray, other: np.ndarray) -> np.ndarray:
        only_the_model_says(self.task)

    def secondary(self, predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
        return {"bits_per_piece": float(predicted[gold != NOTHING, 1].mean(dtype=np.float64))}

    def blind(self, train: Examples, examples: Examples) -> np.ndarray:
        """The unigram model: the commonest of the training set's masked pieces for every place, and the bits that
        each right piece takes by its share of them. Every piece that occurs there is counted once more, and so are
        together all that don't, up to the highest number that is right anywhere: they share that one count."""
        learnt, gold = self.gold(train), self.gold(examples)
        pieces = learnt[learnt != NOTHING]
        if not pieces.size:
            raise UserError(f"no masked word of the training texts of {self.task} is read by the model; give others")
        counts = np.bincount(pieces, minlength=gold.max(initial=0) + 1)
        unseen = max(int((counts == 0).sum()), 1)
        shares = np.where(counts > 0, counts + 1, 1 / unseen) / (len(pieces) + np.count_nonzero(counts) + 1)
        bits = -np.log2(shares)
        there = gold != NOTHING
        guesses = np.where(there, counts.argmax(), NOTHING)
        return np.stack([guesses, np.where(there, bits[np.maximum(gold, 0)], NOTHING)], axis=-1)

    def notes_on(self, train: Examples, examples: Examples) -> tuple[str, ...]:
        """What a reader must know of what is guessed, once it is known."""
        gold = self.gold(examples)
        there = (gold != NOTHING).sum(1)
        bits = self.secondary(self.blind(train, examples), gold)["bits_per_piece"]
        told = f"15% of each text's words are masked, {there.sum():,} pieces in {len(gold):,} test texts"
        notes = [f"{told}; the unigram model takes {bits:.2f} bits ({bits * np.log(2):.3f} nats) a piece"]
        if unread := int((there == 0).sum()):
            notes.append(
                f"{number_of(unread, 'test text has', 'test texts have')} no masked word that the model reads"
            )
        return tuple(notes)

    def describe(self, examples: Examples) -> dict[str, Any]:
        words = word_counts(examples)
        labels = {"words": int(words.sum()), "masked words": sum(masked_count(int(one)) for one in words)}
        return {"labels": labels, "majority": None}


def _share(means: np.ndarray) -> np.ndarray:
    """Micro average: the share of all pieces, not the mean of the texts' shares."""
    right, pieces = means[..., 0], means[..., 1]
    return np.divide(right, pieces, out=np.zeros_like(right), where=pieces > 0)
