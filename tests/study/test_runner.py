"""The runner: nothing twice, failures stay where they are, many processes share a store."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bertscope.core.errors import BugError, FullDiskError, UserError
from bertscope.core.progress import telling
from bertscope.core.step import graph
from bertscope.core.store import Store
from bertscope.study import runner
from bertscope.study.execute import perform
from bertscope.study.growing_report import GrowingReport
from bertscope.study.runner import run_steps
from bertscope.study.step_states import failures, states
from stored_steps import put_step
from sums import CALLS, register, step
from sums import sums as sums_question


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    register(monkeypatch)


def log_of(store: Store) -> str:
    return "".join(path.read_text() for path in (store.folder / "logs").iterdir())


def test_the_graph_has_each_step_once_after_what_it_needs():
    shared = step(add=1)
    left, right = step({"earlier.0": shared}), step({"earlier.0": shared}, add=2)
    last = step({"earlier.0": left, "earlier.1": right, "earlier.2": shared}, add=3)
    assert list(graph([last, right])) == [shared.id, left.id, right.id, last.id]
    assert list(graph([last], lambda one: one.id == left.id)) == [left.id, shared.id, right.id, last.id]
    assert list(graph([left, last], lambda one: one.id in (left.id, last.id))) == [left.id, last.id]


def test_nothing_stored_runs_again(tmp_path, capsys):
    store, first = Store(tmp_path), step(add=1)
    last = step({"earlier.0": first, "earlier.1": step(add=2)})
    outcome = run_steps([first, last], store)
    assert len(outcome.done) == 3 and outcome.exit_code == 0 and CALLS.count("sum") == 3
    assert store.result(last)["total"].value == 13
    assert capsys.readouterr().err.count("running  sum") == 3
    CALLS.clear()
    again = run_steps([first, last], store)
    assert not CALLS and not again.done and set(again.stored) == {first.id, last.id}
    changed = step({"earlier.0": first, "earlier.1": step(add=3)})
    assert len(run_steps([changed], store).done) == 2, "what doesn't depend on the change is found"


def test_a_failure_takes_only_its_dependants_along(tmp_path, capsys):
    store = Store(tmp_path)
    bad, bug, good = step(fail="mistake"), step(fail="bug"), step(add=1)
    lost = step({"earlier.0": bad, "earlier.1": good})
    further = step({"earlier.0": lost})
    kept = step({"earlier.0": good})
    outcome = run_steps([further, bug, kept], store, keep_going=True)
    assert outcome.exit_code == 3
    assert set(outcome.done) == {good.id, kept.id}
    assert set(outcome.failed) == {bad.id, bug.id} and outcome.failed[bad.id] == "it failed"
    assert outcome.skipped == dict.fromkeys([lost.id, further.id], f"needs {bad.id}, which failed")
    said = capsys.readouterr().err
    assert "failed   sum" in said and ": it failed" in said and "skipped  sum" in said
    assert "ZeroDivisionError: not so (a bug of bertscope; details: " in said and "Traceback" not in said
    log = log_of(store)
    assert "Traceback" in log and "ZeroDivisionError: not so" in log and log.count("Traceback") == 1
    assert f"done     {good.id}" in log and f"running  {good.id}" in log and "end: 2 done" in log
    assert run_steps([bug], store, keep_going=True).exit_code == 3, "a failure isn't stored"


def test_where_nothing_is_to_go_on_the_first_failure_is_raised(tmp_path, capsys):
    store, after = Store(tmp_path), step(add=2)
    with pytest.raises(UserError, match=r"^it failed$"):
        run_steps([step({"earlier.0": step(fail="mistake")}), after], store)
    with pytest.raises(BugError, match=r"^ZeroDivisionError: not so \(a bug of bertscope; details: ") as caught:
        run_steps([step(fail="bug"), after], store)
    assert not store.has(after) and "failed" not in capsys.readouterr().err, "the error says it"
    assert "measure" in caught.value.__notes__[0] and "Traceback" in log_of(store)


def test_lines_say_how_each_step_ended(tmp_path, capsys):
    store, first, last = Store(tmp_path), step(add=1), step({"earlier.0": step(add=1)}, add=2)
    run_steps([first], store)
    capsys.readouterr()
    run_steps([first, last], store)
    number = last.id.rpartition("-")[2][:8]
    assert capsys.readouterr().err.splitlines() == [
        f"stored   sums        {first.id.rpartition('-')[2][:8]} add=1",
        f"running  sums        {number} add=2", f"done     sums        {number} add=2: under 1 s",
    ]  # fmt: skip
    with telling("quiet"):
        run_steps([last, step(add=3), step(fail="bug")], store, keep_going=True)
    assert capsys.readouterr().err.count("\n") == 1, "what failed alone"
    with telling("verbose"):
        run_steps([last, step(add=4), step(fail="bug")], store, keep_going=True)
    told = capsys.readouterr().err
    assert (
        "         add=2 fail= seconds=0.0 gigabytes=0.0\n" in told
        and "         add=4 fail= seconds=0.0 gigabytes=0.0\n" in told
    )
    assert told.count("Traceback") == 1


def test_an_interruption_keeps_what_is_finished(tmp_path):
    store, first, after = Store(tmp_path), step(add=1), step(add=2)
    with pytest.raises(KeyboardInterrupt):
        run_steps([first, step(fail="interrupt"), after], store)
    assert store.has(first) and not store.has(after)
    assert "stopped: KeyboardInterrupt" in log_of(store)


def test_a_failure_is_known_while_the_run_goes_on_and_until_the_step_is_made(tmp_path):
    store, bad = Store(tmp_path), step(fail="mistake")
    with pytest.raises(KeyboardInterrupt):  # what is known by then is known to whoever looks on
        run_steps([bad, step(fail="interrupt")], store, keep_going=True)
    assert failures(store) == {bad.id: "it failed"} and states([bad], store) == {bad.id: "failed"}
    put_step(tmp_path, bad, sums_question.result(headline=[]))
    assert run_steps([bad], store).stored and not failures(store)
    store.delete(store.path(bad))
    assert states([bad], store) == {bad.id: "waiting"}


def test_a_full_disk_stops_the_run(tmp_path):
    store, after = Store(tmp_path), step(add=2)
    with pytest.raises(FullDiskError, match="the disk is full"):
        run_steps([step(fail="disk"), after], store)
    assert not store.has(after), "it couldn't have been written"


def test_bad_numbers_of_workers_are_refused(tmp_path):
    for wrong in ({"workers": -1}, {"workers": 2, "cluster": "tcp://nowhere:1"}):
        with pytest.raises(UserError, match="workers is"):
            run_steps([step()], Store(tmp_path), **wrong)


@pytest.mark.alone
def test_what_another_process_makes_is_passed_over_and_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.02)
    store, theirs, ours = Store(tmp_path), step(add=1), step(add=2)
    last = step({"earlier.0": theirs, "earlier.1": ours})
    claimed, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with Store(tmp_path).claim(theirs) as claim:
            claimed.set()
            go_on.wait(10)
            perform(claim, {"number": 5})

    thread = threading.Thread(target=other)
    thread.start()
    claimed.wait()
    threading.Timer(0.3, go_on.set).start()
    outcome = run_steps([last], store)
    thread.join()
    assert outcome.stored == {theirs.id: "made by another process"}
    assert list(outcome.done) == [ours.id, last.id] and CALLS.count("sum") == 3


@pytest.mark.alone
def test_what_another_process_left_is_made_here(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.02)
    claimed, go_on = threading.Event(), threading.Event()

    def gives_up() -> None:
        with Store(tmp_path).claim(step()):
            claimed.set()
            go_on.wait(10)

    thread = threading.Thread(target=gives_up)
    thread.start()
    claimed.wait()
    threading.Timer(0.2, go_on.set).start()
    assert set(run_steps([step()], Store(tmp_path)).done) == {step().id}
    thread.join()


@pytest.mark.alone
def test_sixteen_processes_share_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "POLL", 0.05)
    monkeypatch.setenv("SUMS_CALLS", str(tmp_path / "calls"))
    sums = {f"earlier.{add}": step(add=add, seconds=0.2) for add in range(1, 33)}
    last = step(sums, add=100)
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=run_steps, args=([last], Store(tmp_path / "store"))) for _ in range(16)]
    started = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert all(process.exitcode == 0 for process in processes)
    assert time.perf_counter() - started < 32 * 0.2, "faster than one after the other"
    calls = (tmp_path / "calls").read_text().split()
    assert sorted(calls, key=int) == [str(add) for add in (*range(1, 33), 100)], "each was made once"
    total = 32 * 5 + sum(range(1, 33)) + 100
    assert Store(tmp_path / "store").result(last)["total"].value == total


@pytest.mark.alone
def test_a_finished_study_loads_no_torch_and_takes_no_time(tmp_path):
    """The demo's steps, as if they were stored: what is looked at is only whether they are there."""
    make = """
import sys
from bertscope.core.store import Store
from bertscope.study.file import read_study
from bertscope.study.runner import run_steps
sys.path.append(sys.argv[2])
from stored_steps import seal_step
steps, store = read_study('demo').steps, Store(sys.argv[1])
for step in steps:
    seal_step(store.path(step), step)
outcome = run_steps(steps, store, page=lambda: print("page"))
assert set(outcome.stored) == {step.id for step in steps} and not outcome.done
assert not {"torch", "pandas", "dask", "rich"} & set(sys.modules)
"""
    started = time.perf_counter()
    words = [sys.executable, "-c", make, str(tmp_path), str(Path(__file__).parents[1] / "support")]
    said = subprocess.run(words, check=True, capture_output=True, text=True)
    assert time.perf_counter() - started < 3 and said.stdout == ""


