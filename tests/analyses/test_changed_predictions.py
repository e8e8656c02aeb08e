"""What changes from one model's answers to another's, by reference libraries, by hand, and where nothing does."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from bertscope.analyses.changed_labels import findings_of_nothing, label_table
from bertscope.analyses.changed_predictions import (
    Answers,
    How,
    Pair,
    agreement,
    difference_table,
    distance,
    gold_groups,
    outcome_table,
)
from bertscope.core.intervals import most_by_chance
from bertscope.data.outputs.classes import Classes, log_shares
from bertscope.data.outputs.scores import OneScore
from bertscope.data.outputs.several import SeveralLabels

QUICK = How(repeats=200, permutations=199)
CLASSES = Classes("t", ("x", "y", "z"), "accuracy")


def said(output, outputs, gold) -> Answers:
    outputs = np.asarray(outputs, dtype=np.float64)
    return Answers(output, gold, output.predictions(outputs), outputs, output.losses(outputs, gold))


def drawn(seed: int, n: int = 200, *, output=CLASSES, skill=(1.0, 1.0), how=QUICK, shared: float = 0.7) -> Pair:
    """Two models that are right more or less often, and wrong partly together."""
    generator = np.random.default_rng(seed)
    gold = generator.integers(0, 3, n)
    common = generator.normal(size=(n, 3))
    sides = []
    for one in skill:
        noise = shared * common + (1 - shared) * generator.normal(size=(n, 3))
        sides.append(said(output, noise + one * np.eye(3)[gold], gold))
    return Pair(*sides, how)


@pytest.mark.parametrize("seed", range(5))
def test_the_exact_test_is_statsmodels_mcnemar(seed):
    mcnemar = pytest.importorskip("statsmodels.stats.contingency_tables").mcnemar
    pair = drawn(seed, skill=(1.0, 1.2))
    a, b = pair.correct.astype(bool)
    table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
    found = difference_table(pair).set_index("measure")
    wanted = mcnemar(table, exact=True).pvalue
    assert found.loc["rows", "p"] == pytest.approx(wanted) and found.loc["score", "p"] == pytest.approx(wanted)
    assert found.loc["score", "change"] == pytest.approx(b.mean() - a.mean())
    counts = outcome_table(pair, gold_groups(pair)).query("rows_of == 'all_rows'").set_index("outcome")["rows"]
    assert counts.to_dict() == {
        "fixed": (~a & b).sum(), "broken": (a & ~b).sum(), "both_right": (a & b).sum(),
        "both_wrong": (~a & ~b).sum(),
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_agreement_is_scikit_learns_kappa(seed):
    kappa = pytest.importorskip("sklearn.metrics").cohen_kappa_score
    pair = drawn(seed)
    found = agreement(pair)
    assert found["agreement"][0] == pytest.approx(kappa(pair.a.predicted, pair.b.predicted))
    assert found["error_agreement"][0] == pytest.approx(kappa(*pair.correct))
    for value, low, high in found.values():
        assert low < value < high


def test_labels_have_scikit_learns_recall_precision_and_f1():
    of = pytest.importorskip("sklearn.metrics").precision_recall_fscore_support
    pair = drawn(1)
    table = label_table(pair).set_index(["label", "measure"])
    for side, answers in (("a", pair.a), ("b", pair.b)):
        precision, recall, f1, n = of(answers.gold, answers.predicted, zero_division=0)
        for at, name in enumerate(CLASSES.labels):
            rows = table.loc[name]
            assert rows[side].to_dict() == pytest.approx(
                {"recall": recall[at], "precision": precision[at], "f1": f1[at]}
            )
            assert set(rows["n"]) == {n[at]}
    changes = table["b"] - table["a"]
    assert table["change"].to_numpy() == pytest.approx(changes.to_numpy())
    assert (table["low"] <= table["change"]).all() and (table["change"] <= table["high"]).all()


def test_the_test_of_recall_is_exact():
    pair = drawn(3, skill=(1.0, 1.4))
    table = label_table(pair).set_index(["label", "measure"])
    for at, name in enumerate(CLASSES.labels):
        own = pair.a.gold == at
        better = pair.better[own]
        wanted = binomtest(int((better > 0).sum()), int((better != 0).sum())).pvalue
        assert table.loc[(name, "recall"), "p"] == pytest.approx(wanted)


def test_several_hits_in_a_row_are_exchanged_together():
    """By all signs: of a sentence, or of a row of several labels, everything changes sides at once."""
    from bertscope.core.statistics import sign_flip_ps

    differences = np.array([2, -1, 0, 3, 1, 1, 0, -2])
    sums = [abs(np.dot(signs, differences)) for signs in product([-1, 1], repeat=len(differences))]
    wanted = np.mean(np.array(sums) >= abs(differences.sum()))
    assert sign_flip_ps(differences, differences.sum()[None])[0] == pytest.approx(wanted)


def test_a_planted_class_is_found_and_no_other():
    generator = np.random.default_rng(0)
    gold = np.arange(300) % 3
    outputs = generator.normal(scale=0.3, size=(300, 3)) + 2 * np.eye(3)[gold]
    worse = outputs.copy()
    hit = np.flatnonzero(gold == 1)[::3]
    worse[hit, 1] -= 6
    pair = Pair(said(CLASSES, outputs, gold), said(CLASSES, worse, gold), QUICK)
    recall = label_table(pair).query("measure == 'recall'").set_index("label")
    assert recall["certain"].to_dict() == {"x": False, "y": True, "z": False}
    assert recall.loc["y", "change"] == pytest.approx(-len(hit) / 100, abs=0.02)
    table = outcome_table(pair, gold_groups(pair)).set_index(["rows_of", "outcome"])["rows"]
    assert table["y", "broken"] == table["all_rows", "broken"] == (pair.better == -1).sum() > 0
    assert table["all_rows", "fixed"] == 0 and table["x", "broken"] == table["z", "broken"] == 0


@pytest.mark.parametrize("kind", ["classes", "scores", "several"])
def test_a_model_against_itself_differs_in_nothing(kind):
    generator = np.random.default_rng(0)
    gold, outputs, output = {
        "classes": (np.zeros(20, int), np.eye(3)[np.zeros(20, int)], CLASSES),
        "scores": (generator.normal(size=20), generator.normal(size=(20, 1)), OneScore("t", "pearson")),
        "several": (np.ones((20, 2), int), np.ones((20, 2)), SeveralLabels("t", ("x", "y"), "micro_f1")),
    }[kind]
    one = said(output, outputs, gold)
    with np.errstate(all="raise"):
        pair = Pair(one, one, QUICK)
        differences, labels = difference_table(pair), label_table(pair)
        found, apart = agreement(pair), distance(pair)
    assert (differences["p"] == 1).all() and not differences[["change", "low", "high"]].to_numpy().any()
    assert not differences["certain"].any()
    if labels is not None:
        assert (labels["p_holm"] == 1).all() and not labels["certain"].any()
    assert all(value == pytest.approx(1) for value, *_ in found.values())
    assert "error_agreement" not in found or kind == "scores"  # nobody is ever wrong: nothing to agree on
    assert all(value == 0 for value, *_ in apart.values())


def test_scores_are_nearer_or_further():
    gold = np.array([0.0, 0.0, 1.0, 1.0])
    a, b = np.array([[0.5], [0.1], [0.5], [1.0]]), np.array([[0.1], [0.5], [0.6], [1.0]])
    output = OneScore("t", "pearson")
    pair = Pair(said(output, a, gold), said(output, b, gold), QUICK)
    assert pair.outcomes.tolist() == ["nearer", "further", "nearer", "same"]
    assert difference_table(pair)["measure"].tolist() == ["rows", "score", "loss"]
    loss = difference_table(pair).set_index("measure").loc["loss"]
    assert loss["change"] == pytest.approx(((b[:, 0] - gold) ** 2 - (a[:, 0] - gold) ** 2).mean())
    assert distance(pair).keys() == {"divergence"} and label_table(pair) is None


def test_the_divergence_is_kl_from_the_first_and_flips_have_wilsons_interval():
    pair = drawn(2)
    before, after = (log_shares(one.outputs) for one in (pair.a, pair.b))
    found = distance(pair)
    assert found["divergence"][0] == pytest.approx((np.exp(before) * (before - after)).sum(1).mean())
    flips = (pair.a.predicted != pair.b.predicted).mean()
    wanted = binomtest(int(flips * len(pair)), len(pair)).proportion_ci(method="wilson")
    assert found["flips"] == pytest.approx((flips, wanted.low, wanted.high))


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """Of the change of the score, of a label's recall and of kappa, which the whole population says."""
    whole = drawn(100, 200_000, skill=(1.0, 1.3))
    truth = {
        "score": float(np.diff(whole.correct.mean(1))[0]),
        "recall": float(whole.better[whole.a.gold == 0].mean()),
        "agreement": agreement(replace(whole, how=How(repeats=2)))["agreement"][0],
    }
    held = dict.fromkeys(truth, 0)
    generator, draws = np.random.default_rng(7), 200
    for _ in range(draws):
        at = generator.integers(0, len(whole), 150)
        part = Pair(*(said(CLASSES, one.outputs[at], one.gold[at]) for one in (whole.a, whole.b)), How(300, 99))
        by = difference_table(part).set_index("measure").loc["score"]
        label = label_table(part).iloc[0]
        for name, (low, high) in {
            "score": (by["low"], by["high"]),
            "recall": (label["low"], label["high"]),
            "agreement": agreement(part)["agreement"][1:],
        }.items():
            held[name] += low <= truth[name] <= high
    assert all(0.9 * draws <= count <= 0.99 * draws for count in held.values()), held


