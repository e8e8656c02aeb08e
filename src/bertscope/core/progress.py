"""Progress of long work: a bar with time left on a terminal, nothing where nobody watches."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

_shown: ContextVar[bool] = ContextVar("a bar is on the screen", default=False)


class Progress(Protocol):
    def advance(self, amount: int = 1, **facts: str) -> None:
        """Say that `amount` more is done, with facts such as `loss="0.31"` to show beside the bar."""


class _Silent:
    def advance(self, amount: int = 1, **facts: str) -> None:
        pass


class _Bar:
    def __init__(self, bar: Any, task: Any) -> None:
        self._bar, self._task, self._facts = bar, task, {}  # type: ignore[var-annotated]

    def advance(self, amount: int = 1, **facts: str) -> None:
        self._facts |= facts
        shown = "  ".join(f"{name} {value}" for name, value in self._facts.items())
        self._bar.update(self._task, advance=amount, facts=shown)


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Progress]:
    """Show the progress of `total` pieces of work (None: nobody knows) on standard error, if that is a terminal.

    Work inside work shows the outermost bar only: that is the one whose time left a person wants to know.
    """
    if _shown.get() or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), TextColumn("[dim]{task.fields[facts]}"),
    )  # fmt: skip
    token = _shown.set(True)
    try:
        with RichProgress(*columns, console=Console(stderr=True), transient=True) as bar:
            yield _Bar(bar, bar.add_task(label, total=total, facts=""))
    finally:
        _shown.reset(token)
