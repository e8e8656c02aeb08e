"""An answer's data as the page holds it: every table once, from which the browser draws figures, prints rows and
writes CSV; and the figures, without their rows."""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from bertscope.core.figure import Figure
from bertscope.core.result import Result
from bertscope.report.charts import draw
from bertscope.report.values import Plain, decimals, plain

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

ROWS = "rows"
"""What a chart's data are called that the page takes from the table."""


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element: no text in it can end the element."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def pack(value: Any) -> str:
    """JSON as gzip in base64: a table of numbers shrinks to a third, one of words to a tenth."""
    return b64encode(gzip.compress(script_json(value).encode(), mtime=0)).decode()


def table(frame: pd.DataFrame) -> dict[str, Any]:
    """A table by columns: their names, how they are written (decimals; None: as words) and their cells."""
    cells = [_cells(frame[column]) for column in frame.columns]
    numeric = [_numeric(column) for column in cells]
    return {
        "columns": [str(column) for column in frame.columns],
        "decimals": [
            decimals(column) if is_number else None for column, is_number in zip(cells, numeric, strict=True)
        ],
        "cells": [[_finite(cell) for cell in column] for column in cells],
    }


def figure(result: Result, drawn: Figure) -> dict[str, Any]:
    """A figure's chart for the page, which brings the theme's config, and the rows of its table that it draws."""
    import altair as alt

    chart = without_rows(draw(drawn, result.tables[drawn.table], data=alt.NamedData(ROWS)))
    return {"spec": chart, "table": drawn.table, "where": where(drawn)}


def without_rows(chart: Any) -> dict[str, Any]:
    """A chart's description for the page."""
    # Unchecked: checking against Vega-Lite's schema is a third of the work, and the tests' charts are checked.
    described: dict[str, Any] = chart.to_dict(validate=False)
    del described["$schema"], described["config"]
    described.pop("datasets", None)
    return described


def where(drawn: Figure) -> dict[str, Plain]:
    """Which rows of its table a figure draws."""
    return {column: plain(value) for column, value in drawn.where.items()}


def maps(array: np.ndarray) -> list[list[int]]:
    """Small square pictures [map, row, column], each from left to right and down."""
    return [picture.ravel().tolist() for picture in array]


def _cells(column: pd.Series) -> list[Plain]:
    return [plain(value) for value in column.tolist()]


def _numeric(cells: list[Plain]) -> bool:
    kinds = {type(cell) for cell in cells if cell is not None}
    return bool(kinds) and kinds <= {int, float}


def _finite(cell: Plain) -> Plain:
    """JSON has no infinity: the page reads these words, in a column of numbers, as one."""
    if isinstance(cell, float) and math.isinf(cell):
        return "Infinity" if cell > 0 else "-Infinity"
    return cell
