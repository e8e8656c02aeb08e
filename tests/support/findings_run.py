"""Runs the studies of docs/findings and writes what their pages are made from.

`python tests/support/findings_run.py heads layers --data FOLDER --store STORE --out FOLDER --workers 8 --seconds 600`
makes as many steps as there is time for, all studies in one store so that they share trainings, and writes the
excerpt of each, with the results themselves beside it. What is stored is not made again: run it once more to go on.
`--set limit=500` is for all of them, `--set heads:limit=500` for one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from bertscope.core.store import Store
from bertscope.study.file import read_study
from bertscope.study.runner import run_steps
from findings_results import excerpt, write


def run(names: list[str], data: Path, store: Path, out: Path, sets: list[str], workers: int, seconds: int) -> None:
    store, out = store.absolute(), out.absolute()
    os.chdir(data)  # paths in the studies begin there
    studies = [read_study(f"findings-{name}", _sets(sets, name)) for name in names]
    steps = {step.id: step for study in studies for step in study.steps if step.name != "claims"}
    started = time.time()
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        outcome = run_steps(list(steps.values()), Store(store), keep_going=True, workers=workers)
        for id, why in outcome.failed.items():
            print(f"failed: {id}: {why}")
    except KeyboardInterrupt:
        print(f"stopped after {time.time() - started:.0f} s")
    signal.alarm(0)
    out.mkdir(parents=True, exist_ok=True)
    for study in studies:
        for step in study.steps:
            _take_along(store / "steps" / step.id, out / "steps" / step.id)
        record = excerpt(study, store)
        write(record | {"sets": sets}, out / f"{study.name}.json")
        print(f"{study.name}: {len(record['results'])} of {record['asked']} results, {time.time() - started:.0f} s")


def _sets(given: list[str], name: str) -> list[str]:
    """Those for all studies, and those for one: `heads:limit=500`.

    >>> _sets(["limit=500", "heads:seeds=[0]", "layers:seeds=[1]"], "heads")
    ['limit=500', 'seeds=[0]']
    """
    found = []
    for one in given:
        study, colon, inside = one.partition(":")
        if not colon or "=" in study:
            found.append(one)
        elif study == name:
            found.append(inside)
    return found


def _take_along(stored: Path, to: Path) -> None:
    """The whole result, which another excerpt can be made from, without the models it may have made."""
    if stored.exists() and not to.exists():
        shutil.copytree(stored, to, ignore=shutil.ignore_patterns("model", "states"))


def _stop(*_: Any) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    for flag, default in (("data", "."), ("store", "findings-store"), ("out", "findings-results")):
        parser.add_argument(f"--{flag}", type=Path, default=Path(default))
    parser.add_argument("--set", dest="sets", action="append", default=[])
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=3600)
    run(**vars(parser.parse_args()))
