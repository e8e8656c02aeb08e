"""Progress of long work: a bar with time left on a terminal, nothing where nobody watches; how much is told of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol

from bertscope.core.harmless import harmless, harmless_output

_shown: ContextVar[bool] = ContextVar("a bar is on the screen", default=False)


Verbosity = Literal["quiet", "normal", "verbose"]
_verbosity: ContextVar[Verbosity] = ContextVar("how much is told of the work", default="normal")


def verbosity() -> Verbosity:
    """How much is told of the work on standard error: errors alone, what happens, or that and all settings."""
    return _verbosity.get()


@contextmanager
def telling(how: Verbosity) -> Iterator[None]:
    """Tell that much of the work in this block."""
    token = _verbosity.set(how)
    try:
        yield
    finally:
        _verbosity.reset(token)


class Progress(Protocol):
    def advance(self, amount: int = 1, **facts: str) -> None:
        """Say that `amount` more is done, with facts such as `loss="0.31"` to show beside the bar."""


class Screen(Protocol):
    """Where bars are shown."""

    def bar(self, label: str, total: int | None) -> AbstractContextManager[Progress]:
        """A bar for `total` pieces of work, while the block lasts."""


_screen: ContextVar[Screen | None] = ContextVar("where bars are shown, if not in lines of their own", default=None)


class _Silent:
    def advance(self, amount: int = 1, **facts: str) -> None:
        pass


class _Bar:
    def __init__(self, bars: Any, task: Any) -> None:
        self._bars, self._task = bars, task
        self._facts: dict[str, str] = {}

    def advance(self, amount: int = 1, **facts: str) -> None:
        self._facts |= facts
        shown = "  ".join(f"{name} {value}" for name, value in self._facts.items())
        self._bars.update(self._task, advance=amount, facts=shown)


class Bars:
    """rich's bars, as they look here. What shows them may show other things too."""

    def __init__(self, console: Any = None) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        from bertscope.core.console import Console

        whole = Column(no_wrap=True)  # where a terminal is narrow the bar gets shorter, not the numbers
        self.shown = RichProgress(
            TextColumn("{task.description}", markup=False), BarColumn(bar_width=24),
            MofNCompleteColumn(table_column=whole), TimeElapsedColumn(table_column=whole), TextColumn("so far,"),
            TimeRemainingColumn(table_column=whole),
            TextColumn("left"), TextColumn("{task.fields[facts]}", style="dim", markup=False),
            console=console or Console(stderr=True), transient=True,
        )  # fmt: skip

    @contextmanager
    def bar(self, label: str, total: int | None) -> Iterator[Progress]:
        label, room = harmless(label), max(16, self.shown.console.width - 64)
        label = label if len(label) <= room else f"{label[: room - 1]}…"
        task = self.shown.add_task(label, total=total, facts="")
        try:
            yield _Bar(self.shown, task)
        finally:
            self.shown.remove_task(task)


@contextmanager
def bars_on(screen: Screen) -> Iterator[None]:
    """Show the bars of the work in this block there."""
    token = _screen.set(screen)
    try:
        yield
    finally:
        _screen.reset(token)


@contextmanager
def no_bars() -> Iterator[None]:
    """Show no bars of the work in this block: somebody else has the terminal."""
    token = _shown.set(True)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Progress]:
    """Show the progress of `total` pieces of work (None: nobody knows) on standard error, if that is a terminal.

    Work inside work shows the outermost bar only: that is the one whose time left a person wants to know.
    """
    if _shown.get() or verbosity() == "quiet" or not sys.stderr.isatty():
        yield _Silent()
        return
    token = _shown.set(True)
    try:
        if screen := _screen.get():
            with screen.bar(label, total) as bar:
                yield bar
        else:
            bars = Bars()
            with bars.shown, harmless_output(), bars.bar(label, total) as bar:
                yield bar
    finally:
        _shown.reset(token)
