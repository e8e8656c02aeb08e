"""RSA, CKA and the plain cosine: against their definitions, and what changes them and what doesn't."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from bertscope.analyses.similarity.measures import cka, plain_cosine, rsa
from bertscope.core.intervals import jackknife_interval
from plain_similarity import gram_alignment, turned, two_spaces, upper_correlation

EDGES = np.array([0, 40, 75, 130, 200])


def measured(measure, *spaces, edges=EDGES, pairs=((0, 1),)):
    return measure([torch.from_numpy(space) for space in spaces], list(pairs), edges)


@pytest.mark.parametrize("mean", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("measure, defined", [(rsa, upper_correlation), (cka, gram_alignment)])
def test_they_equal_their_definitions_whole_and_without_each_group(measure, defined, mean):
    x, y = two_spaces(mean)
    got = measured(measure, x, y)[:, 0]
    left = [np.delete(np.arange(200), np.s_[begin:end]) for begin, end in pairwise(EDGES)]
    want = [defined(x, y), *(defined(x[rows], y[rows]) for rows in left)]
    np.testing.assert_allclose(got, want, atol=2e-5 if mean > 10 else 1e-6)
    assert np.ptp(want) > 1e-3, "groups that change nothing would test nothing"


def test_rsa_equals_rsatoolbox():
    """There, patterns are compared by squared distances: of unit vectors 2 - 2 cos, whose correlation is the same."""
    pytest.importorskip("rsatoolbox")
    from rsatoolbox.data import Dataset
    from rsatoolbox.rdm import calc_rdm, compare

    x, y = two_spaces(0.5)
    units = [space.astype(float) / np.linalg.norm(space.astype(float), axis=1, keepdims=True) for space in (x, y)]
    one, other = (calc_rdm(Dataset(space), method="euclidean") for space in units)
    assert measured(rsa, x, y)[0, 0] == pytest.approx(compare(one, other, method="corr").item(), abs=1e-6)


@pytest.mark.parametrize("measure", [rsa, cka])
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


@pytest.mark.parametrize("measure", [rsa, cka, plain_cosine])
def test_groups_do_not_change_the_value_and_pairs_are_those_asked_for(measure):
    x, y = two_spaces()
    y = np.concatenate([y, x[:, :6]], 1)
    usual = measured(measure, x, y, pairs=[(0, 1), (1, 0), (1, 1)])
    assert usual[0, 0] == pytest.approx(usual[0, 1]) and usual[0, 2] == pytest.approx(1, abs=1e-6)
    for edges in ([0, 200], [0, 1, 200], [*range(0, 201, 10)]):
        got = measured(measure, x, y, edges=np.array(edges))
        assert len(got) == len(edges) and got[0, 0] == pytest.approx(usual[0, 0], abs=1e-6)


def test_a_space_without_differences_has_no_similarity():
    x, _ = two_spaces()
    assert np.isnan(measured(cka, x, np.ones_like(x))).all()


def test_intervals_hold_what_they_promise():
    """Words of a sentence are alike; samples of sentences must have the true value in about 95 of 100 intervals."""
    generator = np.random.default_rng(5)
    maps = generator.normal(size=(2, 6, 6))

    def sample(count):
        topic = np.repeat(generator.normal(size=(count, 6)), 5, axis=0)
        words = topic + generator.normal(size=(5 * count, 6))
        return [(words @ one + 0.7 * generator.normal(size=words.shape)).astype(np.float32) for one in maps]

    truth = measured(rsa, *sample(20_000), edges=np.array([0, 100_000]))[0, 0]
    inside = 0
    for _ in range(200):
        low, high = jackknife_interval(measured(rsa, *sample(80), edges=np.arange(0, 401, 20)))
        inside += int(low[0] <= truth <= high[0])
    assert 175 <= inside <= 199
