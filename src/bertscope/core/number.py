"""A headline number: what code reads it by (`key`, `of`) and what people read (`label`) are two things."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


_OWN = ("value", "low", "high", "n", "unit", "label")
"""What every number has beside its key."""


@dataclass(frozen=True)
class Number:
    """A headline number with the interval that belongs to it; `low` and `high` are None where there is none."""

    key: str
    """What it is, for code: `last_two_share`. The question declares its words."""
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """How many examples (or seeds, or parts) it rests on."""
    unit: str = ""
    """What it is a value of, such as `accuracy`; empty for a count."""
    label: str = ""
    """What it is, for people; put there by the question, and never looked up by. Without one, the key."""
    of: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What it is about: `{"unit": "head:2.8"}`, `{"arm": "good"}`, `{"model": ID}`."""
    draws: np.ndarray | None = field(default=None, compare=False, repr=False)
    """Its value in the sample itself and in each resample of the examples [1 + repeats], where there are any: what is
    asked of the same examples with the same seed is resampled alike, so differences of draws are paired."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.key)
        for name in ("value", "low", "high", "n"):  # numpy's own can't be written as JSON
            if type(number := getattr(self, name)).__module__ == "numpy":
                object.__setattr__(self, name, number.item())

    def __str__(self) -> str:
        value, *ends = self.written()
        return f"{value} [{', '.join(ends)}]" if ends else value

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        """The value by a format such as `.3f`; without one, as it prints."""
        return format(self.value, spec) if spec else str(self)

    def written(self) -> list[str]:
        """The value and, where there are any, the ends of its interval: three decimals, more where all are small,
        none for counts.

        >>> Number("score", 0.5, 0.4, 0.6).written(), Number("slope", -0.00123).written(), Number("n", 12).written()
        (['0.500', '0.400', '0.600'], ['-0.00123'], ['12'])
        """
        values = [self.value, *(end for end in (self.low, self.high) if end is not None)]
        largest = max(map(abs, values))
        if not self.unit and all(value % 1 == 0 for value in values):
            return [f"{value:,.0f}" for value in values]
        if 0 < largest < 0.01:
            digits = 2 - math.floor(math.log10(largest))
            return [f"{value:z.{digits}f}" if digits <= 6 else f"{value:.2e}" for value in values]
        return [f"{value:z.3f}" for value in values]

    def to_json(self) -> dict[str, Any]:
        """All of it but its draws, which are no text."""
        return {name: value for name, value in vars(self).items() if name != "draws"} | {"of": dict(self.of)}

    def is_about(self, of: Mapping[str, Any]) -> bool:
        """Whether it is about these: an arm, a model, a seed."""
        return all(self.of.get(name) == str(value) for name, value in of.items())


def draws_of(numbers: Sequence[Number]) -> dict[str, np.ndarray]:
    """The draws of those that have any, by their places."""
    return {str(place): one.draws for place, one in enumerate(numbers) if one.draws is not None}


def with_draws(numbers: Sequence[Number], draws: Mapping[str, np.ndarray]) -> list[Number]:
    """The numbers with the draws that `draws_of` gave."""
    return [replace(one, draws=draws.get(str(place))) for place, one in enumerate(numbers)]


class Numbers(Sequence[Number]):
    """Some numbers of a result, in its order; `table` has them as rows."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        self._numbers = tuple(numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, place: int) -> Number: ...
    @overload
    def __getitem__(self, place: slice) -> Numbers: ...
    def __getitem__(self, place: int | slice) -> Number | Numbers:
        if not self._numbers and isinstance(place, int):
            raise IndexError("there is no such number: numbers() has all of them, with what they are of")
        return Numbers(self._numbers[place]) if isinstance(place, slice) else self._numbers[place]

    def __iter__(self) -> Iterator[Number]:
        return iter(self._numbers)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table.to_html()

    @property
    def table(self) -> pd.DataFrame:
        """A row for each: its key, what it is about, a column for each such thing, its value and interval. What a
        number is of and is called like a column of its own is `of_unit` there."""
        import pandas as pd

        about = {name: f"of_{name}" if name in _OWN else name for number in self for name in number.of}
        columns = ["key", *about.values(), *_OWN]
        rows = [
            vars(number) | {column: number.of.get(name) for name, column in about.items()} for number in self
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(("value", "low", "high"), float))
