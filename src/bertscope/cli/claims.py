"""`bertscope claims`: the ledger of everything that is stored. Loads no torch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.cli.options import STORE, quiet_beside_json, tell_of_other_versions
from bertscope.core.errors import UserError
from bertscope.core.result import Result, in_words, result_root
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.runner import run_steps

if TYPE_CHECKING:
    import pandas as pd

_STYLES = {"holds": "green", "fails": "red", "underpowered": "yellow", "not tested": "dim"}
_SIGNS = {"holds": "✓", "fails": "✗", "underpowered": "≈", "not tested": "·"}
"""By the verdict's first word; `holds, this training` is a kind of `holds`."""


def claims(*results: str, store: Path = STORE, out: Path | None = None, json: bool = False) -> None:
    """Which of the papers' claims hold here?

    Every claim of the works that the questions come from is looked up in what is stored. It holds if the whole 95%
    interval of its number is on the claimed side, fails if all of it is on the other, and is underpowered otherwise,
    or if no interval can be had. "This training" is decided of one fine-tuned model, by an interval over texts:
    trained again, it may come out otherwise. Claims that nothing stored bears on come with the command that would
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
        Print the ledger as JSON.
    """
    shelf = Store(store)
    with quiet_beside_json(json):
        tell_of_other_versions(shelf)
        step = _ledger(shelf, results)
        run_steps([step], shelf)
    result = shelf.result(step)
    if out is not None:
        result.save(out)
    ledger = result.tables["ledger"]
    if json:
        print(ledger.to_json(orient="records", indent=1, force_ascii=False))
    else:
        _print(result, ledger)
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


def _print(result: Result, ledger: pd.DataFrame) -> None:
    from rich.console import Console

    console = Console(highlight=False)

    def say(line: str, style: str = "") -> None:
        console.print(line, style=style, markup=False, soft_wrap=True)

    for cite, rows in ledger.groupby("cite", sort=False):
        say(f"\n{cite}", "bold")
        for says, mine in rows.groupby("says", sort=False):
            say(f"  {says}")
            for _, row in mine.iterrows():
                kind = row["verdict"].partition(", ")[0]
                say(f"    {_SIGNS[kind]} {row['verdict']:20} {_numbers(row)}", _STYLES[kind])
    say("")
    for note in result.notes:
        say(f"note: {note}")
    say("; ".join(f"{number.value:g} {number.name}" for number in result.headline))


def _numbers(row: pd.Series) -> str:
    """The effect with its interval, what is claimed of it, and of whom; of what wasn't tested, how to."""
    from pandas import isna

    if isna(row["effect"]):
        return row["command"]
    interval = "" if isna(row["low"]) else f"{row['low']:.3f} to {row['high']:.3f}"
    published = "" if isna(row["published"]) else f", published {row['published']:.3f}"
    about = in_words({key: row[key] for key in ("model", "task")})
    return f"{row['effect']:7.3f}  {interval:17}  claimed {row['asks']} {row['at']:.3g}{published}; {about}"
