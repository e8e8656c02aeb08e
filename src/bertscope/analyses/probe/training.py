"""Many probes trained side by side, each as if it were alone.

The weights of all probes of one shape are stacked, and a batch goes through all of them by one product. Nothing ties
them together: losses are added, Adam works number by number, and each probe has its own learning rate, its own early
stop on validation and its own best weights. All start from the same weights, with nothing but the frequencies of
their labels, and meet the items in the same order: layers differ by their vectors alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from bertscope.analyses.probe.vectors import Vectors, joined
from bertscope.models.sending import sent

_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # Adam's
_BLOCK = 2048  # items that are scored at a time


@dataclass(frozen=True)
class Training:
    """How probes are trained."""

    hidden: int = 0
    """Units of the hidden layer; 0 is a linear probe."""
    rate: float = 5e-3
    batch: int = 256
    looks: int = 40
    """How often validation is looked at, at most: after all of train, or after `least_steps` if those are more."""
    least_steps: int = 8
    patience: int = 3
    """Looks without a gain after which a probe stops; those before the last halve its learning rate."""
    gain: float = 2e-3
    """By how many nats the loss on validation must fall to count as lower."""
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Probes:
    """Trained probes."""

    vectors: Vectors
    reads: Tensor
    """[probe, source]: which sources a probe reads. One: as it is; several: a mix whose weights it learns."""
    weights: list[Tensor]
    """Each [probe, ...]: mix, then matrix and bias of each layer."""
    validation_loss: Tensor
    """[probe], in nats."""

    @torch.inference_mode()
    def log_probabilities(self, items: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Blocks of items, and what every probe says of them: [probe, item, class]."""
        one = _reads_one(self.reads)
        for block in items.split(_BLOCK):
            yield block, log_softmax(_answers(self.vectors, self.reads, one, self.weights, block), -1)

    def hits_and_losses(self, labels: Tensor, items: Tensor) -> tuple[Tensor, Tensor]:
        """[probe, item]: whether the likeliest class is that of `labels` [probe, all items], and the loss in nats."""
        hits, losses = [], []
        for block, answers in self.log_probabilities(items):
            gold = labels[:, block]
            hits.append(answers.argmax(-1) == gold)
            losses.append(-answers.gather(-1, gold[..., None])[..., 0])
        return torch.cat(hits, 1), torch.cat(losses, 1)


def train_probes(
    vectors: Vectors,
    reads: Sequence[Sequence[int]],
    labels: Tensor,
    classes: int,
    train: Tensor,
    validation: Tensor,
    training: Training,
) -> Probes:
    """Train a probe for each entry of `reads`, the places of its sources; `labels` [probe, item] are its answers."""
    allowed = torch.zeros(len(reads), len(vectors.sources), dtype=torch.bool)
    for probe, places in enumerate(reads):
        allowed[probe, list(places)] = True
    allowed = sent(allowed, vectors.stack.device)
    weights = _start(vectors, allowed, _frequencies(labels[:, train], classes), training)
    run = _Run(vectors, allowed, labels, weights, training)
    order = torch.Generator().manual_seed(training.seed)
    run.look(validation)
    for _ in range(training.looks):
        for items in _batches(train, order, training):
            run.step(items)
        run.look(validation)
        if not len(run.going):
            break
    return Probes(vectors, allowed, run.best, run.best_loss)


def _frequencies(labels: Tensor, classes: int) -> Tensor:
    """[probe, class]: how frequent each class is among labels [probe, item], one that isn't there counted once."""
    counts = torch.ones(len(labels), classes, device=labels.device)
    counts.scatter_add_(1, labels, torch.ones_like(labels, dtype=counts.dtype))
    return counts / counts.sum(1, keepdim=True)


def _start(vectors: Vectors, reads: Tensor, frequencies: Tensor, training: Training) -> list[Tensor]:
    """A mix of equal parts, a random hidden layer (as torch's), a last layer that says how frequent classes are."""
    wide, (probes, classes) = vectors.width, frequencies.shape
    layers = []
    if training.hidden:
        generator = torch.Generator().manual_seed(training.seed)
        for shape in ((wide, training.hidden), (1, training.hidden)):
            drawn = torch.empty(shape).uniform_(-1, 1, generator=generator) * wide**-0.5
            layers.append(drawn.to(reads.device).repeat(probes, 1, 1))
        wide = training.hidden
    last = torch.zeros(probes, wide, classes, device=reads.device)
    return [torch.zeros(reads.shape, device=reads.device), *layers, last, frequencies.log()[:, None]]


