"""One call of the model at a time: a short queue, and whoever finds it full is told so at once.

The model lives in one thread. Requests wait outside of it, in the server's event loop, so neither a slow client nor
one that went away holds it.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from bertscope.core.progress import no_bars, telling

Answer = TypeVar("Answer")
QUEUE = 24
"""How many may wait; the one that is being answered isn't counted."""


class Busy(Exception):
    """There is no place in the queue."""


class Closing(Exception):
    """The server ends."""


class Superseded(Exception):
    """The same client has asked something newer of the same kind meanwhile."""


@dataclass(frozen=True)
class Asker:
    """Who asks, as far as it says so: a page numbers what it asks."""

    client: str = ""
    sequence: int = 0


@dataclass(eq=False)
class _Waiting:
    asker: Asker
    kind: str
    call: Callable[[], Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop

    def settle(self, give: Callable[[], None]) -> None:
        """Give an answer in the thread that awaits it, unless nobody does any more."""

        def settled() -> None:
            if not self.future.done():
                give()

        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            self.loop.call_soon_threadsafe(settled)


class Desk:
    """Who waits, and the thread that answers them, first come, first served."""

    def __init__(self, most: int = QUEUE) -> None:
        self._most = most
        self._waiting: deque[_Waiting] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="bertscope model", daemon=True)
        self._thread.start()

    async def ask(self, kind: str, call: Callable[[], Answer], asker: Asker = Asker()) -> Answer:  # noqa: B008
        """What `call` gives, in the model's thread. Who is cancelled while it waits is forgotten."""
        loop = asyncio.get_running_loop()
        one = _Waiting(asker, kind, call, loop.create_future(), loop)
        with self._changed:
            self._enter(one)
        try:
            return await one.future
        finally:
            with self._changed:
                if one in self._waiting:
                    self._waiting.remove(one)

    def _enter(self, one: _Waiting) -> None:
        if self._closing:
            raise Closing
        older = next((other for other in self._waiting if one.asker.client and _same(one, other)), None)
        if older is None:
            if len(self._waiting) >= self._most:
                raise Busy
            self._waiting.append(one)
        elif older.asker.sequence > one.asker.sequence:  # it came late
            raise Superseded
        else:  # it takes the other's place, not one at the end
            self._waiting[self._waiting.index(older)] = one
            older.settle(lambda: older.future.set_exception(Superseded()))
        self._changed.notify()

    def _work(self) -> None:
        with no_bars(), telling("quiet"):
            while (one := self._next()) is not None:
                self._answer(one)
                del one  # what was asked isn't kept until something else is

    def _next(self) -> _Waiting | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            return None if self._closing else self._waiting.popleft()

    def _answer(self, one: _Waiting) -> None:
        try:
            answer = one.call()
        except BaseException as error:  # also what isn't an Exception: this thread must live
            raised = error
            one.settle(lambda: one.future.set_exception(_awaitable(raised)))
        else:
            one.settle(lambda: one.future.set_result(answer))

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def close(self, seconds: float = 1.0) -> bool:
        """Refuse who waits and who comes, and let the model finish what it does; whether it did in time."""
        with self._changed:
            self._closing = True
            for one in self._waiting:
                one.settle(lambda one=one: one.future.set_exception(Closing()))  # type: ignore[misc]
            self._waiting.clear()
            self._changed.notify_all()
        self._thread.join(seconds)
        return not self._thread.is_alive()


def _same(one: _Waiting, other: _Waiting) -> bool:
    return (one.asker.client, one.kind) == (other.asker.client, other.kind)


def _awaitable(error: BaseException) -> BaseException:
    """A future refuses StopIteration, and one that raises SystemExit would end the server's loop."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    told = RuntimeError(f"{type(error).__name__}: {error}")
    told.__cause__ = error
    return told
