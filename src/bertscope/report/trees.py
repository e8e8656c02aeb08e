"""Trees over sentences: words in a line, an arc from each to its head, one tree above the words and another below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.core.errors import UserError
from bertscope.report.drawing import Drawing, finite

if TYPE_CHECKING:
    import pandas as pd

LETTER, GAP, SIZE = 6.2, 12, 11.5  # pixels: a letter's width, what is free between words, their size
LETTERS = 24  # the most of a word; what is longer is cut
UPRIGHT = 13  # pixels: a word that is turned to stand upright
WIDEST, HIGHEST, STEM = 720, 64, 26  # pixels: the sentence, the longest arc, the root's stem
CURVE = 24  # straight pieces of an arc
_PATTERNS = [[1, 0], [5, 3], [2, 2], [8, 3, 2, 3]]  # pixels drawn and left out


@dataclass(frozen=True)
class _Sentence:
    rows: pd.DataFrame
    """Of the table."""
    words: dict[Any, str]
    """Each place's, in order."""

    @property
    def lengths(self) -> list[float]:
        """The words' in pixels."""
        return [LETTER * min(len(word), LETTERS) for word in self.words.values()]

    def centres(self, *, upright: bool) -> dict[Any, float]:
        """Where the word at each place stands, in pixels."""
        found, start = {}, 0.0
        for place, length in zip(self.words, self.lengths, strict=True):
            width = UPRIGHT if upright else length + GAP
            found[place], start = start + width / 2, start + width
        return found

    def wide(self, *, upright: bool) -> float:
        return UPRIGHT * len(self.words) if upright else sum(self.lengths) + GAP * len(self.words)


def trees(drawing: Drawing) -> Any:
    """Each sentence's words with its arcs; words are turned upright where a sentence has no room for them."""
    import altair as alt

    figure = drawing.figure
    if figure.token is None or figure.side is None:
        raise UserError(f"figure {figure.title!r}: trees need a token column (words) and a side column (which tree)")
    sentences = list(_sentences(drawing))
    upright = any(each.wide(upright=False) > WIDEST for each in sentences)
    wide = max((each.wide(upright=upright) for each in sentences), default=0) or 1
    longest_word = max((length for each in sentences for length in each.lengths), default=0)
    band = longest_word / 2 + 4 if upright else SIZE  # from the middle of the words to where arcs begin
    half = band + HIGHEST
    rows = [row for each in sentences for row in _drawn(drawing, each, upright=upright)]
    x = alt.X(field="x", type="quantitative", axis=None, scale=alt.Scale(domain=[0, wide], nice=False))
    y = alt.Y(field="y", type="quantitative", axis=None, scale=alt.Scale(domain=[-half, half], nice=False))
    longest_arc = max((row["span"] for row in rows if "span" in row), default=1)
    layers = [
        _arcs(drawing, x, y, band, longest_arc), *_stems(drawing, x, y, band), *_names(drawing),
        _words(drawing, x, min(WIDEST, wide), upright=upright),
    ]  # fmt: skip
    return alt.layer(*layers, data=alt.Data(values=rows)).properties(width=min(WIDEST, wide), height=2 * half)


def _sentences(drawing: Drawing) -> Iterator[_Sentence]:
    figure = drawing.figure
    table = drawing.table.dropna(subset=[figure.x])
    groups = (
        [table]
        if figure.facet is None
        else [rows for _, rows in table.groupby(figure.facet, sort=False, observed=True)]
    )
    for rows in groups:
        placed = rows.drop_duplicates(figure.x).sort_values(figure.x)
        yield _Sentence(
            rows,
            {place: str(finite(word)) for place, word in zip(placed[figure.x], placed[figure.token], strict=True)},
        )


def _drawn(drawing: Drawing, sentence: _Sentence, *, upright: bool) -> Iterator[dict[str, Any]]:
    """What Vega draws of a sentence: a row per word, then one per arc or stem."""
    figure, fields = drawing.figure, drawing.fields
    centre = sentence.centres(upright=upright)
    order = {place: number for number, place in enumerate(centre)}
    above = drawing.values(str(figure.side))[:1]
    for place, word in sentence.words.items():
        panel = {} if figure.facet is None else {fields[figure.facet]: finite(sentence.rows[figure.facet].iloc[0])}
        yield panel | {"word": word, "x": centre[place]}
    columns = [[finite(value) for value in sentence.rows[column]] for column in fields]
    for number, values in enumerate(zip(*columns, strict=True)):
        row = dict(zip(fields, values, strict=True))
        place, governor = row[figure.x], row[figure.y]
        if governor is None or (governor != 0 and governor not in centre):
            continue
        known = {fields[column]: value for column, value in row.items()}
        known |= {"edge": number, "x": centre[place], "up": 1 if [row[str(figure.side)]] == above else -1}
        yield known | ({} if governor == 0 else {"to": centre[governor], "span": abs(order[place] - order[governor])})


