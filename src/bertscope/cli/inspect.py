"""`bertscope inspect`: whoever has a model asks this first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from bertscope.cli.options import STORE, tell_what_is_skipped
from bertscope.core.store import Store
from bertscope.data.options import DataOptions

if TYPE_CHECKING:
    from bertscope.study.inspection import Inspection


def inspect(
    model: str,
    /,
    *,
    on: str,
    base: str | None = None,
    minutes: float = 10.0,
    train: Annotated[bool, Parameter(negative=())] = False,
    page: Path = Path("inspect.html"),
    open: bool = True,
    store: Path = STORE,
    json: bool = False,
    private: bool = False,
    options: Annotated[DataOptions, Parameter(name="*")] = DataOptions(),  # noqa: B008 (frozen)
) -> None:
    """What is going on in a model, and what should be done about it?

    Model and data are checked first; then the questions that fit are asked, the cheapest and most telling first, as
    many as there is time for. The page is written early and again as answers come; its first screen sums them up.
    Run again with more minutes, it continues: what is stored isn't computed again. Nothing is trained, unless --train
    allows it.

    Parameters
    ----------
    model
        A folder, a hub id, or 'pocket'; fine-tuned for a task.
    on
        The task's data: a file, a folder, demo/sentiment, glue/rte ...
    base
        What the model was fine-tuned from, to also show what fine-tuning changed. By default what its own files say.
    minutes
        How long it may take.
    train
        Also train a smaller model, and one without its top layer.
    page
        The page to write; one that bertscope wrote is replaced.
    open
        Open the page in a browser when it is done (only from a terminal); --no-open doesn't.
    store
        The folder where results are kept and found again.
    json
        Print the conclusions as JSON.
    private
        Show paths, command lines and the system on the page too: for your own eyes.
    """
    from bertscope.core.files import check_file
    from bertscope.report.build import MARK, build_report
    from bertscope.study.growing_report import GrowingReport
    from bertscope.study.inspection import inspect as inspected

    check_file(page, MARK)
    shelf = Store(store)
    tell_what_is_skipped(shelf)
    so_far: list[Inspection] = []

    def write() -> None:
        ids = {step.id for step in so_far[-1].steps}
        build_report(shelf, page, title=so_far[-1].about, only=ids, private=private)

    growing = GrowingReport(write)

    def told(inspection: Inspection) -> None:
        so_far[:] = [inspection]
        growing.tell()
        if growing.due():
            growing.write()

    how = {"base": base, "minutes": minutes, "train": train, "store": shelf, "told": told, **options.given()}
    try:
        found = inspected(model, on, **how)
    finally:  # who interrupts it keeps what is known
        growing.write()
    _print(found, json)
    print(f"{found.seconds:.0f} s; open {page.resolve()}", file=sys.stderr)
    if open and sys.stdout.isatty():
        import webbrowser

        webbrowser.open(page.resolve().as_uri())


def _print(found: Inspection, json: bool) -> None:
    from bertscope.core.console import Console

    if json:
        from bertscope.cli.answer import print_json

        each = [
            {"theme": one.theme, "text": one.text, "open": one.is_open, "command": one.command}
            for one in found.consequences
        ]  # fmt: skip
        print_json({"model": found.model, "data": found.data, "consequences": each, "next": found.next(),
                    "notes": found.notes()})  # fmt: skip
        return
    from rich.padding import Padding

    console = Console()
    console.print(found.about, style="bold")
    for heading, text in found.told():
        console.print(heading, style="bold cyan")
        console.print(Padding(text, (0, 0, 0, 2)))
    if command := found.next():
        console.print("What to do next?", style="bold cyan")
        console.print(f"  {command}", soft_wrap=True)  # whole, to be copied: padding would cut it at the edge
    for note in found.notes():
        console.print(f"note: {note}", soft_wrap=True)
