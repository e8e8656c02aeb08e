"""Workers of this machine: the same steps, the same results, no door for others, none left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertscope.core.errors import FullDiskError, UserError
from bertscope.core.registry import find
from bertscope.core.step import graph
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.data.read import task_root
from bertscope.experiments.scratch import question as scratch
from bertscope.models.source import model_root
from bertscope.study import processes, worker
from bertscope.study.runner import run_steps
from device import on_cpu
from sums import register, step
from watched_processes import children, doors, environment, runs, until

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="processes are watched as Linux shows them"),
]
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def sums(monkeypatch):
    register(monkeypatch)


def all_of(crew: processes.Processes, count: int, seconds: float = 60.0) -> list:
    """What comes of so many steps."""
    found = []
    until(lambda: found.extend(crew.collect(0.1)) or len(found) == count, seconds)
    return found


def test_workers_make_what_one_process_makes(tmp_path, sums, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)  # there is no Dask
    first, bad = step(add=1), step(fail="bug")
    last = step({"earlier.0": first, "earlier.1": step(add=2)})
    lost = step({"earlier.0": bad, "earlier.1": first})
    outcome = run_steps([last, lost], Store(tmp_path), keep_going=True, workers=2)
    assert outcome.exit_code == 3 and set(outcome.done) == {first.id, step(add=2).id, last.id}
    assert set(outcome.failed) == {bad.id} and set(outcome.skipped) == {lost.id}
    assert "ZeroDivisionError: not so" in next((tmp_path / "logs").iterdir()).read_text()
    result = Store(tmp_path).result(last)
    assert result["total"].value == 13
    assert result.provenance["command"].split()[0] == Path(sys.argv[0]).name, "the user's command, not the worker's"
    assert not children(os.getpid())


@pytest.mark.parametrize(("gigabytes", "lines"), [(6, 1), (4, 0)])
def test_who_has_no_room_on_a_device_waits_and_says_so_once(tmp_path, sums, capfd, gigabytes, lines):
    both = [step(add=add, seconds=1.5, gigabytes=float(gigabytes)) for add in (1, 2)]
    outcome = run_steps(both, Store(tmp_path), workers=2)
    assert set(outcome.done) == {one.id for one in both}
    told = [line for line in capfd.readouterr().err.splitlines() if line.startswith("waits")]
    assert len(told) == lines
    assert all("for room on the GPU: it needs about 6.0 GB, and 4.0 GB are left" in line for line in told)


def test_a_full_disk_and_a_mistake_end_the_run_and_the_workers(tmp_path, sums):
    for fail, error in {"disk": FullDiskError, "mistake": UserError}.items():
        with pytest.raises(error, match=r"the disk is full|it failed"):
            run_steps([step(fail=fail), step(seconds=60.0)], Store(tmp_path), workers=2)
        assert not children(os.getpid())


def test_nobody_else_can_talk_to_a_worker(tmp_path, sums):
    before = doors(os.getpid())
    with processes.executor(Store(tmp_path), 1, True) as crew:
        crew.start((step(seconds=1.0),))
        until(lambda: Store(tmp_path).is_running(step(seconds=1.0)))
        assert doors(crew._workers[0].process.pid) == [] and doors(os.getpid()) == before
    with socket.create_server(("127.0.0.1", 0)):
        assert len(doors(os.getpid())) == len(before) + 1, "a door would have been seen"


def test_a_worker_has_one_thread_unless_the_user_says_otherwise(tmp_path, sums, monkeypatch):
    for own, wanted in ((None, "1"), ("3", "3")):
        monkeypatch.delenv("OMP_NUM_THREADS") if own is None else monkeypatch.setenv("OMP_NUM_THREADS", own)
        with processes.executor(Store(tmp_path), 1, True) as crew:
            crew.start((step(add=1),))
            all_of(crew, 1)
            assert environment(crew._workers[0].process.pid)["OMP_NUM_THREADS"] == wanted


def test_workers_start_when_there_is_work_and_stay(tmp_path, sums):
    with processes.executor(Store(tmp_path), 8, True) as crew:
        assert crew.slots == 8 and not crew._workers
        for add in range(3):
            crew.start((step(add=add),))
            assert [one.how for one in all_of(crew, 1)] == ["done"]
        assert len(crew._workers) == 1


def test_a_job_may_be_larger_than_a_pipe(tmp_path, sums):
    """It is written while the worker is still starting."""
    large = step({f"earlier.{add}": step(add=add) for add in range(2000)})
    with processes.executor(Store(tmp_path), 1, True) as crew:
        crew.start((large,))
        assert len(json.dumps(large.to_json())) > 200_000 and all_of(crew, 1)[0].id == large.id


def test_a_worker_keeps_open_what_it_has_read(tmp_path, sums):
    Store(tmp_path).mark()
    token, folder = Store(tmp_path).token, str(tmp_path)
    worker.work([step(add=1).to_json()], folder, token, True)
    opened = worker._opened.pop(folder)
    worker._opened[folder] = opened
    worker.work([step(add=2).to_json()], folder, token, True)
    assert worker._opened[folder] is opened


def test_a_job_whose_worker_is_killed_is_made_by_another(tmp_path, sums):
    slow = step(seconds=0.5)
    with processes.executor(Store(tmp_path), 2, True) as crew:
        crew.start((slow,))
        for _ in range(2):
            until(lambda: Store(tmp_path).is_running(slow))
            (hit,) = crew._workers
            hit.process.kill()
            until(lambda dead=hit: crew.collect(0.05) or dead not in crew._workers)
        assert [one.how for one in all_of(crew, 1)] == ["done"]


def test_an_idle_worker_that_is_killed_costs_nothing(tmp_path, sums):
    with processes.executor(Store(tmp_path), 1, True) as crew:
        crew.start((step(add=1),))
        all_of(crew, 1)
        crew._workers[0].process.kill()
        crew._workers[0].process.wait()
        crew.start((step(add=2),))
        assert [one.how for one in all_of(crew, 1)] == ["done"]


def test_a_step_that_kills_its_workers_has_failed_and_the_others_go_on(tmp_path, sums, monkeypatch):
    monkeypatch.setenv("SUMS_CALLS", str(tmp_path / "calls"))
    steps = [step(fail="death", add=7), step(add=1), step({"earlier.0": step(fail="death", add=7)})]
    outcome = run_steps(steps, Store(tmp_path / "store"), keep_going=True, workers=2)
    assert set(outcome.done) == {step(add=1).id} and set(outcome.skipped) == {steps[2].id}
    assert outcome.failed == {
        steps[0].id: "its worker died, and so did those that took it up; perhaps there is too little memory"
    }
    assert (tmp_path / "calls").read_text().split().count("7") == 3


def test_a_worker_that_sees_another_folder_says_so_and_leaves_it_alone(tmp_path, sums):
    store = tmp_path / "store"
    with processes.executor(Store(store), 1, True) as crew:
        for marker in (json.dumps({"store": "another"}), "", None):
            (store / "store.json").unlink() if marker is None else (store / "store.json").write_text(marker)
            before = sorted(store.rglob("*"))
            crew.start((step(add=1),))
            (outcome,) = all_of(crew, 1)
            assert outcome.how == "failed" and f"sees another folder at {store}" in outcome.reason
            assert "mount the same store there" in outcome.reason and sorted(store.rglob("*")) == before


def script(tmp_path: Path, steps: str) -> Path:
    """One without a guard around its call, as notebooks are; it leaves as the command line does."""
    path = tmp_path / "script.py"
    path.write_text(
        f"import sys\nsys.path.insert(0, {str(SUPPORT)!r})\n"
        "import pytest\nfrom sums import register, step\nregister(pytest.MonkeyPatch())\n"
        "from bertscope.cli.main import _errors_in_one_line\nfrom bertscope.study.runner import run_steps\n"
        "with _errors_in_one_line():\n"
        f"    print(len(run_steps({steps}, {str(tmp_path / 'store')!r}, workers=2).done))\n"
    )
    return path


def test_a_script_without_a_guard_works(tmp_path):
    pytest.importorskip("cyclopts")
    words = [sys.executable, str(script(tmp_path, "[step(add=1), step(add=2)]"))]
    said = subprocess.run(words, capture_output=True, text=True, check=True)
    assert said.stdout == "2\n", "it ran once"


LONG = "[step(seconds=60.0), step(seconds=61.0)]"


@pytest.fixture
def started(tmp_path, sums):
    """A script whose two workers are at work, in a process group of its own."""
    pytest.importorskip("cyclopts")
    words = [sys.executable, str(script(tmp_path, LONG))]
    parent = subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    )  # fmt: skip
    busy = (step(seconds=60.0), step(seconds=61.0))
    until(lambda: all(Store(tmp_path / "store").is_running(one) for one in busy))
    yield parent, children(parent.pid), Store(tmp_path / "store")
    parent.kill()
    parent.wait()
    parent.stderr.close()


@pytest.mark.parametrize("to_all", [True, False])
def test_ctrl_c_ends_all_of_them_at_once(started, to_all):
    """A terminal sends it to all, `kill -INT` to the one."""
    parent, workers, store = started
    assert len(workers) == 2
    begun = time.monotonic()
    (os.killpg if to_all else os.kill)(parent.pid, signal.SIGINT)
    _, said = parent.communicate(timeout=20)
    assert parent.returncode == 130 and time.monotonic() - begun < processes._GRACE
    assert not any(map(runs, workers)) and not store.running()
    assert "Traceback" not in said and said.splitlines()[-1].startswith("bertscope: interrupted")


def test_workers_end_when_their_parent_is_killed(started):
    parent, workers, store = started
    parent.kill()
    until(lambda: not any(map(runs, workers)), seconds=processes._GRACE)
    assert not store.running(), "no lock is held"


@on_cpu
@pytest.mark.slow
def test_two_workers_one_killed_give_equal_tables(tiny, tmp_path, monkeypatch):
    """The worker that trains is killed with kill -9 while it trains; the tables are those of one process with one
    thread, though nothing tells the workers how many to use."""
    monkeypatch.delenv("OMP_NUM_THREADS")
    base, task = model_root(str(tiny.save(tmp_path / "base"))), task_root("demo/sentiment", limit=240)
    compared = scratch.plan(base, task, scratch.ScratchConfig(epochs=6))
    tuned = compared.inputs["tuned.0"]
    texts = examples_root("demo/sentiment", limit=240)
    change = find("change").step({"before": base, "after": tuned, "examples": texts})
    steps = [compared, change]
    alone, shared = Store(tmp_path / "alone"), Store(tmp_path / "shared")
    with processes.executor(shared, 2, True) as crew:
        crew.start((tuned,))
        until(lambda: list((shared.folder / "work" / tuned.id).rglob("*.safetensors")), seconds=300)
        assert shared.is_running(tuned)
        crew._workers[0].process.kill()
        assert [one.how for one in all_of(crew, 1, seconds=300)] == ["done"]
    assert run_steps(steps, shared, workers=2).exit_code == 0
    for one in graph(steps).values():
        run_steps([one], alone)
        assert shared.result(one).equals(alone.result(one)), one.id
    assert all(shared.result(one).provenance["threads"] == 1 for one in graph(steps).values())
