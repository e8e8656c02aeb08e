"""Structural probes of all layers at once, beside one layer at a time as they are published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

from benchmarks.options import Options, Sentences
from benchmarks.side_by_side import Claim, Report, Variant, Work, compare, difference, now
from benchmarks.trees import EWT
from bertscope.analyses.structure.metrics import evaluate
from bertscope.analyses.structure.probes import Corpus, Stack, Vectors, initial, train_stacks
from bertscope.analyses.structure.trees import Trees
from bertscope.core.examples import Examples
from bertscope.data.corpus import read_examples
from bertscope.data.treebank import read_treebank
from bertscope.models.load import load
from bertscope.models.states import hidden_states
from bertscope.models.states_store import StatesStore

PLAIN, OURS = "one layer at a time, as published", "bertscope, all layers together"
NAME, RANK, RATE, BATCH = "pocket", 64, 1e-3, 20
LAYER = 6  # the one that the plain way runs
SCORED = 1500  # sentences on which both are trained to the end


def run(options: Options) -> Report:
    material, data = _read(options)
    layers = len(material.corpus.vectors[NAME].layers)

    def plain(some: Examples) -> Work:
        train, validation = material.parts(len(some), 0.9)
        probe = PlainProbe(material.corpus, train, validation)

        def work() -> float:
            started = now(options.device)
            probe.train(epochs=1)
            return (now(options.device) - started) * layers  # no layer costs more than another

        return work

    def ours(some: Examples) -> Work:
        train, validation = material.parts(len(some), 0.9)
        stack = material.stack(range(layers))
        return lambda: train_stacks([stack], material.corpus, train, validation, epochs=1, batch_size=BATCH)

    return compare(
        f"one epoch of distance probes of rank {RANK} on the {layers} layers of {NAME}, with the loss on validation",
        [Variant(PLAIN, plain), Variant(OURS, ours)], data, options, repeats=3, passes=layers,
        agreement=difference(_after_the_same_steps(material)), claims=[Claim(OURS, PLAIN, 8)],
        notes=[
            "(the probes' weights after the same three steps)",
            f"the plain way runs layer {LAYER} with its vectors in memory; its seconds are taken {layers} times",
            _scores(material, min(SCORED, len(data))),
        ],
    )  # fmt: skip


@dataclass(frozen=True)
class Material:
    store: StatesStore
    """A temporary folder, which lives as long as this."""
    corpus: Corpus
    usable: np.ndarray
    """The sentences that the encoder reads whole."""

    def parts(self, count: int, *edges: float) -> list[np.ndarray]:
        """The first sentences, cut at these shares."""
        return np.split(self.usable[:count], [round(edge * count) for edge in edges])

    def stack(self, layers: range) -> Stack:
        dim = self.corpus.vectors[NAME].dim
        return Stack(NAME, "distance", RANK, layers, dim, rate=RATE, seed=0, device=self.corpus.device)


def _read(options: Options) -> tuple[Material, Sentences]:
    """EWT's train sentences, or else the demo language's, and pocket's states of them."""
    limit = options.rows or options.size(12544, 40)
    if EWT.exists():
        examples, name = read_treebank(EWT, limit=limit), "EWT train"
    else:
        examples, name = read_examples("demo/corpus", limit=min(limit, 1000)), "demo/corpus (no EWT here)"
    store = hidden_states(load(NAME, device=options.device), examples)
    trees, device = Trees.of(examples), torch.device(options.device)
    usable = np.flatnonzero(np.diff(store.starts) == trees.lengths)
    material = Material(store, Corpus(trees, {NAME: Vectors(store, device)}, device), usable)
    words = int(trees.lengths[usable].sum())
    return material, Sentences(examples.take(usable), f"{name}, {len(usable):,} sentences, {words:,} words")


