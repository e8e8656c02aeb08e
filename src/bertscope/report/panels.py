"""Panels: a figure repeated for each value of its `facet` column, as many side by side as there is room for.

The page arranges them anew for its own width (`arranged` in figures.js); here is how files and notebooks have them.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertscope.report.drawing import Drawing

COLUMN, GAP = 780, 20  # pixels: the width of the page's column, and what is free between panels
LABEL, TITLE = 6.5, 30  # pixels: a letter beside an axis, and its title
TOKEN = 48  # pixels: a map's tokens beside it; the theme cuts longer ones


def panels(drawing: Drawing, one: Any) -> Any:
    """The chart `one` as a row or a grid of panels with their headings, in the order of the facet's values."""
    import altair as alt

    column = drawing.figure.facet
    names = drawing.values(column) if column else []
    if column is None or not names:
        return one
    kind = drawing.label(column) + " " if drawing.numeric(column) else ""
    header = alt.Header(labelExpr=f"split({json.dumps(kind)} + (datum.label), ' · ')", labelLimit=one.width)
    facet = alt.Facet(field=drawing.fields[column], type="nominal", sort=names, title=None, header=header)
    beside, around = _margins(drawing)
    columns = _columns(len(names), (COLUMN - beside + GAP) / (one.width + around + GAP))
    whole = one.facet(facet=facet, columns=columns).transform_filter(drawing.has(column))
    # Each panel has its own axis below: the page may put them under each other, or leave the last row's end free.
    whole = whole.resolve_axis(x="independent")
    return whole.properties(spacing=GAP, usermeta={"beside": beside, "around": around})


def _columns(count: int, fitting: float) -> int:
    """So many that the rows are as few as they can be, and about equally long."""
    rows = math.ceil(count / max(1, math.floor(fitting)))
    return math.ceil(count / rows)


def _margins(drawing: Drawing) -> tuple[int, int]:
    """What axes take of the width: once for all panels, and for each."""
    figure = drawing.figure
    if figure.kind == "trees":
        return 0, 0
    if figure.kind == "maps":
        return 0, TOKEN if figure.token else 0
    labels = [""] if drawing.numeric(figure.y) else drawing.values(figure.y)
    return TITLE + min(150, math.ceil(LABEL * max([5, *(len(str(label)) for label in labels)]))), 0
