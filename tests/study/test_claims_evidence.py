"""What counts as evidence for a claim: results made by hand in which a plausible reading gives the wrong verdict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bertscope.core.estimate import Estimate, extreme
from bertscope.core.result import Number, load_result
from bertscope.core.statistics import holm, paired_effects, sign_flip_p
from bertscope.core.step import Root, Step
from bertscope.study.claims.records.claim import Bound
from judging import one_row, rows
from planted_attention import attention, first_tokens, patterns, redundancy
from planted_claims import PLANTED
from planted_layers import PARSER, depths, similarity
from planted_parts import ablate
from planted_results import (
    BASE,
    SURE,
    TUNED,
)
from planted_trainings import truncate
from stored_steps import seal_step


def test_a_stored_result_tells_its_step(tmp_path):
    made = similarity(PARSER, depths(0.0), SURE)
    assert "step" not in load_result(made.save(tmp_path / "alone")).provenance
    made.save(tmp_path / "step" / "result")
    step = Step("similarity", 1, {}, {"examples": Root("examples", "toy", "0" * 16)})
    seal_step(tmp_path / "step", step)
    assert Step.from_json(load_result(tmp_path / "step").provenance["step"]).id == step.id
    assert load_result(tmp_path / "step").equals(made)


# The best of many, and what is worth nothing


def few_examples(better: int, worse: int, n: int = 277, parts: int = 12) -> pd.DataFrame:
    """Twelve layers: without one of them so many answers of 277 become right and so many wrong; without the others,
    none. With intervals and tests as `ablate` makes them."""
    whole = (np.arange(n) < n // 2).astype(float)
    arms = np.tile(whole, (parts, 1))
    arms[0, n - better :] = 1
    arms[0, :worse] = 0
    found = paired_effects(lambda means: means[..., 0], whole[:, None], arms[..., None], permutations=0)
    p = holm(np.array([sign_flip_p(arm - whole) for arm in arms]))
    return pd.DataFrame(
        {"kind": "heads", "effect": found.effect, "low": found.low, "high": found.high, "certain": p < 0.05}
    )


def test_a_gain_that_the_exact_test_does_not_find_is_open():
    """RTE as it came out: 15 answers gained and 3 lost by the best of 12 layers. McNemar's p, corrected, is .09; the
    widened bootstrap interval alone excludes 0."""
    (made,) = ablate("heads", best=True)(0.1, SURE)
    made.tables["effects"] = few_examples(better=15, worse=3)
    parts = [Estimate(row.effect, row.low, row.high) for row in made.tables["effects"].itertuples()]
    assert extreme(parts, max).low > 0
    row = one_row("a-layer-off-improves", [made])
    assert row["verdict"] == "underpowered" and row["low"] == 0 and row["effect"] == pytest.approx(12 / 277)
    made.tables["effects"] = few_examples(better=25, worse=3)
    row = one_row("a-layer-off-improves", [made])
    assert row["verdict"] == "holds" and row["low"] > 0


def test_the_best_of_parts_that_do_nothing_is_held_to_the_exact_test():
    """Switching off does nothing but noise in 5 of 100 answers: how often would the claim hold?"""
    generator, held = np.random.default_rng(0), 0
    for _ in range(200):
        whole = (generator.random(100) < 0.7).astype(float)
        arms = np.where(generator.random((12, 100)) < 0.05, generator.random((12, 100)) < 0.7, whole).astype(float)
        found = paired_effects(
            lambda m: m[..., 0], whole[:, None], arms[..., None], repeats=200, permutations=0, seed=1
        )
        certain = holm(np.array([sign_flip_p(arm - whole) for arm in arms])) < 0.05
        parts = [Estimate.of(*ends_) for ends_ in zip(found.effect, found.low, found.high, strict=True)]
        held += extreme(parts, max, certain.tolist()).low > 0
    assert held / 200 <= 0.05


@pytest.mark.parametrize("claim_id", ["a-head-off-improves", "no-head-is-needed", "a-layer-off-improves"])
def test_what_a_model_at_chance_can_do_without_shows_nothing(claim_id):
    (made,) = PLANTED[claim_id](0.2, SURE)
    made.headline = [Number("score", 0.567, 0.509, 0.625, 277), Number("chance", 0.527)]
    row = one_row(claim_id, [made])
    assert row["verdict"] == "underpowered" and "not clearly above chance" in row["why"] and np.isnan(row["low"])


def test_of_pairs_of_heads_ablate_tells_whether_the_model_is_at_chance():
    (pairs,) = redundancy("interaction_difference")(-0.1, SURE)
    (off,) = ablate("head", best=True)(0.1, SURE)
    assert one_row("similar-heads-are-redundant", [pairs, off])["verdict"] == "holds"
    off.headline = [Number("score", 0.52, 0.49, 0.55, 277), Number("chance", 0.5)]
    assert "chance" in one_row("similar-heads-are-redundant", [pairs, off])["why"]
    off.subject["task"] = "another"
    assert "isn't stored" in one_row("similar-heads-are-redundant", [pairs, off])["why"]


@pytest.mark.parametrize(("side", "verdict"), [(">", "underpowered"), ("<", "underpowered"), ("<=", "holds")])
def test_what_changes_in_no_text_is_not_said_to_fail(side, verdict):
    """Three texts, none of which changes: a bootstrap's interval is a point, and says nothing of a gain."""
    assert Bound(side, 0.0).verdict(Estimate(0.0, 0.0, 0.0)) == verdict


