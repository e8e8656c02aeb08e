"""One pass over rows that keeps what a model says of each, its loss, what was hard to read, and its vector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.predictions import Predictions
from bertscope.core.progress import progress
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.outputs.base import RowBatch, put
from bertscope.models.outputs.kinds import model_output

_TOGETHER = 1024  # rows whose neighbours are looked for at a time


@dataclass(frozen=True, eq=False)
class RowPass:
    predictions: Predictions
    losses: np.ndarray
    """[n]; 0 where a row has nothing to be scored, as a text without a masked word."""
    truncated: np.ndarray
    """[n]: whether something of it isn't read."""
    unknown: np.ndarray
    """[n]: whether it has pieces that the vocabulary doesn't know."""
    vectors: np.ndarray | None
    """[n, d]: the mean of its last layer over all tokens that aren't special, at length 1; None where
    nobody asked."""


def row_pass(
    encoder: Encoder, output: Output, examples: Examples, *, vectors: bool = False, label: str = "predicting"
) -> RowPass:
    """What the model says of rows whose right answers are known."""
    asked = model_output(encoder, output)
    n, unknown_id = len(examples), encoder.tokenizer.unk_token_id
    losses, cut, unknown = np.full(n, np.nan), np.zeros(n, bool), np.zeros(n, bool)
    kept = np.zeros((n, encoder.hidden_size), np.float32) if vectors else None
    found: np.ndarray | None = None
    # In the last layer only what is read would be computed, and a vector is of all tokens.
    sparing = nullcontext() if vectors else asked.sparing()
    with measuring([encoder]), sparing, torch.inference_mode(), progress(label, n) as bar, _last(encoder) as last:
        for batch in asked.batches(examples, gold=True):
            raw = asked.run(batch)
            said = asked.outputs(raw, batch)
            total, count = asked.losses(asked.double(raw), batch)
            outputs = (said.float() if said.is_floating_point() else said).cpu().numpy()
            if found is None:
                found = np.full((n, *asked.width(examples)), asked.padding, dtype=outputs.dtype)
            put(found, batch.examples, outputs)
            losses[batch.examples] = (total / count).cpu().numpy()
            cut[batch.examples] = batch.cut
            if unknown_id is not None:
                strange = (batch.inputs["input_ids"] == unknown_id).any(-1).to(torch.int64)
                unknown[batch.examples] = (batch.per_example(strange) > 0).cpu().numpy()
            if kept is not None:
                kept[batch.examples] = _mean(last[-1], batch)
            last.clear()
            bar.advance(len(batch.examples))
    if found is None:
        found = np.zeros((0, *asked.width(examples)), dtype=np.float32)
    predictions = Predictions(examples.ids, found, encoder.labels, int(cut.sum()))
    return RowPass(predictions, losses, cut, unknown, None if kept is None else _at_length_one(kept))


def row_vectors(encoder: Encoder, output: Output, examples: Examples, *, label: str = "reading") -> np.ndarray:
    """[n, d]: the rows' vectors alone."""
    asked = model_output(encoder, output)
    kept = np.zeros((len(examples), encoder.hidden_size), np.float32)
    with measuring([encoder]), torch.inference_mode(), progress(label, len(examples)) as bar, _last(encoder) as last:
        for batch in asked.batches(examples):
            asked.run(batch)
            kept[batch.examples] = _mean(last.pop(), batch)
            bar.advance(len(batch.examples))
    return _at_length_one(kept)


def nearest(rows: np.ndarray, others: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Which `count` of the others [m, d] are nearest to each row [n, d], from the nearest, and their cosines:
    [n, count] twice. Vectors have length 1; memory is that of some rows at a time."""
    count = min(count, len(others))
    places, cosines = np.zeros((len(rows), count), np.int64), np.zeros((len(rows), count), np.float32)
    for start in range(0, len(rows), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        top = torch.from_numpy(rows[some] @ others.T).topk(count)
        places[some], cosines[some] = top.indices.numpy(), top.values.numpy()
    return places, cosines


@contextmanager
def _last(encoder: Encoder) -> Iterator[list[Tensor]]:
    """The last layer's states of each call, [row, token, d], put into a list."""
    seen: list[Tensor] = []

    def keep(module: Any, inputs: Any, given: Any) -> None:
        seen.append(given[0])

    handle = encoder.model.base_model.register_forward_hook(keep)
    try:
        yield seen
    finally:
        handle.remove()


def _mean(states: Tensor, batch: RowBatch) -> np.ndarray:
    """[example, d]: the mean over the tokens of all its rows that aren't special, as `pooled` has it of one."""
    own = (~batch.special).to(states.dtype).unsqueeze(-1)
    sums, counts = batch.per_example((states * own).sum(1)), batch.per_example(own.sum(1))
    return (sums / counts.clamp_min(1)).float().cpu().numpy()


def _at_length_one(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)