def test_pages_come_early_and_seldom():
    now, written = [0.0], []

    def write() -> None:
        written.append(now[0])
        now[0] += 3.0  # it takes three seconds

    pages = GrowingReport(write, lambda: now[0])
    assert not pages.due()
    pages.write()
    assert not written, "there is nothing to show"
    pages.tell()
    assert pages.due(), "the first at once"
    pages.write()
    pages.tell()
    now[0] += 29
    assert not pages.due(), "three seconds are more than a tenth of that"
    now[0] += 1
    assert pages.due()
    pages.write()
    assert len(written) == 2 and not pages.due()


def test_the_page_is_written_as_results_come_and_its_failure_stops_nothing(tmp_path):
    seen: list[int] = []

    def page() -> None:
        seen.append(len(list(Store(tmp_path).finished())))
        if len(seen) == 1:
            raise OSError("no page today")

    run_steps([step(add=1), step(add=2), step(add=3)], Store(tmp_path), page=page)
    assert seen == [1, 3], "after the first, and at the end: the others came too soon"
    assert "OSError: no page today" in log_of(Store(tmp_path))
    run_steps([step(add=1)], Store(tmp_path), page=page)
    assert seen == [1, 3], "nothing new"


def test_the_log_is_of_the_day(tmp_path):
    run_steps([step()], Store(tmp_path))
    (path,) = (tmp_path / "logs").iterdir()
    assert path.name == f"{time.strftime('%Y-%m-%d')}.log"
