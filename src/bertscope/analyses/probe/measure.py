"""`probe`: trained probes of every layer, and what they are measured by: accuracy beside a control task, the length
of an online code, mixes of layers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from bertscope.analyses.probe.question import ProbeConfig, ProbeKind, limits
from bertscope.analyses.probe.result import ProbedLayers, ProbedTarget, probe_result
from bertscope.analyses.probe.sample import TEST, TRAIN, VALIDATION, Sample, control_labels, draw_sample
from bertscope.analyses.probe.targets import Target, choose_targets
from bertscope.analyses.probe.training import Probes, Training, train_probes
from bertscope.analyses.probe.vectors import Rows, Vectors, gather, have_vectors, same_layers
from bertscope.analyses.side_by_side import subject
from bertscope.analyses.state_inputs import Given, open_states
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.model_record import records
from bertscope.core.progress import progress
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.result import Result
from bertscope.core.statement import too_long
from bertscope.models.evaluating import best_device, full_precision
from bertscope.models.sending import sent

PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""The shares of train after which an online code trains anew (Voita & Titov 2020)."""
_TEXTS = 512  # that are resampled at a time


def measure(states: Sequence[Given], examples: Examples, config: ProbeConfig) -> Result:
    targets, notes = choose_targets(examples, config.targets, limits(config))
    stores = open_states(states, examples)
    rows = {name: Rows(store, examples) for name, store in stores.items()}
    resampling = Resampling(examples.ids, repeats=config.repeats, seed=config.seed)
    probed = []
    with progress("probing", len(targets)) as bar:
        for target in targets:
            try:
                probed.append(probe_target(target, examples, rows, config, resampling))
            except UserError as error:  # too few texts; what was asked for by name can't be left out
                if config.targets or (target is targets[-1] and not probed):
                    raise
                notes.append(f"left out: {error}")
            bar.advance(target=target.name)
    left_out = {text for store in stores.values() for text in store.left_out}
    unread = [too_long(len(left_out), "text", "a model reads", "left out")] if left_out else []
    notes = [*examples.notes, *notes, *unread]
    return probe_result(probed, config, records(stores.values()), subject(examples), notes)


def probe_target(
    target: Target, examples: Examples, rows: Mapping[str, Rows], config: ProbeConfig, resampling: Resampling
) -> ProbedTarget:
    """Probe every layer of every checkpoint for a target."""
    sample = draw_sample(target, examples, limits(config), config.seed, have_vectors(rows, target))
    found: list[ProbedLayers] = []
    mixes: dict[str, tuple[list[int], np.ndarray]] = {}
    with full_precision():
        for vectors in gather(rows, sample, best_device()):
            for place, kind in enumerate(dict.fromkeys(config.probes)):
                training = Training(hidden=config.hidden if kind == "mlp" else 0, seed=config.seed)
                found += _probed(vectors, sample, kind, training, config.code and not place, resampling)
                if config.expected and not place:
                    draws = cumulative(vectors, sample, training, resampling)
                    mixes |= {name: (layers, draws[:, at]) for name, layers, at in _checkpoints(vectors)}
    # Stacks are by width; checkpoints come in the order in which they were given.
    found.sort(key=lambda one: (config.probes.index(one.probe), list(rows).index(one.checkpoint)))
    return ProbedTarget(sample, found, {name: mixes[name] for name in rows if name in mixes})


def _probed(
    vectors: Vectors, sample: Sample, kind: ProbeKind, training: Training, code: bool, resampling: Resampling
) -> Iterator[ProbedLayers]:
    right = accuracies(vectors, sample, training, resampling)
    bits = codelengths(vectors, sample, training) if code else None
    for name, layers, at in _checkpoints(vectors):
        control = None if right.control is None else right.control[:, at]
        of_code = None if bits is None else bits[at]
        yield ProbedLayers(name, kind, layers, right.target[:, at], control, right.validation_loss[at], of_code)


