"""RSA, CKA, Procrustes and the plain cosine: against their definitions, and what changes them and what doesn't."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from bertscope.analyses.similarity.question import similarity
from bertscope.analyses.similarity.rsa_cka import cka, plain_cosine, procrustes, rsa
from bertscope.core.intervals import jackknife_interval
from made_states import made_states, sentences_of
from plain_similarity import (
    gram_alignment,
    rotated_distance,
    turned,
    two_spaces,
    unbiased_alignment,
    upper_correlation,
)

EDGES = np.array([0, 40, 75, 130, 200])


def measured(measure, *spaces, edges=EDGES, pairs=((0, 1),)):
    return measure([torch.from_numpy(space) for space in spaces], list(pairs), edges)


def debiased_cka(*given):
    return cka(*given)[0]


def plain_cka(*given):
    return cka(*given)[1]


@pytest.mark.parametrize("mean", [0.0, 1.0, 30.0])
@pytest.mark.parametrize(
    "measure, defined",
    [(rsa, upper_correlation), (plain_cka, gram_alignment), (debiased_cka, unbiased_alignment)],
)
def test_they_equal_their_definitions_whole_and_without_each_group(measure, defined, mean):
    x, y = two_spaces(mean)
    got = measured(measure, x, y)[:, 0]
    left = [np.delete(np.arange(200), np.s_[begin:end]) for begin, end in pairwise(EDGES)]
    want = [defined(x, y), *(defined(x[rows], y[rows]) for rows in left)]
    np.testing.assert_allclose(got, want, atol=2e-5 if mean > 10 and measure is not rsa else 1e-6)
    assert np.ptp(want) > 1e-3, "groups that change nothing would test nothing"


@pytest.mark.parametrize("mean", [300.0, 3000.0])
def test_rsa_of_cosines_that_are_nearly_1_is_its_definition(mean):
    """As where a training has collapsed: all words point one way, and what differs is behind the fifth digit."""
    x, y = two_spaces(mean)
    assert measured(rsa, x, y)[0, 0] == pytest.approx(upper_correlation(x, y), abs=1e-6)
    assert measured(rsa, x, y)[2, 0] == pytest.approx(
        upper_correlation(*(np.delete(each, np.s_[40:75], axis=0) for each in (x, y))), abs=1e-6
    )


def test_rsa_equals_rsatoolbox():
    """There, patterns are compared by squared distances: of unit vectors 2 - 2 cos, whose correlation is the same."""
    pytest.importorskip("rsatoolbox")
    from rsatoolbox.data import Dataset
    from rsatoolbox.rdm import calc_rdm, compare

    x, y = two_spaces(0.5)
    units = [space.astype(float) / np.linalg.norm(space.astype(float), axis=1, keepdims=True) for space in (x, y)]
    one, other = (calc_rdm(Dataset(space), method="euclidean") for space in units)
    assert measured(rsa, x, y)[0, 0] == pytest.approx(compare(one, other, method="corr").item(), abs=1e-6)


@pytest.mark.parametrize("measure", [rsa, plain_cka, debiased_cka])
def test_rotation_and_scale_change_nothing(measure):
    x, _ = two_spaces(0.7)
    for same in (x.copy(), turned(x), 7 * x, (turned(x) * 0.01).astype(np.float32)):
        np.testing.assert_allclose(measured(measure, x, same), 1, atol=1e-5)
    other, unrelated = two_spaces(0.7, seed=1)
    assert abs(measured(rsa, x, unrelated)[0, 0]) < 0.05
    assert measured(measure, turned(x), other)[0, 0] == pytest.approx(measured(measure, x, other)[0, 0], abs=1e-5)


def test_rotation_defeats_the_plain_cosine():
    x, _ = two_spaces()
    assert measured(plain_cosine, x, 3 * x)[0, 0] == pytest.approx(1, abs=1e-6)
    got, seen = measured(plain_cosine, x, turned(x)), turned(x)
    cosines = (x * seen).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(seen, axis=1)
    assert got[0, 0] == pytest.approx(cosines.mean(), abs=1e-6) and abs(got[0, 0]) < 0.5
    assert got[2, 0] == pytest.approx(np.delete(cosines, np.s_[40:75]).mean(), abs=1e-6)


@pytest.mark.parametrize("measure", [rsa, plain_cka, debiased_cka, plain_cosine])
def test_groups_do_not_change_the_value_and_pairs_are_those_asked_for(measure):
    x, y = two_spaces()
    y = np.concatenate([y, x[:, :6]], 1)
    whole = measured(measure, x, y, pairs=[(0, 1), (1, 0), (1, 1)])
    assert whole[0, 0] == pytest.approx(whole[0, 1]) and whole[0, 2] == pytest.approx(1, abs=1e-6)
    for edges in ([0, 200], [0, 1, 200], [*range(0, 201, 10)]):
        got = measured(measure, x, y, edges=np.array(edges))
        assert len(got) == len(edges) and got[0, 0] == pytest.approx(whole[0, 0], abs=1e-6)


def test_a_space_without_differences_has_no_similarity():
    x, _ = two_spaces()
    for measure in (plain_cka, debiased_cka, procrustes):
        assert np.isnan(measured(measure, x, np.ones_like(x))).all()


def test_the_procrustes_distance_is_scipys_and_its_draws_follow_to_first_order():
    x, y = two_spaces(1.0)
    edges = np.arange(0, 201, 10)
    got = measured(procrustes, x, y, edges=edges)[:, 0]
    left = [np.delete(np.arange(200), np.s_[begin:end]) for begin, end in pairwise(edges)]
    want = np.array([rotated_distance(x, y), *(rotated_distance(x[rows], y[rows]) for rows in left)])
    assert got[0] == pytest.approx(want[0], abs=1e-5)
    assert (got[1:] >= want[1:] - 1e-6).all(), "the best rotation leaves least"
    assert np.corrcoef(got[1:], want[1:])[0, 1] > 0.95 and got[1:].std() == pytest.approx(want[1:].std(), rel=0.1)
    for same in (turned(x), 7 * x + 3):
        np.testing.assert_allclose(measured(procrustes, x, same), 0, atol=1e-5)


def test_unrelated_spaces_have_no_debiased_cka_however_few_the_words():
    """Shuffled words: plain CKA of 100 words in 60 dimensions is far from 0, debiased it isn't."""
    generator = np.random.default_rng(2)
    x = generator.normal(size=(2000, 60)) * np.geomspace(3, 0.5, 60)
    found = {n: [] for n in (100, 1000)}
    for n, values in found.items():
        for _ in range(60):
            rows, others = (generator.choice(2000, n, replace=False) for _ in range(2))
            values.append(measured(cka, x[rows], x[others], edges=np.array([0, n]))[:, 0, 0])
    for values in found.values():
        debiased = np.array(values)[:, 0]
        assert abs(debiased.mean()) < 3 * debiased.std(ddof=1) / np.sqrt(60)
    assert np.mean(found[100], 0)[1] > 0.2 > 5 * np.mean(found[1000], 0)[1]


