"""Steps and their store: identity, completeness, nothing computed twice."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import filelock
import pytest

from bertscope.core import registry
from bertscope.core.config import from_json
from bertscope.core.errors import UserError
from bertscope.core.locks import Busy
from bertscope.core.result import result_root
from bertscope.core.step import FORMAT, Root, Step
from bertscope.core.store import Store
from bertscope.study.execute import perform
from bertscope.study.runner import run_steps
from sums import CALLS, SumConfig, register, step


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    register(monkeypatch)


def test_identity_is_recipe_and_content():
    base = step()
    assert base.id == step().id and base.id.startswith("sums-")
    moved = Step("sums", 1, dict(base.config), {"number": Root("number", "elsewhere/5", "d5")})
    assert moved.id == base.id, "where a root lies is not what it is"
    others = [
        step(add=1),
        Step("sums", 2, base.config, base.inputs),
        step({"number": Root("number", "5", "d6")}),
        step({"number": Root("number", "5", "d5", {"limit": 3})}),
        step({"earlier.0": base}),
    ]
    assert len({base.id, *(other.id for other in others)}) == 6
    for one in (base, *others):
        again = Step.from_json(json.loads(json.dumps(one.to_json())))
        assert again.id == one.id and again == one
    assert step({"earlier.0": step(add=1)}).id != step({"earlier.0": step(add=2)}).id


def test_runs_what_is_needed_once_and_nothing_twice(tmp_path):
    store = Store(tmp_path)
    shared = step(add=1)  # 6
    last = step(
        {
            "earlier.0": step({"earlier.0": shared}),
            "earlier.1": step({"earlier.0": shared}, add=10),
            "earlier.2": shared,
        }
    )
    assert len(run_steps([last], store).done) == 4
    assert store.result(last)["total"].value == 6 + 16 + 6
    assert CALLS.count("sum") == 4 and CALLS.count("open") == 1
    CALLS.clear()
    assert not run_steps([last], store).done and not CALLS
    assert {stored.step.id for stored in store.finished()} == {path.name for path in (tmp_path / "steps").iterdir()}
    assert not list((tmp_path / "work").iterdir())


def test_a_failed_step_is_not_there(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(UserError, match="it failed"):
        run_steps([step(fail="mistake")], store)
    assert not store.has(step(fail="mistake")) and not list(store.finished())


def test_a_half_made_folder_is_started_over(tmp_path):
    store = Store(tmp_path)
    half = tmp_path / "work" / step().id
    half.mkdir(parents=True)
    (half / "junk").write_text("from a run that was killed")
    with pytest.raises(UserError, match="holds junk, which bertscope didn't write; move it elsewhere"):
        run_steps([step()], store)
    (half / ".format").write_text(str(FORMAT))
    run_steps([step()], store)
    assert not (store.path(step()) / "junk").exists() and store.has(step())


def test_two_at_once_make_it_once(tmp_path):
    threads = [threading.Thread(target=run_steps, args=([step()], tmp_path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert CALLS.count("sum") == 1 and Store(tmp_path).has(step())


def test_a_step_that_is_being_made_is_busy(tmp_path):
    store = Store(tmp_path)
    assert not store.is_running(step())
    with store.claim(step()) as claim:
        assert claim is not None and store.is_running(step())
        with pytest.raises(Busy), Store(tmp_path).claim(step()):
            pass
    assert not store.is_running(step()) and not store.has(step())
    run_steps([step()], store)
    with store.claim(step()) as claim:
        assert claim is None, "stored"


def test_what_runs_in_a_store_that_may_only_be_read(tmp_path, monkeypatch):
    def refuse(self, *args, **options):
        raise PermissionError(13, "Permission denied", str(self.lock_file))

    store = Store(tmp_path)
    with store.claim(step()), monkeypatch.context() as looking:
        looking.setattr(filelock.FileLock, "acquire", refuse)
        assert store.is_running(step()) and store.running() == {step().id}
    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    assert not store.is_running(step()) and not store.running()


@pytest.mark.alone
def test_a_killed_process_claims_nothing(tmp_path):
    """kill -9 of the process that makes a step: the next one can make it at once."""
    claimed = multiprocessing.get_context("fork").Event()

    def hold() -> None:
        with Store(tmp_path).claim(step()):
            claimed.set()
            time.sleep(60)

    process = multiprocessing.get_context("fork").Process(target=hold)
    process.start()
    assert claimed.wait(10) and Store(tmp_path).is_running(step())
    process.kill()
    process.join()
    assert not Store(tmp_path).is_running(step())
    with Store(tmp_path).claim(step()) as claim:
        perform(claim, {"number": 5})
    assert Store(tmp_path).has(step())


def test_what_killed_processes_left_is_not_stored(tmp_path):
    store = Store(tmp_path)
    with store.claim(step()) as claim:
        (claim.work / ".step.json.123.part").write_text("half")
        (claim.work / ".result.part").mkdir()
        claim.target.mkdir()
        perform(claim, {"number": 5})
    assert sorted(path.name for path in store.path(step()).iterdir()) == ["result", "seal.json", "step.json"]


@pytest.mark.alone
def test_killed_while_writing_leaves_nothing_and_goes_on(tmp_path):
    """kill -9 in the middle of a save: the step isn't there, and the next run makes it."""
    script = textwrap.dedent("""
        import os, signal, sys
        from pathlib import Path
        from bertscope.core.folders import whole_folder
        with whole_folder(Path(sys.argv[1]) / "r", "m") as scratch:
            (scratch / "m").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    """)
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == -9
    assert not (tmp_path / "r").exists()


