"""LEACE keeps its promise: no linear probe finds what was erased, and vectors move as little as can be."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.linalg import fractional_matrix_power, orth
from sklearn.linear_model import LogisticRegression

from bertscope.analyses.erase.leace import Whitened


def planted(n: int, seed: int = 0, dim: int = 12, classes: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Correlated vectors of unequal variance whose class shifts their mean."""
    random = np.random.default_rng(seed)
    label = random.choice(classes, n, p=[0.4, 0.3, 0.2, 0.1])
    shape = np.random.default_rng(99).normal(size=(dim, dim)) * np.geomspace(3, 0.1, dim)
    shifts = np.random.default_rng(98).normal(size=(classes, dim)) * 2
    return (random.normal(size=(n, dim)) + shifts[label]) @ shape + 5, label


def logistic(vectors: np.ndarray, label: np.ndarray) -> LogisticRegression:
    return LogisticRegression(C=np.inf, tol=1e-8, max_iter=5000).fit(vectors, label)


def loss_of(model: LogisticRegression, vectors: np.ndarray, label: np.ndarray) -> float:
    return float(-np.log(model.predict_proba(vectors)[np.arange(len(label)), label]).mean())


def without(label: np.ndarray) -> float:
    """The loss of whoever knows how frequent labels are and nothing else."""
    shares = np.bincount(label) / len(label)
    return float(-(shares * np.log(shares)).sum())


def test_it_is_the_published_formula():
    vectors, label = planted(800)
    eraser = Whitened(vectors).leace(vectors, label)
    centred, concept = vectors - vectors.mean(0), np.eye(4)[label]
    concept -= concept.mean(0)
    whiten = fractional_matrix_power(centred.T @ centred / len(vectors), -0.5).real
    basis = orth(whiten @ centred.T @ concept / len(vectors), rcond=1e-9)
    expected = vectors - centred @ whiten.T @ (basis @ basis.T) @ np.linalg.pinv(whiten).T
    np.testing.assert_allclose(eraser(vectors), expected, atol=1e-7)
    assert eraser.rank == basis.shape[1] == 3
    moved = ((expected - vectors) ** 2).sum() / (centred**2).sum()
    assert eraser.moved == pytest.approx(moved)
    on_device = eraser.on("cpu")(torch.from_numpy(vectors).float())
    np.testing.assert_allclose(on_device.numpy(), expected, atol=1e-3)


def test_no_linear_probe_is_better_than_chance_where_it_was_fitted():
    vectors, label = planted(800)
    erased = Whitened(vectors).leace(vectors, label)(vectors)
    concept = np.eye(4)[label] - np.bincount(label) / len(label)
    assert np.abs((erased - erased.mean(0)).T @ concept).max() / len(label) < 1e-10
    scaled = (erased - erased.mean(0)) / erased.std(0)
    assert loss_of(logistic(vectors, label), vectors, label) < 0.5 * without(label)
    probe = logistic(scaled, label)
    assert loss_of(probe, scaled, label) == pytest.approx(without(label), abs=1e-6)
    assert (probe.predict(scaled) == np.bincount(label).argmax()).all()


def test_on_other_vectors_it_is_chance_within_noise():
    vectors, label = planted(20_000)
    others, gold = planted(4000, seed=1)
    erased = Whitened(vectors).leace(vectors, label)(others)
    for given, readable in ((others, True), (erased, False)):
        given = (given - given.mean(0)) / given.std(0)
        probe = logistic(given[:2000], gold[:2000])  # trained where the eraser wasn't
        loss = loss_of(probe, given[2000:], gold[2000:])
        assert loss < 0.7 * without(gold) if readable else loss > without(gold) - 0.01


def test_words_without_the_concept_are_moved_little():
    vectors, label = planted(4000)
    some = np.flatnonzero(label < 2)
    eraser = Whitened(vectors).leace(vectors[some], label[some])
    concept = np.eye(2)[label[some]]
    erased = eraser(vectors)
    assert np.abs((erased[some] - erased[some].mean(0)).T @ (concept - concept.mean(0))).max() / len(some) < 1e-10
    # Of all maps that do this, the one that moves all vectors least: less than that of those which have the concept.
    of_some = Whitened(vectors[some]).leace(vectors[some], label[some])
    moved, moved_by_some = (((each(vectors) - vectors) ** 2).sum() for each in (eraser, of_some))
    assert moved < moved_by_some
    assert eraser.moved == pytest.approx(moved / ((vectors - vectors.mean(0)) ** 2).sum())


def test_a_random_subspace_of_the_same_rank_hides_nothing():
    vectors, label = planted(2000)
    whitened, generator = Whitened(vectors), np.random.default_rng(0)
    kept = [whitened.random(1, generator) for _ in range(5)]
    for eraser in kept:
        erased = eraser(vectors)
        assert np.linalg.matrix_rank(erased - erased.mean(0), tol=1e-6) == 11  # one direction is gone
        scaled = (erased - erased.mean(0)) / erased.std(0)
        assert LogisticRegression().fit(scaled, label).score(scaled, label) > 0.8
        again = eraser(erased)
        np.testing.assert_allclose(again, erased, atol=1e-8)  # erasing twice is erasing once
    assert not np.allclose(kept[0].into, kept[1].into)


def test_vectors_move_less_than_by_projecting_the_means_away():
    vectors, label = planted(800)
    eraser = Whitened(vectors).leace(vectors, label)
    centred = vectors - vectors.mean(0)
    plain = orth(centred.T @ (np.eye(4)[label] - np.bincount(label) / len(label)), rcond=1e-9)
    projected = ((centred @ plain) ** 2).sum() / (centred**2).sum()
    assert eraser.moved < projected


def test_where_the_concept_is_not_nothing_changes():
    """Two vectors of each kind, which differ in their first number alone: the others don't move."""
    random = np.random.default_rng(0)
    label = np.tile([0, 1], 400)
    other, noise = (np.repeat(random.normal(size=(400, wide)), 2, axis=0) for wide in (3, 1))
    other, noise = other - other.mean(0), noise[:, 0] - noise.mean()
    noise -= other @ np.linalg.lstsq(other, noise, rcond=None)[0]  # exactly uncorrelated in this sample
    vectors = np.column_stack([2.0 * label + noise, other])
    erased = Whitened(vectors).leace(vectors, label)(vectors)
    assert np.abs(erased[:, 0] - vectors[:, 0]).max() > 0.9
    np.testing.assert_allclose(erased[:, 1:], vectors[:, 1:], atol=1e-10)


def test_a_direction_without_variance_is_no_trouble():
    vectors, label = planted(800)
    flat = vectors.astype(np.float32) - vectors.mean(1, keepdims=True).astype(np.float32)  # as LayerNorm leaves them
    eraser = Whitened(flat).leace(flat, label)
    assert eraser.rank == 3 and np.abs(eraser.into).max() < 1e3
    erased = eraser(flat)
    concept = np.eye(4)[label] - np.bincount(label) / len(label)
    assert np.abs((erased - erased.mean(0)).T @ concept).max() / len(label) < 1e-6


@pytest.mark.parametrize("moved", [0.3, 0.6])
def test_random_subspaces_can_take_as_much_variance(moved):
    whitened, generator = Whitened(planted(2000)[0]), np.random.default_rng(0)
    taken = [whitened.random(2, generator, moved=moved).moved for _ in range(200)]
    plain = [whitened.random(2, generator).moved for _ in range(200)]
    assert np.mean(plain) == pytest.approx(2 / 12, abs=0.03)
    assert np.mean(taken) == pytest.approx(moved, abs=0.15) and np.mean(taken) > moved
