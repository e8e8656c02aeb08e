"""Trees over sentences: words in a line, an arc from each to its head, one tree above the words and another below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError
from bertscope.report.drawing import Drawing, finite

if TYPE_CHECKING:
    import pandas as pd

LETTER, GAP, SIZE = 6.2, 12, 11.5  # pixels: a letter's width, what is free between words, their size
UPRIGHT = 13  # pixels: a word that is turned to stand upright
WIDEST, HIGHEST, STEM = 720, 64, 26  # pixels: the sentence, the longest arc, the root's stem
CURVE = 24  # straight pieces of an arc
_PATTERNS = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]  # pixels drawn and left out


def trees(drawing: Drawing) -> Any:
    """Each sentence's words with its arcs; words are turned upright where a sentence has no room for them."""
    import altair as alt

    figure = drawing.figure
    if figure.token is None or figure.side is None:
        raise UserError(
            f"figure {figure.title!r}: trees need a token column (the words) and a side column (the tree)"
        )
    sentences = [rows for _, rows in _sentences(drawing)]
    words = [str(finite(word)) for word in drawing.table[figure.token]]
    wide = max((sum(_widths(drawing, rows).values()) for rows in sentences), default=0)
    upright = wide > WIDEST
    if upright:
        wide = UPRIGHT * max((rows[figure.x].nunique() for rows in sentences), default=0)
    band = LETTER * max(map(len, words), default=0) / 2 + 3 if upright else SIZE
    rows = [row for sentence in sentences for row in _rows(drawing, sentence, upright)]
    longest = max((row["span"] for row in rows if "span" in row), default=1)
    half = band + HIGHEST
    x = alt.X(field="x", type="quantitative", axis=None, scale=alt.Scale(domain=[0, wide or 1], nice=False))
    y = alt.Y(field="y", type="quantitative", axis=None, scale=alt.Scale(domain=[-half, half], nice=False))
    layers = [
        *_arcs(drawing, x, y, band, longest), *_stems(drawing, x, y, band), *_names(drawing),
        _words(drawing, x, wide, upright),
    ]  # fmt: skip
    return alt.layer(*layers, data=alt.Data(values=rows)).properties(width=min(WIDEST, wide) or 1, height=2 * half)


def _sentences(drawing: Drawing) -> Iterator[tuple[Any, pd.DataFrame]]:
    facet, table = drawing.figure.facet, drawing.table.dropna(subset=[drawing.figure.x])
    return iter([(None, table)]) if facet is None else iter(table.groupby(facet, sort=False, observed=True))


def _widths(drawing: Drawing, rows: pd.DataFrame) -> dict[Any, float]:
    """The room that the word at each place takes, in pixels."""
    figure = drawing.figure
    words = rows.drop_duplicates(figure.x).sort_values(figure.x)
    return {
        place: LETTER * len(str(finite(word))) + GAP
        for place, word in zip(words[figure.x], words[figure.token], strict=True)
    }


def _rows(drawing: Drawing, rows: pd.DataFrame, upright: bool) -> Iterator[dict[str, Any]]:
    """What Vega draws of one sentence: a row per word, and per arc or stem."""
    figure, centre, start = drawing.figure, {}, 0.0
    for place, width in _widths(drawing, rows).items():
        width = UPRIGHT if upright else width
        centre[place], start = start + width / 2, start + width
    first = drawing.values(figure.side)[:1]  # type: ignore[arg-type]
    order = {place: number for number, place in enumerate(centre)}
    for place, word in rows.drop_duplicates(figure.x)[[figure.x, figure.token]].itertuples(index=False):
        panel = {} if figure.facet is None else {drawing.fields[figure.facet]: finite(rows[figure.facet].iloc[0])}
        yield panel | {"word": str(finite(word)), "x": centre[place]}
    for number, (_, row) in enumerate(rows.iterrows()):
        place, head = row[figure.x], finite(row[figure.y])
        if head is None or (head != 0 and head not in centre):
            continue
        known = {field: finite(row[column]) for column, field in drawing.fields.items()}
        known |= {"edge": number, "x": centre[place], "up": 1 if [finite(row[figure.side])] == first else -1}
        yield known | ({} if head == 0 else {"to": centre[head], "span": abs(order[place] - order[head])})


