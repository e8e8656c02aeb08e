"""Figures for a lecture: each on a slide of 16:9, under the sentence that says what it shows."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import bertscope
from bertscope.core.consequence import consequences_of
from bertscope.core.folders import refuse_inside, whole_folder
from bertscope.core.store import Store
from bertscope.core.tinted import Tinted
from bertscope.report import theme
from bertscope.report.build import stored_findings
from bertscope.report.charts import chart
from bertscope.report.export import INDEX, KIND, Exported, Written, ordered, safe_name
from bertscope.report.finding import Finding
from bertscope.report.layout import reserved_size
from bertscope.report.subjects import PageModels
from bertscope.report.templates import rendered

WIDTH, HEIGHT, EDGE = 1600, 900, 60  # pixels
_TITLE, _LINE, _SMALL, _SMALL_LINE = 34, 44, 20, 27
_PER_LINE, _SMALL_PER_LINE = 82, 145
"""Letters that fit into a line of the title, and of what stands below."""
_ROOM = 640
"""About how high a figure may be."""
_OWN_SIZE = re.compile(r'<svg[^>]*?\bviewBox="0 0 ([\d.]+) ([\d.]+)"[^>]*>')


@dataclass(frozen=True)
class Slide:
    title: str
    about: str
    caption: str
    figure: str
    """The figure alone, as SVG."""

    @property
    def svg(self) -> str:
        """All of it as SVG."""
        found = _OWN_SIZE.search(self.figure)
        if found is None:
            raise ValueError("the figure's SVG doesn't say how large it is")
        title = textwrap.wrap(self.title, _PER_LINE)
        below = [*textwrap.wrap(self.caption, _SMALL_PER_LINE), *textwrap.wrap(self.about, _SMALL_PER_LINE)]
        top, bottom = EDGE + _LINE * len(title), HEIGHT - EDGE / 2 - _SMALL_LINE * len(below)
        room, wide = bottom - top - 10, WIDTH - 2 * EDGE
        own = float(found[1]), float(found[2])
        scale = min(wide / own[0], room / own[1])
        width, height = own[0] * scale, own[1] * scale
        left, down = (WIDTH - width) / 2, top + (room - height) / 2
        place = f'x="{left:.1f}" y="{down:.1f}" width="{width:.1f}" height="{height:.1f}"'
        inside = self.figure[: found.start()] + self._opened(found[0], place) + self.figure[found.end() :]
        inside = inside[inside.index("<svg") :]  # without a declaration, which may stand only at the beginning
        colours = theme.palettes()["light"]
        words = [
            _text(line, EDGE + _TITLE * 0.8 + _LINE * number, _TITLE, colours["ink"], "600")
            for number, line in enumerate(title)
        ] + [
            _text(line, bottom + _SMALL_LINE * (number + 1), _SMALL, colours["muted"], "400")
            for number, line in enumerate(below)
        ]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="{WIDTH}" '
            f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(self.title)}">'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{colours["surface"]}"/>{"".join(words)}{inside}</svg>'
        )

    @staticmethod
    def _opened(tag: str, place: str) -> str:
        return re.sub(r'\s(?:width|height)="[^"]*"', "", tag).replace("<svg", f"<svg {place}", 1)


def export_slides(
    store: Store | str | Path, out: str | Path, *, announce: Callable[[str], None] = lambda line: None
) -> Path:
    """Write each figure of `store` as a slide, SVG and PNG, to the folder `out`; returns the index. Texts with
    coloured words are no picture, and stay out."""
    import vl_convert

    out = Path(out)
    refuse_inside(out)
    findings = stored_findings(store)
    models, number, shown = PageModels(findings), 0, []
    with whole_folder(out, KIND) as scratch:
        for question, about, finding in ordered(findings, models):
            figures = []
            for title, slide in _slides(finding, about, models):
                number += 1
                name = f"{number:03}-{safe_name(question)}-{safe_name(title)}"[:90].rstrip("-")
                announce(name)
                svg = slide.svg
                (scratch / f"{name}.svg").write_text(svg, encoding="utf-8")
                (scratch / f"{name}.png").write_bytes(vl_convert.svg_to_png(svg))
                figures.append(Written(slide.title, slide.caption, [f"{name}.svg", f"{name}.png"]))
            shown += [Exported.of(question, about, figures)] if figures else []
        index = rendered("export.html.j2", version=bertscope.__version__, exported=shown)
        (scratch / INDEX).write_text(index, encoding="utf-8")
    return out / INDEX


def _slides(finding: Finding, about: str, models: PageModels) -> list[tuple[str, Slide]]:
    """A result's figures with what is said of each: what follows from it, or else what it is called."""
    follows = sorted(consequences_of(finding.result), key=lambda one: (not one.is_open, one.weight))
    readings = {one.figure: finding.words(one.text) for one in follows if one.figure}
    result = models.in_words(finding.result)
    found = []
    for figure in result.figures:
        drawn = chart(figure, result.tables[figure.table])
        if not isinstance(drawn, Tinted):
            title = readings.get(figure.key, figure.title)
            found.append((figure.title, Slide(title, about, figure.caption.replace("`", ""), _wide(drawn.to_dict()))))
    return found


def _wide(drawn: dict[str, Any]) -> str:
    """The chart as SVG. A contact sheet, or other panels, with so many beside each other that they are largest."""
    import vl_convert

    if "facet" in drawn:
        takes = reserved_size(drawn)
        panels = len(takes["heading"])
        across = takes["width"] + takes["around"] + takes["spacing"]
        down = takes["height"] + takes["below"] + takes["spacing"] + max(takes["heading"])

        def scale(columns: int) -> float:
            width, height = takes["beside"] + across * columns, takes["once"] + down * math.ceil(panels / columns)
            return min((WIDTH - 2 * EDGE) / width, _ROOM / height)

        drawn = drawn | {"columns": max(range(1, panels + 1), key=scale)}
    return vl_convert.vegalite_to_svg(drawn)


def _text(line: str, y: float, size: int, colour: str, weight: str) -> str:
    font = escape(theme.PICTURE_FONT)
    return (
        f'<text x="{EDGE}" y="{y:.0f}" font-family="{font}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}">{escape(line)}</text>'
    )
