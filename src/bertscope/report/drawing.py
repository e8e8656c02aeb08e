"""A figure's rows and columns in the words of Altair.

Columns reach Vega under names of our own (`c0`, `c1`, ...): in its field names and expressions a dot, a bracket or a
quote has a meaning, and a column may be called anything.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bertscope.core.figure import Figure
from bertscope.report.values import Plain, plain

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

_DIGITS = ".4~r"  # d3's four significant digits, without an exponent
_ORDERED = "layer"  # of the columns that separate series, the one that is no mere name
_FEW = 13  # numbers that are each written along an axis: the layers of BERT, with the embeddings
_PHONE = 42  # letters of a legend that fit side by side on a narrow screen


class Drawing:
    def __init__(self, figure: Figure, table: pd.DataFrame, data: Any = None) -> None:
        table = chosen(figure, table)
        self.figure, self.table = figure, table
        self.fields = {column: f"c{i}" for i, column in enumerate(table.columns)}
        self._data = data

    @cached_property
    def data(self) -> Any:
        """The rows for Vega; or what was given in their place, where they come from elsewhere."""
        import altair as alt

        if self._data is not None:
            return self._data
        columns = [[finite(value) for value in self.table[column]] for column in self.fields]
        names = list(self.fields.values())
        return alt.Data(values=[dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])

    def values(self, column: str) -> list[Any]:
        """The column's distinct values: numbers and ordered categories in order, words as the table has them."""
        from pandas import CategoricalDtype

        found = list(dict.fromkeys(finite(value) for value in self.table[column]))
        known = [value for value in found if value is not None]
        if isinstance(kind := self.table[column].dtype, CategoricalDtype) and kind.ordered:
            return [value for value in map(finite, kind.categories) if value in known]
        return sorted(known) if self.numeric(column) else known

    def extent(self, *columns: str | None) -> list[float]:
        """Every finite number in those columns."""
        numbers = (finite(value) for column in columns if column for value in self.table[column])
        return [value for value in numbers if isinstance(value, (int, float))]

    def numeric(self, column: str) -> bool:
        from pandas.api.types import is_bool_dtype, is_numeric_dtype

        return is_numeric_dtype(self.table[column]) and not is_bool_dtype(self.table[column])

    def whole(self, column: str) -> bool:
        return self.numeric(column) and all(value == int(value) for value in self.extent(column))

    def label(self, column: str) -> str:
        return self.figure.labels.get(column, column)

    def axis(self, column: str, *, letters: int = 100, **more: Any) -> dict[str, Any]:
        """The keywords of a position channel that puts the column's values side by side, in their order.

        Words of more `letters` than that are written aslant, every one of them.
        """
        import altair as alt

        ticks: dict[str, Any] = {"labelAngle": 0, "labelOverlap": True, "labelLimit": 150}
        if not self.numeric(column) and max((len(str(value)) for value in self.values(column)), default=0) > letters:
            ticks |= {"labelAngle": -40, "labelAlign": "right", "labelOverlap": False}
        if self.numeric(column) and not self.whole(column):
            ticks["labelExpr"] = f"format(datum.value, '{_DIGITS}')"
        title = more.pop("title", self.label(column))
        return {"field": self.fields[column], "type": "ordinal", "sort": self.values(column), "title": title,
                "axis": alt.Axis(**ticks, **more)}  # fmt: skip

    def measure(self, column: str, *, log: bool = False) -> dict[str, Any]:
        """The keywords of a position channel with a scale of numbers."""
        import altair as alt

        # A logarithm has no place for 0, where many a curve begins; symlog has.
        above_zero = all(value > 0 for value in self.extent(column))
        logarithmic = alt.Scale(type="log" if above_zero else "symlog", nice=False)
        scale = logarithmic if log else alt.Scale(zero=False, nice=True)
        between_panels = column == self.figure.x and self.figure.facet is not None
        # No room between panels for what reaches out. The grid is asked for: a rule on the same scale would undo it.
        ticks: dict[str, Any] = {"tickCount": 6, "labelFlush": between_panels, "grid": True}
        if self._whole_along(column):
            ticks |= {"tickMinStep": 1, "format": "~s" if log else ",d"}
        if marks := self._marks(column, log):
            ticks |= {"values": marks, "tickCount": len(marks)}  # of more than it counts, Vega leaves out every other
        return {"field": self.fields[column], "type": "quantitative", "title": self.label(column),
                "scale": scale, "axis": alt.Axis(**ticks)}  # fmt: skip

    def _whole_along(self, column: str) -> bool:
        """Whether all that stands along the column's axis are whole numbers: ends of intervals and rules too."""
        figure = self.figure
        measured = figure.x if figure.kind in ("intervals", "bars") else figure.y
        beside = [*self.extent(figure.low, figure.high), *figure.rules.values()] if column == measured else []
        return self.whole(column) and all(value == int(value) for value in beside)

    def _marks(self, column: str, log: bool) -> list[float]:
        """What is to be written along the axis, where that isn't left to Vega: round numbers, each of few layers.

        Of layers, under lines alone: bars may be stacked beyond the largest value, and points lie anywhere.
        """
        if log:
            return marks if len(marks := round_numbers(self.extent(column))) > 1 else []
        along = self.figure.kind == "lines" and column == self.figure.x
        return values if along and self.whole(column) and len(values := self.values(column)) <= _FEW else []

    def tooltip(self, columns: Collection[str] | None = None) -> list[alt.Tooltip]:
        """What is shown of the cell or point under the mouse: all columns, if none are named."""
        import altair as alt

        return [
            alt.Tooltip(field=field, type="quantitative", title=self.label(column), format=_DIGITS)
            if self.numeric(column) and not self.whole(column)
            else alt.Tooltip(field=field, type="nominal", title=self.label(column))
            for column, field in self.fields.items()
            if columns is None or column in columns
        ]

    def series(self) -> dict[str, Any]:
        """Colour and shape for the column that separates the series: both, for those who see or print no colour.

        Layers have an order and get shades, which differ in lightness: shapes would only break it.
        """
        import altair as alt

        column = self.figure.color
        if column is None or column == _ORDERED:
            return self.colour()
        return self.colour() | {"shape": alt.Shape(**self._apart(column))}

    def colour(self, **scale: Any) -> dict[str, Any]:
        """The series' colour alone, for lines and bars, which have no shape."""
        import altair as alt

        column = self.figure.color
        if column == _ORDERED:
            scale = {"range": "ramp"}
        return {} if column is None else {"color": alt.Color(**self._apart(column, **scale))}

    def _apart(self, column: str, **scale: Any) -> dict[str, Any]:
        import altair as alt

        names = self.values(column)
        longest = max((len(str(name)) for name in names), default=1)
        # The domain is spelt out in colour and shape: Vega-Lite then sees one legend, not two.
        return {
            "field": self.fields[column], "type": "nominal", "title": self.label(column),
            "legend": alt.Legend(
                columns=max(1, min(len(names), _PHONE // (longest + 4))), symbolOpacity=1,
                offset=14 + (15 * len(self.figure.rules) if self.figure.kind == "intervals" else 0),
            ),
            "scale": alt.Scale(domain=names, **scale),
        }  # fmt: skip

    def has(self, *columns: str) -> str:
        """The expression for rows in which all those columns have a value."""
        return " && ".join(f"isValid(datum.{self.fields[column]})" for column in columns)

    def rows(self) -> list[str]:
        """The columns that say in which row of which panel a value stands."""
        return [column for column in (self.figure.y, self.figure.facet) if column is not None]

    def interval(self) -> tuple[str, str] | None:
        """The columns of the intervals, if a row has one."""
        low, high = self.figure.low, self.figure.high
        known = low is not None and high is not None and self.table[[low, high]].notna().all(axis=1).any()
        return (str(low), str(high)) if known else None


def round_numbers(values: list[float]) -> list[float]:
    """1, 2, 5, 10, 20 ... as far as the values reach; only 1, 10, 100 ... where those would be many."""
    if not values or (low := min(values)) <= 0:
        return []
    high = max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= _FEW / 3 else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def chosen(figure: Figure, table: pd.DataFrame) -> pd.DataFrame:
    """The rows that the figure draws."""
    for column, wanted in figure.where.items():
        table = table[table[column].isna() if wanted is None else table[column] == wanted]
    return table


def finite(value: Any) -> Plain:
    """What Vega can draw of a cell."""
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
