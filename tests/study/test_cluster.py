"""Dask workers: the same steps, the same results, also when a worker dies."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
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
from bertscope.study import cluster
from bertscope.study.runner import run_steps
from device import on_cpu
from sums import CALLS, register, step

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.alone

SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def sums(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def threads():
    """A cluster whose two workers are threads of this process: they know the question that only the tests have."""
    how = {"processes": False, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    with distributed.LocalCluster(n_workers=2, resources={"GPU": 1}, **how) as here:
        yield here


def test_a_cluster_makes_what_one_process_makes(tmp_path, sums, threads, capsys):
    first, bad = step(add=1), step(fail="bug")
    last = step({"earlier.0": first, "earlier.1": step(add=2)})
    lost = step({"earlier.0": bad, "earlier.1": first})
    outcome = run_steps([last, lost], Store(tmp_path), keep_going=True, cluster=threads.scheduler_address)
    assert CALLS.count("sum") == 4 and outcome.exit_code == 3
    assert set(outcome.done) == {first.id, step(add=2).id, last.id}
    assert set(outcome.failed) == {bad.id} and set(outcome.skipped) == {lost.id}
    assert "ZeroDivisionError: not so" in next((tmp_path / "logs").iterdir()).read_text()
    assert Store(tmp_path).result(last)["total"].value == 13


def test_a_full_disk_stops_a_cluster(tmp_path, sums, threads):
    with pytest.raises(FullDiskError, match="the disk is full"):
        run_steps([step(fail="disk")], Store(tmp_path), cluster=threads.scheduler_address)


def test_a_scheduler_that_goes_away_is_one_line(tmp_path, sums, threads):
    threading.Timer(0.5, threads.close).start()
    with pytest.raises(UserError, match="the Dask scheduler went away"):
        run_steps([step(seconds=2)], Store(tmp_path), cluster=threads.scheduler_address)


def test_a_worker_that_sees_another_folder_says_so(tmp_path, sums, threads):
    with cluster.executor(Store(tmp_path), threads.scheduler_address, None, True) as workers:
        (run,) = (tmp_path / "runs").iterdir()
        run.unlink()  # as in a copy that was made before
        workers.start((step(),))
        (outcome,) = workers.collect(20)
    assert not list((tmp_path / "runs").iterdir())
    assert f"the worker on {socket.gethostname()} sees another folder at {tmp_path}" in outcome.reason
    assert outcome.how == "failed" and not CALLS and not (tmp_path / "steps").exists()


def test_trainings_ask_for_a_gpu_where_there_are_some(tmp_path, threads):
    training = find("finetune").step({"base": model_root("pocket"), "task": task_root("demo/sentiment")})
    shapes = find("patterns").step({"models.0": model_root("pocket"), "examples": examples_root("demo/corpus")})
    with cluster.executor(Store(tmp_path), threads.scheduler_address, None, True) as workers:
        assert workers.slots == 2
        assert workers._resources((training,)) == {"GPU": 1} and workers._resources((shapes,)) is None
    with distributed.LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as plain:
        address = plain.scheduler_address
        with cluster.executor(Store(tmp_path), address, None, True) as workers:
            assert workers._resources((training,)) is None


def test_without_dask_it_is_said_what_to_install(tmp_path, sums, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"--cluster needs Dask.*pip install 'bertscope\[cluster\]'"):
        run_steps([step()], Store(tmp_path), cluster="tcp://127.0.0.1:9")


def test_an_address_where_nobody_is(tmp_path, sums, monkeypatch):
    monkeypatch.setattr(cluster, "_CONNECT", 0.5)
    with pytest.raises(UserError, match="no Dask scheduler answers at tcp"):
        run_steps([step()], Store(tmp_path), cluster="tcp://127.0.0.1:9")


@on_cpu
@pytest.mark.slow
def test_two_workers_one_killed_give_equal_tables(tiny, tmp_path):
    """The worker that trains is killed with kill -9 while it trains; the tables are those of one process."""
    base, task = model_root(str(tiny.save(tmp_path / "base"))), task_root("demo/sentiment", limit=240)
    compared = scratch.plan(base, task, scratch.ScratchConfig(epochs=6))
    tuned = compared.inputs["tuned.0"]
    texts = examples_root("demo/sentiment", limit=240)
    change = find("change").step({"before": base, "after": tuned, "examples": texts})
    patterns = find("patterns").step({"models.0": base, "models.1": tuned, "examples": texts})
    steps = [compared, change, patterns]
    alone, shared = Store(tmp_path / "alone"), Store(tmp_path / "shared")
    how = {"processes": True, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
    killed = []

    def kill(here) -> None:
        with distributed.Client(here) as client:
            while not killed:
                for worker, keys in client.processing().items():
                    if keys and shared.is_running(tuned):
                        os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)
                        killed.append(worker)
                        return
                time.sleep(0.01)

    with distributed.LocalCluster(n_workers=2, **how) as here:
        killer = threading.Thread(target=kill, args=(here,))
        killer.start()
        outcome = run_steps(steps, shared, cluster=here.scheduler_address)
        killer.join()
    assert killed and outcome.exit_code == 0 and set(outcome.done) == set(graph(steps))
    for one in graph(steps).values():
        run_steps([one], alone)
        assert shared.result(one).equals(alone.result(one)), one.id
    assert all(shared.result(one).provenance["threads"] == 1 for one in graph(steps).values())


@pytest.mark.slow
def test_a_step_that_kills_its_workers_has_failed_and_the_others_go_on(tmp_path, sums):
    known = tmp_path / "known.py"
    known.write_text(
        f"import sys\nsys.path.insert(0, {str(SUPPORT)!r})\n"
        "import pytest\nfrom sums import register\n"
        "def dask_setup(worker):\n    register(pytest.MonkeyPatch())\n"
    )
    how = {"processes": True, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1, "preload": [str(known)]}
    with distributed.LocalCluster(n_workers=2, silence_logs=logging.CRITICAL, **how) as here:
        steps = [step(fail="death"), step(add=1), step({"earlier.0": step(fail="death")})]
        outcome = run_steps(steps, Store(tmp_path), keep_going=True, cluster=here.scheduler_address)
    # The worker that made it may be killed by the other step before it says so; the next one then finds it stored.
    assert {*outcome.done, *outcome.stored} == {step(add=1).id} and set(outcome.skipped) == {steps[2].id}
    assert Store(tmp_path).result(step(add=1))["total"].value == 6
    assert "its worker died" in outcome.failed[step(fail="death").id]
