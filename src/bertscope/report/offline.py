"""Charts that ask nothing of the network: Altair's own would fetch their drawing library from a CDN, in a notebook
and in every HTML file that they are saved to."""

from __future__ import annotations

import base64
import functools
from html import escape
from typing import Any

_ROOM = 90
"""Pixels under a chart that moves: for its slider."""


def offline(chart: Any) -> Any:
    """The same Altair chart, drawn by what is on this machine. It stays what it was, an `alt.LayerChart` or the like,
    and so do those that are made from it."""
    kind: Any = type(chart)
    object.__setattr__(chart, "__class__", _kind(kind))  # Altair's own would take it for a property
    return chart


@functools.cache
def _kind(kind: type) -> type:
    return type(kind.__name__, (_Offline, kind), {"__doc__": kind.__doc__, "__module__": kind.__module__})


class _Offline:
    """What is different: how it is shown, and saved as HTML."""

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        import altair as alt

        if alt.renderers.active != "default":  # somebody chose how charts are to be shown
            return super()._repr_mimebundle_(*args, **kwargs)  # type: ignore[misc]
        return {"text/html": _html(self), "text/plain": repr(type(self).__name__)}

    def to_html(self, *args: Any, inline: bool = True, **kwargs: Any) -> str:
        return super().to_html(*args, inline=inline, **kwargs)  # type: ignore[misc]

    def save(self, fp: Any, format: str | None = None, **kwargs: Any) -> None:
        ending = format or str(getattr(fp, "name", fp)).rpartition(".")[2]
        beside = {"inline": True} if ending == "html" else {}  # Altair warns of it for others
        super().save(fp, format, **beside | kwargs)  # type: ignore[misc]


def _html(chart: Any) -> str:
    """A picture: it is small, and drawn wherever pictures are. Only a chart that moves, such as one with a slider,
    has the drawing library beside it, in a frame of its own."""
    import vl_convert

    spec = chart.to_dict()
    title = escape(str(spec.get("description") or "chart"), quote=True)
    svg = vl_convert.vegalite_to_svg(spec)
    if not spec.get("params"):
        picture = base64.b64encode(svg.encode()).decode()
        return f'<img alt="{title}" style="max-width: 100%" src="data:image/svg+xml;base64,{picture}">'
    height = int(float(svg.partition('height="')[2].partition('"')[0])) + _ROOM
    inside = escape(chart.to_html(), quote=True)
    return (
        f'<iframe srcdoc="{inside}" title="{title}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {height}px; border: 0"></iframe>'
    )
