"""Predictions and training on all cores while other processes keep these busy: what waiting threads do decides how
long it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.options import Options, sentences
from benchmarks.side_by_side import Claim, Report, difference
from bertscope.core.threads import CONSIDERATE, allowed_threads

ONE, ASLEEP, AS_THEY_ARE = "one thread", "all threads, waiting asleep", "all threads, as the library has them"
PREDICTIONS, TRAINING = "predictions", "training"
_POLICIES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "OMP_NUM_THREADS")


def run(options: Options) -> list[Report]:
    """A process for each variant, since a library reads its settings once; they take turns, and those that wait for
    theirs do nothing."""
    data = sentences(options, "train.tsv", options.size(400, 16))
    cores, few = allowed_threads(), min(len(data), options.size(128, 8))
    threads = {"OMP_NUM_THREADS": str(cores)}
    variants = {
        ONE: {"OMP_NUM_THREADS": "1"}, ASLEEP: threads | CONSIDERATE, AS_THEY_ARE: threads
    }  # fmt: skip
    reports = []
    with ExitStack() as ends:
        workers = {name: ends.enter_context(_worker(set_, len(data), few)) for name, set_ in variants.items()}
        for busy, usual in ((0, 6), (cores, 3)):
            found = {work: {name: list[Done]() for name in variants} for work in (PREDICTIONS, TRAINING)}
            with _loops(busy):
                for turn in range(options.rounds(usual)):
                    for work, rounds in found.items():
                        for name, worker in workers.items():
                            # Beside loops once is enough of what takes several times as long.
                            if not (busy and name == AS_THEY_ARE and (turn or work == TRAINING)):
                                rounds[name].append(worker(work))
            for work, rounds in found.items():
                beside = f"beside {busy} busy loops" if busy else "nobody beside it"
                claims = [Claim(ASLEEP, ONE, 1 / 1.3)] if busy else [Claim(ASLEEP, AS_THEY_ARE, 0.97)]
                seconds = {name: [one.seconds for one in done] for name, done in rounds.items() if done}
                apart = difference([np.array(done[0].value) for done in rounds.values() if done])
                title = f"{work}, pocket, {cores} cores, {beside}"
                count = few if work == TRAINING else len(data)
                reports.append(Report(title, data.source, count, seconds, agreement=apart, claims=claims))
    return reports


@contextmanager
def _worker(settings: dict[str, str], rows: int, few: int) -> Iterator[Worker]:
    """A process that works when it is told to."""
    own = {name: value for name, value in os.environ.items() if name not in _POLICIES}
    words = [sys.executable, "-m", "benchmarks.busy", str(rows), str(few)]
    process = subprocess.Popen(words, env=own | settings, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield Worker(process)
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Done:
    seconds: float
    value: float
    """The mean size of logits, or of weights after the training."""


class Worker:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __call__(self, work: str) -> Done:
        assert self._process.stdin and self._process.stdout
        print(work, file=self._process.stdin, flush=True)
        while not (line := self._process.stdout.readline()).startswith("done "):
            if not line:
                raise SystemExit("the process that works has ended")
        return Done(*map(float, line.split()[1:]))


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


def serve(rows: int, few: int) -> None:
    """Work whenever a line says so, after a warm-up."""
    from benchmarks import plain
    from benchmarks.side_by_side import now
    from benchmarks.training import copied, with_bertscope

    examples = sentences(Options(rows=rows), "train.tsv", rows).examples
    encoder = plain.classifier("cpu")
    trained = copied(encoder)
    train = with_bertscope(trained, examples.take(range(few)))

    def training() -> float:
        train()
        return float(np.mean([weight.detach().abs().mean() for weight in trained.model.parameters()]))

    work = {PREDICTIONS: lambda: float(np.abs(encoder.predict(examples).logits).mean()), TRAINING: training}
    encoder.predict(examples.take(range(min(32, rows))))
    for line in sys.stdin:
        started = now("cpu")
        value = work[line.strip()]()
        print("done", now("cpu") - started, value, flush=True)


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