@pytest.mark.parametrize("n", [100, 1000])
def test_debiased_cka_of_few_words_and_of_many_is_the_same_on_average(n):
    """Of normal vectors x and y = x A + noise it is |S A|^2 / (|S| |A'SA + noise|), S being the covariance of x."""
    generator = np.random.default_rng(7)
    covariance, turn = np.diag(np.geomspace(2, 0.3, 30)), generator.normal(size=(30, 20)) / 5
    truth = np.square(covariance @ turn).sum() / (
        np.linalg.norm(covariance) * np.linalg.norm(turn.T @ covariance @ turn + 0.5 * np.eye(20))
    )
    found = []
    for _ in range(100):
        x = generator.normal(size=(n, 30)) @ np.sqrt(covariance)
        y = x @ turn + np.sqrt(0.5) * generator.normal(size=(n, 20))
        found.append(measured(cka, x, y, edges=np.array([0, n]))[:, 0, 0])
    (debiased, plain), error = np.mean(found, 0), np.std(found, 0, ddof=1)[0] / 10
    assert abs(debiased - truth) < 3 * error and (plain - truth > 10 * error if n == 100 else True)


def test_intervals_hold_what_they_promise():
    """Words of a sentence are alike; samples of sentences must have the true value in about 95 of 100 intervals."""
    generator = np.random.default_rng(5)
    maps = generator.normal(size=(2, 6, 6))

    def sample(count):
        topic = np.repeat(generator.normal(size=(count, 6)), 5, axis=0)
        words = topic + generator.normal(size=(5 * count, 6))
        return [(words @ one + 0.7 * generator.normal(size=words.shape)).astype(np.float32) for one in maps]

    def both(count, edges):
        spaces = sample(count)
        return np.concatenate([measured(measure, *spaces, edges=edges) for measure in (rsa, debiased_cka)], 1)

    truth = both(20_000, np.array([0, 100_000]))[0]
    inside = np.zeros(2)
    for _ in range(200):
        draws = both(80, np.arange(0, 401, 20))
        low, high = jackknife_interval(draws)
        inside += (low <= truth) & (truth <= high)
    assert (inside >= 180).all() and (inside <= 199).all()


def test_a_layer_that_tells_no_words_apart_is_not_the_one_that_moved_farthest():
    """Its RSA is unknown: no number has it, and there is no sentence about it."""
    words = np.random.default_rng(0).normal(size=(60, 8))
    turned_away = words + 0.5 * np.random.default_rng(1).normal(size=words.shape)
    sentences = sentences_of([6] * 10)
    one, examples = made_states([words] * 4, sentences, name="one")
    other, _ = made_states([words, turned_away, words, np.ones_like(words)], sentences, name="other")
    result = similarity([one, other], examples)
    assert result.numbers(key="lowest_rsa_layer")[0].value == 1 and not result.numbers(key="rsa_last_layer")
    assert similarity.sentence(result) is None and similarity.consequences(result)
