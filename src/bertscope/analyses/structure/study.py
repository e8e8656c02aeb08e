"""What `structure` does with its sentences: train probes, choose on validation, train the control, score on test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertscope.analyses.structure.data import Material
from bertscope.analyses.structure.metrics import Scored, evaluate, linear_chain, spanning_trees
from bertscope.analyses.structure.probes import KINDS, Corpus, Kind, Stack, train_stacks
from bertscope.analyses.structure.question import StructureConfig
from bertscope.core.errors import UserError
from bertscope.core.hashing import hashed
from bertscope.core.resampling import Resampling

PROBE, CONTROL, CHAIN = "probe", "control", "linear chain"
_DRAWN = (6, 14)
"""The lengths of sentences that are drawn if none are named."""


@dataclass(frozen=True)
class Arm:
    """One prediction that is scored."""

    name: str
    """`probe`, `control` or `linear chain`."""
    checkpoint: str | None = None
    layer: int | None = None
    rank: int | None = None


@dataclass(frozen=True)
class Probe:
    """A trained probe, and how it does on the validation sentences."""

    stack: Stack
    place: int
    """Its place in the stack."""
    score: float
    """UUAS or root accuracy."""

    @property
    def layer(self) -> int:
        return self.stack.layers[self.place]

    @property
    def epochs(self) -> int:
        return self.stack.epochs[self.place]

    @property
    def loss(self) -> float:
        return self.stack.schedules[self.place].least


@dataclass(frozen=True)
class Drawn:
    """A sentence's tree, and the one that a checkpoint's best probes predict."""

    checkpoint: str
    layer: int
    id: str
    words: tuple[str, ...]
    outside: np.ndarray
    """bool [N]: punctuation."""
    gold: np.ndarray
    predicted: np.ndarray
    """Heads [N]: the spanning tree of the distances, hung from the word of the least depth."""


@dataclass(frozen=True)
class Findings:
    probes: list[Probe]
    chosen: dict[tuple[str, Kind], Probe]
    """Each checkpoint's best of each kind, by validation."""
    arms: dict[Kind, list[Arm]]
    scored: dict[Kind, Scored]
    """How each arm does on each test sentence."""
    draws: dict[str, np.ndarray]
    """By metric, [1 + repeats, arm of its kind]."""
    drawn: list[Drawn]


def study(material: Material, config: StructureConfig) -> Findings:
    """Train, choose and score."""
    shown = _shown(material, config)
    stacks = [
        _stack(material.test_on, checkpoint, kind, rank, vectors.layers, config)
        for checkpoint, vectors in material.test_on.vectors.items()
        for kind in KINDS
        for rank in sorted({min(rank, vectors.dim) for rank in config.ranks})
    ]
    _train(stacks, material.train_on, material, config)
    probes = [probe for stack in stacks for probe in _judged(stack, material)]
    chosen: dict[tuple[str, Kind], Probe] = {}
    for probe in probes:  # the lowest rank and layer of equals
        at = (probe.stack.checkpoint, probe.stack.kind)
        if at not in chosen or probe.score > chosen[at].score:
            chosen[at] = probe
    tried = [(PROBE, stack, material.test_on) for stack in stacks]
    if config.control:
        placebos = [
            _stack(material.test_on, *at, probe.stack.rank, [probe.layer], config) for at, probe in chosen.items()
        ]
        _train(placebos, material.train_on.shuffled(config.seed), material, config)
        elsewhere = material.test_on.shuffled(config.seed)
        tried += [(CONTROL, stack, elsewhere) for stack in placebos]
    arms, scored = _score(tried, material)
    resampling = Resampling(material.texts.ids, repeats=config.repeats, seed=config.seed)
    draws = {metric: values for kind in KINDS for metric, values in scored[kind].draws(resampling).items()}
    return Findings(probes, chosen, arms, scored, draws, list(_draw(shown, chosen, material)))


