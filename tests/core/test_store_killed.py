"""kill -9 at every operation on files while a step is claimed, made, stored, made again or deleted: the next run
makes it, nothing is damaged, and nothing that was left looks like somebody else's."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from dataclasses import replace

import pytest

from bertscope.core import registry
from bertscope.core.store import Damaged, Store
from bertscope.study.execute import make
from bertscope.study.runner import Inputs, run_steps
from sums import register, step

pytestmark = pytest.mark.alone
OPERATIONS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.chmod", "os.truncate")


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    register(monkeypatch)
    monkeypatch.setattr("sums.sums", replace(registry.find("sums"), keeps=""))


def killed_at(n: int, work) -> bool:
    """Whether a process that does this work was killed before its n-th operation on files."""

    def child() -> None:
        left = [n]

        def count(event: str, args: tuple) -> None:
            if event in OPERATIONS and not str(args[0]).endswith((".py", ".pyc", ".so")):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        sys.addaudithook(count)
        work()
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def made(store: Store) -> None:
    (outcome,) = make([step()], store, Inputs(store.path))
    assert outcome.how in ("done", "stored"), outcome


def harm(store: Store) -> None:
    table = store.path(step()) / "result" / "t.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"?")


def nothing(store: Store) -> None:
    pass


@pytest.mark.parametrize("before", [nothing, harm])
def test_a_step_is_made_whenever_the_one_before_was_killed(tmp_path, before):
    n, killed = 0, True
    while killed:
        n += 1
        store = Store(tmp_path / str(n))
        if before is harm:
            run_steps([step()], store)
            harm(store)
        killed = killed_at(n, lambda store=store: made(store))
        assert not store.strangers()
        assert not [one for one in store.verified() if isinstance(one, Damaged)] or before is harm
        run_steps([step()], store)
        assert store.is_whole(step()) and store.result(step())["total"].value == 5
        assert not store.strangers() and not [one for one in store.verified() if isinstance(one, Damaged)]
        assert not list((store.folder / "work").iterdir())
    assert n > 20


def test_a_step_can_be_deleted_whenever_that_was_killed_before(tmp_path):
    n, killed = 0, True
    while killed:
        n += 1
        store = Store(tmp_path / str(n))
        run_steps([step(), step(add=1)], store)
        killed = killed_at(n, lambda store=store: store.delete(store.path(step())))
        assert not store.strangers() and store.has(step(add=1))
        for folder in (store.path(step()), *store.unfinished()):
            if folder.exists():
                store.delete(folder)
        assert not store.has(step()) and not list((store.folder / "work").iterdir())
        run_steps([step()], store)
        assert store.is_whole(step())
    assert n > 3