def _arcs(drawing: Drawing, x: Any, y: Any, band: float, longest: int) -> list[Any]:
    """Half ellipses, the higher the more words they pass over."""
    import altair as alt

    edge = [alt.Detail(field="edge", type="nominal"), alt.Detail(field="up", type="nominal")]
    arcs = alt.Chart().mark_line(style="series", strokeWidth=1.6, strokeCap="round")
    arcs = arcs.encode(
        x=x, y=y, detail=edge, order=alt.Order(field="t", type="quantitative"), tooltip=drawing.tooltip(),
        **_series(drawing, dashed=True),
    )  # fmt: skip
    turn = f"PI * datum.t / {CURVE}"
    height = f"{HIGHEST} * sqrt(datum.span / {longest})"
    arcs = arcs.transform_filter("isValid(datum.span)").transform_calculate(t=f"sequence({CURVE + 1})")
    arcs = arcs.transform_flatten(["t"]).transform_calculate(
        y=f"datum.up * ({band} + {height} * sin({turn}))",
        x=f"(datum.x + datum.to) / 2 + (datum.x - datum.to) / 2 * cos({turn})",
    )
    return [arcs]


def _stems(drawing: Drawing, x: Any, y: Any, band: float) -> list[Any]:
    """The root's: a line that leads away from the words, and a dot."""
    import altair as alt

    def root(chart: Any) -> Any:
        chart = chart.transform_filter("isValid(datum.up) && !isValid(datum.span)")
        return chart.transform_calculate(y=f"datum.up * {band + STEM}", foot=f"datum.up * {band}")

    shown = {"x": x, "y": y, "tooltip": drawing.tooltip(), **_series(drawing)}
    lines = alt.Chart().mark_rule(style="series", strokeWidth=1.6).encode(y2=alt.Y2(field="foot"), **shown)
    dots = alt.Chart().mark_point(style="series", filled=True, size=30, opacity=1, shape="circle").encode(**shown)
    return [root(lines), root(dots)]


def _names(drawing: Drawing) -> list[Any]:
    """Which tree is above, which below."""
    import altair as alt

    both = zip(drawing.values(str(drawing.figure.side)), ((0, "top"), ("height", "bottom")), strict=False)
    once = alt.Chart(alt.Data(values=[{}]))
    return [
        once.mark_text(style="reference-label", text=str(name), align="left", baseline=side)
        .encode(x=alt.value(0), y=alt.value(edge))
        for name, (edge, side) in both
    ]  # fmt: skip


def _words(drawing: Drawing, x: Any, wide: float, upright: bool) -> Any:
    """The sentence between its trees; the letters shrink with the room that a narrow page has for them."""
    import altair as alt

    room = "width" if drawing.figure.facet is None else "child_width"
    fitted = alt.ExprRef(f"clamp({SIZE} * {room} / {min(WIDEST, wide) or 1}, 5, {SIZE})")
    words = alt.Chart().mark_text(style="word", fontSize=fitted, angle=270 if upright else 0, baseline="middle")
    words = words.transform_filter("isValid(datum.word)")
    return words.encode(x=x, y=alt.YDatum(0), text=alt.Text(field="word", type="nominal"))


def _series(drawing: Drawing, *, dashed: bool = False) -> dict[str, Any]:
    """A colour for each series, and for arcs a pattern beside it, for those who see or print no colour."""
    import altair as alt

    column = drawing.figure.color
    if column is None:
        return {}
    names = drawing.values(column)
    about: dict[str, Any] = {
        "field": drawing.fields[column],
        "type": "nominal",
        "title": drawing.label(column) or None,
    }
    legend = alt.Legend(symbolType="stroke", symbolSize=300, symbolOpacity=1, symbolStrokeWidth=2)
    colour = {"color": alt.Color(**about, scale=alt.Scale(domain=names), legend=legend)}
    if not dashed:
        return colour
    patterns = [_PATTERNS[place % len(_PATTERNS)] for place in range(len(names))]
    scale = alt.Scale(domain=names, range=patterns)
    return colour | {"strokeDash": alt.StrokeDash(**about, scale=scale, legend=legend)}
