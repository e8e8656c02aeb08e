"""An answer as a terminal shows it: the headline numbers, and what a reader must know; or as programs read it."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bertscope.core import lineage, null_panel, registry
from bertscope.core.consequence import consequences_of, named_data
from bertscope.core.console import Console
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.figure import Figure
from bertscope.core.formatting import COLUMNS, rows
from bertscope.core.harmless import harmless
from bertscope.core.question import DATA
from bertscope.core.result import Result
from bertscope.core.statement import Statement
from bertscope.core.step import Step
from bertscope.core.tinted import AGAINST, FOR, KIND, tinted_lines
from bertscope.report.values import texts

FIRST = 5
"""Lines of a table that are printed beside an answer's numbers."""
_SHORT = 20
"""Characters up to which a table's column is never cut."""
_CUT = 15
"""Characters that a longer column keeps at least, beside others."""


def print_json(said: Any) -> None:
    """Print to standard output what programs read: nothing else is said there. What could command a terminal is
    written there as JSON escapes it, and is read as what it is."""
    print(json.dumps(said, indent=1, ensure_ascii=not str(sys.stdout.encoding).lower().startswith("utf")))


def print_answer(result: Result) -> Console:
    """Print it to standard output, what it says in a sentence first; gives the console, for what comes after."""
    declared = registry.find(result.question) if result.question in registry.QUESTIONS else None
    told = _told(result)
    result = result.in_words()
    table = Table(title=escape(result.about), title_justify="left", box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if not column else "right")
    for row in rows(result):
        unit = f" [dim]({escape(row.unit)})" if row.unit else ""
        table.add_row(f"{escape(row.label)}{unit}", row.value, row.interval, row.n)
    console = Console(markup=True)
    if told is not None:
        console.print(told.sentence, markup=False, soft_wrap=True)
        console.print()
    for figure in result.figures:
        if figure.kind == KIND:
            _print_texts(console, result, figure)
    console.print(table)
    for name, columns in (declared.printed if declared else {}).items():
        if name in result.tables:
            print_table(result, name, columns)
    for place, note in enumerate(result.notes):
        wrong = not place and null_panel.fails(result)  # of a result with a panel, the first note is the panel's
        console.print(f"note: {note}", style="bold red" if wrong else None, markup=False, soft_wrap=True)
    return console


def what_to_try(result: Result, step: Step, model: Path) -> str:
    """After a training that taught too little, what to try, to be copied: of what was given, as it was given; `model`
    is what it made. Empty where nothing is wrong, or nothing was trained."""
    trains = registry.find(step.name).keeps == "model"
    said = [one.command for one in consequences_of(result) if one.theme == "works" and one.command] if trains else []
    if not said:
        return ""
    base, data = (next(iter(lineage.roots(step, *kinds))) for kinds in (("model",), DATA))
    return said[0].format(
        model=shlex.quote(str(model)), base=shlex.quote(base.source), data=named_data(data.source, data.options)
    )


def _told(result: Result) -> Statement | None:
    """In a sentence; None where there is none, and of a result of an older version that lacks what it would say."""
    if result.question not in registry.QUESTIONS:
        return None
    try:
        return registry.find(result.question).sentence(result)
    except KeyError:
        return None


def print_table(result: Result, name: str, columns: Sequence[str] = (), first: int = FIRST) -> None:
    """Print the first lines of a table, or of those that are certain, with all of its columns or these."""
    if name not in result.tables:
        raise UserError(f"{result.question} has no table {name!r}; {did_you_mean(name, result.tables)}")
    whole = result.tables[name]
    found = whole[whole["certain"].fillna(False).astype(bool)] if columns and "certain" in whole else whole
    shown = found[[column for column in columns or whole.columns if column in whole]].head(first)
    if shown.empty:
        return
    more = f", the first {len(shown)} of {len(found):,}" if len(found) > len(shown) else ""
    cells = {column: [harmless(" ".join(text.split())) for text in texts(shown[column])] for column in shown}
    console = Console(markup=True)
    for at, block in enumerate(_side_by_side(cells, console.width)):
        title = f"{escape(name)}{more}" if not at else None
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for column in block:
            side: Literal["left", "right"] = "right" if shown[column].dtype.kind in "iuf" else "left"
            # Where there is too little room, rich takes it from the columns that may wrap; the cells don't.
            short = max(map(len, cells[column])) <= _SHORT
            table.add_column(escape(str(column)), justify=side, overflow="ellipsis", no_wrap=short)
        for line in zip(*(cells[column] for column in block), strict=True):
            table.add_row(*(Text(text, no_wrap=True, overflow="ellipsis") for text in line))
        console.print()
        console.print(table)


def _side_by_side(cells: Mapping[str, Sequence[str]], width: int) -> list[list[str]]:
    """The columns that fit beside each other; where not all do, those by which a row is known stand before each
    further lot, too."""
    widest = {name: max(map(cell_len, column)) for name, column in cells.items()}
    room = {name: 2 + max(len(str(name)), wide if wide <= _SHORT else _CUT) for name, wide in widest.items()}
    names = list(cells)
    known_by = next((names[:few] for few in range(1, len(names)) if _tell_apart(cells, names[:few])), names[:1])
    if sum(room[name] for name in known_by) > width / 2:
        known_by = names[:1]
    lots = [known_by]
    for name in names[len(known_by) :]:
        if lots[-1] != known_by and sum(room[one] for one in (*lots[-1], name)) - 2 > width:
            lots.append(known_by)
        lots[-1] = [*lots[-1], name]
    return lots


def _tell_apart(cells: Mapping[str, Sequence[str]], names: Sequence[str]) -> bool:
    lines = list(zip(*(cells[name] for name in names), strict=True))
    return len(set(lines)) == len(lines)


def _print_texts(console: Console, result: Result, figure: Figure) -> None:
    """Words in colours; where there are none, the stronger words with their numbers."""
    colours = console.color_system is not None and not console.no_color
    for line in tinted_lines(figure, result.tables[figure.table], colours=colours):
        console.print(line, soft_wrap=not colours)
    if colours:
        console.print(Text.assemble(("for", FOR), " ", ("against", AGAINST), "  paler: weaker; numbers: the table"))
    console.print()
