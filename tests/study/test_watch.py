"""A run as one sees it: how long is left, and the live view."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bertscope.core.result import Result
from bertscope.core.step import Root, Step, graph
from bertscope.core.store import Store
from bertscope.study.board import Board
from bertscope.study.runner import run_steps
from bertscope.study.times import Times
from bertscope.study.watch import Live
from sums import register, step


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    register(monkeypatch)


def test_time_left_is_that_of_steps_alike(tmp_path):
    one, same = (Step("sums", 1, {"add": add}, {"number": Root("number", "5", "d5")}) for add in (0, 1))
    other, unheard = Step("sums", 1, {}, {"number": Root("number", "6", "d6")}), Step("product", 1, {}, {})
    times = Times()
    assert times.left([one]) is None and times.guess(one) is None
    for step_made, seconds in ((one, 10.0), (one, 20.0), (other, 1.0)):
        times.add(step_made, seconds)
    assert times.guess(same).seconds == 15 and times.guess(other).seconds == 1
    assert times.guess(unheard) is None
    assert times.left([same, other, unheard], [(one, 5.0), (other, 9.0)]) == 15 + 1 + 10 + 10 + 0
    assert times.left([same, other], slots=2) == 8
    times.add(one, 90.0)
    assert times.guess(same).seconds == 20, "what was asked before is not kept"
    store = Store(tmp_path)
    run_steps([step()], store)
    seconds = Result.load(store.path(step()) / "result").provenance["seconds"]
    assert Times.of_store(store).guess(step(add=1)).seconds == seconds
    run_steps([step(add=2)], store)
    (store.path(step(add=2)) / "step.json").write_text("{")
    assert Times.of_store(store).guess(step(add=1)).seconds == seconds, "a damaged step is no reason to stop"


def test_the_live_view_says_what_is_done_running_waiting_and_left():
    steps = graph([step(add=1), step(add=2), step(add=3), step({"earlier.0": step(fail="bug")})])
    board, times = Board(steps, [step(add=1).id]), Times()
    times.add(step(), 60.0)
    screen = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    live = Live(board, times, screen)
    board.start(step(fail="bug"))
    with live.open():
        live.say("failed", step(fail="bug"), "it [b]broke[/b]")
        board.fail(step(fail="bug"), "it broke")
        board.start(step(add=2))
        with live._bars.bar("predicting", 10) as bar:
            bar.advance(4, loss="0.31")
            live._live.refresh()
    shown = screen.file.getvalue()
    assert "1 stored   0 done   1 running   1 waiting   1 failed   1 skipped" in shown
    assert "about 2.0 min left" in shown and "add=2" in shown
    assert "predicting" in shown and "4/10" in shown and "loss 0.31" in shown
    assert "it [b]broke[/b]" in shown
