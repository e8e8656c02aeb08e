"""One call at a time, a short queue, a clear "busy"; who leaves or asks anew doesn't wait."""

from __future__ import annotations

import asyncio
import threading

import pytest

from bertscope.core.progress import verbosity
from bertscope.live.desk import Asker, Busy, Closing, Desk, Superseded


class Held:
    """A desk whose model is in the midst of something until `go` is set."""

    def __init__(self, most: int = 3) -> None:
        self.desk, self.go, self.done = Desk(most), threading.Event(), []
        self._begun = threading.Event()

    def call(self, name):
        def work():
            self.done.append(name)
            return name

        return work

    async def begin(self):
        def hold():
            self._begun.set()
            assert self.go.wait(10)
            return "held"

        first = asyncio.ensure_future(self.desk.ask("look", hold, Asker("somebody", 1)))
        while not self._begun.is_set():
            await asyncio.sleep(0.001)
        return first

    def later(self, name, kind="look", client="", sequence=0):
        return asyncio.ensure_future(self.desk.ask(kind, self.call(name), Asker(client, sequence)))


@pytest.fixture
def held():
    one = Held()
    yield one
    one.go.set()
    assert one.desk.close()


async def settled(*futures):
    """What came of each: a value, or the kind of its error."""
    found = await asyncio.gather(*futures, return_exceptions=True)
    return [type(one) if isinstance(one, BaseException) else one for one in found]


async def turn():
    for _ in range(5):
        await asyncio.sleep(0)


def test_first_come_first_served_and_one_at_a_time(held):
    async def asked():
        first = await held.begin()
        others = [held.later(name) for name in "abc"]
        await turn()
        assert held.done == [] and held.desk.waiting == 3
        held.go.set()
        return await settled(first, *others)

    assert asyncio.run(asked()) == ["held", "a", "b", "c"]
    assert held.done == ["a", "b", "c"] and held.desk.waiting == 0


def test_who_finds_the_queue_full_is_told_at_once(held):
    async def asked():
        first = await held.begin()
        others = [held.later(name) for name in "abc"]
        await turn()
        with pytest.raises(Busy):
            await asyncio.wait_for(held.desk.ask("look", held.call("d")), 1)
        held.go.set()
        return await settled(first, *others)

    assert asyncio.run(asked()) == ["held", "a", "b", "c"]


def test_who_leaves_while_waiting_is_forgotten(held):
    async def asked():
        first = await held.begin()
        others = [held.later(name) for name in "abc"]
        await turn()
        others[1].cancel()
        await turn()
        assert held.desk.waiting == 2
        held.go.set()
        return await settled(first, *others)

    assert asyncio.run(asked()) == ["held", "a", asyncio.CancelledError, "c"]
    assert held.done == ["a", "c"]


def test_a_newer_ask_takes_the_place_of_the_same_clients_older_one(held):
    async def asked():
        first = await held.begin()  # the same client's, too: what is being answered goes on
        mine = held.later("old", client="somebody", sequence=2)
        other = held.later("other", client="another", sequence=1)
        kind = held.later("rows", kind="rows", client="somebody", sequence=3)
        await turn()
        newer = held.later("new", client="somebody", sequence=4)  # the queue is full, but for its own place
        await turn()
        late = held.later("late", client="somebody", sequence=3)
        await turn()
        held.go.set()
        return await settled(first, mine, other, kind, newer, late)

    assert asyncio.run(asked()) == ["held", Superseded, "other", "rows", "new", Superseded]
    assert held.done == ["new", "other", "rows"]


def test_who_doesnt_say_who_it_is_supersedes_nobody(held):
    async def asked():
        first = await held.begin()
        others = [held.later("a", sequence=1), held.later("b", sequence=2)]
        await turn()
        held.go.set()
        return await settled(first, *others)

    assert asyncio.run(asked()) == ["held", "a", "b"]


@pytest.mark.parametrize("error", [ValueError, StopIteration, SystemExit, KeyboardInterrupt, MemoryError])
def test_whatever_a_call_raises_the_thread_lives_on(error):
    desk = Desk()

    def fail():
        raise error("why")

    async def asked():
        with pytest.raises(Exception, match="why"):
            await desk.ask("look", fail)
        return await desk.ask("look", lambda: "still here")

    assert asyncio.run(asked()) == "still here"
    assert desk.close()


def test_closing_refuses_who_waits_and_who_comes_and_says_whether_the_model_is_done():
    held = Held()

    async def asked():
        first = await held.begin()
        others = [held.later(name) for name in "ab"]
        await turn()
        assert not await asyncio.to_thread(held.desk.close, 0.05)
        found = await settled(*others, held.later("c"))
        held.go.set()
        return [*found, await first]

    assert asyncio.run(asked()) == [Closing, Closing, Closing, "held"]
    assert held.desk.close() and held.done == []
    assert "bertscope model" not in [one.name for one in threading.enumerate() if one is held.desk._thread]


def test_the_model_shows_no_bars_on_a_terminal_that_isnt_its_own():
    desk = Desk()
    assert asyncio.run(desk.ask("look", verbosity)) == "quiet"
    assert desk.close()
