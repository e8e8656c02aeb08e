"""The vectors that probes read, of every layer of every checkpoint: words, pairs of words, whole texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.probe.sample import TRAIN, Sample
from bertscope.analyses.probe.targets import Target
from bertscope.core.examples import Examples
from bertscope.models.states_store import StatesStore

NO_ROW = -1


@dataclass(frozen=True)
class Source:
    """A layer of a checkpoint."""

    checkpoint: str
    layer: int


@dataclass(frozen=True, eq=False)
class Vectors:
    """What probes read of a sample's items."""

    sources: tuple[Source, ...]
    stack: Tensor
    """[unit, source, dim]: each dimension with mean 0 and deviation 1 over train's units. A probe with a bias can
    undo that, so it changes nothing of what can be read; it lets one learning rate serve all layers."""
    units: Tensor
    """[item, 1 or 2]: the unit of each item, or of the word and its governor."""

    @property
    def width(self) -> int:
        """How many numbers a probe reads of an item."""
        return self.stack.shape[2] * (1 if self.units.shape[1] == 1 else 3)

    def read(self, items: Tensor) -> list[Tensor]:
        """The items' vectors, or those of the words and those of their governors, each [item, source, dim]."""
        return [self.stack.index_select(0, unit) for unit in self.units[items].unbind(1)]


def joined(vectors: Sequence[Tensor]) -> Tensor:
    """What a probe reads: a vector as it is; of a word and its governor both and their product, without which a
    linear probe would see neither in the light of the other."""
    if len(vectors) == 1:
        return vectors[0]
    word, governor = vectors
    return torch.cat([word, governor, word * governor], -1)


class Rows:
    """Where a store has the words of a corpus."""

    def __init__(self, store: StatesStore, examples: Examples) -> None:
        self.store = store
        counts = np.diff(store.starts)
        self._texts = np.flatnonzero(counts)  # a text without words has no rows
        self._text_row = np.full(len(counts), NO_ROW)
        self._text_row[self._texts] = np.arange(len(self._texts))
        self._first_word = np.zeros(0, dtype=np.int64)
        self._row = np.zeros(0, dtype=np.int64)
        if examples.words is not None:
            lengths = np.array([len(words) for words in examples.words])
            self._first_word = np.cumsum(lengths) - lengths
            self._row = np.full(lengths.sum(), NO_ROW)
            self._row[np.repeat(self._first_word, counts) + store.words] = np.arange(len(store))

    def of(self, target: Target) -> np.ndarray:
        """[item, 1 or 2]: the row of each word, or of each text among the texts that have rows; `NO_ROW` for none."""
        if target.unit == "text":
            return self._text_row[target.example][:, None]
        return self._row[self._first_word[target.example][:, None] + target.words]

    def vectors(self, layer: int, unit: str, rows: np.ndarray) -> np.ndarray:
        """These rows of a layer [row, dim]; of whole texts the mean of their words."""
        layer_vectors = self.store.vectors(layer)
        if unit != "text":
            return layer_vectors[rows]
        starts = self.store.starts[self._texts]
        sums = np.add.reduceat(layer_vectors, starts, axis=0)
        counts = np.diff(self.store.starts)[self._texts, None].astype(np.float32)
        return (sums / counts)[rows]


def have_vectors(rows: Mapping[str, Rows], target: Target) -> np.ndarray:
    """[item]: whether all checkpoints have its vectors. One that reads shorter texts leaves out more."""
    return np.all([(of.of(target) != NO_ROW).all(1) for of in rows.values()], axis=0)


def gather(rows: Mapping[str, Rows], sample: Sample, device: torch.device | str) -> list[Vectors]:
    """The sample's vectors of all layers of all checkpoints, in a stack for each width that checkpoints have."""
    widths = dict.fromkeys(of.store.dim for of in rows.values())
    return [
        _stacked({name: of for name, of in rows.items() if of.store.dim == width}, sample, device) for width in widths
    ]


def _stacked(rows: Mapping[str, Rows], sample: Sample, device: torch.device | str) -> Vectors:
    sources, layers, units = [], [], None
    for name, of in rows.items():
        found, places = np.unique(of.of(sample.target), return_inverse=True)
        places = places.reshape(len(sample.target), -1)
        if units is None:
            units = places
        assert np.array_equal(units, places), "the same words in the same order, whatever the checkpoint"
        for layer in of.store.layers:
            sources.append(Source(name, layer))
            layers.append(torch.from_numpy(of.vectors(layer, sample.target.unit, found)).to(device))
    assert units is not None
    train = torch.from_numpy(np.unique(units[sample.items(TRAIN)])).to(device)
    return Vectors(tuple(sources), standardised(torch.stack(layers, 1), train), torch.from_numpy(units).to(device))


def standardised(stack: Tensor, train: Tensor) -> Tensor:
    """[unit, source, dim], in place: every dimension with mean 0 and deviation 1 over the units of train."""
    spread, mean = torch.std_mean(stack[train], dim=0, correction=0)
    return stack.sub_(mean).div_(spread.clamp_min(1e-6))


def same_layers(sources: Sequence[Source]) -> list[list[int]]:
    """For each source, those of its own checkpoint up to its layer: what a mix of layers 0 to l reads."""
    return [
        [at for at, other in enumerate(sources) if other.checkpoint == one.checkpoint and other.layer <= one.layer]
        for one in sources
    ]
