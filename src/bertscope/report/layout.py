"""What a chart will take of the page, reckoned from its description: the page keeps that free, so that nothing below
jumps as the chart is drawn.

The lengths, in pixels, are those that Vega gives the theme's letters and gaps; a test holds them to what a browser
draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

Spec = dict[str, Any]

EDGE, OVERHANG, SLIDER = 8, 3, 24  # the theme's padding; half of what the uppermost number may reach out; a slider
TITLE, GRADIENT, SYMBOLS, APART, OFFSET = 17, 23, 14, 12, 14  # a legend's parts, its distance to others and the chart
HEADING, RULE = 18, 15  # a line over a panel; the name of a value over rows
TICKS, NAME, LETTER, ASLANT = 18, 18, 5.5, math.radians(40)  # an axis' labels and title; labels that stand aslant
TOKEN = 4.2  # a letter of the tokens under a map


def reserved_size(chart: Spec) -> dict[str, Any]:
    """The chart's panels, as `arranged` in the page's scripts needs them.

    Each of `width` by `height`, with `spacing` between them and its own `heading` above; of the width, `beside` once
    and `around` for each; of the height, `once` and, for each row of panels, `below`.
    """
    one, names = chart.get("spec", chart), chart.get("facet", {}).get("sort", [])
    margins = chart.get("usermeta", {"beside": 0, "around": 0})
    once = EDGE + _above(one, alone=not names) + SLIDER * len(chart.get("params", []))
    return {
        "width": one["width"], "height": round(one["height"], 1), "spacing": chart.get("spacing", 0), **margins,
        "heading": [HEADING * (str(name).count(" · ") + 1) for name in names] or [0],
        "once": round(once, 1), "below": round(_below(one) + _tokens(chart), 1),
    }  # fmt: skip


def _above(one: Spec, *, alone: bool) -> float:
    """The legends, one under the other; without any, what else stands over the chart."""
    # Channels of the same column and title share one.
    legends = {(each["field"], each.get("title")): each for each in _channels(one, "color", "shape")}
    if legends:
        offset = max(each["legend"].get("offset", OFFSET) for each in legends.values())
        return offset + sum(map(_legend, legends.values())) + APART * (len(legends) - 1)
    rules = sum(layer["mark"].get("style") == "reference" for layer in one["layer"])
    if any("sort" in each for each in _channels(one, "y")):
        return RULE * rules + OVERHANG if rules else 0
    return OVERHANG if alone else 0


def _legend(channel: Spec) -> float:
    title = TITLE if channel.get("title") else 0
    if channel["type"] == "quantitative":
        return title + GRADIENT
    names = len(channel["scale"].get("domain", [1]))
    return title + SYMBOLS * math.ceil(names / channel["legend"].get("columns", names or 1)) - 2


def _below(one: Spec) -> float:
    """The axis: its labels, aslant where they are long, and its title."""
    for each in _channels(one, "x"):
        if axis := each.get("axis"):
            longest = max((len(str(name)) for name in each.get("sort", [])), default=0)
            aslant = min(axis["labelLimit"], LETTER * longest) * math.sin(ASLANT) if axis.get("labelAngle") else 0
            return TICKS + aslant + (NAME if each.get("title") else 0)
    return 0


def _tokens(chart: Spec) -> float:
    """The words under a map."""
    rows = chart.get("data", {}).get("values", [])
    return max((4 + min(44, TOKEN * len(row["token"])) for row in rows if "token" in row), default=0)


def _channels(one: Spec, *names: str) -> Iterator[Spec]:
    """The layers' channels of these names that show a column."""
    for layer in one["layer"]:
        yield from (layer["encoding"][name] for name in names if "field" in layer.get("encoding", {}).get(name, {}))
