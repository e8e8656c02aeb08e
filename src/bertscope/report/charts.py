"""Figures drawn: a figure description and its table become an Altair chart, one small function per kind.

Colours come from the theme, never from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.figure import Figure
from bertscope.core.files import explained
from bertscope.core.tinted import KIND, Tinted
from bertscope.report import theme
from bertscope.report.drawing import Drawing
from bertscope.report.maps import maps
from bertscope.report.offline import offline
from bertscope.report.panels import LABEL, panels
from bertscope.report.reference_lines import level_rules, upright_rules
from bertscope.report.stepped import fixed, shown, slider, trail, words
from bertscope.report.trees import trees
from bertscope.report.values import decimals

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

FORMATS = ("svg", "png", "pdf")
HTML = "html"
"""What texts with coloured words are written as."""
CELL, ROW, BAR, WIDE, TALL = 34, 30, 22, 640, 280  # pixels
SMALL_CELL, PANEL, LOW, STEPPED = 18, 216, 172, 340  # the same in panels; points with words need more room
_LETTERS = 5  # that fit under a cell of a heat map


def chart(figure: Figure, table: pd.DataFrame) -> alt.TopLevelMixin | Tinted:
    """The figure as it stands alone, with its title, in the light theme: for notebooks and files; texts are HTML. It
    needs no network to be drawn."""
    if figure.kind == KIND:
        return Tinted(figure, table)
    # Where none of these fonts is, an SVG is drawn in one that may be wider than the one that was measured.
    padding = {"left": 28, "right": 12, "top": 6, "bottom": 6}
    config = theme.config() | {"font": theme.PICTURE_FONT}
    whole = draw(figure, table).properties(title=figure.title, padding=padding).configure(**config)
    return offline(whole)


def pictures(figure: Figure, table: pd.DataFrame, formats: Iterable[str]) -> dict[str, bytes]:
    """The figure as files of these formats (svg, png, pdf). It is laid out once: the others are made of the SVG.
    Texts are one file of HTML, whatever is asked for."""
    import vl_convert

    drawn = chart(figure, table)
    if isinstance(drawn, Tinted):
        return {HTML: drawn.page.encode()}
    svg = vl_convert.vegalite_to_svg(drawn.to_dict())
    make: dict[str, Callable[[], bytes]] = {
        "svg": svg.encode,
        "png": lambda: vl_convert.svg_to_png(svg, scale=2),
        "pdf": lambda: vl_convert.svg_to_pdf(svg),
    }
    return {ending: make[ending]() for ending in formats}


def save_figure(figure: Figure, table: pd.DataFrame, path: str | Path) -> Path:
    """Write the figure to `path`, as its ending says: .svg, .png or .pdf; one of texts as .html."""
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    if figure.kind == KIND and ending != HTML:
        raise UserError(f"cannot write {path}: a figure of texts is saved as .html")
    if figure.kind != KIND and ending not in FORMATS:
        raise UserError(f"cannot write {path}: a figure is saved as .svg, .png or .pdf")
    picture = pictures(figure, table, [ending])[ending]
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
    return path


def draw(figure: Figure, table: pd.DataFrame, *, data: Any = None) -> Any:
    """The figure without title and colours, for a page that brings its own; and rows, if `data` names them."""
    if figure.kind not in _KINDS:
        known = did_you_mean(figure.kind, _KINDS)
        raise UserError(f"figure {figure.title!r}: no way to draw the kind {figure.kind!r}; {known}")
    # Altair takes the description as the picture's accessible name.
    drawing = Drawing(figure, table, data)
    whole = panels(drawing, _KINDS[figure.kind](drawing)).properties(description=figure.title)
    return whole if figure.step is None else whole.add_params(slider(drawing))


def _heatmap(drawing: Drawing) -> Any:
    """A grid, layer 1 at the top as papers print it; a dot in the cells that the figure marks."""
    import altair as alt

    figure, fields = drawing.figure, drawing.fields
    if figure.value is None:
        raise UserError(f"figure {figure.title!r}: a heat map needs a value column for its colour")
    cell, least, letters = _columns(drawing)
    x, y = alt.X(**drawing.axis(figure.x, letters=letters)), alt.Y(**drawing.axis(figure.y))
    color = alt.Color(
        field=fields[figure.value], type="quantitative", title=drawing.label(figure.value),
        **_colours(drawing.extent(figure.value), figure.middle),
    )  # fmt: skip
    cells = alt.Chart().mark_rect().encode(x=x, y=y, color=color, tooltip=drawing.tooltip())
    # A cross, not a colour: no shade of grey is far from every shade of the scale.
    missing = alt.Chart().mark_text(style="missing", text="×").encode(x=x, y=y, tooltip=drawing.tooltip())
    known = drawing.has(figure.value)
    layers = [cells.transform_filter(known), missing.transform_filter(f"!({known})")]
    if figure.mark is not None and drawing.table[figure.mark].any():  # a legend of nothing has no end
        mark = alt.Shape(
            field="mark",
            type="nominal",
            scale=alt.Scale(range=["circle"]),
            legend=alt.Legend(title=None, labelLimit=2 * WIDE / 3),
        )
        dots = alt.Chart().mark_point(style="excludes", filled=True, size=22, opacity=1).encode(x=x, y=y, shape=mark)
        dots = dots.transform_calculate(mark=json.dumps(drawing.label(figure.mark)))
        layers.append(dots.encode(tooltip=drawing.tooltip()).transform_filter(f"datum.{fields[figure.mark]}"))
    across, down = (max(1, len(drawing.values(axis))) for axis in (figure.x, figure.y))
    high = 0.8 * (CELL if figure.facet is None else SMALL_CELL)
    return alt.layer(*layers, data=drawing.data).properties(width=max(least, cell * across), height=high * down)


def _columns(drawing: Drawing) -> tuple[float, float, int]:
    """How wide a heat map's cells and, at least, the whole are, and how many letters fit under a cell: few columns
    with long names, such as labels, are wide enough to have these written straight."""
    figure = drawing.figure
    if figure.facet is not None:  # a panel's heading needs room
        return SMALL_CELL, PANEL / 2, _LETTERS
    names = [] if drawing.numeric(figure.x) else drawing.values(figure.x)
    longest = max((len(str(name)) for name in names), default=0)
    wide = LABEL * (longest + 2)
    return (wide, 0, longest) if wide > CELL and wide * len(names) <= WIDE else (CELL, 0, _LETTERS)


def _colours(values: list[float], middle: float | None) -> dict[str, Any]:
    """The theme's sequential colours; or its diverging ones, equally strong on both sides of the middle."""
    import altair as alt

    if middle is None:
        ends, scale = [min(values, default=0), max(values, default=0)], alt.Scale(zero=False, interpolate="rgb")
        if ends[0] == ends[-1]:  # all alike: Vega would give them the middle colour, also where nothing is anywhere
            ends = [min(ends[0], 0), max(ends[0], 0) or 1]
            scale = alt.Scale(domain=ends, interpolate="rgb")
    else:
        reach = max((abs(value - middle) for value in values), default=0) or 1
        ends = [middle - reach, middle, middle + reach]
        scale = alt.Scale(domain=[ends[0], ends[-1]], domainMid=middle, interpolate="rgb")
    digits = decimals([float(end) for end in ends])
    return {"scale": scale, "legend": alt.Legend(gradientLength=180, values=ends, format=f".{digits}~f")}