def test_config_refuses_unknown_keys():
    assert from_json(SumConfig, {"add": 3}) == SumConfig(add=3)
    with pytest.raises(UserError, match="unknown setting 'ad'; did you mean 'add'"):
        from_json(SumConfig, {"ad": 3})


def test_wrong_inputs_are_a_programming_error():
    with pytest.raises(ValueError, match="takes the inputs"):
        registry.find("sums").step({"product.0": Root("number", "5", "d5")})


def test_damaged_steps_are_named(tmp_path):
    store, other = Store(tmp_path), step(add=1)
    run_steps([step(), other], store)
    for damage in ("{", "[]", json.dumps({"format": FORMAT})):
        (store.path(step()) / "step.json").write_text(damage)
        assert [one.step.id for one in store.finished()] == [other.id]
        (bad,) = store.damaged()
        assert bad.folder == store.path(step()) and "step.json has" in bad.reason and not store.has(step())


@pytest.mark.parametrize("mark", [{}, {"format": 1}, {"format": FORMAT + 1}])
def test_what_another_version_stored_is_not_read(tmp_path, mark):
    """As if another version had written them: the marker says another format, or none, and the rest can't be read."""
    store, other, ours = Store(tmp_path), step(), step(add=1)
    run_steps([other, ours], store)
    assert json.loads((store.path(ours) / "step.json").read_text())["format"] == FORMAT
    (store.path(other) / "step.json").write_text(json.dumps(mark | other.to_json()))
    (store.path(other) / "result" / "result.json").write_text("{")
    (store.path(other) / "seal.json").unlink()
    assert [stored.step.id for stored in store.finished()] == [ours.id] and not store.has(other)
    assert store.of_other_versions() == [store.path(other)]
    with pytest.raises(UserError, match="was stored by another version of bertscope; ask its question again"):
        result_root(store.path(other))
    assert set(run_steps([other, ours], store).done) == {other.id}, "made again, over it"
    assert not store.of_other_versions() and store.result(other)["total"].value == 5


def test_what_another_version_began_is_started_over(tmp_path, monkeypatch):
    store = Store(tmp_path)
    monkeypatch.setattr("sums.sums", replace(registry.find("sums"), keeps="model"))
    for format in ("1", None, str(FORMAT)):
        with store.claim(step()) as claim:
            (claim.work / "epoch-3").write_text("half")
            (claim.work / ".format").write_text(format) if format else (claim.work / ".format").unlink()
        if format is None:
            with pytest.raises(UserError, match="holds epoch-3, which bertscope didn't write"), store.claim(step()):
                pass
            (store.folder / "work" / step().id / "epoch-3").unlink()
        with store.claim(step()) as claim:
            assert (claim.work / "epoch-3").exists() == (format == str(FORMAT))
