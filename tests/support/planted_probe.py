"""Texts to probe whose parts of speech have nothing to do with their words, and samples and vectors of them."""

from __future__ import annotations

import numpy as np

from bertscope.analyses.probe.sample import Sample, draw_sample
from bertscope.analyses.probe.targets import Limits, choose_targets
from bertscope.analyses.probe.vectors import Rows, Vectors, gather
from bertscope.core.examples import Examples
from made_states import made_store, made_texts


def _texts() -> Examples:
    random = np.random.default_rng(0)
    types, pos = random.integers(0, 40, 1200), random.choice(["A", "B", "C"], 1200, p=[0.5, 0.3, 0.2])
    words = np.array([f"w{number}" for number in types])
    return made_texts(words, {"pos": pos}, label=random.integers(0, 2, 150))


TEXTS = _texts()
"""150 texts of 8 words of 40 types."""
POS = np.unique(TEXTS.marks["pos"], return_inverse=True)[1].ravel()
"""Each word's part of speech, as a number."""


def sampled(examples: Examples, name: str = "pos", **limits) -> Sample:
    (target,), _ = choose_targets(examples, [name], Limits(**limits))
    return draw_sample(target, examples, Limits(**limits), 0, np.ones(len(target), dtype=bool))


def stack_of(examples: Examples, *layers: np.ndarray, name: str = "pos", **limits) -> tuple[Vectors, Sample]:
    rows = {"planted": Rows(made_store(examples, layers), examples)}
    sample = sampled(examples, name, **limits)
    (vectors,) = gather(rows, sample, "cpu")
    return vectors, sample
