"""Recorders of steps for machines without a GPU: what is recorded is simply done again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from bertscope.training.loop import Training

Work = Callable[[], None]


class Again:
    """Does the work again, and counts what it recorded."""

    def __init__(self) -> None:
        self.recorded = 0

    def aside(self) -> nullcontext[None]:
        return nullcontext()

    def record(self, work: Work) -> Work:
        self.recorded += 1
        return work

    def close(self) -> None: ...


class Broken(Again):
    """Like a graph of work that waits for the device."""

    def record(self, work: Work) -> Work:
        raise RuntimeError("operation not permitted when stream is capturing\nmore that nobody wants to read")


def capturing(monkeypatch, recorder: Again) -> Again:
    """Let trainings record their steps here, as they do on a GPU."""
    plain = Training.__init__

    def made(self, *args, **kwargs):
        plain(self, *args, **kwargs)
        self.captured = self.capture(recorder)

    monkeypatch.setattr(Training, "__init__", made)
    return recorder