def _lines(drawing: Drawing) -> Any:
    import altair as alt

    figure = drawing.figure
    about = drawing.measure(figure.x, log=figure.log_x) if drawing.numeric(figure.x) else drawing.axis(figure.x)
    x, y = alt.X(**about), alt.Y(**drawing.measure(figure.y, log=figure.log_y))
    colour = drawing.colour()
    layers = level_rules(drawing)  # under the data, never over it
    if ends := drawing.interval():
        low, high = (drawing.fields[end] for end in ends)
        band = alt.Chart().mark_area(opacity=0.16, style="series").transform_filter(drawing.has(*ends))
        layers.append(band.encode(x=x, y=alt.Y(field=low, type="quantitative"), y2=alt.Y2(field=high), **colour))
    layers.append(alt.Chart().mark_line(style="series").encode(x=x, y=y, **colour))
    points = alt.Chart().mark_point(filled=True, size=50, opacity=1, style="series")
    layers.append(points.encode(x=x, y=y, tooltip=drawing.tooltip(), **drawing.series()))
    height = TALL if figure.facet is None else LOW
    return alt.layer(*layers, data=drawing.data).properties(width=_width(figure), height=height)


def _intervals(drawing: Drawing) -> Any:
    """A dot per row and a bar for its interval; rows that share a label and differ in colour lie side by side."""
    import altair as alt

    figure = drawing.figure
    x = drawing.measure(figure.x, log=figure.log_x)
    y = alt.Y(**drawing.axis(figure.y, title=_title(drawing, figure.y), grid=True))
    rows = max(1.0, len(drawing.values(figure.y)))
    place: dict[str, Any] = {"x": alt.X(**x), "y": y}
    if figure.color and drawing.table.duplicated(drawing.rows()).any():
        place["yOffset"] = alt.YOffset(field=drawing.fields[figure.color], sort=drawing.values(figure.color))
        rows *= 1 + 0.35 * (len(drawing.values(figure.color)) - 1)
    layers = upright_rules(figure, _centre(drawing.extent(figure.x, figure.low, figure.high)))
    if ends := drawing.interval():
        low, high = (drawing.fields[end] for end in ends)
        across = {"x": alt.X(**x | {"field": low}), "x2": alt.X2(field=high)}
        bars = alt.Chart().mark_rule(strokeWidth=2, style="series").transform_filter(drawing.has(*ends))
        layers.append(bars.encode(**place | across, **drawing.colour()))
    dots = alt.Chart().mark_point(filled=True, size=75, opacity=1, style="series")
    layers.append(dots.encode(**place, tooltip=drawing.tooltip(), **drawing.series()))
    return alt.layer(*layers, data=drawing.data).properties(width=_width(figure), height=ROW * rows)


