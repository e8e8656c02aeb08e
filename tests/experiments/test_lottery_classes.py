"""`lottery`: the patterns of the heads that survive, with what the seeds and the classifiers leave open."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from bertscope.experiments.lottery import classes as of_lottery

NAMES = np.array(["vertical", "heterogeneous"])
BOTH = np.array([[0, 0], [1, 0], [1, 1], [1, 0], [1, 0]])  # seed x surviving head: which name
SECOND = np.ones((5, 2), int)


def heads(seeds: int) -> list[pd.DataFrame]:
    """Of each seed four heads: two that survive, of which the second labeller would call all heterogeneous."""
    said = {"class": BOTH, "class_first": BOTH, "class_second": SECOND}
    where = pd.DataFrame({"layer": 1, "head": range(1, 5), "survives": [True, True, False, False]})
    return [
        where.assign(**{key: [*NAMES[names[seed]], "block", "block"] for key, names in said.items()})
        for seed in range(seeds)
    ]


def heterogeneous(found: pd.DataFrame) -> pd.Series:
    return found.set_index(["of", "class"]).loc[("survivors", "heterogeneous")]


def test_classes_of_survivors_reach_over_seeds_and_classifiers(monkeypatch):
    """Where nothing is miscalled, by hand: Student's interval of the one labeller's, up to all by the other."""
    monkeypatch.setattr(of_lottery, "called_for_class", lambda known, draws: np.ones((3, 3, 1, 1)) * np.eye(5))
    found = heterogeneous(of_lottery.classes({"raw": heads(5), "norm_weighted": []}))
    share = BOTH.mean(1)
    assert found["share"] == pytest.approx(share.mean()) and (found["heads"], found["runs"]) == (BOTH.sum(), 5)
    assert (found["least"], found["most"]) == (pytest.approx(share.mean()), pytest.approx(1))
    reach = scipy.stats.t.ppf(0.975, 4) * share.std(ddof=1) / 5**0.5
    assert found["low"] == pytest.approx(share.mean() - reach) and found["high"] == pytest.approx(1)


def test_few_seeds_have_no_interval_but_the_classifiers_range():
    found = heterogeneous(of_lottery.classes({"raw": heads(4)}))
    assert np.isnan(found["low"]) and np.isnan(found["high"]) and found["runs"] == 4
    assert found["least"] < found["share"] < found["most"]


def test_the_classifiers_mistakes_widen_the_interval(monkeypatch):
    with_mistakes = heterogeneous(of_lottery.classes({"raw": heads(5)}))
    monkeypatch.setattr(of_lottery, "called_for_class", lambda known, draws: np.ones((3, 3, 1, 1)) * np.eye(5))
    without = heterogeneous(of_lottery.classes({"raw": heads(5)}))
    assert with_mistakes["least"] < without["least"] and with_mistakes["low"] <= without["low"]