class PlainProbe:
    """One layer's probe: batches of 20 sentences at random, padded; the difference of every two projected vectors;
    autograd, torch's Adam and its plateau."""

    def __init__(self, corpus: Corpus, train: np.ndarray, validation: np.ndarray) -> None:
        self._device = corpus.device
        self.weights = torch.nn.Parameter(
            initial("distance", RANK, LAYER, corpus.vectors[NAME].dim, 0).to(self._device)
        )
        self._adam = torch.optim.Adam([self.weights], lr=RATE)
        self._plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(self._adam, factor=0.1, patience=0)
        self._train, self._validation = ([_sentence(corpus, row) for row in part] for part in (train, validation))

    def predict(self, vectors: Tensor) -> Tensor:
        projected = vectors @ self.weights.T
        return (projected[:, :, None] - projected[:, None, :]).square().sum(-1)

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        vectors, distances, lengths = (each.to(self._device) for each in batch)
        off = (self.predict(vectors) - distances).abs().where(distances >= 0, 0.0)
        return (off.sum((1, 2)) / lengths**2).mean()

    def step(self, batch: tuple[Tensor, Tensor, Tensor]) -> None:
        self._adam.zero_grad()
        self.loss(batch).backward()
        self._adam.step()

    def train(self, epochs: int) -> Tensor:
        """Returns the weights that did best on validation."""
        least, waited, kept = float("inf"), 0, self.weights.detach().clone()
        for _ in range(epochs):
            for batch in DataLoader(self._train, BATCH, shuffle=True, collate_fn=_padded):  # type: ignore[arg-type]
                self.step(batch)
            with torch.no_grad():
                batches = DataLoader(self._validation, BATCH, collate_fn=_padded)  # type: ignore[arg-type]
                loss = sum(self.loss(batch).item() * len(batch[0]) for batch in batches) / len(self._validation)
            self._plateau.step(loss)
            if loss < least - 1e-4:
                least, waited, kept = loss, 0, self.weights.detach().clone()
            elif (waited := waited + 1) >= 5:
                break
        return kept


def _sentence(corpus: Corpus, row: int) -> tuple[Tensor, Tensor]:
    """Its vectors and its words' distances."""
    batch = corpus.trees.batch(np.array([row]))
    return corpus.vectors[NAME].of(batch, [LAYER])[0].cpu(), torch.from_numpy(corpus.trees.distances(batch)[0])


def _padded(sentences: list[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor, Tensor]:
    vectors = pad_sequence([each for each, _ in sentences], batch_first=True)
    distances = torch.full((len(sentences), vectors.shape[1], vectors.shape[1]), -1.0)
    for row, (_, each) in enumerate(sentences):
        distances[row, : len(each), : len(each)] = each
    return vectors, distances, torch.tensor([len(each) for each, _ in sentences])


def _after_the_same_steps(material: Material) -> list[np.ndarray]:
    """Both ways' weights after three steps on the same batches."""
    stack, (train,) = material.stack(range(LAYER, LAYER + 1)), material.parts(3 * BATCH)
    probe = PlainProbe(material.corpus, train, train)
    for rows in np.array_split(train, 3):
        batch = material.corpus.trees.batch(rows)
        vectors = material.corpus.vectors[NAME].of(batch, [LAYER])
        stack.learn(vectors, material.corpus.goals(batch)["distance"])
        probe.step(_padded([_sentence(material.corpus, row) for row in rows]))
    return [probe.weights.detach().cpu().numpy(), stack.weights[0].cpu().numpy()]


def _scores(material: Material, count: int) -> str:
    """What both ways find when they are trained to the end."""
    train, validation, test = material.parts(count, 0.8, 0.9)
    torch.manual_seed(0)
    probe = PlainProbe(material.corpus, train, validation)
    stack = material.stack(range(LAYER, LAYER + 1))
    train_stacks([stack], material.corpus, train, validation, batch_size=BATCH)
    found = []
    for kept in (probe.train(epochs=40), stack.kept[0].clone()):
        stack.kept[0] = kept
        scored = evaluate(
            "distance", lambda batch: stack.predictions(batch, material.corpus.vectors[NAME]), material.corpus.trees,
            test,
        )  # fmt: skip
        found.append(scored.hits.sum() / max(1, scored.to_find.sum()))
    return (
        f"layer {LAYER} trained to the end on {len(train):,} sentences, {scored.to_find.sum():,} edges of others: "
        f"UUAS {found[0]:.3f} as published, {found[1]:.3f} here"
    )
