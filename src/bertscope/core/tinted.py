"""Texts with coloured words: how much each word did for what is explained, as HTML and for a terminal.

Blue for, orange against, the stronger the more of the text's strongest word it did. Colours are laid over whatever is
behind them, light or dark, and the sign can be seen without any: a solid line under what was for it, a dotted one
under what was against. No script is needed, and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from bertscope.core.figure import Figure
from bertscope.core.harmless import one_line

if TYPE_CHECKING:
    import pandas as pd
    from rich.text import Text

KIND = "texts"
"""Of figures that are drawn so."""
MOST = 20
"""Texts that are shown; the table has all."""
UNFOLDED = 80
"""Words of a text that are shown at once; the others are folded."""
_SEEN = 0.1  # of the strongest word: what is less gets no line under it
_ON_TERMINAL = 5, 60  # texts, and words of each
FOR, AGAINST = "bold underline white on #0072b2", "bold white on #b34700"
"""A terminal's styles of what is strong."""
_WEAK = "underline black on #9ecae9", "black on #f4b77a"

CSS = """
.tinted { margin: 0; padding: 0; list-style: none; line-height: 2; }
.tinted > li { margin: 0 0 0.9em; }
.tinted .of { display: block; font-size: 0.85em; opacity: 0.8; line-height: 1.5; }
.tinted p { margin: 0; }
.tinted details { border: 0; margin: 0; padding: 0; font-size: inherit; }
.tinted i { position: relative; font-style: normal; padding: 0.1em 0.15em; border-radius: 0.2em; }
.tinted .for { background: rgb(61 130 196 / calc(var(--s) * 60%)); }
.tinted .against { background: rgb(222 120 30 / calc(var(--s) * 60%)); }
.tinted .seen { text-decoration: underline 0.12em; text-underline-offset: 0.22em; }
.tinted .seen.against { text-decoration-style: dotted; }
.tinted i:hover::after, .tinted i:focus::after { content: attr(data-by); position: absolute; z-index: 3;
  left: 0; bottom: 100%; padding: 0 0.4em; border-radius: 0.2em; font-size: 0.85rem; line-height: 1.6;
  white-space: nowrap; direction: ltr; color: #ffffff; background: #1c2430; box-shadow: 0 0 0 1px #7f8a99; }
@media print { .tinted i { print-color-adjust: exact; } }
"""


@dataclass(frozen=True)
class TintedText:
    """A text, or what is explained of it."""

    row: str
    of: str
    """What is explained, in words."""
    words: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def shares(self) -> list[float]:
        """Each word's share of the strongest one's."""
        strongest = max(map(abs, self.values), default=0.0)
        return [value / strongest if strongest else 0.0 for value in self.values]


class Tinted:
    """A figure of texts, as a notebook shows it."""

    def __init__(self, figure: Figure, table: pd.DataFrame) -> None:
        self.figure, self.table = figure, table

    def _repr_html_(self) -> str:
        return f"<style>{CSS}</style>{tinted_html(self.figure, self.table)}"

    @property
    def page(self) -> str:
        """A file of its own."""
        title, caption = escape(self.figure.title), escape(self.figure.caption)
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
            "<style>:root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; } "
            f"body {{ max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}{CSS}</style>\n"
            f"<h1>{title}</h1>\n{tinted_html(self.figure, self.table)}\n<p>{caption}</p>\n</html>\n"
        )


def tinted_texts(figure: Figure, table: pd.DataFrame) -> Iterator[TintedText]:
    """The figure's texts, in the table's order."""
    for column, wanted in figure.where.items():
        table = table[table[column] == wanted]
    parts = [column for column in (figure.y, figure.side) if column is not None]
    for _, rows in table.groupby(parts, sort=False, observed=True):
        rows = rows.sort_values(figure.x, kind="stable")
        values = rows[figure.value].fillna(0.0) if figure.value else rows[figure.x] * 0.0
        of = str(rows[figure.facet].iloc[0]) if figure.facet else ""
        words = tuple(map(str, rows[figure.token])) if figure.token else ()
        yield TintedText(str(rows[figure.y].iloc[0]), of, words, tuple(map(float, values)))


def tinted_html(figure: Figure, table: pd.DataFrame, most: int = MOST) -> str:
    """The first texts as a list. Every text is escaped; each is read in its own direction of writing."""
    shown = "".join(map(_as_html, islice(tinted_texts(figure, table), most)))
    parts = [column for column in (figure.y, figure.side) if column is not None]
    left = table[parts].drop_duplicates().shape[0] - most
    more = f"<p>The first {most}; the table <code>{escape(figure.table)}</code> has {left:,} more.</p>"
    return f'<ul class="tinted">{shown}</ul>{more if left > 0 else ""}'


def _as_html(text: TintedText) -> str:
    each = enumerate(zip(text.words, text.values, text.shares, strict=True))
    spans = [_word(*word, stop=not place) for place, word in each]
    said, folded = " ".join(spans[:UNFOLDED]), spans[UNFOLDED:]
    more = f'<details><summary>{len(folded):,} more words</summary><p dir="auto">{" ".join(folded)}</p></details>'
    of = f'<span class="of"><bdi>{escape(text.row)}</bdi>: <bdi>{escape(text.of)}</bdi></span>'
    return f'<li>{of}<p dir="auto">{said}</p>{more if folded else ""}</li>'


def _word(word: str, value: float, share: float, *, stop: bool) -> str:
    """A text is one `stop` for the keyboard: the page's arrows lead on from it."""
    which = "for" if value > 0 else "against" if value < 0 else ""
    seen = " seen" if abs(share) >= _SEEN else ""
    how = f'class="{which}{seen}" style="--s:{abs(share):.2f}" data-by="{signed(value)}"'
    return f"<i {'tabindex=0 ' if stop else ''}{how}>{escape(word)}</i>"


def signed(value: float) -> str:
    """A number with its sign, in as many digits as it needs.

    >>> signed(0.123456), signed(-2.0), signed(0.0), signed(-0.0000123)
    ('+0.123', '-2.000', '0', '-1.2e-05')
    """
    if not value:
        return "0"
    return f"{value:+.3f}" if abs(value) >= 0.0005 else f"{value:+.1e}"


def tinted_lines(figure: Figure, table: pd.DataFrame, *, colours: bool) -> Iterator[Text]:
    """The first texts for a terminal: coloured words, or the stronger ones with their numbers behind them; and how
    many more there are."""
    from rich.text import Text

    most, words = _ON_TERMINAL
    texts = list(tinted_texts(figure, table))
    for text in texts[:most]:
        yield Text(one_line(f"{text.row}: {text.of}"), style="dim")
        line = Text()
        for word, value, share in islice(zip(text.words, text.values, text.shares, strict=True), words):
            line.append(" " if line else "")
            line.append(*_on_terminal(one_line(word), value, share, colours))
        line.append(f" ... {len(text.words) - words:,} more words" if len(text.words) > words else "", style="dim")
        yield line
    if (more := len(texts) - most) > 0:
        yield Text(f"... {more:,} more text{'s' * (more > 1)}", style="dim")


def _on_terminal(word: str, value: float, share: float, colours: bool) -> tuple[str, str]:
    if abs(share) < 2 * _SEEN:
        return word, ""
    if not colours:
        return f"{word}[{signed(value)}]", ""
    return word, ((FOR, AGAINST) if abs(share) >= 0.5 else _WEAK)[value < 0]
