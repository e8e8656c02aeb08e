"""What a person sees of a run: a live view on a terminal, plain lines elsewhere. Both on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bertscope.core.progress import Bars, bars_on
from bertscope.core.step import Step
from bertscope.study.board import Board
from bertscope.study.times import Times
from bertscope.study.words import about, duration, settings


def line(what: str, step: Step, reason: str = "") -> str:
    """A step's line: `running  patterns    ab12cd34 pocket on demo/corpus; weighted=True`."""
    number = step.id.rpartition("-")[2][:8]
    told = "; ".join(filter(None, (about(step), settings(step))))
    return f"{what:8} {step.name:11} {number} {told}".rstrip() + (f": {reason}" if reason else "")


class Lines:
    """A line for each thing that happens."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Watch while the block lasts."""
        yield

    def say(self, what: str, step: Step, reason: str = "") -> None:
        print(line(what, step, reason), file=sys.stderr, flush=True)


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
        with self._live, bars_on(self._bars):
            yield

    def say(self, what: str, step: Step, reason: str = "") -> None:
        """What is running is in the picture; what failed stays on the screen."""
        if what == "running":
            self._since[step.id] = time.monotonic()
        if reason:
            self._live.console.print(line(what, step, reason), markup=False, highlight=False, soft_wrap=True)

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
        told = [f"{len(steps)} {name}" for name, steps in counts.items() if steps or name == "done"]
        now = time.monotonic()
        running = [(step, now - self._since.get(step.id, now)) for step in self._board.running]
        left = self._times.left(waiting, running, slots=self._board.slots)
        told.append(f"{duration(now - self._started)} so far")
        return "   ".join([*told, *([f"about {duration(left)} left"] if left and left >= 1 else [])])


def watch(board: Board, times: Times) -> Lines | Live:
    return Live(board, times) if sys.stderr.isatty() else Lines()
