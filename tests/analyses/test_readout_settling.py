"""In which layer a text's final prediction is there to stay, and in which most texts' are."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.analyses.readout.measure import _most, settle
from bertscope.analyses.readout.question import ReadoutConfig
from bertscope.core.intervals import most_by_chance


def test_a_text_settles_where_the_answer_begins_to_stay():
    stays = np.array([[1, 0, 1, 0], [0, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1]], dtype=bool)  # [layer, text]
    assert settle(stays).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("n", [10, 20, 100, 300])
@pytest.mark.parametrize("shares", [(0.3, 0.6, 0.92, 1.0), (0.5, 0.88, 0.9, 1.0), (0.2, 0.85, 0.95, 1.0)])
def test_the_interval_of_the_layer_where_most_have_settled_holds_it(n, shares):
    """Also where few texts haven't: a bootstrap of none of them is a point."""
    generator, config, runs, held = np.random.default_rng(n), ReadoutConfig(share=0.9), 400, 0
    for _ in range(runs):
        layer = np.searchsorted(np.array(shares), generator.random(n))
        most = _most(np.arange(4)[:, None] >= layer, config)
        assert most.low <= most.value <= most.high <= 3
        held += most.low <= 2 <= most.high
    assert runs - held <= most_by_chance(runs, 0.05, 0.99)


def test_the_last_layer_is_the_answer_however_few_texts_there_are():
    few = _most(np.repeat([[False], [True]], 10, axis=1), ReadoutConfig())
    assert (few.value, few.low, few.high) == (1, 1, 1)
    all_at_once = _most(np.ones((3, 100), bool), ReadoutConfig())
    assert (all_at_once.value, all_at_once.low, all_at_once.high) == (0, 0, 0)