def _reads_one(reads: Tensor) -> bool:
    """Whether each probe reads one source alone. A GPU must be waited for, so that isn't asked in every step."""
    return bool((reads.sum(1) == 1).all())


def _answers(vectors: Vectors, reads: Tensor, one: bool, weights: Sequence[Tensor], items: Tensor) -> Tensor:
    """[probe, item, class]: what the probes say, before the softmax; `one`: see `_reads_one`."""
    mix, *layers = weights
    if one:
        sources = reads.int().argmax(1)
        read = [vector.index_select(1, sources) for vector in vectors.read(items)]
    else:
        share = torch.where(reads, mix, -torch.inf).softmax(-1)
        read = [share @ vector for vector in vectors.read(items)]
    found = joined(read).transpose(0, 1)
    for place in range(0, len(layers), 2):
        if place:
            found = found.relu()
        found = torch.baddbmm(layers[place + 1], found, layers[place])
    return found


class _Run:
    """The state of a training: the probes that are still going, and the best weights of all."""

    def __init__(
        self, vectors: Vectors, reads: Tensor, labels: Tensor, weights: list[Tensor], training: Training
    ) -> None:
        self._vectors, self._reads, self._labels, self._training = vectors, reads, labels, training
        self.going, self._one = torch.arange(len(reads), device=reads.device), _reads_one(reads)
        self.best = [weight.clone() for weight in weights]
        self.best_loss = torch.full((len(reads),), torch.inf, device=reads.device)
        self._weights = weights
        self._moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in weights]
        self._rate = torch.full((len(reads),), training.rate, device=reads.device)
        self._waited = torch.zeros(len(reads), dtype=torch.long, device=reads.device)
        self._steps = 0

    def step(self, items: Tensor) -> None:
        """One step of Adam on these items. The gradient of the probes' summed losses holds that of each alone."""
        for weight in self._weights:
            weight.requires_grad_(True)
        loss = self._losses(items).sum()
        gradients = torch.autograd.grad(loss, self._weights, allow_unused=True, materialize_grads=True)
        self._steps += 1
        one, other = _BETAS
        with torch.no_grad():
            for weight, gradient, (mean, square) in zip(self._weights, gradients, self._moments, strict=True):
                mean.lerp_(gradient, 1 - one)
                square.lerp_(gradient**2, 1 - other)
                deviation = (square / (1 - other**self._steps)).sqrt_().add_(_EPSILON)
                rate = self._rate.reshape(-1, *[1] * (weight.ndim - 1)) / (1 - one**self._steps)
                weight.sub_(rate * mean / deviation)

    @torch.no_grad()
    def look(self, validation: Tensor) -> None:
        """Keep what is better than before, slow down what isn't, and let go of what hasn't been for long."""
        blocks = validation.split(_BLOCK)
        loss = sum(self._losses(block) * len(block) for block in blocks) / len(validation)
        assert isinstance(loss, Tensor)
        # The first look is at infinity; what is not a number is never better.
        known = self.best_loss[self.going]
        better = loss < known - self._training.gain
        self.best_loss[self.going] = torch.where(better, loss, known)
        for best, weight in zip(self.best, self._weights, strict=True):
            mine = better.view(-1, *[1] * (weight.ndim - 1))
            best[self.going] = torch.where(mine, weight, best[self.going])
        self._waited = torch.where(better, 0, self._waited + 1)
        self._rate = torch.where(better, self._rate, self._rate / 2)
        on = (self._waited < self._training.patience).nonzero()[:, 0]  # the one wait of a look
        if len(on) < len(self.going):
            self._keep(on)

    def _keep(self, on: Tensor) -> None:
        self.going, self._rate, self._waited = self.going[on], self._rate[on], self._waited[on]
        self._one = self._one or _reads_one(self._reads[self.going])
        self._weights = [weight.detach()[on] for weight in self._weights]
        self._moments = [(mean[on], square[on]) for mean, square in self._moments]

    def _losses(self, items: Tensor) -> Tensor:
        """[probe]: the mean loss of the probes that are going."""
        logits = _answers(self._vectors, self._reads[self.going], self._one, self._weights, items)
        gold = self._labels[self.going][:, items]
        return cross_entropy(logits.flatten(0, 1), gold.flatten(), reduction="none").view(gold.shape).mean(1)


def _batches(train: Tensor, order: torch.Generator, training: Training) -> Iterator[Tensor]:
    """Train once through in a new order; several times, if that is less than `least_steps`."""
    size = min(training.batch, len(train))
    times = -(-training.least_steps * size // len(train))
    for _ in range(max(1, times)):
        yield from train[sent(torch.randperm(len(train), generator=order), train.device)].split(size)
