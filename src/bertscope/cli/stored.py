"""`bertscope ls` and `bertscope report build`: what is stored, listed and shown. Neither loads torch."""

from __future__ import annotations

import sys
from pathlib import Path

from cyclopts import App

from bertscope.cli.options import STORE
from bertscope.core.errors import UserError
from bertscope.core.result import in_words
from bertscope.core.store import Store

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

    print(f"open {build_report(Store(store), out, title=title).resolve()}", file=sys.stderr)