def _bars(drawing: Drawing) -> Any:
    """Bars from left to right, the series of each one after the other in the order of the legend."""
    import altair as alt

    figure, fields = drawing.figure, drawing.fields
    x = drawing.measure(figure.x) | {"scale": _from_zero(drawing), "stack": "zero"}
    y = drawing.axis(figure.y, title=_title(drawing, figure.y)) | {
        "scale": alt.Scale(paddingInner=0.25, paddingOuter=0.1)
    }
    bars = alt.Chart().mark_bar(style="series").encode(x=alt.X(**x), y=alt.Y(**y), tooltip=drawing.tooltip())
    if figure.color is not None:
        place = f"indexof({json.dumps(drawing.values(figure.color))}, datum.{fields[figure.color]})"
        series = drawing.colour(range="ordinal") | {"order": alt.Order("place:Q")}
        bars = bars.transform_calculate(place=place).encode(**series)
    bars = bars.transform_filter(drawing.has(figure.x, figure.y))
    rows = max(1, len(drawing.values(figure.y)))
    return alt.layer(bars, data=drawing.data).properties(width=_width(figure), height=BAR * rows)


def _title(drawing: Drawing, column: str) -> str | None:
    """Of rows: words mostly say what they are, and get a title only where the figure asks for one; numbers don't."""
    return drawing.label(column) if drawing.numeric(column) else drawing.figure.labels.get(column)


def _from_zero(drawing: Drawing) -> alt.Scale:
    """From 0 to a round number; to 1 where the bars are shares, which rounding may make a little more or less."""
    import altair as alt

    totals = drawing.table.groupby(drawing.rows(), observed=True)[drawing.figure.x].sum()
    shares = drawing.numeric(drawing.figure.x) and abs(totals.max() - 1) < 0.02
    return alt.Scale(domain=[0, 1]) if shares else alt.Scale(zero=True, nice=True)


def _points(drawing: Drawing) -> Any:
    """A scatter; with steps, those of one step, on scales that hold all of them."""
    import altair as alt

    figure = drawing.figure
    across, up = drawing.measure(figure.x, log=figure.log_x), drawing.measure(figure.y, log=figure.log_y)
    if figure.step is not None:
        across, up = fixed(drawing, figure.x, across), fixed(drawing, figure.y, up)
    x, y = alt.X(**across), alt.Y(**up)
    layers = level_rules(drawing)
    layers += trail(drawing, x, y)
    if figure.mark is not None:
        joined = alt.Chart().mark_line(style="joined").encode(x=x, y=y)
        layers.append(joined.transform_filter(f"datum.{drawing.fields[figure.mark]}"))
    dots = alt.Chart().mark_point(filled=True, size=60, opacity=0.85, style="series")
    marks = [dots.encode(x=x, y=y, tooltip=drawing.tooltip(), **drawing.series()), *words(drawing, x, y)]
    layers += [mark.transform_filter(f"{drawing.has(figure.x, figure.y)} && {shown(drawing)}") for mark in marks]
    return alt.layer(*layers, data=drawing.data).properties(width=_width(figure), height=TALL * 1.5)


def _width(figure: Figure) -> int:
    if figure.facet is None:
        return WIDE
    return PANEL if figure.step is None else STEPPED


def _centre(values: list[float]) -> float:
    return (min(values) + max(values)) / 2 if values else 0


_KINDS: dict[str, Callable[[Drawing], Any]] = {
    "heatmap": _heatmap, "lines": _lines, "intervals": _intervals, "bars": _bars, "points": _points, "maps": maps,
    "trees": trees,
}  # fmt: skip
