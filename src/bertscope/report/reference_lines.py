"""A figure's reference values as lines across it, labelled where the words don't lie on each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from bertscope.core.figure import Figure
from bertscope.report.values import texts

if TYPE_CHECKING:
    import altair as alt

    from bertscope.report.drawing import Drawing


def _middle(figure: Figure, at: Any) -> list[Any]:
    """The line where nothing happened."""
    return [] if figure.middle is None else [_one().mark_rule(style="middle").encode(at(figure.middle))]


def upright_rules(figure: Figure, centre: float) -> list[Any]:
    """The figure's named values as dashed lines, each rising to a label of its own height above the plot.

    Words run towards the centre, and what stands farther out stands higher: labels don't lie on each other.
    """
    import altair as alt

    lines, labels = _middle(figure, alt.XDatum), []
    for place, (name, value) in enumerate(sorted(figure.rules.items(), key=lambda rule: abs(rule[1] - centre))):
        x, top = alt.XDatum(value), -12 - 15 * place
        words = {"align": "left", "dx": 5} if value <= centre else {"align": "right", "dx": -5}
        lines.append(_one().mark_rule(style="reference").encode(x=x, y=alt.value(top - 6), y2=alt.value("height")))
        labels += _label(name, value, {"x": x, "y": alt.value(top)}, baseline="middle", **words)
    return lines + labels


def level_rules(drawing: Drawing) -> list[Any]:
    """The figure's named values as dashed lines, labelled at the right; at the left where the data, or the label of
    the rule below, are too near."""
    import altair as alt

    figure = drawing.figure
    heights = [*drawing.extent(figure.y), *figure.rules.values()]
    span = max(heights, default=0) - min(heights, default=0)
    lines, labels, taken = _middle(figure, alt.YDatum), [], dict[bool, float]()
    for name, value in sorted(figure.rules.items(), key=lambda rule: rule[1]):
        near = {
            left: value - taken.get(left, -math.inf) < span / 10 or _crowded(drawing, value, span, left)
            for left in (False, True)
        }
        left, y = near[False] and not near[True], alt.YDatum(value)
        taken[left] = value
        side = {"align": "left" if left else "right", "baseline": "bottom", "dy": -3}
        lines.append(_one().mark_rule(style="reference").encode(y=y))
        labels += _label(name, value, {"y": y, "x": alt.value(0 if left else "width")}, **side)
    return lines + labels


def _crowded(drawing: Drawing, value: float, span: float, left: bool) -> bool:
    """Whether data lie where the label of a rule at that value would stand, in the outer fifth of the figure."""
    across, up = drawing.figure.x, drawing.figure.y
    if not (drawing.numeric(across) and drawing.numeric(up)) or not (ends := drawing.extent(across)):
        return False
    edge = min(ends) + (0.2 if left else 0.8) * (max(ends) - min(ends))
    there = drawing.table[drawing.table[across] <= edge if left else drawing.table[across] >= edge][up]
    return bool(((there > value - 0.02 * span) & (there < value + 0.1 * span)).any())


def _label(name: str, value: float, where: dict[str, Any], **mark: Any) -> list[Any]:
    """A rule's words, on a halo that keeps them legible where another line passes."""
    words = f"{name} {texts([value])[0]}"
    return [
        _one().mark_text(style=style, text=words, **mark).encode(**where)
        for style in ("reference-halo", "reference-label")
    ]


def _one() -> alt.Chart:
    """A chart of a single row: a rule is drawn once, not once per row of the table."""
    import altair as alt

    return alt.Chart(alt.Data(values=[{}]))