@pytest.mark.parametrize("metric", [pytest.param("accuracy", marks=pytest.mark.slow), "macro_f1"])
def test_p_is_uniform_where_the_two_are_exchangeable(metric):
    output, draws = replace(CLASSES, metric=metric), 150
    found = {"score": [], "loss": []}
    certain = np.zeros(3, int)
    for seed in range(draws):
        pair = drawn(seed, 120, output=output, shared=0.3)
        table = difference_table(pair).set_index("measure")
        for name, each in found.items():
            each.append(table.loc[name, "p"])
        certain += [rows["certain"].any() for _, rows in label_table(pair).groupby("measure")]
    assert kstest(found["loss"], "uniform").pvalue > 0.01
    allowed = most_by_chance(draws, 0.05, 0.99)
    assert all(np.less(each, 0.05).sum() <= allowed for each in found.values()) and (certain <= allowed).all()
    if metric == "macro_f1":  # McNemar's p is coarse, and on the safe side
        assert kstest(found["score"], "uniform").pvalue > 0.01


def test_the_null_panel_draws_what_the_tests_say():
    """Where the two models are far apart, exchanging their answers still finds nothing; and each family is there."""
    pair = drawn(4, 150, skill=(0.5, 3.0))
    assert difference_table(pair)["certain"].all()
    found = findings_of_nothing(pair, 200)
    assert {*found} == {
        ("whole", "rows"), ("whole", "loss"), ("labels", "recall"), ("labels", "precision"), ("labels", "f1"),
    }  # fmt: skip
    assert all(0 < (counts > 0).sum() <= most_by_chance(200, 0.05, 0.99) for counts in found.values())


