"""A target asked of every layer of every checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bertscope.analyses.probe.measures import accuracies, codelengths, cumulative
from bertscope.analyses.probe.question import ProbeConfig, ProbeKind
from bertscope.analyses.probe.sample import TEST, Sample, draw_sample
from bertscope.analyses.probe.targets import Limits, Target
from bertscope.analyses.probe.training import Training
from bertscope.analyses.probe.vectors import Rows, Vectors, gather, have_vectors
from bertscope.core.examples import Examples
from bertscope.core.resampling import Resampling
from bertscope.models.evaluating import best_device, full_precision


@dataclass(frozen=True, eq=False)
class Probed:
    """What probes of one kind found in the layers of one checkpoint. Draws are [1 + repeats, layer]."""

    checkpoint: str
    probe: ProbeKind
    layers: list[int]
    accuracy: np.ndarray
    control: np.ndarray | None
    validation_loss: np.ndarray
    bits: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Asked:
    """A target and what was found of it."""

    sample: Sample
    found: list[Probed]
    mixes: dict[str, tuple[list[int], np.ndarray]]
    """By checkpoint: layers, and draws of the accuracy of a mix of layers 0 to each."""

    @classmethod
    def of(
        cls,
        target: Target,
        examples: Examples,
        rows: Mapping[str, Rows],
        limits: Limits,
        config: ProbeConfig,
        resampling: Resampling,
    ) -> Asked:
        """Ask every layer of every checkpoint about a target."""
        sample = draw_sample(target, examples, limits, config.seed, have_vectors(rows, target))
        found: list[Probed] = []
        mixes: dict[str, tuple[list[int], np.ndarray]] = {}
        with full_precision():
            for vectors in gather(rows, sample, best_device()):
                for place, kind in enumerate(dict.fromkeys(config.probes)):
                    training = Training(hidden=config.hidden if kind == "mlp" else 0, seed=config.seed)
                    found += _found(vectors, sample, kind, training, config.code and not place, resampling)
                    if config.expected and not place:
                        draws = cumulative(vectors, sample, training, resampling)
                        mixes |= {name: (layers, draws[:, at]) for name, layers, at in _checkpoints(vectors)}
        # Stacks are by width; checkpoints come in the order in which they were given.
        found.sort(key=lambda one: (config.probes.index(one.probe), list(rows).index(one.checkpoint)))
        return cls(sample, found, {name: mixes[name] for name in rows if name in mixes})

    @property
    def name(self) -> str:
        return self.sample.target.name

    @property
    def n(self) -> int:
        return len(self.sample.items(TEST))

    def best(self, checkpoint: str, probe: ProbeKind) -> tuple[int, np.ndarray]:
        """The layer with the lowest loss on validation, and draws of its accuracy on test."""
        one = next(found for found in self.found if (found.checkpoint, found.probe) == (checkpoint, probe))
        at = int(one.validation_loss.argmin())
        return one.layers[at], one.accuracy[:, at]


def _found(
    vectors: Vectors, sample: Sample, kind: ProbeKind, training: Training, code: bool, resampling: Resampling
) -> Iterator[Probed]:
    right = accuracies(vectors, sample, training, resampling)
    bits = codelengths(vectors, sample, training) if code else None
    for name, layers, at in _checkpoints(vectors):
        control = None if right.control is None else right.control[:, at]
        of_code = None if bits is None else bits[at]
        yield Probed(name, kind, layers, right.target[:, at], control, right.validation_loss[at], of_code)


def _checkpoints(vectors: Vectors) -> Iterator[tuple[str, list[int], list[int]]]:
    """The checkpoints of a stack: their layers, and where in the stack those are."""
    for name in dict.fromkeys(source.checkpoint for source in vectors.sources):
        at = [place for place, source in enumerate(vectors.sources) if source.checkpoint == name]
        yield name, [vectors.sources[place].layer for place in at], at
