"""Hidden states that are read again and again: pooled to words, memory-mapped. `models.states` makes them.

A store is a folder. A layer is one block of it, since most questions read a layer at a time.

    vectors.npy    float32 [layer, row, dim]
    starts.npy     example i has the rows starts[i] to starts[i + 1]
    words.npy, segments.npy, spans.npy, ids.json    what the rows and examples are
    hidden.json    what the store was made from
    progress.json  how many examples are done, rewritten after each window; all of them: the store is complete

Or, of a corpus that was read in shards, each of which has such a folder:

    shards.json    where these lie, seen from this folder
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import numpy as np

from bertscope.core import seal
from bertscope.core.errors import UserError
from bertscope.core.files import digest_files, write_text
from bertscope.core.folders import whole_folder
from bertscope.core.joined_rows import JoinedRows
from bertscope.core.model_record import ModelRecord

Pool = Literal["word", "token", "cls", "mean"]

ABOUT, PROGRESS, VECTORS = "hidden.json", "progress.json", "vectors.npy"
INDEX = ("starts.npy", "words.npy", "segments.npy", "spans.npy", "ids.json")
SHARDS = "shards.json"
KIND = "states"
"""What its folder is, by its seal."""
GROWING = (PROGRESS, VECTORS)
"""What is written as the examples are read; sealed when all are."""


@dataclass(frozen=True, eq=False)
class StatesStore:
    """The hidden states of some examples, in their order; made by `hidden_states`.

    What has no token has no row: an example without words, a word that the tokenizer normalises away, an example
    that was left out. So word k of example i is not always row `starts[i] + k`; `words` says which word a row is.
    """

    folder: Path
    record: ModelRecord
    """The encoder's."""
    pool: Pool
    layers: tuple[int, ...]
    """The layers held: 0 is the embedding output, 1 to `n_layers` the blocks."""
    n_layers: int
    """How many blocks the encoder has."""
    ids: tuple[str, ...]
    """All examples' ids, those left out included."""
    left_out: tuple[str, ...]
    """The examples that are longer than the model reads: they have no rows."""
    starts: np.ndarray
    """Example i has the rows `starts[i]` to `starts[i + 1]`."""
    words: np.ndarray
    """Each row's word in its sentence (pool "word"), its token's position (pool "token"), or 0."""
    segments: np.ndarray
    """The text of a pair that each row comes from: 0 or 1."""
    spans: np.ndarray
    """[row, 2]: from which to which character of that text the row's tokens reach; of marked words, in the word."""
    array: np.ndarray
    """float32 [row, layer held, dim], memory-mapped, read-only."""
    temporary: TemporaryDirectory[str] | None = field(default=None, repr=False)
    """The folder, where it is to go when nobody holds the store any more."""

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.array)

    def __repr__(self) -> str:
        rows = f"{len(self):,} rows (pool: {self.pool}) of {len(self.ids) - len(self.left_out):,} texts"
        size = f"{len(self.layers)} layers, {self.dim} dimensions"
        return f"<StatesStore {self.record.name}: {rows}, {size}, in {self.folder}>"

    @cached_property
    def _without_rows(self) -> frozenset[str]:
        return frozenset(self.left_out)

    @property
    def dim(self) -> int:
        return self.array.shape[2]

    def vectors(self, layer: int) -> np.ndarray:
        """All rows of one layer [row, dim], memory-mapped and contiguous."""
        if layer not in self.layers:
            raise UserError(f"layer {layer} isn't in the store; there are {', '.join(map(str, self.layers))}")
        return self.array[:, self.layers.index(layer)]

    def sentence(self, i: int) -> np.ndarray:
        """Example i's rows in all layers held [row, layer, dim]; `words[starts[i]:starts[i + 1]]` names them."""
        if not 0 <= i < len(self.ids):
            raise IndexError(f"example {i} of {len(self.ids)}")
        return self.array[self.starts[i] : self.starts[i + 1]]

    def texts(self, first: int, last: int) -> StatesStore:
        """The same of some neighbouring examples alone, from one to another."""
        begin, end = self.starts[first], self.starts[last]
        ids, rows = self.ids[first:last], slice(begin, end)
        return replace(
            self, ids=ids, left_out=tuple(id for id in ids if id in self._without_rows),
            starts=self.starts[first : last + 1] - begin, words=self.words[rows], segments=self.segments[rows],
            spans=self.spans[rows], array=self.array[rows],
        )  # fmt: skip

    def blocks(self, layer: int, rows: int = 8192) -> Iterator[np.ndarray]:
        """One layer in consecutive blocks of at most `rows` rows, for what must not hold all of it at once."""
        vectors = self.vectors(layer)
        return (vectors[start : start + rows] for start in range(0, len(self), rows))

    @classmethod
    def open(cls, folder: str | Path) -> StatesStore:
        """Open a complete store."""
        folder = Path(folder)
        if (folder / SHARDS).is_file():
            return _open_shards(folder)
        if not holds_states(folder):
            raise UserError(f"{folder} is no store of hidden states (no {ABOUT} in it)")
        seal.refuse_changed(folder)
        about, done, store = read(folder)
        if done < about["examples"] or is_growing(folder):
            raise UserError(
                f"{folder} is not finished ({done:,} of {about['examples']:,} examples); "
                "call hidden_states(...) again with this folder and it goes on"
            )
        return store


