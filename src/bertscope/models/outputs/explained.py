"""What can be explained of what a model says: for each kind of output, quantities that words made large or small."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bertscope.core.attributions import NO_PLACE, Targets, Wanted
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.models.sending import sent

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder
    from bertscope.models.outputs.base import RowBatch, Rows

WordText = Callable[[int, int], str]
"""From an example and a word of it, counted as `Examples` does, to the word."""


class Explained(ABC):
    """The members of a `ModelOutput` that explanations ask for."""

    encoder: Encoder
    output: Output | None
    kind: ClassVar[str]
    reads_marked_words: ClassVar[bool] = True
    """Whether words are those that the source marks, where it does; otherwise they are always the tokenizer's."""
    words_can_go: ClassVar[bool] = True
    """Whether words can be deleted, and what is explained is still there to be found."""
    says_of_words: ClassVar[bool] = False
    """Whether something is said of each word, and one of them can be asked for."""

    @abstractmethod
    def targets(self, raw: Any, batch: RowBatch, wanted: Wanted) -> Targets:
        """What is explained of a batch, in the order of its examples; `example` counts those of the batch."""

    @abstractmethod
    def quantity(self, raw: Any, batch: RowBatch, targets: Targets) -> Tensor:
        """What the targets are [t], with the graph that leads to it; `example` counts those of the batch, and an
        example can have several."""

    def probability(self, raw: Any, batch: RowBatch, targets: Targets) -> Tensor | None:
        """How likely the model holds the targets to be [t]; None of what has no probability, as a score."""
        return None

    @property
    def has_probability(self) -> bool:
        """Whether what it explains has a probability."""
        return type(self).probability is not Explained.probability

    def about(self, targets: Targets) -> np.ndarray:
        """The words that the targets are about [t, some], `NO_PLACE` where there is none: such a word is what is
        asked, and isn't taken away to see what is answered."""
        return np.zeros((len(targets), 0), dtype=np.int64)

    def without_words(self, targets: Targets, kept: np.ndarray) -> Targets:
        """The same targets in examples of which only some words [t, word] are left."""
        return targets

    def told(self, targets: Targets, rows: Rows, examples: Examples, word: WordText) -> list[str]:
        """What the targets are, in words."""
        return [self.names[label] for label in targets.label]

    @property
    def names(self) -> tuple[str, ...]:
        """What the labels are called that targets have the places of."""
        return self.encoder.labels if self.output is None else self.output.labels

    @property
    def pushed(self) -> tuple[str, ...]:
        """What words of a whole corpus can push: labels; empty where each text has its own things to choose from."""
        return self.names

    @property
    def mirrored(self) -> bool:
        """Whether there are two labels, and what is for the one is against the other, as much."""
        return False

    def place_of(self, name: str) -> int:
        """The place of what a user asks for by its name."""
        if not self.names:
            raise UserError(f"{self.encoder.name} gives no labels to choose from; leave out towards={name!r}")
        alike = [place for place, one in enumerate(self.names) if one.strip().casefold() == name.strip().casefold()]
        if not alike:
            raise UserError(f"{self.encoder.name} has no label {name!r}; {did_you_mean(name, self.names)}")
        return alike[0]

    def texts(self, examples: Examples) -> list[tuple[str, ...]]:
        """The texts of each example, in the order in which their words are counted."""
        if examples.pair is None:
            return [(text,) for text in examples.text]
        return list(zip(examples.text, examples.pair, strict=True))

    def text_of(self, rows: Rows) -> np.ndarray:
        """[token]: in which of these texts it is."""
        return rows.tokens.segments


def of_all(label: Tensor | np.ndarray | int, batch: RowBatch) -> Targets:
    """A target for each example of the batch: this label of it."""
    given = label.cpu().numpy() if isinstance(label, Tensor) else label
    example = np.arange(len(batch.examples))
    return Targets(example, np.full(len(example), NO_PLACE), np.broadcast_to(given, example.shape).astype(np.int64))


def on(device: Any, *arrays: np.ndarray) -> list[Tensor]:
    return [sent(np.ascontiguousarray(array, dtype=np.int64), device) for array in arrays]


def above_others(scores: Tensor, label: Tensor, counted: Tensor | None = None) -> Tensor:
    """Each row's score of its label [t] minus the mean of the others that count; one alone is itself."""
    own = scores.gather(1, label[:, None])
    others = torch.ones_like(scores, dtype=torch.bool) if counted is None else counted.clone()
    others = others.scatter(1, label[:, None], False)
    total = scores.where(others, 0.0).sum(1)
    return own[:, 0] - total / others.sum(1).clamp_min(1)


def chosen_words(there: np.ndarray, wanted: Wanted) -> np.ndarray:
    """Which words [example, word] are explained, of those that are; all that a user asks for."""
    if wanted.word is None:
        return there
    found = np.zeros_like(there)
    if wanted.word < there.shape[1]:
        found[:, wanted.word] = there[:, wanted.word]
    return found


def moved_word(place: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """[t]: which word a word is, from 0, where only those that are `kept` [t, word] are left."""
    before = np.arange(kept.shape[1]) < place[:, None]
    return (kept & before).sum(1)
