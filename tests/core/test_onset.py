"""First places and onsets of lines: by hand on lines in closed form, intervals and false alarms by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bertscope.core.equivalence import surely_within
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import jackknife_error, jackknife_resamples, most_by_chance
from bertscope.core.onset import Onset, final_change, is_certain, onset, stays_from


def sure(line) -> np.ndarray:
    """Draws of a line that hardly varies."""
    line = np.asarray(line, dtype=float)
    noise = 1e-6 * np.random.default_rng(0).standard_normal((200, len(line)))
    return np.concatenate([line[None], line + noise])


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ([0, 0, 0, 0, 1, 1, 1], 4),
        ([1, 1, 1, -2, -2], 3),
        ([0, 0.89, 0.91, 0.95, 1], 2),
        ([0, 0.95, 0.5, 0.95, 1], 3),  # it was there, and left again
        ([0, 0.5, 1.3, 1.05, 1], 3),  # beyond by more than a tenth
        ([0, 1], 1),
        ([0, 0.2, 0.4, 0.6, 0.8, 1], 5),
        ([5, 5, 5.05, 6], 3),
    ],
)
def test_the_first_from_which_it_stays_within_a_tenth(line, place):
    assert onset(sure(line)) == Onset(place, place, place)


def test_the_closed_form_of_a_decay():
    """1 - exp(-t/T) of a line that ends at t = 10 T is within a tenth of its end from t = T log 10 = 2.3 T on."""
    times = np.linspace(0, 10, 101)
    found = onset(sure(1 - np.exp(-times)))
    assert times[found.place - 1] < np.log(10) <= times[found.place] + 1e-3


@pytest.mark.parametrize("line", [[0, 0, 0], [0, 5, 0], [1, np.nan, 2]])
def test_where_nothing_changed_for_certain_there_is_none(line):
    assert onset(sure(line)) is None and onset(sure(line), tested=False) is None


def test_a_change_in_a_single_text_is_not_certain():
    """All its resamples are alike."""
    draws = np.tile([0.0, 0.9, 1.0], (50, 1))
    assert is_certain(final_change(draws, 20)) and onset(draws, 20) is not None
    assert final_change(draws, 1) == Estimate(1.0) and onset(draws, 1) is None


def test_a_change_that_may_be_none_is_not_certain():
    draws = np.concatenate([[[0.0, 1.0]], np.random.default_rng(0).normal([0, 1], 1, (500, 2))])
    assert not is_certain(final_change(draws)) and onset(draws) is None
    assert is_certain(final_change(sure([0, 0.1])))


def simulated(means, spread: float, shared: float, n: int, seed: int, repeats: int = 200) -> np.ndarray:
    """Draws of a line whose texts vary around these means, and partly alike at all checkpoints."""
    generator = np.random.default_rng(seed)
    alike, own = generator.standard_normal((n, 1)), generator.standard_normal((n, len(means)))
    values = means + spread * (np.sqrt(shared) * alike + np.sqrt(1 - shared) * own)
    weights = generator.multinomial(n, np.full(n, 1 / n), size=repeats)
    return np.concatenate([values.mean(0)[None], weights @ values / n])


STEP, EDGE = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0.5, 0.8, 0.89, 0.91, 0.95, 1, 1]


@pytest.mark.parametrize(
    ("means", "spread", "shared"), [(STEP, 1, 0.5), (STEP, 0.25, 0.9), (EDGE, 0.3, 0.9), (EDGE, 1, 0.99)]
)
def test_the_interval_covers(means, spread, shared):
    """At least 95 times of 100, also where the line lies still and leaves its band by chance alone."""
    runs, covered = 100, 0
    for seed in range(runs):
        found = onset(simulated(means, spread, shared, 100, seed), 100)
        covered += found is None or found.earliest <= 4 <= found.latest
    assert runs - covered <= most_by_chance(runs, 0.05, 0.99)


@pytest.mark.parametrize("means", [STEP, EDGE])
@pytest.mark.parametrize(("spread", "n"), [(1, 15), (3, 60)])
def test_the_interval_covers_where_the_change_is_not_tested(means, spread, n):
    """Of what begins as a constant, too, and however uncertain its change is."""
    runs, covered, lost = 100, 0, 0
    for seed in range(runs):
        draws = simulated(means, spread, 0.5, n, seed)
        draws[:, 0] = 0
        found = onset(draws, n, tested=False)
        covered += found is not None and found.earliest <= 4 <= found.latest
        lost += onset(draws, n) is None
    assert runs - covered <= most_by_chance(runs, 0.05, 0.99) and lost < runs


def test_the_onsets_of_resamples_would_come_too_late():
    """Why the interval isn't made of them."""
    late = 0
    for seed in range(40):
        draws = simulated(STEP, 2, 0.5, 150, seed)
        ends = np.abs(draws - draws[:, -1:]) <= 0.1 * np.abs(draws[:, -1:] - draws[:, :1])
        places = ends.shape[1] - np.cumprod(ends[:, ::-1], axis=1).sum(1)
        late += np.quantile(places[1:], 0.025) > 4
    assert late > 4


