"""How a result shows itself: as lines where it is printed, as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from bertscope.core.tinted import KIND, Tinted

if TYPE_CHECKING:
    from bertscope.core.result import Result

COLUMNS = ("", "value", "95% interval", "n")


class Row(NamedTuple):
    """A headline number, in words."""

    label: str
    unit: str
    """Empty where the label says it."""
    value: str
    interval: str
    n: str

    def cells(self) -> tuple[str, str, str, str]:
        return f"{self.label} ({self.unit})" if self.unit else self.label, self.value, self.interval, self.n


def rows(result: Result) -> Iterator[Row]:
    """The headline numbers as terminals and notebooks print them."""
    for number in result.headline:
        value, *ends = number.written()
        unit = "" if number.unit == number.key else number.unit
        yield Row(number.label, unit, value, " to ".join(ends), f"{number.n:,}" if number.n else "")


def as_text(result: Result) -> str:
    """What it is about, its headline numbers, and the names of its tables and figures."""
    cells = [COLUMNS, *(row.cells() for row in rows(result))] if result.headline else []
    name, *widths = (max(map(len, column)) for column in zip(*cells, strict=True)) if cells else (0,)
    lines = [
        "  ".join([row[0].ljust(name), *(cell.rjust(width) for cell, width in zip(row[1:], widths, strict=True))])
        for row in cells
    ]
    title = ": ".join(filter(None, (result.question, result.about)))
    return "\n".join([title, *(line.rstrip() for line in lines), *_contents(result)])


def as_html(result: Result) -> str:
    """The same for a notebook; before it texts with coloured words, where there are any."""
    header = "".join(f"<th>{name}</th>" for name in COLUMNS)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row.cells())}</tr>" for row in rows(result))
    table = f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>" if body else ""
    contents = "<br>".join(map(escape, _contents(result)))
    texts = "".join(
        Tinted(figure, result.tables[figure.table])._repr_html_() for figure in result.figures if figure.kind == KIND
    )
    return f"<p><b>{escape(result.question)}</b>: {escape(result.about)}</p>{texts}{table}<p>{contents}</p>"


def _contents(result: Result) -> Iterator[str]:
    tables = [f"{name} ({len(table):,} rows)" for name, table in result.tables.items()]
    arrays = [f"{name} {list(array.shape)}" for name, array in result.arrays.items()]
    for kind, named in (("tables", tables), ("arrays", arrays), ("figures", figure_names(result))):
        if named:
            yield f"{kind}: {', '.join(named)}"
    yield from (f"note: {note}" for note in result.notes)


def figure_names(result: Result) -> list[str]:
    """Each figure's key, as `plot` takes it, and title; where it has none, its number."""
    return [f"{figure.key or place} ({figure.title})" for place, figure in enumerate(result.figures)]
