"""Structural probes, trained together: all layers, ranks and checkpoints read each batch of sentences once.

A probe is a matrix B. Of two words' vectors g and h, |B(g - h)|^2 should be their distance in the tree; of one word's
vector, |Bh|^2 its depth. Probes don't touch each other, so Adam on the stack of them is Adam on each, as long as each
has its own learning rate and its own end.

Words are projected first and compared then, by |a|^2 + |b|^2 - 2ab: per pair of words that is one product of
`rank` numbers, and differences of vectors are never formed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Literal, get_args
from zlib import crc32

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.structure.trees import Batch, Trees, of_one_length
from bertscope.core.bucketing import bucketed
from bertscope.core.progress import progress
from bertscope.models.sending import sent
from bertscope.models.states_store import StatesStore

Kind = Literal["distance", "depth"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_START = 0.05  # weights begin between -0.05 and 0.05
_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # Adam's
_GAIN, _PATIENCE, _FALL = 1e-4, 5, 0.1


class Vectors:
    """A checkpoint's states where the probes are: on the GPU, whole if half of its free memory holds them."""

    def __init__(self, store: StatesStore, device: torch.device) -> None:
        self.layers, self.dim = store.layers, store.dim
        self._starts, self._device = store.starts, device
        self._mapped = {layer: store.vectors(layer) for layer in store.layers}
        self._whole: dict[int, Tensor] = {}
        if device.type == "cuda" and store.array.nbytes < torch.cuda.mem_get_info(device)[0] / 2:
            self._whole = {layer: torch.tensor(array, device=device) for layer, array in self._mapped.items()}

    def of(self, batch: Batch, layers: Sequence[int]) -> Tensor:
        """[layer, place in the batch, dim]."""
        rows = (self._starts[batch.sentences, None] + batch.words).ravel()
        if self._whole:
            at = sent(rows, self._device)
            return torch.stack([self._whole[layer][at] for layer in layers])
        taken = torch.empty(len(layers), len(rows), self.dim)
        for layer, out in zip(layers, taken, strict=True):
            np.take(self._mapped[layer], rows, axis=0, out=out.numpy(), mode="clip")  # `raise` would copy once more
        return sent(taken, self._device)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences with their trees and each checkpoint's vectors of them."""

    trees: Trees
    vectors: Mapping[str, Vectors]
    device: torch.device

    def shuffled(self, seed: int) -> Corpus:
        """The same sentences and vectors with random trees of the same shapes."""
        return replace(self, trees=self.trees.shuffled(seed))

    def goals(self, batch: Batch) -> dict[Kind, Goal]:
        return {kind: Goal.of(kind, self.trees, batch, self.device) for kind in KINDS}


@dataclass(frozen=True)
class Goal:
    """What probes of a kind should say of a batch, and how much each error weighs."""

    value: Tensor
    """[S, N, N] distances, or [S, N] depths."""
    weight: Tensor
    """The same shape: 1 / (sentences x words^2), or 1 / (sentences x words); 0 behind a sentence's end."""

    @classmethod
    def of(cls, kind: Kind, trees: Trees, batch: Batch, device: torch.device) -> Goal:
        inside = batch.inside.astype(np.float32) / batch.lengths[:, None]
        if kind == "distance":
            value, weight = trees.distances(batch), inside[:, :, None] * inside[:, None, :]
        else:
            value, weight = trees.depths(batch), inside
        weight = (weight / len(inside)).astype(np.float32)
        return cls(sent(value, device), sent(weight, device))


def project(weights: Tensor, vectors: Tensor, sentences: int) -> Tensor:
    """[probe x sentence, place, rank] of weights [probe, rank, dim] and vectors [probe, sentence x place, dim]."""
    return torch.bmm(vectors, weights.mT).view(len(weights) * sentences, -1, weights.shape[1])


