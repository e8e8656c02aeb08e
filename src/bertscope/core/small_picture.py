"""Pictures small enough to stand beside a sentence: a few bars, a strip or grid of cells, a line.

They say the one thing that the sentence says, so they need no axes: only what is named, and what is marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.number import Number


@dataclass(frozen=True)
class Bars:
    """A few bars from 0 to `most`, each with its name and, where there is one, its interval."""

    names: tuple[str, ...]
    values: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    most: float = 1.0
    """Where the bars would end."""
    unit: str = ""
    """What is written behind each value: "" for a share, which is written in hundredths."""

    @classmethod
    def of(cls, named: Mapping[str, Number | float], most: float | None = None, unit: str = "") -> Bars:
        """From numbers, or plain values, by name."""
        values = tuple(float(one) for one in named.values())
        ends = [(getattr(one, "low", None), getattr(one, "high", None)) for one in named.values()]
        reach = max([*values, *(high for _, high in ends if high is not None), 1e-9])
        lows, highs = zip(*ends, strict=True)
        return cls(tuple(named), values, lows, highs, reach if most is None else most, unit)


@dataclass(frozen=True)
class Cells:
    """A grid of cells, the first row below: layers and heads, or layers alone."""

    values: tuple[tuple[float, ...], ...]
    """[row][column]; NaN where there is nothing."""
    marked: tuple[tuple[int, int], ...] = ()
    """Places (row, column), 0-based, that the sentence speaks of."""
    rows: str = ""
    columns: str = ""
    """What rows and columns are, where there are several."""
    both_ways: bool = False
    """Whether values have a meaning on both sides of 0."""

    @classmethod
    def of(
        cls, table: pd.DataFrame, value: str, *, row: str = "layer", column: str | None = "head",
        marked: pd.DataFrame | None = None, both_ways: bool = False,
    ) -> Cells:  # fmt: skip
        """From a table with a line for each cell; numbers of rows and columns count from 1. Without a `column`, rows
        are side by side."""
        if column is None:
            return cls._grid(table, value, None, row, marked, both_ways)
        return cls._grid(table, value, row, column, marked, both_ways)

    @classmethod
    def _grid(
        cls, table: pd.DataFrame, value: str, row: str | None, column: str, marked: pd.DataFrame | None, both: bool
    ) -> Cells:
        def places(of: pd.DataFrame) -> list[tuple[int, int]]:
            rows = [0] * len(of) if row is None else [int(place) - 1 for place in of[row]]
            return list(zip(rows, (int(place) - 1 for place in of[column]), strict=True))

        at = places(table)
        height, width = (max(place[axis] for place in at) + 1 for axis in (0, 1))
        grid = [[float("nan")] * width for _ in range(height)]
        for (down, across), cell in zip(at, table[value], strict=True):
            grid[down][across] = float(cell)
        picked = () if marked is None else tuple(places(marked))
        return cls(tuple(map(tuple, grid)), picked, row or "", column, both)


@dataclass(frozen=True)
class Line:
    """One curve, with a band where there is one and a dashed line to compare with."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    rule: float | None = None
    marked: float | None = None
    """The x that the sentence speaks of."""
    along: str = ""
    """What x is."""

    @classmethod
    def of(
        cls, table: pd.DataFrame, x: str, y: str, *, low: str = "low", high: str = "high", rule: float | None = None,
        marked: float | None = None, along: str = "",
    ) -> Line:  # fmt: skip
        def values(name: str) -> tuple[float, ...]:
            return tuple(map(float, table[name])) if name in table else ()

        return cls(values(x), values(y), values(low), values(high), rule, marked, along or x)


SmallPicture = Bars | Cells | Line


def hundredths(values: Sequence[float]) -> list[str]:
    """
    >>> hundredths([0.9125, 0.5])
    ['91', '50']
    """
    return [f"{100 * value:.0f}" for value in values]
