"""Texts with coloured words as an SVG: what the page shows as HTML, for places that take only pictures."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.tinted import TintedText, tinted_texts

_LETTER, _LINE, _WIDE, _EDGE = 8.4, 30, 760, 14  # pixels; of a fixed-width font nothing has to be measured
_FOR, _AGAINST = "61 130 196", "222 120 30"
_SEEN = 0.1  # of the strongest word: what is less gets no line under it


def tinted_svg(figure: Figure, table: pd.DataFrame, most: int = 4) -> str:
    """The first texts, each under what is explained of it, the words in lines that fit."""
    drawn, top = [_said(figure.title, 24, bold=True)], 54
    for text in islice(tinted_texts(figure, table), most):
        drawn.append(_said(text.of, top, bold=False))
        for line in _lines(text):
            top += _LINE
            drawn += [_word(word, share, at, top) for word, share, at in line]
        top += _LINE + 6
    shown = f'width="{_WIDE}" height="{top}" viewBox="0 0 {_WIDE} {top}"'
    style = "<style>text { font: 14px monospace; fill: #1c2430; } .of { font: 12px sans-serif; fill: #4d5866; } "
    style += ".title { font: bold 13px sans-serif; }</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {shown}>{style}'
        f'<rect width="{_WIDE}" height="{top}" fill="#ffffff"/>{"".join(drawn)}</svg>\n'
    )


def _lines(text: TintedText) -> Iterator[list[tuple[str, float, float]]]:
    """Words with their shares and where each begins."""
    line: list[tuple[str, float, float]] = []
    at = float(_EDGE)
    for word, share in zip(text.words, text.shares, strict=True):
        width = len(word) * _LETTER
        if line and at + width > _WIDE - _EDGE:
            yield line
            line, at = [], float(_EDGE)
        line.append((word, share, at))
        at += width + 1.4 * _LETTER
    yield line


def _said(text: str, top: float, *, bold: bool) -> str:
    return f'<text class="{"title" if bold else "of"}" x="{_EDGE}" y="{top}">{escape(text)}</text>'


def _word(word: str, share: float, at: float, top: float) -> str:
    width = len(word) * _LETTER
    colour = _FOR if share > 0 else _AGAINST
    dots = "" if share > 0 else ' stroke-dasharray="2 2"'
    shade = f'<rect x="{at - 3:.0f}" y="{top - 16}" width="{width + 6:.0f}" height="22" rx="3" '
    shade += f'fill="rgb({colour} / {60 * abs(share):.0f}%)"/>'
    under = f'<path d="M{at:.0f} {top + 3.5}h{width:.0f}" stroke="#1c2430" stroke-width="1.5"{dots}/>'
    said = f'<text x="{at:.1f}" y="{top}" textLength="{width:.1f}">{escape(word)}</text>'
    return (shade if share else "") + said + (under if abs(share) >= _SEEN else "")