def predict(kind: Kind, projected: Tensor) -> Tensor:
    """Squared distances [.., N, N] or squared lengths [.., N] of projected words [.., N, rank]."""
    if kind == "depth":
        return torch.linalg.vecdot(projected, projected)
    products = torch.bmm(projected, projected.mT)
    squares = products.diagonal(dim1=-2, dim2=-1).clone()
    return products.mul_(-2).add_(squares[:, :, None]).add_(squares[:, None, :])


def gradient(kind: Kind, weights: Tensor, vectors: Tensor, goal: Goal) -> Tensor:
    """The gradient of each probe's loss, sum(weight x |predicted - value|), by its own weights [probe, rank, dim]."""
    probes, sentences = len(weights), len(goal.value)
    projected = project(weights, vectors, sentences)
    error = predict(kind, projected).view(probes, *goal.value.shape).sub_(goal.value)
    slope = error.sign_().mul_(goal.weight).flatten(0, 1)  # by what is predicted
    if kind == "depth":
        pull, factor = projected * slope[..., None], 2  # by the projected words
    else:
        pull = torch.baddbmm(projected * slope.sum(-1, keepdim=True), slope, projected, alpha=-1)
        factor = 4  # d(i, j) and d(j, i), twice the difference each
    return torch.bmm(pull.view(probes, -1, weights.shape[1]).mT, vectors).mul_(factor)


def losses(kind: Kind, weights: Tensor, vectors: Tensor, goal: Goal) -> Tensor:
    """[probe]: the mean over sentences."""
    predicted = predict(kind, project(weights, vectors, len(goal.value)))
    error = predicted.view(len(weights), *goal.value.shape).sub_(goal.value).abs_()
    return error.mul_(goal.weight).flatten(1).sum(1)


@dataclass
class Schedule:
    """One probe's learning rate, which falls to a tenth after each epoch without a gain, and its end."""

    rate: float
    best: float = inf
    """The least loss so far, by the share of it that counts as a gain for the learning rate."""
    least: float = inf
    """The loss of the weights that are kept."""
    waited: int = 0
    """Epochs since then."""

    def see(self, loss: float) -> bool:
        """Take in an epoch's loss on validation. Whether its weights are to be kept."""
        if loss < self.best * (1 - _GAIN):
            self.best = loss
        else:
            self.rate *= _FALL
        gained = loss < self.least - _GAIN
        self.least, self.waited = (loss, 0) if gained else (self.least, self.waited + 1)
        return gained

    @property
    def done(self) -> bool:
        return self.waited >= _PATIENCE


class Stack:
    """The probes of one kind and rank, one for each of some layers of a checkpoint."""

    def __init__(
        self, checkpoint: str, kind: Kind, rank: int, layers: Sequence[int], dim: int, *, rate: float, seed: int,
        device: torch.device,
    ) -> None:  # fmt: skip
        self.checkpoint, self.kind, self.rank, self.layers = checkpoint, kind, rank, list(layers)
        self.weights = torch.stack([initial(kind, rank, layer, dim, seed) for layer in layers]).to(device)
        self.kept = self.weights.clone()
        """[layer, rank, dim]: each probe's weights at its least loss on validation."""
        self.schedules = [Schedule(rate) for _ in layers]
        self.epochs = [0] * len(self.layers)
        self.active = list(range(len(self.layers)))
        """The probes that still learn; `weights` has these."""
        self._first, self._second = torch.zeros_like(self.weights), torch.zeros_like(self.weights)
        self._steps = 0
        self._read_rates()

    @property
    def learning(self) -> list[int]:
        """The layers whose probes still learn."""
        return [self.layers[place] for place in self.active]

    def learn(self, vectors: Tensor, goal: Goal) -> None:
        """One step of Adam for each probe that still learns, from the vectors of its layer."""
        slope = gradient(self.kind, self.weights, vectors, goal)
        self._steps += 1
        one, two = _BETAS
        self._first.lerp_(slope, 1 - one)
        self._second.mul_(two).addcmul_(slope, slope, value=1 - two)
        size = (self._second / (1 - two**self._steps)).sqrt_().add_(_EPSILON)
        self.weights.sub_((self._first / size).mul_(self._rates / (1 - one**self._steps)))

    def judge(self, losses: Sequence[float]) -> None:
        """After an epoch, with each learning probe's loss on validation: keep the best weights; what is done
        leaves."""
        for row, (place, loss) in enumerate(zip(self.active, losses, strict=True)):
            self.epochs[place] += 1
            if self.schedules[place].see(loss):
                self.kept[place] = self.weights[row]
        going = [row for row, place in enumerate(self.active) if not self.schedules[place].done]
        if len(going) < len(self.active):
            self.active = [self.active[row] for row in going]
            self.weights, self._first, self._second = (
                each[going] for each in (self.weights, self._first, self._second)
            )
        self._read_rates()

    def predictions(self, batch: Batch, vectors: Vectors) -> Tensor:
        """[layer, sentence, N, N] distances or [layer, sentence, N] depths, by the weights that are kept."""
        projected = project(self.kept, vectors.of(batch, self.layers), len(batch.sentences))
        return predict(self.kind, projected).unflatten(0, (len(self.layers), -1))

    def _read_rates(self) -> None:
        rates = [self.schedules[place].rate for place in self.active]
        self._rates = sent(torch.tensor(rates, dtype=self.weights.dtype), self.weights.device)[:, None, None]


