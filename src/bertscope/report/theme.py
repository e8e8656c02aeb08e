"""How charts look, in light and in dark. Charts name styles and ranges; the colours are here and in page.css only."""

from __future__ import annotations

from typing import Any

from bertscope.report import png

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", sans-serif'
PICTURE_FONT = 'Arial, "Liberation Sans", Helvetica, sans-serif'
"""In files, whose text is measured here and drawn elsewhere: these fonts have letters of the same widths, so that a
legend is as long there as the room that it was given."""

# Okabe and Ito's colours, told apart by colour-blind readers; lighter ones on dark.
_LIGHT = {
    "surface": "#ffffff", "ink": "#1c2430", "muted": "#566173", "grid": "#e8ebef",
    "category": ["#0072b2", "#d55e00", "#009e73", "#b6609a", "#b8860b", "#3b9fd6", "#6b7280",
                 "#7a3b1e", "#4b3a9b", "#2f6b2f"],
    # Areas lie side by side and have no shapes to tell them apart: colours that also differ in lightness.
    "fill": ["#0a50a8", "#bf4a1c", "#16b083", "#e080c0", "#d9b72e", "#6b7280", "#7cc4ee"],
    # Orange for less, blue for more: what is lost by switching a part off is what the eye should find first.
    "diverging": ["#8c3b00", "#d9741a", "#f4b77a", "#f6f4f0", "#a3c6e8", "#3d82c4", "#0f4686"],
    "sequential": ["#f1f5fa", "#bcd4ec", "#74a9d8", "#2f75b5", "#0b3c70"],
    # Lines and dots in order, such as layers: no shade as faint as the first of the areas'.
    "ramp": ["#f3a72e", "#e0655f", "#b32d8e", "#5f3bb3", "#101c3f"],
}  # fmt: skip
_DARK = {
    "surface": "#171c24", "ink": "#e4e8ee", "muted": "#a0abba", "grid": "#2b323d",
    "category": ["#56b4e9", "#f08a4b", "#2fc79d", "#e39bc8", "#f0c04e", "#a9d3f5", "#a3adba",
                 "#c98f6a", "#b3a5f2", "#8fce7d"],
    "fill": ["#4b80d6", "#d0602a", "#22c690", "#f5acdc", "#ebdc78", "#7d8896", "#a9d3f5"],
    "diverging": ["#ffc48a", "#e8862f", "#84491c", "#232932", "#24517f", "#4a97dc", "#b3dbff"],
    "sequential": ["#1f2630", "#24517f", "#3b82c4", "#7fbcf0", "#d6ecff"],
    "ramp": ["#8b3fc8", "#cc4778", "#f07f4f", "#fdb32f", "#f0f921"],
}  # fmt: skip


def config(*, dark: bool = False) -> dict[str, Any]:
    """The Vega-Lite config of one theme."""
    c: dict[str, Any] = _DARK if dark else _LIGHT
    words = {"labelColor": c["muted"], "titleColor": c["ink"], "labelFontSize": 12, "titleFontSize": 12}
    return {
        "font": FONT,
        "background": c["surface"],
        "padding": 4,
        "title": {"color": c["ink"], "fontSize": 15, "anchor": "start", "offset": 12},
        "view": {"stroke": None},
        "axis": words
        | {"titleFontWeight": 500, "gridColor": c["grid"], "domain": False, "ticks": False, "labelPadding": 6}
        | {"titlePadding": 8},
        "legend": words
        | {"titleFontWeight": 500, "orient": "top", "direction": "horizontal", "symbolSize": 60, "offset": 14}
        | {"gradientThickness": 10, "titleLimit": 300, "labelLimit": 260, "symbolStrokeWidth": 1.5},
        "header": words | {"labelColor": c["ink"], "labelFontWeight": 500, "labelAnchor": "start", "labelPadding": 6},
        "range": {
            "category": c["category"],
            "ordinal": c["fill"],
            "diverging": c["diverging"],
            "heatmap": c["sequential"],
            "ramp": {"scheme": c["ramp"]},  # as many as there are series, in even steps
        },
        # Pictures of maps come without colours: see maps.py.
        "params": [{"name": "map_palette", "value": png.palette(c["sequential"])}],
        "rect": {"stroke": c["surface"], "strokeWidth": 1},
        "bar": {"stroke": c["surface"], "strokeWidth": 1},
        "line": {"strokeWidth": 2},
        "style": {
            "missing": {"color": c["muted"], "fontSize": 13},
            "token": {"color": c["muted"], "fontSize": 9, "align": "right", "dx": -4, "limit": 44},
            "tree-word": {"color": c["ink"]},
            "word": {"color": c["ink"], "fontSize": 11, "align": "left", "dx": 7, "dy": -4},
            "word-before": {"color": c["ink"], "fontSize": 11, "align": "right", "dx": -7, "dy": -4},
            "step": {"color": c["muted"], "fontSize": 12, "align": "right", "baseline": "top", "dx": -6, "dy": 6},
            "trail": {"color": c["muted"], "opacity": 0.4},
            "series": {"color": c["category"][0]},
            "excludes": {"color": c["ink"], "stroke": c["surface"], "strokeWidth": 1},
            "reference": {"color": c["muted"], "strokeDash": [4, 3], "strokeWidth": 1.2},
            "reference-label": {"color": c["muted"], "fontSize": 11.5},
            "reference-halo": {"color": c["surface"], "stroke": c["surface"], "strokeWidth": 5, "fontSize": 11.5},
            "middle": {"color": c["muted"], "strokeWidth": 1},
            "joined": {"color": c["muted"], "strokeWidth": 1.2},
        },
    }


def palettes() -> dict[str, dict[str, Any]]:
    """The colours of both themes that are drawn with outside of charts."""
    used = ("surface", "ink", "muted", "grid", "category", "sequential", "diverging")
    return {name: {one: c[one] for one in used} for name, c in (("light", _LIGHT), ("dark", _DARK))}


def page_config(*, dark: bool) -> dict[str, Any]:
    """The same for the page, where legends stand one under the other: side by side they would run out of a phone."""
    whole = config(dark=dark)
    # Vega reads this, but Vega-Lite's schema doesn't know it: Altair would refuse it in a chart of its own.
    whole["legend"]["layout"] = {"top": {"direction": "vertical", "anchor": "start", "margin": 12}}
    return whole