def _checkpoints(vectors: Vectors) -> Iterator[tuple[str, list[int], list[int]]]:
    """The checkpoints of a stack: their layers, and where in the stack those are."""
    for name in dict.fromkeys(source.checkpoint for source in vectors.sources):
        at = [place for place, source in enumerate(vectors.sources) if source.checkpoint == name]
        yield name, [vectors.sources[place].layer for place in at], at


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Of the probes of all sources. Draws are [1 + repeats, source], the first the sample itself."""

    target: np.ndarray
    control: np.ndarray | None
    """Of probes of the same kind that learn the control task."""
    validation_loss: np.ndarray
    """[source], in nats."""


def accuracies(vectors: Vectors, sample: Sample, training: Training, resampling: Resampling) -> Accuracies:
    """Train a probe on each source, and beside it one for the control task where there is one."""
    labels = [sample.target.label]
    if sample.target.has_control:
        labels.append(control_labels(sample, training.seed))
    sources = len(vectors.sources)
    answers = sent(np.repeat(labels, sources, axis=0), vectors.stack.device)
    probes = _trained(vectors, [[at] for at in range(sources)] * len(labels), answers, sample, training)
    draws = _accuracy(probes, answers, sample, resampling)
    control = draws[:, sources:] if len(labels) > 1 else None
    return Accuracies(draws[:, :sources], control, probes.validation_loss[:sources].cpu().numpy())


def codelengths(vectors: Vectors, sample: Sample, training: Training) -> np.ndarray:
    """[source]: the bits of an online code of train's labels, given the vectors.

    The first portion costs log2(classes) a label; each further one what a probe trained on all before it gives it.
    """
    target, train = sample.target, sample.items(TRAIN)
    reads = [[at] for at in range(len(vectors.sources))]
    answers = torch.from_numpy(target.label).to(vectors.stack.device).expand(len(reads), -1)
    edges = portion_ends(len(train))
    paid = []
    for end, after in pairwise(edges):
        probes = _trained(vectors, reads, answers, sample, training, known=end)
        _, losses = probes.hits_and_losses(answers, _on(vectors, train[end:after]))
        paid.append(losses.sum(1).double())
    nats = torch.stack(paid).cpu().numpy() if paid else np.zeros((0, len(reads)))
    return online_code(edges[0], len(target.classes), nats)


def portion_ends(n: int) -> list[int]:
    """Where the portions of n items end: whole numbers, each portion at least one item."""
    return sorted({max(1, round(share * n)) for share in PORTIONS})


def online_code(first: int, classes: int, nats: np.ndarray) -> np.ndarray:
    """The bits of a first portion at log2(classes) a label, and of later ones by probes' losses [portion, ...]."""
    return first * math.log2(classes) + nats.sum(0) / math.log(2)


def cumulative(vectors: Vectors, sample: Sample, training: Training, resampling: Resampling) -> np.ndarray:
    """Draws of the accuracy [1 + repeats, source] of a probe on a learned mix of layers 0 to that of the source."""
    reads = same_layers(vectors.sources)
    answers = torch.from_numpy(sample.target.label).to(vectors.stack.device).expand(len(reads), -1)
    return _accuracy(_trained(vectors, reads, answers, sample, training), answers, sample, resampling)


def text_draws(hits: np.ndarray, texts: np.ndarray, resampling: Resampling) -> np.ndarray:
    """[1 + repeats, ...]: the share of hits [item, ...] in the sample, and in resamples of the texts of the items."""
    order = np.argsort(texts, kind="stable")
    rows, starts = np.unique(texts[order], return_index=True)
    sums = np.add.reduceat(hits[order].astype(np.float64), starts, axis=0)
    counts = np.diff(starts, append=len(texts)).astype(np.float64)
    mean = RunningMean(resampling)
    for block in np.split(np.arange(len(rows)), range(_TEXTS, len(rows), _TEXTS)):
        mean.add(rows[block], sums[block], counts[block])
    return mean.draws


def _trained(
    vectors: Vectors,
    reads: Sequence[Sequence[int]],
    answers: Tensor,
    sample: Sample,
    training: Training,
    known: int | None = None,
) -> Probes:
    """Probes trained on train, or on the first `known` items of it."""
    train, validation = sample.items(TRAIN)[:known], sample.items(VALIDATION)
    return train_probes(
        vectors, reads, answers, len(sample.target.classes), _on(vectors, train), _on(vectors, validation), training
    )


def _accuracy(probes: Probes, answers: Tensor, sample: Sample, resampling: Resampling) -> np.ndarray:
    test = sample.items(TEST)
    hits, _ = probes.hits_and_losses(answers, _on(probes.vectors, test))
    return text_draws(hits.T.cpu().numpy(), sample.target.example[test], resampling)


def _on(vectors: Vectors, items: np.ndarray) -> Tensor:
    return sent(items, vectors.stack.device)
