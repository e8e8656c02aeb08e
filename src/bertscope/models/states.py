"""Filling a store of hidden states: one pass, pooled on the fly, resumable.

The tokenizer goes over the texts first and counts. With every row's place known, the array has its final size from
the start: a disk that is too small is refused before the first forward pass, batches may come in any order, and what
is left of an interrupted run is just filled in. The tokenizer takes a few hundredths of the model's time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, get_args

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from bertscope.core import seal
from bertscope.core.config import check_known
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import digest_files, explained, fsync, write_text
from bertscope.core.folders import check_folder, whole_folder
from bertscope.core.limits import in_bytes
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW, Batch, SentBatch, tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.observe import Seen, observe
from bertscope.models.sending import sent
from bertscope.models.states_store import (
    ABOUT,
    GROWING,
    INDEX,
    KIND,
    PROGRESS,
    VECTORS,
    Pool,
    StatesStore,
    is_growing,
    read,
)
from bertscope.models.taps import is_tapped

__all__ = ["Pool", "StatesStore", "hidden_states"]

_VERSION = 2  # of what is stored: raise it when the same source would give other bytes


def hidden_states(
    encoder: Encoder,
    examples: Examples | Sequence[str],
    *,
    pool: Pool = "word",
    store: str | Path | None = None,
    layers: Sequence[int] | None = None,
    tokens: int | None = None,
    window: int = WINDOW,
    may_be_empty: bool = False,
) -> StatesStore:
    """Run the encoder over the examples once and keep its hidden states, pooled.

    pool      `word`: the mean of a word's pieces; `token`: each token that isn't special; `cls`: the first token;
              `mean`: the mean of an example's tokens, special ones excepted
    store     a folder: a complete store there is opened, an unfinished one continued, one of anything else refused.
              Without it a temporary folder is used that lives as long as the result
    layers    which layers to keep, 0 being the embedding output; all by default
    may_be_empty     examples without a word to read are a store too: a part of a corpus can be like that
    tokens, window   see `observe`; a store that is continued with the same values and thread count ends bit-equal

    Examples longer than the model reads are left out and counted: a sentence cut short isn't the sentence.
    """
    examples = Examples.of(examples)
    kept = _check(encoder, examples, pool, layers)
    temporary = TemporaryDirectory(prefix="bertscope-hidden-") if store is None else None
    folder = Path(temporary.name if temporary else store or "")
    source = {
        "version": _VERSION, "encoder": encoder.fingerprint, "tokenizer": encoder.tokenizer_digest,
        "examples": _digest_examples(examples), "pool": pool, "layers": kept,
    }  # fmt: skip
    if (folder / ABOUT).is_file():
        seal.refuse_changed(folder)
        _refuse_other(folder, source)
    else:
        _lay_out(folder, encoder, examples, source, window, may_be_empty)
    _fill(folder, encoder, examples, tokens, window)
    if temporary is None and is_growing(folder):
        seal.write(folder, KIND)
    return replace(read(folder)[2], temporary=temporary)


def _check(encoder: Encoder, examples: Examples, pool: str, layers: Sequence[int] | None) -> list[int]:
    """The layers to keep, after refusing what can't work."""
    check_known("pool", pool, get_args(Pool))
    if not len(examples):
        raise UserError("there are no examples to read")
    if is_tapped(encoder):  # a store is known by its weights, which don't show that parts are off
        raise UserError(f"gates are open on {encoder.name}; make its hidden states outside of them")
    every = range(encoder.n_layers + 1)
    kept = sorted({int(layer) for layer in (every if layers is None else layers)})
    if not kept or not set(kept) <= set(every):
        raise UserError(f"{encoder.name} has the layers 0 to {encoder.n_layers}, not {kept}")
    return kept