def test_what_has_nothing_to_be_of_is_undefined_in_every_column():
    """A never says z, which is right once: its precision is nothing, not 0, and so is its change; B's own is told."""
    gold = np.array([0, 1] * 20 + [2])
    outputs = np.eye(3)[gold] * 3.0
    never = outputs.copy()
    never[-1] = [3.0, 0.0, 0.0]
    table = label_table(Pair(said(CLASSES, never, gold), said(CLASSES, outputs, gold), QUICK))
    by = table.set_index(["label", "measure"]).drop(columns="certain")
    precision = by.loc[("z", "precision")]
    assert precision["b"] == 1 and precision["n"] == 1
    assert precision[["a", "change", "low", "high", "p", "p_holm"]].isna().all()
    assert by.drop(("z", "precision")).notna().all(axis=None), "recall and F1 of z are 0 in A, for certain"
    assert by.loc[("z", "recall"), "a"] == by.loc[("z", "f1"), "a"] == 0
    nobody = Pair(said(CLASSES, never[:-1], gold[:-1]), said(CLASSES, outputs[:-1], gold[:-1]), QUICK)
    assert set(label_table(nobody)["label"]) == {"x", "y"}
    # A label that B alone gives, and that is never right, has no recall in either.
    loose = outputs[:-1].copy()
    loose[0, 2] = 9.0
    only = label_table(Pair(said(CLASSES, outputs[:-1], gold[:-1]), said(CLASSES, loose, gold[:-1]), QUICK))
    recall, precision, f1 = (row for _, row in only.query("label == 'z'").iterrows())
    assert recall[["a", "b", "change", "p"]].isna().all() and precision["b"] == 0 and np.isnan(precision["a"])
    assert np.isnan(f1["a"]) and f1["b"] == 0 and np.isnan(f1["change"])


def test_resamples_without_a_label_say_nothing_of_it():
    """Both rows of z are broken: its recall falls by 1 in every resample that has any, and by nothing in none."""
    gold = np.array([0, 1] * 20 + [2, 2])
    outputs = np.eye(3)[gold] * 3.0
    broken = outputs.copy()
    broken[-2:, 2] = -9.0
    pair = Pair(said(CLASSES, outputs, gold), said(CLASSES, broken, gold), QUICK)
    recall = label_table(pair).query("label == 'z' and measure == 'recall'").iloc[0]
    assert (recall["low"], recall["high"]) == (-1, -1)


def test_labels_that_are_undefined_still_count_as_tested():
    """Which measures are undefined depends on the answers that are tested: leaving them out would be a choice."""
    generator = np.random.default_rng(0)
    gold = np.arange(90) % 3
    outputs = 2 * np.eye(3)[gold] + generator.normal(scale=0.3, size=(90, 3))
    outputs[:, 2] -= 9.0  # A never says z
    other = outputs.copy()
    other[gold == 0, 1] += 9.0
    other[0, 2] = 99.0
    table = label_table(Pair(said(CLASSES, outputs, gold), said(CLASSES, other, gold), QUICK))
    precision = table.query("measure == 'precision'").set_index("label")
    assert np.isnan(precision.loc["z", "p"])
    least = precision["p"].min()
    assert precision["p_holm"].min() == pytest.approx(3 * least)
