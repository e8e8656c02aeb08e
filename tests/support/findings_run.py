"""Runs the studies of docs/findings and writes what their pages are made from.

`python tests/support/findings_run.py heads layers --data FOLDER --store STORE --out FOLDER --workers 8 --seconds 600`
makes as many steps as there is time for, all studies in one store so that they share trainings, and writes the
excerpt of each (`docs/findings/results` is where pages look for it), with the results themselves beside it. What is
stored is not made again: run it once more to go on. With `--seconds 0` only the excerpts are written, also from the
results that another run wrote. `--set limit=500` is for all studies, `--set heads:limit=500` for one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bertscope.core.result import load_result, result_root
from bertscope.core.step import Step, graph
from bertscope.core.store import Store
from bertscope.study.claims.measure import measure
from bertscope.study.claims.question import ClaimsConfig, claims, questions_read
from bertscope.study.file import read_study
from bertscope.study.runner import run_steps
from findings_results import added, excerpt, told_of, write
from findings_time import made_in


def run(
    names: list[str], store: Path, out: Path, sets: list[str], commit: str, workers: int, seconds: int, add: bool
) -> None:
    """In the folder of the data: make what there is time for, and write the excerpts; in no time, only those."""
    studies = {name: read_study(f"findings-{name}", _sets(sets, name)) for name in names}
    steps = {step.id: step for study in studies.values() for step in study.steps}
    if seconds:
        _make(list(steps.values()), Store(store), workers, seconds)
    out.mkdir(parents=True, exist_ok=True)
    read = questions_read()
    for step in graph(list(steps.values())).values():
        if step.id in steps or step.name in read:
            _take_along(store / "steps" / step.id, out / "steps" / step.id)
    for name, study in studies.items():
        took = made_in(study.steps, store)
        record = excerpt(study, store, sets=_sets(sets, name), commit=commit, seconds=took)
        _write(record, out / f"{name}.json", add)
        print(f"{name}: {len(record['results'])} of {record['runs'][0]['asked']} answers")
    if any((out / "steps").glob("*-*")):
        _write(ledger(out, store, commit), out / "ledger.json", add)


def ledger(out: Path, store: Path, commit: str) -> dict[str, Any]:
    """The claims judged by all results that lie in `out`, as a page is written from it. What the store has is read
    there: it has the models that results made, without which they count as damaged."""
    names = sorted(folder.name for folder in (out / "steps").glob("*-*") if not folder.name.startswith("claims-"))
    stored = [store / "steps" / name for name in names]
    folders = [one if one.exists() else out / "steps" / one.name for one in stored]
    found = measure([load_result(folder) for folder in folders], ClaimsConfig())
    now = {"created": datetime.now(UTC).isoformat(), "seconds": 0.0}
    step = claims.step({f"results.{place}": result_root(folder) for place, folder in enumerate(folders)})
    answered = told_of(step, replace(found, provenance=now))
    run = {"asked": 1, "sets": [], "commit": commit}
    return {"study": "ledger", "runs": [run], "results": {step.id: answered | {"run": 0}}}


def _write(record: dict[str, Any], path: Path, add: bool) -> None:
    write(added(path, record) if add else record, path)


def _make(steps: list[Step], store: Store, workers: int, seconds: int) -> None:
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(seconds)
    try:
        outcome = run_steps(steps, store, keep_going=True, workers=workers)
        for id, why in outcome.failed.items():
            print(f"failed: {id}: {why}")
    except KeyboardInterrupt:
        print("the time is up")
    signal.alarm(0)


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
    parser.add_argument("--commit", default="")
    parser.add_argument("--add", action="store_true", help="to what another run, of other models, has written")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=3600)
    given = vars(parser.parse_args())
    folders = {name: given.pop(name).absolute() for name in ("data", "store", "out")}
    os.chdir(folders.pop("data"))  # paths in the studies begin there
    run(**folders, **given)
