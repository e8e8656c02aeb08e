"""`bertscope ls` and `bertscope report`: what is stored, listed, shown, written out, compared. None loads torch."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from bertscope.cli.options import STORE
from bertscope.core.errors import UserError
from bertscope.core.files import check_file
from bertscope.core.result import Number, in_words
from bertscope.core.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

report = App(name="report", help="Turn stored results into one page.")


def ls(*, store: Path = STORE) -> None:
    """List what is stored: each finished step with its main number.

    Parameters
    ----------
    store
        The folder where results are kept.
    """
    from rich.console import Console
    from rich.table import Table

    from bertscope.core.catalogue import CATALOGUE, spec

    finished = list(Store(store).finished())
    if not finished:
        raise UserError(f"nothing is stored in {store}; run 'bertscope demo', or name another folder with --store")
    table = Table(box=None, pad_edge=False)
    for column in ("step", "about", "main number", "made"):
        table.add_column(column, no_wrap=column != "about")
    for stored in finished:
        main = spec(stored.step.name).main if stored.step.name in CATALOGUE else ""
        numbers = {number["name"]: number["value"] for number in stored.result["headline"]}
        table.add_row(
            stored.step.id[: len(stored.step.name) + 9],
            in_words(stored.result["subject"]),
            f"{main} {numbers[main]:.3f}" if main in numbers else "",
            f"{stored.result['provenance']['created'][:16].replace('T', ' ')}",
        )
    Console(highlight=False, markup=False).print(table)


@report.command
def build(*, store: Path = STORE, out: Path = Path("report.html"), title: str | None = None) -> None:
    """Make one self-contained page of everything that is stored. Works offline, and without torch.

    The ledger of claims is brought up to date first.

    Parameters
    ----------
    store
        The folder where results are kept.
    out
        The page to write.
    title
        What the page is called.
    """
    from bertscope.report.build import build_report

    _refresh(Store(store))
    print(f"open {build_report(Store(store), out, title=title).resolve()}", file=sys.stderr)


def _refresh(store: Store) -> None:
    """Bring the ledger up to date; a store that can't be written, or is damaged, is shown as it is."""
    from bertscope.study.claims.question import refresh

    try:
        refresh(store)
    except (UserError, OSError, ValueError) as reason:
        print(f"the ledger of claims is as it was: {reason}", file=sys.stderr)


@report.command
def export(
    *, store: Path = STORE, out: Path, format: tuple[Literal["svg", "png", "pdf"], ...] = ("svg", "png", "pdf")
) -> None:
    """Write every figure as SVG, PNG and PDF and every table as CSV, each a file of its own, with an index.

    Parameters
    ----------
    store
        The folder where results are kept.
    out
        The folder to write; one that an export wrote before is replaced.
    format
        How figures are written.
    """
    from bertscope.report.export import export_report

    index = export_report(store, out, formats=format, announce=lambda place: print(place, file=sys.stderr))
    print(f"open {index.resolve()}", file=sys.stderr)


@report.command
def compare(one: Path, other: Path, /, *, out: Path | None = None) -> None:
    """Set the numbers of two stores side by side: what is in both, how far apart it is, what only one has.

    Parameters
    ----------
    one
        The folder where results are kept.
    other
        The folder that it is compared with.
    out
        Also write a page of the comparison.
    """
    from bertscope.report.build import MARK
    from bertscope.report.compare import compare_page, compare_stores

    if out is not None:
        check_file(out, MARK)
    result = compare_stores(one, other)
    _print_compared(result)
    if out is not None:
        print(f"open {compare_page(result, out).resolve()}", file=sys.stderr)


def _print_compared(result: Result) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)

    def say(line: str) -> None:
        console.print(line, soft_wrap=True)

    say(f"{result.subject['stores']}: each number in the first, in the second, and the second minus the first")
    same: dict[str, list[str]] = {}
    for (question, about, other), rows in result.tables["numbers"].groupby(
        ["question", "about", "other_about"], sort=False
    ):
        if not rows["difference"].any():
            same.setdefault(question, []).append(about)
            continue
        say(f"\n{question}: {about}" + (f" | {other}" if other else ""))
        width = int(rows["number"].str.len().max())
        for _, row in rows.iterrows():
            sides = [_with_interval(row, side) for side in ("one", "other")]
            apart = {"no": "intervals apart", "yes": "intervals overlap", "": ""}[row["overlap"]]
            say(f"  {row['number']:{width}}  {sides[0]:24} {sides[1]:24} {row['difference']:+8.3f}  {apart}")
    say("")
    for question, abouts in same.items():
        say(f"the same in both: {question} of {'; '.join(abouts)}")
    for (store, question), rows in result.tables["only"].groupby(["store", "question"], sort=False):
        say(f"only in {store}: {question} of {'; '.join(rows['about'])}")
    say("\n" + ", ".join(f"{number.value:g} {number.name}" for number in result.headline))


def _with_interval(row: pd.Series, side: str) -> str:
    value, low, high = (float(row[key]) for key in (side, f"{side}_low", f"{side}_high"))
    return str(Number("", value) if math.isnan(low) else Number("", value, low, high))
