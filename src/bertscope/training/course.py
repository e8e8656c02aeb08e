"""How a training goes: which steps it has until it is scored again, at which learning rate, and when it is over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bertscope.core.bucketing import bucketed
from bertscope.training.finetune.question import FinetuneConfig

if TYPE_CHECKING:
    from bertscope.training.history import History


@dataclass(frozen=True)
class Stretch:
    """The steps between two times that the validation set is scored: an epoch, where all goes by epochs."""

    first: int
    """How many steps come before it."""
    count: int
    batches: Callable[[int], Sequence[np.ndarray]]
    """By the place in it, from 0, what a step has: the things of one batch, or of several whose gradients add up."""
    rate: Callable[[int], float]
    """By the place in it, the learning rate."""
    largest: int = 0
    """The place of the step that needs most memory."""


class Course(Protocol):
    """The way of a training from its beginning to its end."""

    @property
    def total(self) -> int | None:
        """Steps in all; None where nobody knows yet."""

    @property
    def largest(self) -> tuple[int, int]:
        """How many things the largest batch has, and how many tokens the longest of them."""

    def goes_on(self, history: History) -> bool:
        """Whether there is anything left to do after what happened so far."""

    def steps_done(self, history: History) -> int:
        """Steps of all that happened so far."""

    def stretch(self, number: int, history: History, generator: np.random.Generator) -> Stretch:
        """The steps to do next; what is random in them comes from the generator."""

    def facts(self, history: History) -> dict[str, float]:
        """What a row of the learning curve says beside the score, as a stretch ends; before any step too."""

    def time_left(self) -> dict[str, str]:
        """What stands beside a bar that can't tell the time left itself."""


def warmed_up(share: float, warmup: float) -> float:
    """The part of the highest learning rate at that share of a training: up linearly over the warm-up, then down
    linearly to 0."""
    return share / warmup if share < warmup else (1 - share) / (1 - warmup)


class Epochs:
    """So many times through a training set, in batches of like length."""

    def __init__(self, lengths: np.ndarray, settings: FinetuneConfig) -> None:
        assert settings.epochs and settings.learning_rate is not None
        self._lengths, self._settings, self._epochs = lengths, settings, settings.epochs
        batches = math.ceil(len(lengths) / settings.batch_size)
        self.steps_per_epoch = math.ceil(batches / settings.accumulate)
        self.total = self._epochs * self.steps_per_epoch

    @property
    def largest(self) -> tuple[int, int]:
        return min(self._settings.batch_size, len(self._lengths)), int(self._lengths.max())

    def goes_on(self, history: History) -> bool:
        return len(history.epochs) <= self._epochs

    def steps_done(self, history: History) -> int:
        return max(0, len(history.epochs) - 1) * self.steps_per_epoch

    def stretch(self, number: int, history: History, generator: np.random.Generator) -> Stretch:
        together, first = self._settings.accumulate, (number - 1) * self.steps_per_epoch
        batches = bucketed(self._lengths, self._settings.batch_size, generator)
        largest = int(np.argmax([len(rows) * self._lengths[rows].max() for rows in batches]))
        return Stretch(
            first,
            self.steps_per_epoch,
            lambda place: batches[place * together : (place + 1) * together],
            lambda place: self.rate(first + place),
            largest // together,
        )

    def facts(self, history: History) -> dict[str, float]:
        return {}

    def time_left(self) -> dict[str, str]:
        return {}

    def rate(self, step: int) -> float:
        """Up linearly over the warm-up, then down linearly to 0 after the last step."""
        assert self._settings.learning_rate is not None
        warmup = round((self._settings.warmup or 0) * self.total)
        share = (step + 1) / (warmup + 1) if step < warmup else (self.total - step) / max(1, self.total - warmup)
        return self._settings.learning_rate * share