open_store = StatesStore.open


def holds_states(folder: Path) -> bool:
    """Whether a folder is a store by itself, finished or not."""
    return (folder / ABOUT).is_file()


def joined(stores: Sequence[StatesStore], folder: Path | None = None) -> StatesStore:
    """The states of a corpus from those of its shards, in their order; the vectors stay where they are."""
    ends = np.cumsum([0, *map(len, stores)])
    return replace(
        stores[0],
        folder=folder or stores[0].folder,
        ids=tuple(id for one in stores for id in one.ids),
        left_out=tuple(id for one in stores for id in one.left_out),
        starts=np.concatenate([[0], *(one.starts[1:] + end for one, end in zip(stores, ends, strict=False))]),
        words=np.concatenate([one.words for one in stores]),
        segments=np.concatenate([one.segments for one in stores]),
        spans=np.concatenate([one.spans for one in stores]),
        array=cast(np.ndarray, JoinedRows([one.array for one in stores])),  # it is indexed like one
    )


def join(shards: Sequence[Path], folder: Path) -> StatesStore:
    """Make a folder that stands for some shards of one store of steps: it says where they lie, and copies nothing."""
    places = [f"../../{shard.parent.name}/{shard.name}" for shard in shards]  # `folder` will be such a step's
    with whole_folder(folder, KIND) as scratch:
        write_text(scratch / SHARDS, json.dumps(places))
    return joined([StatesStore.open(shard) for shard in shards], folder)


def _open_shards(folder: Path) -> StatesStore:
    seal.refuse_changed(folder)
    shards = [folder / place for place in json.loads((folder / SHARDS).read_text(encoding="utf-8"))]
    for shard in shards:
        if not shard.is_dir():
            raise UserError(
                f"{folder} stands for {len(shards)} shards, and {shard.resolve()} isn't there any more; delete the "
                "step, and ask again"
            )
    return joined([StatesStore.open(shard) for shard in shards], folder)


def is_growing(folder: Path) -> bool:
    """Whether some of its vectors are still to be written, or sealed."""
    sealed = seal.read(folder)
    return sealed is not None and bool(sealed.growing)


def _record(about: dict[str, Any]) -> ModelRecord:
    """The encoder's; of a store that was made before encoders had records, its name and the digest of its weights."""
    known = about.get("model") or {"id": about["source"]["encoder"], "name": about["name"]}
    return ModelRecord.from_json(known)


def read(folder: Path) -> tuple[dict[str, Any], int, StatesStore]:
    """What the folder says of itself, how many examples are done, and the store, finished or not."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        done = int(json.loads((folder / PROGRESS).read_text(encoding="utf-8"))["examples"])
        if about["index"] != digest_files(folder / name for name in INDEX):
            raise ValueError("its index was changed")
        ids = json.loads((folder / "ids.json").read_text(encoding="utf-8"))
        starts, words, segments, spans = (np.load(folder / name) for name in INDEX[:4])
        array = np.load(folder / VECTORS, mmap_mode="r")
        if list(array.shape) != about["shape"] or array.dtype != np.float32:
            raise ValueError(f"{VECTORS} has another shape")
        store = StatesStore(
            folder=folder, record=_record(about),
            pool=about["source"]["pool"], layers=tuple(about["source"]["layers"]),
            n_layers=about["n_layers"], ids=tuple(ids), left_out=tuple(ids[i] for i in about["left_out"]),
            starts=starts, words=words, segments=segments, spans=spans, array=array.transpose(1, 0, 2),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
        raise UserError(f"the store in {folder} is damaged ({error}); delete the folder and run again") from error
    return about, done, store
