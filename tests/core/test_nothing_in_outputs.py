"""Paired tests of the outputs that aren't one label a text: rarely significant where two models are exchanged at
random, mostly where one is worse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from bertscope.core.statistics import paired_effects, paired_p_of_nothing
from output_pools import NAMES, SIZE, pool

SAMPLES, PERMUTATIONS = 400, 199
LEAST, MOST = binom.ppf((0.001, 0.999), SAMPLES, 0.05)  # p <= .05: 10 of 200 permutations, exactly the level


def ps(name: str, n: int, samples: int, *, exchanged: bool) -> np.ndarray:
    """The p-values of the second model's difference on samples from the pool."""
    random, found = np.random.default_rng(7), pool(name)
    p = []
    for sample in range(samples):
        sides = found.moments[:, random.integers(SIZE, size=n)]
        if exchanged:
            sides = np.where((random.random(n) < 0.5)[:, None], sides, sides[::-1])
        how = {"repeats": 2, "permutations": PERMUTATIONS, "seed": sample}
        p.append(paired_effects(found.value, sides[0], sides[1:], **how).p[0])
    return np.array(p)


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_differs_one_in_twenty_is_significant(name):
    found = (ps(name, 200, SAMPLES, exchanged=True) <= 0.05).sum()
    print(f"{name}: {found} of {SAMPLES}")
    assert LEAST <= found <= MOST


@pytest.mark.parametrize("name", NAMES)
def test_the_null_panels_draws_are_as_rarely_significant(name):
    """Of one sample: what `ablate --null` counts. Draws share a set of permutations, so the bounds are wider."""
    found, rows = pool(name), np.random.default_rng(3).integers(SIZE, size=200)
    whole, off = found.moments[:, rows]
    p = paired_p_of_nothing(found.value, whole, off[None], draws=1000, permutations=1999)
    print(f"{name}: {(p <= 0.05).mean():.3f}")
    assert 0.03 <= (p <= 0.05).mean() <= 0.07


@pytest.mark.parametrize("name", NAMES)
def test_a_worse_model_is_found(name):
    assert (ps(name, 2000, 20, exchanged=False) <= 0.05).mean() > 0.7
