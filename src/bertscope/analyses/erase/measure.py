"""`erase`: erasers of a label for every layer, and what a model can do with and without what they erase."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.erase.leace import Eraser, Whitened
from bertscope.analyses.erase.question import EraseConfig, erase
from bertscope.analyses.erase.result import AS_THEY_ARE, ERASED, READ_AFRESH, Check, Erasing, Measured, erase_result
from bertscope.analyses.occurrences import left_out_notes
from bertscope.analyses.probe.question import OF_WORDS
from bertscope.analyses.probe.sample import (
    TEST,
    TRAIN,
    VALIDATION,
    Sample,
    draw_sample,
    majority,
    text_hashes,
    text_parts,
    word_luck,
)
from bertscope.analyses.probe.targets import Limits, Target, choose_targets
from bertscope.analyses.probe.training import Training, train_probes
from bertscope.analyses.probe.vectors import Rows, Source, Vectors, have_vectors, standardised
from bertscope.analyses.state_inputs import Given, open_states
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.resampling import Resampling, RunningMean, group_bounds, metric_draws
from bertscope.core.result import Result
from bertscope.core.statement import too_long
from bertscope.data.read import read_task
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import best_device, full_precision
from bertscope.models.intervene import Change, judge_with, masked_losses
from bertscope.models.states_store import StatesStore


def measure(
    model: Encoder, examples: Examples, config: EraseConfig, *, task: Task | None = None, states: Given | None = None
) -> Result:
    if task is None and config.task is not None:
        task = read_task(config.task)
        erase.refuse_output(task, model)
    limits = Limits(words=config.words, types=config.types)
    targets, _ = choose_targets(examples, config.targets, limits, OF_WORDS)
    ability = ability_of(model, examples, task, config)
    ((_, store),) = open_states([states or model], examples).items()
    if unknown := [layer for layer in config.layers if layer not in store.layers]:
        raise UserError(f"{model.name} has the layers 0 to {model.n_layers}, not {unknown[0]}")
    layers = sorted(set(config.layers)) or list(store.layers)
    erased = [learn_erasers(target, examples, store, layers, limits, config) for target in targets]
    changes = [change for one in erased for layer in layers for change in _changes(one, layer, model.device)]
    measured = ability.measured([None, *changes])
    subject = {"task": task.name} if task else {}
    subject |= {"corpus": examples.name} if examples.name else {}
    left_out = left_out_notes({store.record.id: store})
    notes = [*examples.notes, *(task.notes if task else ()), *ability.notes, *left_out]
    return erase_result(ability, measured, erased, layers, config, model.record, subject, notes)


@dataclass(frozen=True)
class Ability:
    """Something a model can do, by which it is measured."""

    key: str
    """Of the headline number that it is."""
    unit: str
    sign: int
    """1 where more is better, -1 where less is."""
    n: int
    measured: Callable[[Sequence[Change | None]], Measured]
    """With each change."""
    chance: float | None = None
    """What whoever ignores the texts would reach."""
    loss_unit: str = "nats"
    notes: list[str] = field(default_factory=list)
    """What a reader must know; complete once `measured` was called."""


def ability_of(model: Encoder, examples: Examples, task: Task | None, config: EraseConfig) -> Ability:
    """What can be measured of this model: a score where it was tuned on the task, its guesses where it guesses."""
    if task is not None:
        return _task_ability(model, task, config)
    if model.task_head == "masked-lm":
        return _guessing_ability(model, examples, config)
    raise UserError(
        f"{model.name} (it is: {model.task_head}) can't be measured: name the task it was fine-tuned on with --task, "
        "or give a model that guesses masked words"
    )


def _task_ability(model: Encoder, task: Task, config: EraseConfig) -> Ability:
    task = task.asked_of(model)
    notes = task.label_notes(model.labels)
    test = task.test.take(_few(task.test, np.arange(len(task.test)), config))
    if task.may_have_been_seen_by(model):
        notes.append("the model was fine-tuned on another split or other data: it may have seen some test rows")

    def measured(changes: Sequence[Change | None]) -> Measured:
        found = judge_with(model, task.output, test, changes)
        if found.truncated:
            notes.append(too_long(found.truncated, "test text", f"{model.max_length} tokens"))
        how = {"repeats": config.repeats, "seed": config.seed}
        return Measured(
            metric_draws(task.value, found.moments, **how),
            metric_draws(lambda means: means[..., 0], found.losses[..., None], **how),
        )

    return Ability("score", task.metric, 1, len(test), measured, task.chance(test), task.loss_unit, notes)


def _guessing_ability(model: Encoder, examples: Examples, config: EraseConfig) -> Ability:
    """On the texts that no eraser learned from."""
    held_out = np.flatnonzero(text_parts(examples, config.seed) == TEST)
    texts = examples.take(_few(examples, held_out, config))
    resampling = Resampling(texts.ids, repeats=config.repeats, seed=config.seed)
    notes: list[str] = []

    def measured(changes: Sequence[Change | None]) -> Measured:
        losses = masked_losses(model, texts, changes, seed=config.seed)
        if losses.truncated:
            notes.append(too_long(losses.truncated, "text", f"{model.max_length} tokens"))
        mean = RunningMean(resampling)
        mean.add(np.arange(len(texts)), losses.sums.T, losses.counts)
        return Measured(mean.draws, mean.draws)

    return Ability("masked_lm_loss", "nats", -1, len(texts), measured, notes=notes)


def _few(examples: Examples, rows: np.ndarray, config: EraseConfig) -> np.ndarray:
    """At most so many of these rows, by the hash of their texts."""
    luck = text_hashes(examples, config.seed)[rows]
    return np.sort(rows[np.argsort(luck, kind="stable")[: config.texts]])


def learn_erasers(
    target: Target, examples: Examples, store: StatesStore, layers: Sequence[int], limits: Limits, config: EraseConfig
) -> Erasing:
    """The erasers of a target for every layer, random ones beside them, and whether the label is gone."""
    rows = Rows(store, examples)
    target = target.of_words()
    sample = draw_sample(target, examples, limits, config.seed, have_vectors({"": rows}, target))
    place = rows.of(sample.target)[:, 0]
    train, labels = place[sample.items(TRAIN)], sample.target.label[sample.items(TRAIN)]
    every = _train_rows(store, examples, config)
    generator, further = np.random.default_rng(config.seed), np.random.default_rng([config.seed, 1])
    concept, random, stand_ins = {}, {}, {}
    for layer in layers:
        whitened = Whitened(store.vectors(layer)[every])
        concept[layer] = whitened.leace(store.vectors(layer)[train], labels)
        rank, moved = concept[layer].rank, {"rank": 0.0, "variance": concept[layer].moved}
        random[layer] = {
            like: [whitened.random(rank, generator, moved=moved[like]) for _ in range(config.random)]
            for like in dict.fromkeys(config.like)
        }
        stand_ins[layer] = {
            like: whitened.random(rank, further, moved=moved[like]) for like in random[layer] if config.null
        }
    checks = _checked(sample, place, store, concept, config)
    return Erasing(target.name, concept, random, stand_ins, checks, float(majority(sample).mean()))


def _changes(one: Erasing, layer: int, device: torch.device) -> list[Change]:
    """The concept's, then the random ones, kind by kind, then one more of each kind, where there are any."""
    random, stand_ins = one.random[layer].values(), one.stand_ins[layer].values()
    erasers = (one.concept[layer], *chain.from_iterable(random), *stand_ins)
    return [Change(layer, eraser.on(device)) for eraser in erasers]


