"""A training that tests kill: made in a process of its own, which begins where everything is imported already."""

from __future__ import annotations

import multiprocessing
from multiprocessing.process import BaseProcess
from pathlib import Path

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["killed_training", "bertscope.training.finetune.measure", "bertscope.models.load"])


def warm() -> None:
    """Have the server import all of that, so that what is timed then is a training."""
    nothing = _SERVER.Process(target=int)
    nothing.start()
    nothing.join()


def start(base: Path, out: Path) -> BaseProcess:
    """Begin to train, or go on."""
    process = _SERVER.Process(target=train, args=(str(base), str(out)))
    process.start()
    return process


def train(base: str, out: str) -> None:
    from bertscope import FinetuneConfig, finetune, load, read_task

    config = FinetuneConfig(epochs=4, learning_rate=1e-3, batch_size=16, weight_decay=0.01, keep=4)
    finetune(load(base, device="cpu"), read_task("demo/sentiment", limit=120), config, out=out)
