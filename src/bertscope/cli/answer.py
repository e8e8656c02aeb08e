"""An answer as a terminal shows it: the headline numbers, and what a reader must know."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bertscope.core.result import Result


def print_answer(result: Result) -> Console:
    """Print it to standard output; gives the console, for what comes after."""
    table = Table(title=escape(result.about), title_justify="left", box=None, pad_edge=False)
    for column in ("", "value", "95% interval", "n"):
        table.add_column(column, justify="left" if not column else "right")
    for number in result.headline:
        value, *ends = number.written()
        unit = "" if number.unit in number.name else f" [dim]{escape(number.unit)}"
        table.add_row(f"{escape(number.name)}{unit}", value, " to ".join(ends), f"{number.n:,}" if number.n else "")
    console = Console(highlight=False)
    console.print(table)
    for note in result.notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    return console