def _train_rows(store: StatesStore, examples: Examples, config: EraseConfig) -> np.ndarray:
    """The rows of train's words, labelled or not; drawn as the labelled ones are, where there are too many."""
    text = np.repeat(np.arange(len(examples)), np.diff(store.starts))
    rows = np.flatnonzero(text_parts(examples, config.seed)[text] == TRAIN)
    luck = word_luck(text_hashes(examples, config.seed)[text[rows]], store.words[rows])
    return np.sort(rows[np.argsort(luck, kind="stable")[: config.words]])


def _checked(
    sample: Sample, place: np.ndarray, store: StatesStore, erasers: dict[int, Eraser], config: EraseConfig
) -> dict[str, Check]:
    device = best_device()
    plain = [store.vectors(layer)[place] for layer in erasers]
    erased = [eraser(vectors).astype(np.float32) for eraser, vectors in zip(erasers.values(), plain, strict=True)]
    sources = tuple(Source(name, layer) for name in (AS_THEY_ARE, ERASED) for layer in erasers)
    stack = torch.from_numpy(np.stack([*plain, *erased], 1)).to(device)
    train, validation, test = (torch.from_numpy(sample.items(part)).to(device) for part in (TRAIN, VALIDATION, TEST))
    vectors = Vectors(sources, standardised(stack, train), torch.arange(len(stack), device=device)[:, None])
    label, classes = torch.from_numpy(sample.target.label).to(device), len(sample.target.classes)

    def check(reads: Sequence[int], learns: Tensor, scored: Tensor) -> Check:
        answers = label.expand(len(reads), -1)
        training = Training(seed=config.seed)
        probes = train_probes(vectors, [[at] for at in reads], answers, classes, learns, validation, training)
        hits, losses = probes.hits_and_losses(answers, scored)
        counts = 1 + torch.bincount(label[learns], minlength=classes)  # a label that is new there isn't impossible
        without = -(counts / counts.sum()).log()[label[scored]].mean()
        bits = (without - losses.mean(1)) / math.log(2)
        return Check(hits.float().mean(1).cpu().numpy(), bits.cpu().numpy())

    n, half = (
        len(erasers),
        int(group_bounds(sample.target.example[sample.items(TEST)], 2)[1]),
    )  # whole texts on either side
    with full_precision():
        return {
            AS_THEY_ARE: check(range(n), train, test),
            ERASED: check(range(n, 2 * n), train, test),
            READ_AFRESH: check(range(n, 2 * n), test[:half], test[half:]),
        }
