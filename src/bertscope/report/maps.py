"""Contact sheets: many small square matrices, such as attention maps, each drawn as one picture.

A rectangle per cell would be 20,000 shapes and megabytes for a sheet of twenty maps; a picture is one shape and a few
hundred bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError
from bertscope.report import png
from bertscope.report.drawing import Drawing, finite
from bertscope.report.values import Plain

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

SIDE, LETTER = 120, 8.5  # pixels: a map's side, and what a token beside it takes of that side
MOST_TOKENS = 24


@dataclass(frozen=True)
class _Map:
    facts: dict[str, Plain]
    """The columns in which all rows of the map are alike, such as its name."""
    values: np.ndarray
    tokens: list[str]


def maps(drawing: Drawing) -> Any:
    """A picture for each map, all in one scale of colours; tokens along its sides where they are few."""
    import altair as alt

    figure = drawing.figure
    if figure.value is None:
        raise UserError(f"figure {figure.title!r}: maps need a value column for their colour")
    sheet = [each for each in _sheet(drawing) if each.values.size]
    longest = max((len(each.tokens) for each in sheet), default=0)
    named = figure.token is not None and longest <= MOST_TOKENS
    top = max(drawing.extent(figure.value), default=0)
    top = top if top > 0 else 1.0

    facts = [column for column in drawing.fields if all(column in each.facts for each in sheet)]
    rows = [_row(drawing, each, facts) | _picture(each.values, top) for each in sheet]
    layers = _pictures(drawing, facts, top)
    if named:
        panel = [column for column in facts if column == figure.facet]
        rows += [_row(drawing, each, panel) | place for each in sheet for place in _places(each.tokens)]
        layers += _words()
    side = max(SIDE, LETTER * longest) if named else SIDE
    return alt.layer(*layers, data=alt.Data(values=rows)).properties(width=side, height=side)


def _sheet(drawing: Drawing) -> Iterator[_Map]:
    figure, table = drawing.figure, drawing.table
    if figure.facet is None:
        yield _map(drawing, table)
    else:
        for _, rows in table.groupby(figure.facet, sort=False, observed=True):
            yield _map(drawing, rows)


def _map(drawing: Drawing, rows: pd.DataFrame) -> _Map:
    """The rows of one map as a matrix; a cell that the table lacks is 0."""
    import numpy as np
    import pandas as pd

    figure = drawing.figure
    both = pd.concat([rows[figure.y], rows[figure.x]])
    places, names = pd.factorize(both, sort=drawing.numeric(figure.x) and drawing.numeric(figure.y))
    down, across = places[: len(rows)], places[len(rows) :]
    placed = (down >= 0) & (across >= 0)
    cells = (down * len(names) + across)[placed]
    if len(np.unique(cells)) < len(cells):
        raise UserError(
            f"figure {figure.title!r}: a map has several values for the same {figure.y} and {figure.x}; "
            "name the column that separates the maps as its facet"
        )
    values = np.zeros(len(names) ** 2)
    values[cells] = pd.to_numeric(rows[figure.value], errors="coerce").to_numpy(float, na_value=0.0)[placed]
    tokens = {} if figure.token is None else dict(zip(down, rows[figure.token], strict=True))
    return _Map(
        facts=dict(_facts(rows.drop(columns=[figure.x, figure.y, figure.value]))),
        values=values.reshape(len(names), len(names)),
        tokens=[str(finite(tokens.get(place)) or "") for place in range(len(names))],
    )


def _facts(rows: pd.DataFrame) -> Iterator[tuple[str, Plain]]:
    for column in rows:
        values = {finite(value) for value in rows[column]}
        if len(values) == 1:
            yield str(column), values.pop()


def _row(drawing: Drawing, one: _Map, columns: list[str]) -> dict[str, Any]:
    return {drawing.fields[column]: one.facts[column] for column in columns}


def _picture(values: np.ndarray, top: float) -> dict[str, str]:
    import numpy as np

    levels = np.round((png.LEVELS - 1) * np.sqrt(np.clip(values / top, 0, 1)))
    head, body = png.head_and_body(levels)
    return {"head": head, "body": body}


def _places(tokens: list[str]) -> Iterator[dict[str, Any]]:
    """Where a map's tokens stand along its sides, from 0 to 1."""
    for place, token in enumerate(tokens):
        yield {"token": token, "at": (place + 0.5) / len(tokens)}


def _pictures(drawing: Drawing, facts: list[str], top: float) -> list[Any]:
    """Each map's picture, on a ground in the colour of 0 that also gives the legend."""
    import altair as alt

    figure = drawing.figure
    whole = {
        "x": alt.XDatum(0, scale=alt.Scale(domain=[0, 1]), axis=None), "x2": alt.X2Datum(1),
        "y": alt.YDatum(0, scale=alt.Scale(domain=[0, 1], reverse=True), axis=None), "y2": alt.Y2Datum(1),
    }  # fmt: skip
    # By the square root: attention spread over thirty tokens is seen as well as attention to one.
    scale = alt.Scale(type="sqrt", domain=[0, top], range="heatmap", interpolate="rgb")
    legend = alt.Legend(gradientLength=180, values=[0, top / 16, top / 4, top], format=".2~r")
    title = drawing.label(str(figure.value))
    nothing = alt.Color(field="nothing", type="quantitative", title=title, scale=scale, legend=legend)
    # Vega joins the picture's pieces with the palette of the theme it draws in.
    url = f"'{png.START}' + datum.head + map_palette + datum.body"
    about = {"url": alt.Url(field="url", type="nominal"), "tooltip": drawing.tooltip(facts)}
    if figure.facet is not None:
        about["description"] = alt.Description(field=drawing.fields[figure.facet], type="nominal")
    ground = alt.Chart().mark_rect(aria=False, strokeWidth=0).encode(color=nothing, **whole)
    ground = ground.transform_calculate(nothing="0")
    picture = alt.Chart().mark_image(aspect=False, smooth=False).encode(**about, **whole).transform_calculate(url=url)
    return [layer.transform_filter("isValid(datum.body)") for layer in (ground, picture)]


def _words() -> list[Any]:
    """The tokens, left of the map and under it."""
    import altair as alt

    words = alt.Chart().encode(text=alt.Text(field="token", type="nominal")).transform_filter("isValid(datum.token)")
    left = words.mark_text(style="token", aria=False).encode(x=alt.value(0), y=alt.Y(field="at", type="quantitative"))
    under = words.mark_text(style="token", aria=False, angle=270)
    return [left, under.encode(x=alt.X(field="at", type="quantitative"), y=alt.value("height"))]
