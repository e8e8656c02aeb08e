"""Sets of layers as users write them: `12`, `11-12`, `3+7-9`, `embeddings+1-8`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from bertscope.core.errors import UserError

EMBEDDINGS, ENCODER = "embeddings", "encoder"
_SPAN = re.compile(r"(\d+)(?:-(\d+))?")


@dataclass(frozen=True)
class Layers:
    """Some layers of an encoder by their numbers, with or without its embeddings; or all there is of it.

    >>> str(Layers.parse("7-9, 3, 4")), str(Layers.parse("2+embeddings+1"))
    ('3-4,7-9', 'embeddings,1-2')
    """

    numbers: frozenset[int] = frozenset()
    embeddings: bool = False
    whole: bool = False
    """Embeddings, all layers and what closes them: everything that isn't the classifier's."""

    @classmethod
    def parse(cls, text: str) -> Layers:
        """The set that a text names; parts are joined by a comma or a plus."""
        parts = [part.strip() for part in re.split(r"[,+]", text) if part.strip()]
        numbers = [number for part in parts if part not in (EMBEDDINGS, ENCODER) for number in _span(part, text)]
        if ENCODER in parts:
            return cls(whole=True)
        return cls(frozenset(numbers), EMBEDDINGS in parts)

    @classmethod
    def first(cls, count: int) -> Layers:
        """The embeddings and so many layers above them."""
        return cls(frozenset(range(1, count + 1)), embeddings=True)

    @classmethod
    def last(cls, count: int, of: int) -> Layers:
        """So many layers from the top of that many."""
        return cls(frozenset(range(of - count + 1, of + 1)))

    def within(self, n_layers: int) -> Layers:
        """This set, if a model with so many layers has them."""
        for number in sorted(self.numbers):
            if not 1 <= number <= n_layers:
                raise UserError(f"there is no layer {number}: the model has layers 1 to {n_layers}")
        return self

    def __bool__(self) -> bool:
        return bool(self.numbers or self.embeddings or self.whole)

    def __str__(self) -> str:
        """One text for one set, so that what is trained twice is seen to be the same."""
        if self.whole:
            return ENCODER
        return ",".join([*([EMBEDDINGS] if self.embeddings else []), *_spans(self.numbers)])


def _span(part: str, text: str) -> range:
    match = _SPAN.fullmatch(part)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last:
        raise UserError(f"{text!r} names no layers; write 12, 11-12, 3+7-9, {EMBEDDINGS} or {ENCODER}")
    return range(first, last + 1)


def _spans(numbers: Iterable[int]) -> list[str]:
    runs = [[number for _, number in run] for _, run in groupby(enumerate(sorted(numbers)), lambda at: at[1] - at[0])]
    return [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