def _groups(pool: str, words: np.ndarray, special: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The row of its example that each token goes into, as a number that grows along the example; -1 for none."""
    match pool:
        case "word":
            return words
        case "token":
            return np.where(special, -1, position)
        case "mean":
            return np.where(special, -1, 0)
        case _:
            return np.where(position == 0, 0, -1)


def _lay_out(
    folder: Path, encoder: Encoder, examples: Examples, source: dict[str, Any], window: int, may_be_empty: bool
) -> None:
    """Count the rows and make the folder: everything but the vectors, whose file is a hole of the final size."""
    check_folder(folder, KIND)
    counts, words, segments, spans, left_out = [], [], [], [], []
    for first in range(0, len(examples), window):
        texts = examples.take(range(first, min(first + window, len(examples))))
        coded = tokenise(encoder.tokenizer, texts, encoder.max_length)
        example = np.repeat(np.arange(len(coded)), coded.lengths)
        group = _groups(source["pool"], coded.words, coded.special, np.arange(len(example)) - coded.starts[example])
        inside = np.flatnonzero((group >= 0) & ~coded.truncated[example])
        width = group.max(initial=0) + 1
        rows, token = np.unique(example[inside] * width + group[inside], return_index=True)
        counts.append(np.bincount(rows // width, minlength=len(coded)))
        words.append((rows % width).astype(np.int32))
        segments.append(coded.segments[inside[token]])
        begin, end = coded.spans[inside].T
        spans.append(np.stack([begin[token], np.maximum.reduceat(end, token) if len(token) else end], 1))
        left_out += (first + np.flatnonzero(coded.truncated)).tolist()
    starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
    if not starts[-1] and not may_be_empty:
        raise UserError(
            f"none of the {len(examples):,} examples has a word to read, or all are longer than the "
            f"{encoder.max_length} tokens that {encoder.name} reads"
        )
    shape = (len(source["layers"]), int(starts[-1]), encoder.hidden_size)
    with whole_folder(folder, KIND, growing=GROWING) as scratch:
        _refuse_small_disk(folder, scratch, 4 * int(np.prod(shape)))
        np.save(scratch / "starts.npy", starts)
        np.save(scratch / "words.npy", np.concatenate(words))
        np.save(scratch / "segments.npy", np.concatenate(segments))
        np.save(scratch / "spans.npy", np.concatenate(spans))
        write_text(scratch / "ids.json", json.dumps(examples.ids))
        np.lib.format.open_memmap(scratch / VECTORS, mode="w+", dtype=np.float32, shape=shape)
        write_text(scratch / PROGRESS, json.dumps({"examples": 0}))
        about = {
            "source": source, "model": encoder.record.to_json(), "n_layers": encoder.n_layers,
            "examples": len(examples),
            "left_out": left_out, "shape": shape, "index": digest_files(scratch / name for name in INDEX),
        }  # fmt: skip
        write_text(scratch / ABOUT, json.dumps(about))


def _refuse_small_disk(folder: Path, scratch: Path, size: int) -> None:
    free = shutil.disk_usage(scratch).free
    if size > free:
        raise UserError(
            f"cannot write {folder}: the hidden states need {in_bytes(size)} and {in_bytes(free)} are free; "
            "choose another place, fewer layers or fewer examples"
        )


def _fill(folder: Path, encoder: Encoder, examples: Examples, tokens: int | None, window: int) -> None:
    """Run the encoder over the examples that aren't done, a window at a time."""
    about, done, store = read(folder)
    total = about["examples"]
    path = folder / VECTORS
    if done == total:
        return
    # Written as a file and not through the map: memory stays flat, and on a full disk a write fails where a map dies.
    with explained(path), path.open("r+b") as stream, progress("hidden states", total) as bar:
        bar.advance(done)
        for first in range(done, total, window):
            last = min(first + window, total)
            readable = first + np.flatnonzero(np.diff(store.starts[first : last + 1]))
            if len(readable):
                writer = _Writer(stream, store, readable)
                observe([encoder], examples.take(readable), [writer], tokens=tokens, window=window)
            stream.flush()
            fsync(stream.fileno())  # the vectors must be on disk before the word that they are
            write_text(folder / PROGRESS, json.dumps({"examples": last}))
            bar.advance(last - first)


class _Writer:
    """Pools each batch and writes its rows to their places."""

    needs = frozenset({"hidden_states"})

    def __init__(self, stream: BinaryIO, store: StatesStore, examples: np.ndarray) -> None:
        self._stream, self._store, self._examples = stream, store, examples
        array = store.array
        self._row_size = array.itemsize * store.dim
        self._layer_size = self._row_size * len(store)
        self._offset = os.fstat(stream.fileno()).st_size - array.nbytes  # the .npy header

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        examples = self._examples[batch.rows]
        starts, ends = self._store.starts[examples], self._store.starts[examples + 1]
        tokens, bags = self._bags(batch, int((ends - starts).sum()))
        edges = np.cumsum(ends - starts)
        for place, layer in enumerate(self._store.layers):
            states = seen[0].hidden_states[layer].flatten(0, 1).float()
            pooled = embedding_bag(tokens, states, bags, mode="mean").cpu().numpy()
            for start, rows in zip(starts, np.split(pooled, edges[:-1]), strict=True):
                self._stream.seek(self._offset + place * self._layer_size + int(start) * self._row_size)
                self._stream.write(rows.data)

    def _bags(self, batch: Batch, expected: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The batch's tokens row after row of the store, and where each row's tokens begin."""
        host = batch.host if isinstance(batch, SentBatch) else batch
        words, special = host.words.numpy(), host.special.numpy()
        group = _groups(self._store.pool, words, special, np.broadcast_to(np.arange(words.shape[1]), words.shape))
        row = (np.arange(len(group))[:, None] * (group.max() + 1) + group).ravel()
        tokens = np.flatnonzero(group >= 0)
        tokens = tokens[np.argsort(row[tokens], kind="stable")]
        bags = np.flatnonzero(np.diff(row[tokens], prepend=-1))
        assert len(bags) == expected, "the texts gave other words than when they were counted"
        device = batch.words.device
        return sent(tokens, device), sent(bags, device)


def _refuse_other(folder: Path, source: dict[str, Any]) -> None:
    about, _, store = read(folder)
    old = about["source"]
    different = [
        {"version": "another version of bertscope", "encoder": f"another encoder ({store.record.name})",
         "tokenizer": "another tokenizer", "examples": "other examples"}.get(key, f"{key} {old.get(key)}")
        for key in source if old.get(key) != source[key]
    ]  # fmt: skip
    if different:
        raise UserError(
            f"{folder} holds hidden states made with {', '.join(different)}; choose another folder, or delete it"
        )


def _digest_examples(examples: Examples) -> str:
    """The digest of what the model reads: labels don't count."""
    whole = hashlib.sha256()
    columns = [
        column for column in (examples.ids, examples.text, examples.pair, examples.words) if column is not None
    ]
    for row in zip(*columns, strict=True):
        whole.update(json.dumps(row).encode() + b"\n")
    return whole.hexdigest()[:16]
