"""How long models take on this machine, side by side.

A machine's clock drifts, so no time means anything alone. Variants take turns, each for one pass over the same
batches after a call that isn't timed: a deployed model has its weights in the cache. How much faster one variant is
than another is the median over the rounds of their ratio within a round, which no drift touches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.intervals import median_interval
from bertscope.core.output import Output
from bertscope.models.outputs.kinds import model_output

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

Inputs = dict[str, Tensor]
Variant = Callable[[Inputs], Any]
"""Runs a model on one batch, to the end."""

_LEAST_ROUNDS = 6  # a 95% interval of a median needs as many


@dataclass(frozen=True)
class Times:
    """What was measured: seconds [variant, round, call]."""

    names: tuple[str, ...]
    seconds: np.ndarray

    def milliseconds(self, name: str) -> float:
        """Of a call, averaged over the batches: the median of the rounds."""
        return 1e3 * float(np.median(self.seconds[self.names.index(name)].mean(-1)))

    def faster(self, name: str, than: str) -> tuple[float, float, float]:
        """How many times as fast `name` is as `than`, with a 95% interval: that of a median, by its ranks."""
        one, other = (self.seconds[self.names.index(each)].sum(-1) for each in (name, than))
        return median_interval(other / one)


def sample_batches(
    encoder: Encoder, examples: Examples, size: int, *, count: int, seed: int = 0, output: Output | None = None
) -> list[Inputs]:
    """Up to `count` batches of `size` examples drawn at random, as a model that gives such outputs reads them: all
    windows of a long text, all candidates of a choice. They are as long as they are, each batch padded to its
    longest row."""
    order = np.random.default_rng(seed).permutation(len(examples))
    drawn = np.resize(order, size) if len(order) < size else order[: size * min(count, len(order) // size)]
    asked = model_output(encoder, output)
    rows = asked.rows(examples.take(drawn))
    starts = np.searchsorted(rows.example, np.arange(len(drawn) + 1))
    return [
        asked.called_with(asked.batch(rows, starts, np.arange(first, first + size)))
        for first in range(0, len(drawn), size)
    ]


def in_torch(encoder: Encoder, output: Output | None = None) -> Variant:
    """The encoder as whoever deploys it would run it: transformers' own forward pass, and a parser, which is ours."""
    asked, on_gpu = model_output(encoder, output), encoder.device.type == "cuda"
    model = asked.deployed(encoder.model)

    def run(inputs: Inputs) -> None:
        with torch.inference_mode():
            model(*(inputs[name] for name in asked.reads))
        if on_gpu:
            torch.cuda.synchronize()

    return run


def time_in_turn(
    variants: Mapping[str, Variant], batches: Sequence[Inputs], *, rounds: int = 15, seconds: float = 10.0
) -> Times:
    """Time every variant on every batch, in turn; fewer rounds, but at least 6, where each takes longer than that."""
    started, seconds = time.perf_counter(), seconds * len(variants)
    taken: list[list[list[float]]] = []
    while len(taken) < rounds and (len(taken) < _LEAST_ROUNDS or time.perf_counter() - started < seconds):
        taken.append([])
        for run in variants.values():
            run(batches[0])
            taken[-1].append([_timed(run, batch) for batch in batches])
    return Times(tuple(variants), np.array(taken).transpose(1, 0, 2))


def _timed(run: Variant, batch: Inputs) -> float:
    started = time.perf_counter()
    run(batch)
    return time.perf_counter() - started
