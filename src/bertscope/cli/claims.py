"""`bertscope claims`: the ledger of everything that is stored. Loads no torch."""

from __future__ import annotations

import sys
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.cli.answer import print_json
from bertscope.cli.options import STORE, in_store, quiet_beside_json, tell_what_is_skipped
from bertscope.core.errors import UserError
from bertscope.core.registry import find
from bertscope.core.result import Result, result_root
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.runner import run_steps

if TYPE_CHECKING:
    import pandas as pd

_STYLES = {
    "holds": "green", "holds_this_training": "green", "fails": "red", "fails_this_training": "red",
    "underpowered": "yellow", "not_tested": "dim",
}  # fmt: skip


def claims(
    *results: str,
    store: Path = STORE,
    beside: tuple[Path, ...] = (),
    side_by_side: bool = False,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Which of the papers' claims hold here?

    Checks every claim of the papers behind the questions against the stored results. A claim holds if the whole 95%
    interval of its number is on the claimed side, fails if all of it is on the other, and is underpowered otherwise,
    or if there is no interval. "This training" means: decided for one fine-tuned model, by an interval over texts;
    another training may come out otherwise. "Costs nothing" means within a margin: a share of what the whole model
    scores above chance. Claims without a stored result are listed with the command that would test them.

    Parameters
    ----------
    results
        Folders of stored results; by default everything in the store.
    store
        The folder where results are kept and found again.
    beside
        Further stores, such as another model's, whose results are judged in the same ledger.
    side_by_side
        Print a table with a column for each pretrained model.
    out
        Also write the result here.
    json
        Print the answer as JSON, with the ledger's rows.
    """
    shelf = Store(store)
    with quiet_beside_json(json):
        tell_what_is_skipped(shelf)
        step = _ledger(shelf, results, [_other(folder) for folder in beside])
        run_steps([step], shelf)
    result = shelf.result(step)
    if out is not None:
        result.save(out)
    if json:
        rows = loads(result.tables["ledger"].to_json(orient="records"))
        print_json(result.to_json(step.id) | {"ledger": rows})
    else:
        (_print_side_by_side if side_by_side else _print)(result)
        print(f"stored in {shelf.path(step)}; the page: bertscope report build{in_store(store)}", file=sys.stderr)


def _other(folder: Path) -> Store:
    """A store that is only read: it must be there."""
    other = Store(folder)
    if not other.is_marked:
        raise UserError(f"{folder} is no store of bertscope's; give --beside the folder of one, as --store made it")
    return other


def _ledger(shelf: Store, results: tuple[str, ...], beside: list[Store]) -> Step:
    """The step that judges these results, or everything that is stored."""
    from bertscope.study.claims.question import claims as ledger
    from bertscope.study.ledger import ledger_of

    if results and beside:
        raise UserError("--beside is for all that stores hold; name the folders of its results with the others")
    if results:
        named = {root.id: root for root in map(result_root, results)}
        return ledger.step({f"results.{place}": root for place, root in enumerate(named.values())})
    step = ledger_of(shelf, beside)
    if step is None:
        raise UserError(
            f"nothing in {shelf.folder} bears on a claim; ask a question first ('bertscope patterns pocket --on "
            "demo/sentiment'), or name another folder with --store"
        )
    return step


def _print(result: Result) -> None:
    from bertscope.core.console import Console
    from bertscope.report.ledger import SIGNS

    console, words = Console(), find("claims").words["verdict"]

    def say(line: str, style: str = "") -> None:
        console.print(line, style=style, markup=False, soft_wrap=True)

    for cite, rows in result.tables["ledger"].groupby("cite", sort=False):
        say(f"\n{cite}", "bold")
        claims = rows.groupby("says", sort=False)
        # What was tested is read first: a first study decides few of a paper's claims.
        for says, mine in sorted(claims, key=lambda claim: bool((claim[1]["verdict"] == "not_tested").all())):
            say(f"  {says} ({mine['effect_is'].iloc[0]})")
            for _, row in mine.iterrows():
                verdict = row["verdict"]
                sign, _ = SIGNS[verdict]
                say(f"    {sign} {words[verdict]:20} {_numbers(row)}", _STYLES[verdict])
    say("")
    for note in result.notes:
        say(f"note: {note}")
    say("; ".join(f"{number.value:g} {number.label}" for number in result.headline))


def _print_side_by_side(result: Result) -> None:
    """Each claim, and below it what was asked, with a column for each model."""
    from rich.table import Table

    from bertscope.core.console import Console
    from bertscope.report.ledger import SIGNS
    from bertscope.report.side_by_side import in_short, side_by_side

    models, lines = side_by_side(result.tables["ledger"])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("claim", *models):
        table.add_column(heading, overflow="fold")
    for place, line in enumerate(lines):
        if place == 0 or lines[place - 1].claim != line.claim:
            table.add_row(line.says, style="bold")
        found = (
            [f"{SIGNS[row['verdict']][0]} {in_short(row)}" for row in line.readings.get(one, [])] for one in models
        )
        table.add_row(
            f"  {line.asked or 'as it is'}", *("\n".join(cells) or SIGNS["not_tested"][0] for cells in found)
        )
    Console().print(table)
    words = find("claims").words["verdict"]
    print(
        "; ".join(f"{sign} {words[verdict]}" for verdict, (sign, _) in SIGNS.items() if "this" not in words[verdict])
    )


def _numbers(row: pd.Series) -> str:
    """The effect with its interval, what is claimed of it, and of whom; of what wasn't tested, how to."""
    from pandas import isna

    from bertscope.report.ledger import earlier

    if isna(row["effect"]):
        return row["command"]
    share = "" if isna(row["share"]) else f"{row['share']:.0%} of the skill"
    asks = share if isna(row["at"]) else f"{row['at']:.3g}" + (f" ({share})" if share else "")
    interval = "" if isna(row["low"]) else f"{row['low']:.3f} to {row['high']:.3f}"
    published = "" if isna(row["published"]) else f", published {row['published']:.3f}"
    about = row["about"] + (f" ({earlier(row['earlier'])})" if row["earlier"] else "")
    why = f"; {row['why']}" if row["why"] else ""
    return f"{row['effect']:7.3f}  {interval:17}  claimed {row['asks']} {asks}{published}; {about}{why}"