def test_nothing_can_be_lost_where_nothing_was_learned():
    for claim_id, arm in (("top-layer-costs-nothing", "whole"), ("m-good-reaches-full", "full")):
        (made,) = PLANTED[claim_id](0.0, SURE)
        texts = 5000  # as many as a margin of a tenth of a point needs
        made.tables["arms"]["n"] = texts
        made.headline = [Number("score", 0.53, 0.51, 0.55, texts, of={"arm": arm}), Number("chance", 0.52)]
        assert one_row(claim_id, [made])["verdict"] == "underpowered"
        made.headline[1] = Number("chance", 0.5)
        assert one_row(claim_id, [made])["verdict"] == "holds"


def test_the_most_attended_kind_of_word_is_chosen_and_paid_for():
    """[SEP] as much as each of three kinds; one looks larger by its error."""
    (made,) = attention({}, {"sep": 0.30, "noun": 0.30, "verb": 0.30, "pronoun": 0.305}, 0.008)
    alone = Estimate(0.30, 0.296, 0.304) - Estimate(0.305, 0.301, 0.309)
    row = one_row("sep-above-features", [made])
    assert row["effect"] == pytest.approx(-0.005) and row["verdict"] == "underpowered"
    assert row["low"] < alone.low and row["over"] == "texts, corrected for kinds of words"


# Like with like


@pytest.mark.parametrize(("seps", "value", "verdict"), [(1, 0.05, "holds"), (2, 0.05, "holds"), (2, -0.05, "fails")])
def test_one_cls_is_set_against_one_sep(seps, value, verdict):
    """Of a pair, both [SEP] together, or the larger of the two, draw more than the one [CLS]."""
    row = one_row("cls-in-first-layers", first_tokens(value, 0.02, seps))
    assert row["verdict"] == verdict and row["effect"] == pytest.approx(value)
    assert (row["low"], row["high"]) == pytest.approx((value - 0.02, value + 0.02))
    assert row["note"] == f"{seps} [SEP] a text"


def test_texts_with_one_and_with_two_seps_have_no_interval_for_one():
    (made,) = first_tokens(0.05, 0.02, seps=2)
    table = made.tables["special"]
    table.loc[(table["token"] == "sep") & (table["head"] == 1), "each"] = 0.2
    row = one_row("cls-in-first-layers", [made])
    assert row["verdict"] == "underpowered" and "different numbers of [SEP]" in row["why"]
    assert row["effect"] == pytest.approx(0.35 - 0.25)


def test_a_pretrained_model_is_judged_as_it_is_and_a_fine_tuned_one_as_one_training():
    found = {row["model"]: row for row in rows("less-than-half-heterogeneous",
                                               patterns((0.3, SURE), (0.6, SURE), "heterogeneous"))}  # fmt: skip
    assert found[BASE]["verdict"] == "holds" and found[BASE]["over"] == "texts and classifiers"
    assert found[TUNED]["verdict"] == "fails_this_training"
    assert found[TUNED]["over"] == "texts and classifiers, of one training"
    assert found[TUNED]["runs"] == 1 and pd.isna(found[BASE]["runs"])


# Time


def test_a_speed_that_was_not_timed_often_enough_has_no_verdict():
    (made,) = truncate(1.2, SURE)
    assert one_row("without-top-layer-faster", [made])["verdict"] == "holds"
    made.tables["latency"]["rounds"] = 3
    row = one_row("without-top-layer-faster", [made])
    assert row["verdict"] == "underpowered" and row["effect"] == pytest.approx(1.2)
    assert row["why"] == "3 rounds of timing; at least 6 are needed"