def _arcs(drawing: Drawing, x: Any, y: Any, band: float, longest: int) -> Any:
    """Half ellipses, the higher the more words they pass over."""
    import altair as alt

    arcs = alt.Chart().mark_line(style="series", strokeWidth=1.6, strokeCap="round").encode(
        x=x, y=y, detail=alt.Detail(field="edge", type="nominal"), order=alt.Order(field="t", type="quantitative"),
        tooltip=drawing.tooltip(), **_series(drawing, dashed=True),
    )  # fmt: skip
    turn = f"PI * datum.t / {CURVE}"
    arcs = arcs.transform_filter("isValid(datum.span)").transform_calculate(t=f"sequence({CURVE + 1})")
    return arcs.transform_flatten(["t"]).transform_calculate(
        y=f"datum.up * ({band} + {HIGHEST} * sqrt(datum.span / {longest or 1}) * sin({turn}))",
        x=f"(datum.x + datum.to) / 2 + (datum.x - datum.to) / 2 * cos({turn})",
    )


def _stems(drawing: Drawing, x: Any, y: Any, band: float) -> list[Any]:
    """The root's: a line that leads away from the words, and a dot."""
    import altair as alt

    shown = {"x": x, "y": y, "tooltip": drawing.tooltip(), **_series(drawing)}
    lines = alt.Chart().mark_rule(style="series", strokeWidth=1.6).encode(y2=alt.Y2(field="foot"), **shown)
    dots = alt.Chart().mark_point(style="series", filled=True, size=30, opacity=1, shape="circle").encode(**shown)
    return [
        part.transform_filter("isValid(datum.up) && !isValid(datum.span)")
        .transform_calculate(y=f"datum.up * {band + STEM}", foot=f"datum.up * {band}")
        for part in (lines, dots)
    ]  # fmt: skip


def _names(drawing: Drawing) -> list[Any]:
    """Which tree is above, which below."""
    import altair as alt

    once = alt.Chart(alt.Data(values=[{}]))
    corners: list[tuple[Any, Any]] = [(0, "top"), ("height", "bottom")]
    return [
        once.mark_text(style="reference-label", text=str(name), align="left", baseline=baseline)
        .encode(x=alt.value(0), y=alt.value(edge))
        for name, (edge, baseline) in zip(drawing.values(str(drawing.figure.side)), corners, strict=False)
    ]  # fmt: skip


def _words(drawing: Drawing, x: Any, wide: float, *, upright: bool) -> Any:
    """The sentence between its trees; the letters shrink with the room that a narrow page has for them."""
    import altair as alt

    facet = drawing.figure.facet
    panel_width = "child_width" if facet is not None and drawing.values(facet) else "width"  # as Vega calls a panel's
    size = alt.ExprRef(f"clamp({SIZE} * {panel_width} / {wide}, 5, {SIZE})")
    words = alt.Chart().mark_text(
        style="tree-word", fontSize=size, angle=270 if upright else 0, baseline="middle", limit=LETTER * LETTERS,
    )  # fmt: skip
    words = words.encode(x=x, y=alt.YDatum(0), text=alt.Text(field="word", type="nominal"))
    return words.transform_filter("isValid(datum.word)")


def _series(drawing: Drawing, *, dashed: bool = False) -> dict[str, Any]:
    """A colour for each series, and for arcs a pattern beside it, for those who see or print no colour."""
    import altair as alt

    column = drawing.figure.color
    if column is None:
        return {}
    names, title = drawing.values(column), drawing.label(column) or None
    about: dict[str, Any] = {"field": drawing.fields[column], "type": "nominal", "title": title}
    legend = alt.Legend(symbolType="stroke", symbolSize=300, symbolOpacity=1, symbolStrokeWidth=2)
    colour = {"color": alt.Color(**about, scale=alt.Scale(domain=names), legend=legend)}
    if not dashed:
        return colour
    patterns = [_PATTERNS[place % len(_PATTERNS)] for place in range(len(names))]
    scale = alt.Scale(domain=names, range=patterns)
    return colour | {"strokeDash": alt.StrokeDash(**about, scale=scale, legend=legend)}
