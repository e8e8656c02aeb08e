"""What classifiers' mistakes leave open of shares: undone where they are known, and how often the range is right."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.analyses.patterns import result
from bertscope.analyses.shapes import CLASSES, LABELS
from bertscope.analyses.shapes.confusion import called_for_class, shares_behind
from bertscope.analyses.shapes.net import facts
from bertscope.core.intervals import interval

EVEN = np.full(5, 0.2)


def test_without_mistakes_shares_are_as_called():
    called = np.array([[0.1, 0.2, 0.3, 0.4, 0.0], EVEN])
    np.testing.assert_allclose(shares_behind(called, np.eye(5)), called, atol=1e-12)


def test_known_mistakes_are_undone_whatever_the_mixture():
    """A third of block is called heterogeneous, a tenth of heterogeneous vertical."""
    chances = np.eye(5)
    chances[3], chances[4] = [0, 0, 0, 2 / 3, 1 / 3], [0.1, 0, 0, 0, 0.9]
    for shares in (EVEN, np.array([0.1, 0.1, 0.1, 0.6, 0.1]), np.array([0.7, 0, 0, 0.3, 0])):
        # What there is nothing of is come near to slowly.
        np.testing.assert_allclose(shares_behind((shares @ chances)[None], chances)[0], shares, atol=5e-3)


def test_chances_are_the_counts_and_fewer_maps_leave_more_open():
    few = np.eye(5) * 3
    few[4, 0] = 1
    known = {
        "of_another_model": {labels: (few * (1 if place else 100)).tolist() for place, labels in enumerate(LABELS)}
    }
    found = called_for_class(known, 500)
    assert found.shape == (501, 3, 5, 5)
    np.testing.assert_allclose(found.sum(-1), 1)
    # Of four maps one was called vertical; a tenth of a map was put everywhere beforehand.
    np.testing.assert_allclose(found[0, 1, 4], [1.1 / 4.5, 0.1 / 4.5, 0.1 / 4.5, 0.1 / 4.5, 3.1 / 4.5])
    many, fewer = found[1:, :2, 4, 0].std(0)
    assert fewer > 5 * many
    np.testing.assert_array_equal(found, called_for_class(known, 500))


def coverage(trials: int, monkeypatch, *, likeness: float | None, other: float | None) -> float:
    """How often the range of a model's shares holds the truth, over classes.

    121 maps are labelled and called, as often wrong as the shipped classifiers are; three classifiers call nine of
    ten maps alike. The model's mixture of classes is any (`likeness` None) or is around that of the labelled maps; it
    is called with the same chances, or with ones that scatter about them as of `other` maps.
    """
    counts = np.array(facts()["of_another_model"]["both"])
    mixture, chances = counts.sum(1) / counts.sum(), called_for_class(facts(), 0)[0, 0]
    random, maps, held = np.random.default_rng(0), 3000, []

    def calls(labels: np.ndarray, chances: np.ndarray) -> np.ndarray:
        drawn = (random.random((3, len(labels), 1)) > chances[labels].cumsum(1)).sum(-1).clip(max=4)
        return np.where(random.random((3, len(labels))) < [[1], [0.9], [0.9]], drawn[:1], drawn)

    for _ in range(trials):
        labels = random.choice(5, 121, p=mixture)
        confusions = np.zeros((3, 5, 5))
        for confusion, called in zip(confusions, calls(labels, chances), strict=True):
            np.add.at(confusion, (labels, called), 1)
        known = {"of_another_model": dict(zip(LABELS, confusions, strict=True))}
        monkeypatch.setattr(result, "facts", lambda known=known: known)
        truth = random.dirichlet(np.ones(5) if likeness is None else likeness * mixture)
        there = chances if other is None else np.stack([random.dirichlet(other * row) for row in chances])
        called = calls(random.choice(5, maps, p=truth), there)
        shares = np.stack([np.bincount(one, minlength=5) for one in called]) / maps
        draws = np.stack([random.multinomial(maps, one, size=200) for one in shares], 1) / maps
        low, high = interval(result._ways(np.concatenate([shares[None], draws])[:, None]))
        held.append((low.min(1)[0] <= truth) & (truth <= high.max(1)[0]))
    assert np.shape(held) == (trials, len(CLASSES))
    return float(np.mean(held))


@pytest.mark.slow
@pytest.mark.parametrize("likeness", [1e6, 30.0, None])
@pytest.mark.parametrize("other", [None, 20.0])
def test_the_range_holds_the_truth(monkeypatch, likeness, other):
    """What divides the called as the labelled ones were meant holds it in two of five cases of any mixture."""
    assert coverage(200, monkeypatch, likeness=likeness, other=other) > 0.93
