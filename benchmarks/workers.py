"""How much more plain worker processes read together on one machine's cores: `patterns` of pocket in shards.

    python -m benchmarks.workers --workers 1 2 4 8 16

Each worker has a shard of one window of texts, and one thread, so that all numbers of workers take about as long. The
GPU is hidden from them. Reading is what the shards' own seconds say; the whole also has the start of the processes,
the division of the corpus, and the sum. Pass a corpus by `--texts`; a line is a text, and too few are read again.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from bertscope.core.threads import allowed_threads, be_considerate

WINDOW = 2048  # texts of a shard: shards are whole windows
_REPEATS = 100  # resamples: it is about reading


def main(arguments: list[str] | None = None) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before torch is loaded, here and in workers
    be_considerate()
    asked = _parser().parse_args(arguments)
    print(f"cores: {allowed_threads()}  window: {WINDOW:,} texts  corpus: {asked.texts or 'demo/sentiment'}")
    print(f"{'workers':>7} {'texts':>7} {'seconds':>9} {'texts/s':>9} {'while reading':>14} {'of one worker':>14}")
    alone = None
    for workers in asked.workers:
        texts = workers * WINDOW
        whole, reading = _run(workers, _lines(asked.texts), texts)
        alone = alone or reading / workers
        print(
            f"{workers:7} {texts:7,} {whole:9.1f} {texts / whole:9,.0f} {reading:14,.0f} {reading / alone:13.1f}x",
            flush=True,
        )


def _run(workers: int, lines: list[str], texts: int) -> tuple[float, float]:
    """Seconds of the whole, and texts a second of all workers together while they read."""
    from bertscope.core.planning import planned
    from bertscope.core.registry import find
    from bertscope.core.store import Store
    from bertscope.study.runner import run_steps

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.txt"
        corpus.write_text("".join(f"{line}\n" for line in islice(cycle(lines), texts)), encoding="utf-8")
        question = find("patterns")
        asked = question.config(repeats=_REPEATS)
        step = planned(question, ["pocket"], str(corpus), asked, {}, {}, shards=workers)
        store = Store(Path(folder) / "store")
        started = time.perf_counter()
        run_steps([step], store, workers=workers)
        whole = time.perf_counter() - started
        made = [one for one in store.finished() if one.step.name == "sums"]
    assert len(made) == workers, "a shard each"
    took = [one.result["provenance"]["seconds"] for one in made]
    return whole, sum(texts / workers / seconds for seconds in took)


def _lines(texts: Path | None) -> list[str]:
    if texts is not None:
        return [line for line in texts.read_text(encoding="utf-8").splitlines() if line.strip()]
    from bertscope.data.read import read_task

    return list(read_task("demo/sentiment").train.text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--texts", type=Path, help="a file of texts, a line each; by default the demo's sentences")
    return parser


if __name__ == "__main__":
    main()