@pytest.mark.parametrize("n", [30, 120])
def test_under_no_change_it_is_claimed_five_times_of_a_hundred_at_most(n):
    runs = 300
    claimed = sum(onset(simulated(np.zeros(6), 1, 0.5, n, seed), n) is not None for seed in range(runs))
    assert claimed <= most_by_chance(runs, 0.05, 0.99)


def test_resamples_of_what_was_left_out_have_its_error_and_vary_together():
    generator = np.random.default_rng(1)
    one = np.append(0.0, generator.standard_normal(12))
    other = 2 * one + 3
    drawn, drawn_other = (jackknife_resamples(each, repeats=40_000) for each in (one, other))
    np.testing.assert_allclose(drawn_other, 2 * drawn + 3)
    assert drawn[0] == 0
    # Student's t with 11 degrees of freedom has 11/9 of the variance.
    assert drawn[1:].std() == pytest.approx(float(jackknife_error(one)) * np.sqrt(11 / 9), rel=0.03)


def rising(means, n: int, shared: float, seed: int) -> np.ndarray:
    """How far each of a line's places is below nine tenths of its end, in draws of whether texts are right."""
    generator = np.random.default_rng(seed)
    alike, own = generator.standard_normal((n, 1)), generator.standard_normal((n, len(means)))
    right = np.sqrt(shared) * alike + np.sqrt(1 - shared) * own < norm.ppf(means)
    weights = generator.multinomial(n, np.full(n, 1 / n), size=300)
    scores = np.concatenate([right.mean(0)[None], weights @ right / n]) - 0.5
    return 0.9 * scores[:, -1:] - scores


PLATEAU = [0.5, 0.52, 0.6, 0.7, 0.865, 0.865, 0.865, 0.865, 0.865, 0.9]  # from the fifth on just above the bar


@pytest.mark.parametrize(("n", "shared"), [(100, 0.5), (300, 0.5), (300, 0.97)])
def test_the_interval_of_a_first_place_covers_and_that_of_resampled_places_would_not(n, shared):
    runs, covered, resampled, late = 100, 0, 0, 0
    for seed in range(runs):
        below = rising(PLATEAU, n, shared, seed)
        found = stays_from(below[None])
        covered += found.earliest <= 4 <= found.latest
        places = below.shape[1] - np.cumprod((below <= 0)[:, ::-1], axis=1).sum(1)
        low, high = np.quantile(places[1:], [0.025, 0.975])
        resampled += low <= 4 <= high
        late += found.place > 4
    assert runs - covered <= most_by_chance(runs, 0.05, 0.99)
    assert shared > 0.9 or runs - resampled > most_by_chance(runs, 0.05, 0.99)
    assert late > runs / 3, "a layer just above the bar falls below it by chance"


def lost_in_few(n: int, loss: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws of a line's losses, and the sample's: half of the places lose a little, the others nothing."""
    generator = np.random.default_rng(seed)
    lost = (generator.random((n, 1)) < loss) * np.array([1.0, 1, 1, 1, 0, 0, 0, 0])
    lost[:, 0] = 1
    weights = generator.multinomial(n, np.full(n, 1 / n), size=300)
    return np.concatenate([lost.mean(0)[None], weights @ lost / n]), lost.mean(0)


@pytest.mark.parametrize(("n", "margin"), [(50, 0.04), (100, 0.04), (300, 0.02), (1000, 0.02)])
def test_a_plateau_that_loses_a_little_more_than_it_may_is_not_taken_for_inside(n, margin):
    """Where few answers differ, resamples are too sure of it; where many do, both end in the same place."""
    runs, missed, by_resamples = 200, 0, 0
    for seed in range(runs):
        draws, losses = lost_in_few(n, margin * 1.02, seed)
        beyond = (draws - margin)[None]
        surely = surely_within(losses, n, margin)
        missed += stays_from(beyond, surely=surely).latest < 4
        by_resamples += stays_from(beyond).latest < 4
    assert missed <= most_by_chance(runs, 0.025, 0.99)
    assert n == 1000 or by_resamples > most_by_chance(runs, 0.025, 0.99)


@pytest.mark.parametrize(("n", "latest"), [(80, 7), (100, 4)])
def test_what_loses_nothing_is_inside_where_texts_are_enough_to_say_so(n, latest):
    draws, losses = lost_in_few(n, 0.5, 0)
    assert stays_from((draws - 0.04)[None], surely=surely_within(losses, n, 0.04)) == Onset(4, 4, latest)


def test_a_first_place_that_is_sure_is_known_to_the_place():
    below = sure([0.3, 0.2, -0.1, 0.1, -0.1, -0.2])
    assert stays_from(below[None]) == Onset(4, 4, 4)
    assert stays_from(below[None]).among(np.array([0, 1, 2, 4, 8, 12])) == Estimate(8.0, 8.0, 8.0)
    assert stays_from(sure([-0.1, -0.2])[None]) == Onset(0, 0, 0)
    unsure = np.concatenate(
        [[[0.3, -0.01, -0.2]], np.random.default_rng(0).normal([0.3, -0.01, -0.2], 0.05, (500, 3))]
    )
    assert stays_from(unsure[None]) == Onset(1, 1, 2)
