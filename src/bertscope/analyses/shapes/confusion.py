"""From how often maps are called something to how often they are it, as far as the classifiers' mistakes are known.

They are known from labelled maps of models that a classifier wasn't trained on: few, so that how often a class is
called another is itself unsure, and is drawn as the counts allow. What is undone is how a class is called, not how
what is called so was meant: the latter changes with how common the classes are, and a new model's are other ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bertscope.analyses.shapes import CLASSES, LABELS

_NEVER_SEEN = 0.1  # maps of every class called every other, before any is counted: what wasn't seen may still be
_STEPS = 40


def called_for_class(known: Mapping[str, Any], repeats: int, *, seed: int = 0) -> np.ndarray:
    """[1 + repeats, labels, class, class called]: how probably a map of a class is called so by the classifier that
    follows these labels. The first is as counted, the others are drawn from what the counts allow (Dirichlet)."""
    counts = np.array([known["of_another_model"][labels] for labels in LABELS], dtype=float) + _NEVER_SEEN
    drawn = np.random.default_rng(seed).gamma(counts, size=(repeats, *counts.shape))
    weights = np.concatenate([counts[None], drawn])
    return weights / weights.sum(-1, keepdims=True)


def shares_behind(called: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """The shares [..., place, class] that would be called so [..., place, class called], if each class is with these
    chances [..., class, class called]: the likeliest, by steps of expectation and maximisation from even shares on.

    The steps are few on purpose: classes that are called alike are told apart by nothing but noise at the end."""
    shares = np.full(called.shape, 1 / len(CLASSES))
    for _ in range(_STEPS):
        expected = shares @ chances
        ratio = np.divide(called, expected, out=np.zeros_like(expected), where=expected > 0)
        shares = shares * (ratio @ chances.swapaxes(-1, -2))
    return shares