def initial(kind: Kind, rank: int, layer: int, dim: int, seed: int) -> Tensor:
    """A probe's first weights: the same whatever else is trained, and for each checkpoint."""
    generator = torch.Generator().manual_seed(crc32(f"{kind} {rank} {layer} {seed}".encode()))
    return torch.empty(rank, dim).uniform_(-_START, _START, generator=generator)


def train_stacks(
    stacks: Sequence[Stack], corpus: Corpus, train: np.ndarray, validation: np.ndarray,
    *, epochs: int = 40, batch_size: int = 20, seed: int = 0,
) -> None:  # fmt: skip
    """Train all probes on the sentences `train`, each until `validation` says that it is done."""
    lengths = corpus.trees.lengths[train]
    with progress("structural probes", epochs) as bar:
        for epoch in range(epochs):
            left = [stack for stack in stacks if stack.active]
            if not left:
                break
            for rows in bucketed(lengths, batch_size, np.random.default_rng([seed, epoch])):
                batch = corpus.trees.batch(train[rows])
                goals = corpus.goals(batch)
                for stack, vectors in readings(left, corpus, batch):
                    stack.learn(vectors, goals[stack.kind])
            for stack, found in zip(left, validation_losses(left, corpus, validation), strict=True):
                stack.judge(found)
            bar.advance(probes=f"{sum(len(stack.active) for stack in stacks)} learn on")


def validation_losses(stacks: Sequence[Stack], corpus: Corpus, validation: np.ndarray) -> list[list[float]]:
    """Of each stack, the losses of its probes that still learn: means over sentences."""
    sums = {id(stack): torch.zeros(len(stack.active), device=corpus.device) for stack in stacks}
    for batch in of_one_length(corpus.trees, validation):
        goals = corpus.goals(batch)
        for stack, vectors in readings(stacks, corpus, batch):
            found = losses(stack.kind, stack.weights, vectors, goals[stack.kind])
            sums[id(stack)] += found * (len(batch.sentences) / len(validation))
    of_all = iter(torch.cat([sums[id(stack)] for stack in stacks]).tolist())  # one wait for all
    return [list(islice(of_all, len(stack.active))) for stack in stacks]


def readings(stacks: Sequence[Stack], corpus: Corpus, batch: Batch) -> Iterator[tuple[Stack, Tensor]]:
    """Each stack with what its learning probes read, [probe, place, dim]; a checkpoint's states are read once."""
    for checkpoint, vectors in corpus.vectors.items():
        mine = [stack for stack in stacks if stack.checkpoint == checkpoint]
        union = sorted({layer for stack in mine for layer in stack.learning})
        if union:
            states = vectors.of(batch, union)
            for stack in mine:
                layers = stack.learning
                # A list of places would be copied to a GPU, and waited for.
                yield stack, states if layers == union else torch.stack([states[union.index(one)] for one in layers])
