"""Values as a reader sees them: three or four significant digits, one number of decimals per column."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

MINUS, NOTHING = "−", "–"

Plain = str | int | float | bool | None


def plain(value: Any) -> Plain:
    """What JSON can hold of a table's cell; None where there is no value (None, NaN, NaT, pandas' NA)."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:  # a NumPy scalar
        value = value.item()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if value is None or isinstance(value, (str, int)):
        return value
    return None if str(value) in ("<NA>", "NaT") else str(value)


def texts(values: Iterable[Any]) -> list[str]:
    """A column's cells, with the same number of decimals throughout so that they can be compared by eye.

    >>> texts([0.91234, -0.5, None, 0.00001])
    ['0.912', '−0.500', '–', '1e−05']
    """
    cells = [plain(value) for value in values]
    digits = decimals(cells)
    return [_text(cell, digits) for cell in cells]


def with_ends(value: Any, low: Any, high: Any, *others: Any) -> list[str]:
    """A value, the ends of its interval, and what else stands beside it: an end that the decimals round away is 0.

    >>> with_ends(0.529, 0.000005, 0.704)
    ['0.529', '0.000', '0.704']
    """
    cells = [plain(each) for each in (value, low, high, *others)]
    digits = decimals(cells)
    cells[1:3] = [round(end, digits) + 0.0 if isinstance(end, float) else end for end in cells[1:3]]  # + 0.0: no -0
    return [_text(cell, digits) for cell in cells]


def decimals(cells: Iterable[Plain]) -> int:
    """How many decimals a column's numbers are written with."""
    floats = [abs(cell) for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    largest = max(floats, default=0.0)
    if all(size == int(size) for size in floats):  # none, or whole numbers that a missing value made floats
        return 0
    magnitude = math.floor(math.log10(largest))
    return max(0, 3 - magnitude) if magnitude >= 0 else 2 - magnitude


def _text(cell: Plain, decimals: int) -> str:
    if cell is None:
        return NOTHING
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return str(cell).replace("-", MINUS) if isinstance(cell, int) else cell
    if math.isinf(cell):
        return "∞" if cell > 0 else f"{MINUS}∞"
    fixed = f"{cell:.{decimals}f}"
    # An exponent for a value that the column's decimals would round away, or that needs too many of them.
    lost = cell != 0 and float(fixed) == 0
    long = f"{cell:,.0f}" if abs(cell) >= 10_000 else fixed
    return (f"{cell:.2g}" if lost or decimals > 6 else long).replace("-", MINUS)
