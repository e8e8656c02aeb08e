"""`bertscope report`: stored results as a page, shown or served; as files and slides; two stores compared. None of it
loads torch."""

from __future__ import annotations

import contextlib
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cyclopts import App

from bertscope.cli.options import STORE, tell_what_is_skipped
from bertscope.core.console import Console
from bertscope.core.errors import BugError, UserError
from bertscope.core.files import check_file
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.report.serve import LOOPBACK, refuse_other_hosts

if TYPE_CHECKING:
    import pandas as pd

report = App(name="report", help="Turn stored results into one page.")


@report.command
def build(
    *, store: Path = STORE, out: Path = Path("report.html"), title: str | None = None, private: bool = False
) -> None:
    """Make one self-contained page of everything that is stored. Needs neither network nor torch.

    The ledger of claims is brought up to date first.

    Parameters
    ----------
    store
        The folder where results are kept.
    out
        The page to write.
    title
        What the page is called.
    private
        Also show paths, command lines and the system: for your own eyes.
    """
    print(f"open {_built(store, out, title, private).resolve()}", file=sys.stderr)


@report.command(name="open")
def open_(
    *, store: Path = STORE, out: Path = Path("report.html"), title: str | None = None, private: bool = False
) -> None:
    """Make the page, and show it in the browser.

    Parameters
    ----------
    store
        The folder where results are kept.
    out
        The page to write.
    title
        What the page is called.
    private
        Also show paths, command lines and the system: for your own eyes.
    """
    import webbrowser

    page = _built(store, out, title, private).resolve()
    shown = webbrowser.open(page.as_uri())
    print(f"opened {page}" if shown else f"no browser was found here; open {page}", file=sys.stderr)


@report.command
def serve(
    *, store: Path = STORE, port: int = 0, host: str = LOOPBACK, title: str | None = None, private: bool = False
) -> None:
    """Make the page and serve it to browsers on this machine until you press Ctrl+C. No file is left behind.

    Parameters
    ----------
    store
        The folder where results are kept.
    port
        The port to listen on; 0 takes a free one.
    host
        The address to listen on; only this machine's own is allowed.
    title
        What the page is called.
    private
        Also show paths, command lines and the system: for your own eyes.
    """
    from bertscope.report.serve import page_server

    with tempfile.TemporaryDirectory() as folder:
        refuse_other_hosts(host)
        page = _built(store, Path(folder) / "report.html", title, private).read_bytes()
    with page_server(page, port) as server:
        print(f"http://{LOOPBACK}:{server.server_port}/ shows it until you press Ctrl+C", file=sys.stderr, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def _built(store: Path, out: Path, title: str | None, private: bool) -> Path:
    """The page, written; what its first screen says is printed."""
    from bertscope.report.build import MARK, stored_findings, write_page
    from bertscope.report.first_screen import in_lines

    check_file(out, MARK)
    tell_what_is_skipped(store, results=True)
    _refresh(Store(store))
    findings = stored_findings(store, private=private)
    page = write_page(findings, out, title=title)
    for line in in_lines(findings):
        print(line)
    return page


def _refresh(store: Store) -> None:
    """Bring the ledger up to date; a store that can't be written, or is damaged, is shown as it is."""
    from bertscope.study.ledger import refresh

    try:
        refresh(store)
    except (UserError, BugError, OSError, ValueError) as reason:
        print(f"the ledger of claims is as it was: {reason}", file=sys.stderr)


@report.command
def export(
    *, store: Path = STORE, out: Path | None = None, slides: Path | None = None,
    format: tuple[Literal["svg", "png", "pdf"], ...] = ("svg", "png", "pdf"),
) -> None:  # fmt: skip
    """Write every figure as SVG, PNG and PDF and every table as CSV, each to its own file, with an index.

    Parameters
    ----------
    store
        The folder where results are kept.
    out
        The folder to write; one from an earlier export is replaced.
    slides
        Also, or instead, write each figure to this folder as a lecture slide: 16:9, SVG and PNG, under the sentence
        that says what it shows; one from an earlier export is replaced.
    format
        The formats of figures; slides are always SVG and PNG.
    """
    from bertscope.report.export import export_report
    from bertscope.report.slides import export_slides

    if out is None and slides is None:
        raise UserError("say where to: --out FOLDER for figures and tables, --slides FOLDER for slides")
    tell_what_is_skipped(store, results=True)

    def announce(place: str) -> None:
        print(place, file=sys.stderr)

    written = []
    if out is not None:
        written.append(export_report(store, out, formats=format, announce=announce))
    if slides is not None:
        written.append(export_slides(store, slides, announce=announce))
    for index in written:
        print(f"open {index.resolve()}", file=sys.stderr)


@report.command
def compare(one: Path, other: Path, /, *, out: Path | None = None) -> None:
    """Compare the numbers of two stores: what both have, how far apart it is, and what only one has.

    Parameters
    ----------
    one
        The folder where results are kept.
    other
        The store to compare it with.
    out
        Also write a page of the comparison.
    """
    from bertscope.report.build import MARK
    from bertscope.report.compare import compare_page, compare_stores

    if out is not None:
        check_file(out, MARK)
    tell_what_is_skipped(*dict.fromkeys((one, other)), results=True)
    result = compare_stores(one, other)
    _print_compared(result)
    if out is not None:
        print(f"open {compare_page(result, out).resolve()}", file=sys.stderr)


def _print_compared(result: Result) -> None:
    console = Console()

    def say(line: str) -> None:
        console.print(line, soft_wrap=True)

    say(f"{result.subject['stores']}: each number in the first, in the second, and the second minus the first")
    same: dict[str, list[str]] = {}
    for (question, one, other), rows in result.tables["numbers"].groupby(
        ["question", "about", "other_about"], sort=False
    ):
        if not rows["difference"].any():
            same.setdefault(str(question), []).append(str(one))
            continue
        say(f"\n{question}: {one}" + (f" | {other}" if other else ""))
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
    say("\n" + ", ".join(f"{number.value:g} {number.label}" for number in result.headline))


def _with_interval(row: pd.Series, side: str) -> str:
    value, low, high = (float(row[key]) for key in (side, f"{side}_low", f"{side}_high"))
    return str(Number("", value) if math.isnan(low) else Number("", value, low, high))
