"""`bertscope claims`: the ledger of everything that is stored. Loads no torch."""

from __future__ import annotations

import sys
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.cli.answer import print_json
from bertscope.cli.options import STORE, quiet_beside_json, tell_what_is_skipped
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


def claims(*results: str, store: Path = STORE, out: Path | None = None, json: bool = False) -> None:
    """Which of the papers' claims hold here?

    Every claim of the works that the questions come from is looked up in what is stored. It holds if the whole 95%
    interval of its number is on the claimed side, fails if all of it is on the other, and is underpowered otherwise,
    or if no interval can be had. "This training" is decided of one fine-tuned model, by an interval over texts:
    trained again, it may come out otherwise. "Costs nothing" is within a margin: a share of what the whole model has
    above chance. Claims that nothing stored bears on come with the command that would
    test them.

    Parameters
    ----------
    results
        Folders of stored results; by default everything in the store.
    store
        The folder where results are kept and found again.
    out
        Also write the result here.
    json
        Print the answer as JSON, with the ledger's rows.
    """
    shelf = Store(store)
    with quiet_beside_json(json):
        tell_what_is_skipped(shelf)
        step = _ledger(shelf, results)
        run_steps([step], shelf)
    result = shelf.result(step)
    if out is not None:
        result.save(out)
    if json:
        rows = loads(result.tables["ledger"].to_json(orient="records"))
        print_json(result.to_json(step.id) | {"ledger": rows})
    else:
        _print(result)
        print(f"stored in {shelf.path(step)}; the page: bertscope report build --store {store}", file=sys.stderr)


def _ledger(shelf: Store, results: tuple[str, ...]) -> Step:
    """The step that judges these results, or everything that is stored."""
    from bertscope.study.claims.question import claims as ledger
    from bertscope.study.ledger import ledger_of

    if results:
        return ledger.step({f"results.{place}": result_root(one) for place, one in enumerate(results)})
    step = ledger_of(shelf)
    if step is None:
        raise UserError(
            f"nothing in {shelf.folder} bears on a claim; ask a question first ('bertscope patterns pocket --on "
            "demo/sentiment'), or name another folder with --store"
        )
    return step


def _print(result: Result) -> None:
    from rich.console import Console

    from bertscope.report.ledger import SIGNS

    console, words = Console(highlight=False), find("claims").words["verdict"]

    def say(line: str, style: str = "") -> None:
        console.print(line, style=style, markup=False, soft_wrap=True)

    for cite, rows in result.tables["ledger"].groupby("cite", sort=False):
        say(f"\n{cite}", "bold")
        for says, mine in rows.groupby("says", sort=False):
            say(f"  {says} ({mine['effect_is'].iloc[0]})")
            for _, row in mine.iterrows():
                verdict = row["verdict"]
                sign, _ = SIGNS[verdict]
                say(f"    {sign} {words[verdict]:20} {_numbers(row)}", _STYLES[verdict])
    say("")
    for note in result.notes:
        say(f"note: {note}")
    say("; ".join(f"{number.value:g} {number.label}" for number in result.headline))


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