def _stack(
    corpus: Corpus, checkpoint: str, kind: Kind, rank: int, layers: Sequence[int], config: StructureConfig
) -> Stack:
    return Stack(
        checkpoint, kind, rank, layers, corpus.vectors[checkpoint].dim,
        rate=config.learning_rate, seed=config.seed, device=corpus.device,
    )  # fmt: skip


def _train(stacks: Sequence[Stack], corpus: Corpus, material: Material, config: StructureConfig) -> None:
    train_stacks(
        stacks, corpus, material.train, material.validation,
        epochs=config.epochs, batch_size=config.batch_size, seed=config.seed,
    )  # fmt: skip


def _arms(name: str, stack: Stack) -> list[Arm]:
    return [Arm(name, stack.checkpoint, layer, stack.rank) for layer in stack.layers]


def _judged(stack: Stack, material: Material) -> list[Probe]:
    """The stack's probes with what validation says of them."""
    found = _scored(stack, material.train_on, material.validation)
    scores = found.hits.sum(0) / max(1, found.asked.sum())
    return [Probe(stack, place, float(score)) for place, score in enumerate(scores)]


def _scored(stack: Stack, corpus: Corpus, sentences: np.ndarray) -> Scored:
    vectors = corpus.vectors[stack.checkpoint]
    return evaluate(stack.kind, lambda batch: stack.predictions(batch, vectors), corpus.trees, sentences)


def _score(
    tried: Iterable[tuple[str, Stack, Corpus]], material: Material
) -> tuple[dict[Kind, list[Arm]], dict[Kind, Scored]]:
    """Every arm on the test sentences, the linear chain first."""
    arms = {kind: [Arm(CHAIN)] for kind in KINDS}
    found = {kind: [evaluate(kind, linear_chain(kind), material.test_on.trees, material.test)] for kind in KINDS}
    for name, stack, corpus in tried:
        arms[stack.kind] += _arms(name, stack)
        found[stack.kind].append(_scored(stack, corpus, material.test))
    return arms, {kind: found[kind][0].beside(*found[kind][1:]) for kind in KINDS}


def _draw(shown: Sequence[int], chosen: dict[tuple[str, Kind], Probe], material: Material) -> Iterator[Drawn]:
    """The trees of some sentences, by each checkpoint's best probes."""
    corpus, words = material.test_on, material.texts.words
    assert words is not None
    for sentence in shown:
        batch = corpus.trees.batch(np.array([sentence]))
        gold, outside = corpus.trees.heads_of(batch), corpus.trees.outside(batch)
        away = torch.from_numpy(outside).to(corpus.device)
        for checkpoint, vectors in corpus.vectors.items():
            far, deep = (chosen[checkpoint, kind] for kind in KINDS)
            distances, depths = (one.stack.predictions(batch, vectors)[one.place] for one in (far, deep))
            root = depths.masked_fill(away, torch.inf).argmin(-1)
            heads = spanning_trees(distances, away, root)[0].cpu().numpy()
            yield Drawn(
                checkpoint, far.layer, corpus.trees.ids[sentence], words[sentence], outside[0], gold[0], heads
            )


def _shown(material: Material, config: StructureConfig) -> list[int]:
    """The test sentences that are named, or else some short ones by a hash of their ids."""
    ids = {material.texts.ids[row]: int(row) for row in material.test}
    for name in config.show:
        if name not in ids:
            raise UserError(
                f"no sentence {name!r} is scored here; those that are have ids such as {next(iter(ids))!r}"
            )
    if config.show:
        return [ids[name] for name in config.show]
    lengths = material.test_on.trees.lengths[material.test]
    short = material.test[(lengths >= _DRAWN[0]) & (lengths <= _DRAWN[1])]
    luck = hashed(material.texts.ids, config.seed)[short]
    return [int(row) for row in short[np.argsort(luck, kind="stable")][: config.sentences]]
