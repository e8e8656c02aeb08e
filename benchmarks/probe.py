"""Probes of all layers: one layer at a time, as they are mostly written, and all of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.options import Options, Sentences
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare
from benchmarks.trees import SHARED
from bertscope.analyses.probe.training import Training, train_probes
from bertscope.analyses.probe.vectors import Source, Vectors, standardised
from bertscope.core.examples import Examples
from bertscope.data.corpus import read_examples
from bertscope.models.load import load
from bertscope.models.states import StatesStore, hidden_states

EWT = SHARED / "data/UD_English-EWT/en_ewt-ud-dev.conllu"
LOADED, SLICED = "one layer at a time, by a DataLoader", "one layer at a time, by slices"
STACKED = "bertscope"
TRAINING = Training(looks=6, patience=7)  # as many steps for every layer and variant
LAYERS = range(13)
Batches = Callable[[Tensor, Tensor, Tensor], Iterable[Any]]
"""From vectors, labels and the places to take, in their order, to batches."""


def run(options: Options) -> Report:
    source = EWT if EWT.exists() else Path("demo/corpus")
    examples = read_examples(str(source), limit=options.rows or options.size(600, 40))
    assert examples.words is not None
    words = sum(map(len, examples.words))
    data = Sentences(examples, f"{source.name}, {len(examples):,} sentences, {words:,} words")
    encoder = load("pocket", device=options.device)

    def vectors_and_labels(examples: Examples) -> tuple[Vectors, Tensor, Tensor, Tensor]:
        """Every layer's vectors, the words' parts of speech, and which words are for training and validation."""
        store = hidden_states(encoder, examples)
        said = [tag for row, tags in enumerate(examples.marks["pos"]) for tag in _shown(store, row, tags)]
        label = np.unique(said, return_inverse=True)[1]
        n = len(label) * 4 // 5
        train, validation = torch.arange(len(label), device=options.device).split([n, len(label) - n])
        stack = standardised(torch.from_numpy(np.array(store.array)).to(options.device), train)
        units = torch.arange(len(label), device=options.device)[:, None]
        sources = tuple(Source("pocket", layer) for layer in LAYERS)
        return Vectors(sources, stack, units), torch.from_numpy(label).to(options.device), train, validation

    def alone(batches: Batches) -> Callable[[Examples], Work]:
        def prepare(examples: Examples) -> Work:
            vectors, label, train, validation = vectors_and_labels(examples)
            layers = [vectors.stack[:, layer].contiguous() for layer in LAYERS]
            return lambda: np.array([_alone(layer, label, train, validation, batches) for layer in layers])

        return prepare

    def stacked(examples: Examples) -> Work:
        vectors, label, train, validation = vectors_and_labels(examples)
        reads, answers = [[layer] for layer in LAYERS], label.expand(len(LAYERS), -1)
        classes = int(label.max()) + 1
        return lambda: (
            train_probes(vectors, reads, answers, classes, train, validation, TRAINING)
            .validation_loss.cpu()
            .double()
            .numpy()
        )

    return compare(
        "linear probes of all 13 layers for parts of speech, hidden states at hand",
        [Variant(LOADED, alone(_loaded)), Variant(SLICED, alone(_sliced)), Variant(STACKED, stacked)],
        data, options, repeats=3, claims=[Claim(STACKED, LOADED, 3), Claim(STACKED, SLICED, 1.3)],
        notes=["(each layer's best loss on validation)"],
    )  # fmt: skip


def _shown(store: StatesStore, row: int, tags: tuple[str, ...]) -> list[str]:
    """The tags of the words that have vectors."""
    return [tags[word] for word in store.words[store.starts[row] : store.starts[row + 1]]]


def _alone(vectors: Tensor, label: Tensor, train: Tensor, validation: Tensor, batches: Batches) -> float:
    """One probe, as one would write it: the same batches and learning rates, so that it ends where the other does."""
    classes = int(label.max()) + 1
    probe = nn.Linear(vectors.shape[1], classes, device=vectors.device)
    counts = 1 + torch.bincount(label[train], minlength=classes)
    with torch.no_grad():
        probe.weight.zero_()
        probe.bias.copy_((counts / counts.sum()).log())
    optimiser = torch.optim.Adam(probe.parameters(), lr=TRAINING.rate)
    order, best = torch.Generator().manual_seed(TRAINING.seed), _loss(probe, vectors, label, validation)
    times = max(1, -(-TRAINING.least_steps * min(TRAINING.batch, len(train)) // len(train)))
    for _ in range(TRAINING.looks):
        for _ in range(times):
            places = train[torch.randperm(len(train), generator=order).to(train.device)]
            for x, y in batches(vectors, label, places):
                optimiser.zero_grad()
                cross_entropy(probe(x), y).backward()
                optimiser.step()
        loss = _loss(probe, vectors, label, validation)
        if loss < best - TRAINING.gain:
            best = loss
        else:
            for group in optimiser.param_groups:
                group["lr"] /= 2
    return best


def _loaded(vectors: Tensor, label: Tensor, places: Tensor) -> Iterable[Any]:
    return DataLoader(TensorDataset(vectors, label), sampler=places.tolist(), batch_size=TRAINING.batch)


def _sliced(vectors: Tensor, label: Tensor, places: Tensor) -> Iterable[Any]:
    return ((vectors[batch], label[batch]) for batch in places.split(TRAINING.batch))


@torch.no_grad()
def _loss(probe: nn.Linear, vectors: Tensor, label: Tensor, items: Tensor) -> float:
    return cross_entropy(probe(vectors[items]), label[items]).item()
