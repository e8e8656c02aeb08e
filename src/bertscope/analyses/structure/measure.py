"""`structure`: which sentences train the probes, which decide and which are scored; training, choosing, scoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bertscope.analyses.side_by_side import subject
from bertscope.analyses.state_inputs import Given, open_in_turn, open_states
from bertscope.analyses.structure.findings import CHAIN, CONTROL, PROBE, Arm, Drawn, Findings, Probe
from bertscope.analyses.structure.metrics import Scored, evaluate, linear_chain, spanning_trees
from bertscope.analyses.structure.probes import KINDS, Corpus, Kind, Stack, Vectors, train_stacks
from bertscope.analyses.structure.question import StructureConfig
from bertscope.analyses.structure.result import structure_result
from bertscope.analyses.structure.trees import Trees, parts
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.model_record import records
from bertscope.core.resampling import Resampling
from bertscope.core.result import Result
from bertscope.core.statement import number_of
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import best_device, full_precision
from bertscope.models.new_task_head import with_random_weights
from bertscope.models.states_store import StatesStore

Stores = Mapping[str, StatesStore]
_LEAST = 10
"""Fewer sentences to train on teach nothing."""
_DRAWN = (6, 14)
"""The lengths of sentences that are drawn if none are named."""


def measure(
    states: Sequence[Given],
    examples: Examples,
    config: StructureConfig,
    *,
    train: Examples | None = None,
    train_states: Sequence[Given] | None = None,
) -> Result:
    for texts in (examples, train):
        if texts is not None:
            Trees.of(texts)  # what has no trees is refused before a model runs
    given = _with_random(states, config)
    scored = open_states(given, examples)
    train_stores = None if train is None else open_states(given if train_states is None else train_states, train)
    material = gather(scored, examples, train_stores, train, config.seed)
    with full_precision():
        findings = find(material, config)
    about = subject(examples)
    if train is not None and train.name:
        about["train"] = train.name
    notes = [*examples.notes, *(train.notes if train else ()), *material.notes]
    return structure_result(findings, records(scored.values()), about, notes)


def _with_random(states: Sequence[Given], config: StructureConfig) -> list[StatesStore | Encoder]:
    """The states with models loaded, and the first model with random weights among them if it is asked for."""
    given = list(open_in_turn(states))
    if config.random and isinstance(given[0], Encoder):
        given.append(with_random_weights(given[0], config.seed))
    return given


@dataclass(frozen=True)
class Material:
    train_on: Corpus
    train: np.ndarray
    validation: np.ndarray
    test_on: Corpus
    test: np.ndarray
    texts: Examples
    """Those of `test_on`."""
    notes: list[str]


def gather(
    scored: Stores, texts: Examples, train_stores: Stores | None, train_texts: Examples | None, seed: int
) -> Material:
    """One corpus split in three; or `train_texts` split in two, and `texts` to be scored whole."""
    device = best_device()
    test_on, test, notes = _corpus(scored, texts, device)
    if train_stores is None or train_texts is None:
        train_on = test_on
        train, validation, test = (np.intersect1d(test, part) for part in parts(texts.text, seed, test=True))
    else:
        _refuse_other(scored, texts, train_stores, train_texts)
        train_on, usable, more = _corpus(train_stores, train_texts, device)
        train, validation = (np.intersect1d(usable, part) for part in parts(train_texts.text, seed, test=False))
        notes += more + _repeated(texts, test, train_texts, train)
    if len(train) < _LEAST or not len(validation) or not len(test):
        raise UserError(
            f"{len(train)} sentences to train on, {len(validation)} for validation and {len(test)} to score are too "
            "few; give more sentences, or other data to train on (train)"
        )
    notes.append(f"{len(train):,} sentences to train on, {len(validation):,} for validation, {len(test):,} to test")
    return Material(train_on, train, validation, test_on, test, texts, notes)


def _corpus(stores: Stores, texts: Examples, device: torch.device) -> tuple[Corpus, np.ndarray, list[str]]:
    """The corpus, its sentences of whose every word every checkpoint has a vector, and a note on the others."""
    trees = Trees.of(texts)
    usable = np.all([np.diff(store.starts) == trees.lengths for store in stores.values()], axis=0)
    lost = int((~usable).sum())
    of = texts.name or "the texts"
    told = number_of(lost, f"sentence of {of} is", f"sentences of {of} are")
    notes = [f"{told} left out: too long, or a word without tokens"]
    corpus = Corpus(trees, {name: Vectors(store, device) for name, store in stores.items()}, device)
    return corpus, np.flatnonzero(usable), notes if lost else []


def _refuse_other(scored: Stores, texts: Examples, train_stores: Stores, train_texts: Examples) -> None:
    if texts.ids == train_texts.ids and texts.text == train_texts.text:
        raise UserError("the data to train on (train) are the data to be scored; leave train out and they are split")
    both = (scored, train_stores)
    shapes = [{name: (store.layers, store.dim) for name, store in stores.items()} for stores in both]
    if list(shapes[0].items()) != list(shapes[1].items()):
        names = [", ".join(store.record.name for store in stores.values()) for stores in both]
        raise UserError(
            f"the states to be scored are those of {names[0]}, the states to train on those of {names[1]}; give the "
            "same models' in the same order"
        )


def _repeated(texts: Examples, test: np.ndarray, train_texts: Examples, train: np.ndarray) -> list[str]:
    seen = {train_texts.text[row] for row in train}
    both = sum(texts.text[row] in seen for row in test)
    return [f"{both:,} of the scored sentences also occur{'s' * (both == 1)} among those that train"] if both else []


def find(material: Material, config: StructureConfig) -> Findings:
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
    scores = found.hits.sum(0) / max(1, found.to_find.sum())
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
        gold, outside = corpus.trees.governors_of(batch), corpus.trees.outside(batch)
        away = torch.from_numpy(outside).to(corpus.device)
        for checkpoint, vectors in corpus.vectors.items():
            far, deep = (chosen[checkpoint, kind] for kind in KINDS)
            distances, depths = (one.stack.predictions(batch, vectors)[one.place] for one in (far, deep))
            root = depths.masked_fill(away, torch.inf).argmin(-1)
            governors = spanning_trees(distances, away, root)[0].cpu().numpy()
            yield Drawn(
                checkpoint, far.layer, corpus.trees.ids[sentence], words[sentence], outside[0], gold[0], governors
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
