"""An answer as a terminal shows it: the headline numbers, and what a reader must know; or as programs read it."""

from __future__ import annotations

import json
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bertscope.core import null_panel
from bertscope.core.console import Console
from bertscope.core.figure import Figure
from bertscope.core.formatting import COLUMNS, rows
from bertscope.core.result import Result
from bertscope.core.tinted import AGAINST, FOR, KIND, tinted_lines


def print_json(said: Any) -> None:
    """Print to standard output what programs read: nothing else is said there. What could command a terminal is
    written there as JSON escapes it, and is read as what it is."""
    print(json.dumps(said, indent=1, ensure_ascii=False))


def print_answer(result: Result) -> Console:
    """Print it to standard output; gives the console, for what comes after."""
    result = result.in_words()
    table = Table(title=escape(result.about), title_justify="left", box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if not column else "right")
    for row in rows(result):
        unit = f" [dim]{escape(row.unit)}" if row.unit else ""
        table.add_row(f"{escape(row.label)}{unit}", row.value, row.interval, row.n)
    console = Console(markup=True)
    console.print(table)
    for figure in result.figures:
        if figure.kind == KIND:
            _print_texts(console, result, figure)
    for place, note in enumerate(result.notes):
        wrong = not place and null_panel.fails(result)  # of a result with a panel, the first note is the panel's
        console.print(f"note: {note}", style="bold red" if wrong else None, markup=False, soft_wrap=True)
    return console


def _print_texts(console: Console, result: Result, figure: Figure) -> None:
    """Words in colours; where there are none, the stronger words with their numbers."""
    colours = console.color_system is not None and not console.no_color
    console.print()
    for line in tinted_lines(figure, result.tables[figure.table], colours=colours):
        console.print(line, soft_wrap=not colours)
    if colours:
        console.print(Text.assemble(("for", FOR), " ", ("against", AGAINST), "  paler: weaker; numbers: the table"))
