"""What a person sees of a run: a live view on a terminal, plain lines elsewhere. Both on standard error, as much as
`core.progress.verbosity` says."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bertscope.core.harmless import harmless_output, one_line
from bertscope.core.progress import Bars, bars_on, verbosity
from bertscope.core.step import Step
from bertscope.core.store import Store
from bertscope.study.board import Board
from bertscope.study.step_words import about, all_settings, changed_settings, duration
from bertscope.study.times import Times


def line(what: str, step: Step, more: str = "") -> str:
    """A step's line: `done     patterns    ab12cd34 pocket on demo/corpus; weighted=True: 12 s`."""
    number = step.id.rpartition("-")[2][:8]
    words = "; ".join(filter(None, (about(step), changed_settings(step))))
    return one_line(f"{what:8} {step.name:11} {number} {words}".rstrip() + (f": {more}" if more else ""))


def _lines(what: str, step: Step, more: str, trace: str) -> str:
    """The same, and for who wants to know everything its settings, or the traceback, in lines under it."""
    under = []
    if verbosity() == "verbose":
        under = trace.splitlines() if what == "failed" else []
        under += [all_settings(step)] if what in ("running", "stored") else []
    return "\n".join([line(what, step, more), *(f"         {one}" for one in under if one)])


class Lines:
    """A line for each thing that happens; for who wants it quiet, for what failed alone."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Watch while the block lasts."""
        yield

    def say(self, what: str, step: Step, reason: str = "", trace: str = "") -> None:
        if verbosity() != "quiet" or what == "failed":
            print(_lines(what, step, reason, trace), file=sys.stderr, flush=True)

    def done(self, step: Step, seconds: float) -> None:
        self.say("done", step, duration(seconds))


class Live:
    """How many steps are done, running and waiting, what is running with its own bar, and the time left."""

    def __init__(self, board: Board, times: Times, console: Any = None) -> None:
        from rich.live import Live as RichLive

        self._board, self._times = board, times
        self._started = time.monotonic()
        self._since: dict[str, float] = {}
        self._bars = Bars(console)
        self._live = RichLive(
            get_renderable=self._picture, console=self._bars.shown.console, transient=True, refresh_per_second=4
        )

    @contextmanager
    def open(self) -> Iterator[None]:
        with self._live, harmless_output(), bars_on(self._bars):
            yield

    def say(self, what: str, step: Step, reason: str = "", trace: str = "") -> None:
        """What is running is in the picture; what failed stays on the screen."""
        if what == "running":
            self._since[step.id] = time.monotonic()
        if what in ("failed", "skipped", "waits") or verbosity() == "verbose":
            text = _lines(what, step, reason, trace)
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def done(self, step: Step, seconds: float) -> None:
        self._times.add(step, seconds)
        self.say("done", step, duration(seconds))

    def _picture(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        shown = [Text(self._counts(), no_wrap=True, overflow="ellipsis")]
        shown += [
            Text(f"  {line('running', step)}", no_wrap=True, overflow="ellipsis") for step in self._board.running
        ]
        return Group(*shown, *([self._bars.shown.get_renderable()] if self._bars.shown.tasks else []))

    def _counts(self) -> str:
        outcome, waiting = self._board.outcome, self._board.waiting
        counts = {
            "stored": outcome.stored, "done": outcome.done, "running": self._board.running, "waiting": waiting,
            "failed": outcome.failed, "skipped": outcome.skipped,
        }  # fmt: skip
        parts = [f"{len(steps)} {name}" for name, steps in counts.items() if steps or name == "done"]
        now = time.monotonic()
        running = [(step, now - self._since.get(step.id, now)) for step in self._board.running]
        left = self._times.left(waiting, running, slots=self._board.slots)
        parts.append(f"{duration(now - self._started)} so far")
        return "   ".join([*parts, *([f"about {duration(left)} left"] if left and left >= 1 else [])])


def watch(board: Board, store: Store) -> Lines | Live:
    return Live(board, Times.of_store(store)) if _is_live() else Lines()


def tell_stored(board: Board) -> None:
    """Of a run that has nothing to make. A live view has nothing to show then."""
    if not _is_live():
        for at in board.outcome.stored:
            Lines().say("stored", board.steps[at])


def _is_live() -> bool:
    return sys.stderr.isatty() and verbosity() != "quiet"
