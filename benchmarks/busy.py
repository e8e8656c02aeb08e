"""Predictions on all cores while other processes keep these busy: what waiting threads do decides how long it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.options import Options, sentences
from benchmarks.side_by_side import Claim, Report
from bertscope.core.threads import allowed_threads

ONE, SLEEPING, SPINNING = "one thread", "all threads, waiting asleep", "all threads, waiting awake"
_BESIDE = "beside {} busy loops"


def run(options: Options) -> list[Report]:
    """A process for each round and variant: a library reads its settings once."""
    data = sentences(options, "train.tsv", options.size(600, 16))
    cores = allowed_threads()
    variants = {
        ONE: {"OMP_NUM_THREADS": "1"},
        SLEEPING: {"OMP_NUM_THREADS": str(cores), "OMP_WAIT_POLICY": "passive"},
        SPINNING: {"OMP_NUM_THREADS": str(cores), "OMP_WAIT_POLICY": "active"},
    }
    reports = []
    for busy in (0, cores):
        rounds: dict[str, list[float]] = {name: [] for name in variants}
        with _loops(busy):
            for _ in range(options.rounds(3)):
                for name, settings in variants.items():
                    rounds[name].append(_seconds(settings, len(data)))
        title = f"predictions of pocket, {cores} cores, {_BESIDE.format(busy) if busy else 'nobody beside it'}"
        claims = [Claim(SLEEPING, ONE, 1 / 1.3)] if busy else [Claim(SLEEPING, SPINNING, 0.97)]
        reports.append(Report(title, data.source, len(data), rounds, agreement=0.0, claims=claims))
    return reports


def _seconds(settings: dict[str, str], rows: int) -> float:
    command = [sys.executable, "-m", "benchmarks.busy", str(rows)]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


@contextmanager
def _loops(count: int) -> Iterator[None]:
    """So many processes that do nothing, as fast as they can, as long as we live."""
    loop = "import os\nabove = os.getppid()\nwhile os.getppid() == above: pass"
    busy = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def _predict(rows: int) -> float:
    from benchmarks import plain
    from benchmarks.side_by_side import now

    examples = sentences(Options(rows=rows), "train.tsv", rows).examples
    encoder = plain.classifier("cpu")
    encoder.predict(examples.take(range(min(32, len(examples)))))
    started = now("cpu")
    encoder.predict(examples)
    return now("cpu") - started


if __name__ == "__main__":
    print(json.dumps(_predict(int(sys.argv[1]))))
