"""Small pictures (`core/small_picture.py`) as SVG that needs no script and has the page's colours, light or dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertscope.core.small_picture import Bars, Cells, Line, SmallPicture, hundredths
from bertscope.report.values import MINUS

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, ROW, BAR = 168, 25, 8  # pixels: of all pictures; a bar with its name above it, and the bar alone
CELL, HIGHEST, STRIP = 14, 84, 26  # pixels: a cell at most, a grid at most, the only row of one
CURVE, EDGE, WORD = 56, 4, 14  # pixels: a curve's height, what is free around it, a line of words below


def drawn(picture: SmallPicture) -> Markup:
    """The picture as an SVG element, with what it shows in words."""
    if isinstance(picture, Bars):
        return _bars(picture)
    return _cells(picture) if isinstance(picture, Cells) else _line(picture)


def _whole(height: float, says: str, parts: Sequence[Markup]) -> Markup:
    from markupsafe import Markup

    start = '<svg class="small-picture" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
    high = f"{height:g}"
    return Markup(start).format(says, WIDTH, high, WIDTH, high) + Markup("").join(parts) + Markup("</svg>")


def _bars(picture: Bars) -> Markup:
    from markupsafe import Markup

    most = picture.most or 1.0

    def along(value: float) -> str:
        return f"{WIDTH * min(1.0, max(0.0, value / most)):.1f}"

    parts, told = [], []
    values = _written(picture)
    for place, name in enumerate(picture.names):
        top, value = place * ROW, picture.values[place]
        low, high = picture.lows[place], picture.highs[place]
        told.append(f"{name} {values[place]}")
        kind = "of-it" if place == 0 else "beside-it"
        parts += [
            Markup('<text x="0" y="{}">{}</text><text class="value" x="{}" y="{}">{}</text>').format(
                top + 11, name, WIDTH, top + 11, values[place]
            ),
            Markup('<rect class="room" x="0" y="{}" width="{}" height="{}" rx="2"/>').format(top + 15, WIDTH, BAR),
            Markup('<rect class="{}" x="0" y="{}" width="{}" height="{}" rx="2"/>').format(
                kind, top + 15, along(value), BAR
            ),
        ]
        if low is not None and high is not None:
            parts.append(
                Markup('<line class="interval" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(
                    along(low), along(high), top + 15 + BAR / 2, top + 15 + BAR / 2
                )
            )
    return _whole(ROW * len(picture.names) - 1, ", ".join(told), parts)


def _written(picture: Bars) -> list[str]:
    if picture.unit:
        return [f"{value:g} {picture.unit}".replace("-", MINUS) for value in picture.values]
    return [text.replace("-", MINUS) for text in hundredths(picture.values)]


def _cells(picture: Cells) -> Markup:
    from markupsafe import Markup

    rows, columns = len(picture.values), max(map(len, picture.values), default=1)
    wide = min(CELL, WIDTH / columns)
    high = STRIP if rows == 1 else min(wide, HIGHEST / rows)
    wide = wide if rows == 1 else min(wide, 1.6 * high)
    known = [abs(value) for row in picture.values for value in row if math.isfinite(value)]
    most = max(known, default=0.0) or 1.0
    marked, parts = set(picture.marked), []
    # What is marked is drawn last: its edge lies over its neighbours.
    places = [(down, across) for down, row in enumerate(picture.values) for across in range(len(row))]
    for down, across in sorted(places, key=lambda place: place in marked):
        value = picture.values[down][across]
        level = abs(value) / most if math.isfinite(value) else 0.0
        against = picture.both_ways and value < 0
        classes = " ".join(filter(None, ["cell", "against" if against else "", _mark((down, across) in marked)]))
        parts.append(
            Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}" rx="1" style="--level: {}"/>').format(
                classes, f"{across * wide + 1:.1f}", f"{(rows - 1 - down) * high + 1:.1f}", f"{wide - 1.5:.1f}",
                f"{high - 1.5:.1f}", f"{level:.2f}",
            )
        )  # fmt: skip
    height = rows * high + 2
    across_is = picture.columns or "place"
    parts.append(Markup('<text x="0" y="{}">{} 1</text>').format(f"{height + 11:.1f}", across_is))
    end = Markup('<text class="value" x="{}" y="{}">{}</text>')
    parts.append(end.format(f"{max(columns * wide, 66):.1f}", f"{height + 11:.1f}", columns))
    if rows > 1:
        parts.append(
            Markup('<text x="{}" y="10">{} {}</text><text x="{}" y="{}">1</text>').format(
                f"{columns * wide + 5:.1f}", picture.rows, rows, f"{columns * wide + 5:.1f}", f"{rows * high:.1f}"
            )
        )
    return _whole(height + WORD, _cells_told(picture), parts)


def _mark(is_marked: bool) -> str:
    return "marked" if is_marked else ""


def _cells_told(picture: Cells) -> str:
    """How many there are, and which are marked."""
    rows, columns = len(picture.values), max(map(len, picture.values), default=0)
    if rows == 1:
        named = ", ".join(str(across + 1) for _, across in sorted(picture.marked))
        whole = f"{columns} cells, one for each {picture.columns or 'place'}"
    else:
        named = ", ".join(f"{down + 1}.{across + 1}" for down, across in sorted(picture.marked))
        whole = f"{rows} by {columns} cells, by {picture.rows} and {picture.columns}"
    return f"{whole}; marked: {named}" if named else f"{whole}; none is marked"


def _line(picture: Line) -> Markup:
    from markupsafe import Markup

    ends = [*picture.y, *picture.low, *picture.high, *([] if picture.rule is None else [picture.rule])]
    finite = [value for value in ends if math.isfinite(value)] or [0.0, 1.0]
    least, most = min(finite), max(finite)
    left, right = min(picture.x, default=0.0), max(picture.x, default=1.0)

    def at(x: float, y: float) -> str:
        across = EDGE + (WIDTH - 2 * EDGE) * (x - left) / ((right - left) or 1.0)
        down = EDGE + (CURVE - 2 * EDGE) * (most - y) / ((most - least) or 1.0)
        return f"{across:.1f},{down:.1f}"

    sound = [(x, y) for x, y in zip(picture.x, picture.y, strict=True) if math.isfinite(y)]
    parts: list[Markup] = []
    if picture.low and picture.high:
        band = [
            (x, low, high) for x, low, high in zip(picture.x, picture.low, picture.high, strict=True)
            if math.isfinite(low) and math.isfinite(high)
        ]  # fmt: skip
        edge = [at(x, high) for x, _, high in band] + [at(x, low) for x, low, _ in reversed(band)]
        parts.append(Markup('<polygon class="band" points="{}"/>').format(" ".join(edge)))
    if picture.rule is not None:
        start, stop = at(left, picture.rule), at(right, picture.rule)
        parts.append(Markup('<polyline class="rule-line" points="{} {}"/>').format(start, stop))
    parts.append(Markup('<polyline class="curve" points="{}"/>').format(" ".join(at(x, y) for x, y in sound)))
    here = next(((x, y) for x, y in sound if picture.marked is not None and math.isclose(x, picture.marked)), None)
    if here:
        across, down = at(*here).split(",")
        parts.append(Markup('<circle class="point" cx="{}" cy="{}" r="3.5"/>').format(across, down))
    parts.append(Markup('<text x="0" y="{}">{} {}</text>').format(CURVE + 11, picture.along, f"{left:g}"))
    parts.append(Markup('<text class="value" x="{}" y="{}">{}</text>').format(WIDTH, CURVE + 11, f"{right:g}"))
    says = f"a curve over {picture.along} from {left:g} to {right:g}"
    if sound:
        says += f": from {sound[0][1]:.2f} to {sound[-1][1]:.2f}" + (
            f", {here[1]:.2f} at {here[0]:g}" if here else ""
        )
    return _whole(CURVE + WORD, says.replace("-", MINUS), parts)
