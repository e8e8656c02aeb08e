"""kill -9 in the middle of a study, again and again, and a full disk: run again, it ends with the same tables."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertscope.analyses.similarity import question as similarity
from bertscope.core.registry import find
from bertscope.core.step import Step, graph
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root
from bertscope.data.read import task_root
from bertscope.experiments.scratch import question as scratch
from bertscope.models.source import model_root
from bertscope.study.runner import run_steps
from device import on_cpu

# Processes that were forked have everything imported: a kill hits the work, not the imports.
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def steps(tiny, tmp_path) -> list[Step]:
    """Four trainings, hidden states, two questions that share a pass, and what collects them."""
    base, task = model_root(str(tiny.save(tmp_path / "base"))), task_root("demo/sentiment", limit=160)
    texts = examples_root("demo/sentiment", limit=160)
    compared = scratch.plan(base, task, scratch.ScratchConfig(epochs=3, patterns=False))
    tuned = compared.inputs["tuned.0"]
    return [
        compared,
        find("patterns").step({"models.0": base, "models.1": tuned, "examples": texts}),
        find("change").step({"before": base, "after": tuned, "examples": texts}),
        similarity.plan(base, tuned, texts, similarity.SimilarityConfig()),
    ]


def equal(steps: list[Step], one: Store, other: Store) -> bool:
    return all(one.result(step).equals(other.result(step)) for step in graph(steps).values())


@on_cpu
@pytest.mark.slow
@pytest.mark.alone
def test_twenty_kills_leave_the_same_tables(steps, tmp_path):
    whole = Store(tmp_path / "whole")
    started = time.perf_counter()
    assert run_steps(steps, whole).exit_code == 0
    seconds = time.perf_counter() - started
    moments, kills, studies, finished = random.Random(0), 0, 0, False
    while kills < 20 or not finished:
        store = Store(tmp_path / f"killed{studies}")
        process = FORK.Process(target=run_steps, args=(steps, store))
        process.start()
        process.join(timeout=seconds * moments.uniform(0.02, 0.4) if kills < 20 else None)
        if process.is_alive():
            process.kill()
            kills += 1
        process.join()
        finished = process.exitcode != -9
        if finished:  # it got to its end before the moment came: begin another one
            assert process.exitcode == 0 and equal(steps, whole, store)
            assert not any((store.folder / "work").iterdir()), "nothing half-made is left"
            studies += 1


def mount(folder: Path, size: str) -> None:
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small disk can't be mounted here")


@on_cpu
@pytest.mark.slow
@pytest.mark.alone
def test_a_full_disk_gives_one_line_and_goes_on_when_there_is_room(steps, tmp_path, capfd):
    whole, disk = Store(tmp_path / "whole"), tmp_path / "disk"
    run_steps(steps, whole)
    mount(disk, "3m")
    try:
        ends = set()
        for size in ("3m", "4m", "6m", "9m", "64m"):
            subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)
            capfd.readouterr()
            process = FORK.Process(target=_told, args=(steps, Store(disk / "store")))
            process.start()
            process.join()
            lines = [line for line in capfd.readouterr().err.splitlines() if "running" not in line[:8]]
            ends.add(process.exitcode)
            if process.exitcode:
                (said,) = [line for line in lines if not line.startswith("stored")]
                assert process.exitcode == 2 and "the disk is full; free some space and run again" in said
        assert ends == {0, 2} and process.exitcode == 0
        assert equal(steps, whole, Store(disk / "store"))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def _told(steps: list[Step], store: Store) -> None:
    """As the command line does: an error is a line and an exit code."""
    from bertscope.core.errors import EXIT_USER, UserError

    try:
        os._exit(run_steps(steps, store).exit_code)
    except UserError as error:
        print(f"bertscope: {error}", file=sys.stderr, flush=True)
        os._exit(EXIT_USER)
