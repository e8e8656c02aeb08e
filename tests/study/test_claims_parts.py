"""What stored results about parts and smaller models say of the claims: read by keys, of the model they are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bertscope.core.estimate import Estimate
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.study.claims.records import lottery, switched_off
from bertscope.study.claims.records.claim import Bound, Evidence
from bertscope.study.claims.records.evidence import at_chance
from planted_parts import (
    ablate,
    agreeing,
    compared,
    gained,
    good,
    heads_left,
    shapes,
    weights_left,
)
from planted_results import BASE, SURE, TASK

CLAIMS = {claim.id: claim for claim in (*lottery.CLAIMS, *switched_off.CLAIMS)}
PLANTED = {
    "a-head-off-improves": ablate("head", best=True),
    "no-head-is-needed": ablate("head", best=False),
    "a-layer-off-improves": ablate("heads", best=True),
    "no-layer-is-needed": ablate("heads", best=False),
    "m-good-reaches-full": good("m"),
    "s-good-comes-close": good("s"),
    "s-random-as-good": compared("s", "good", "random"),
    "s-bad-as-good": compared("s", "good", "bad"),
    "m-random-worse": compared("m", "good", "random"),
    "m-bad-worse": compared("m", "good", "bad"),
    "m-bad-below-random": compared("m", "random", "bad"),
    "bad-gains-by-training": gained,
    "heads-can-go": heads_left,
    "weights-can-go": weights_left,
    "masks-are-unstable": agreeing("kappa"),
    "super-survivors-are-few": agreeing("kept_again"),
}
TEXTS = {*PLANTED} - {"masks-are-unstable", "super-survivors-are-few", "heads-can-go", "weights-can-go"}
"""Those that count texts, and not parts."""


def read(claim_id: str, result: Result) -> list[Evidence]:
    return list(CLAIMS[claim_id].read(result))


def bound(claim_id: str, found: Evidence) -> Bound:
    asks = CLAIMS[claim_id].asks
    return asks if found.at is None else Bound(asks.side, found.at)


@pytest.mark.parametrize("claim_id", PLANTED)
def test_a_claim_that_is_true_holds_and_one_that_is_false_fails(claim_id):
    at = {"s-good-comes-close": -0.04}.get(claim_id, CLAIMS[claim_id].asks.at)  # a tenth of 0.9 - 0.5
    below, above = at - 0.05, at + 0.05
    true, false = (above, below) if CLAIMS[claim_id].asks.side.startswith(">") else (below, above)
    for value, verdict in ((true, "holds"), (false, "fails")):
        (result,) = PLANTED[claim_id](value, SURE)
        (found,) = read(claim_id, result)
        assert (
            bound(claim_id, found).at == pytest.approx(at) and bound(claim_id, found).verdict(found.effect) == verdict
        )
        assert found.model == ModelRecord(BASE, BASE) and found.task == TASK and not found.why
        assert found.runs == (None if result.question == "ablate" else 5)
        assert claim_id not in TEXTS or found.n == 400
        assert found.effect.value == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("claim_id", sorted(PLANTED))
def test_a_wide_interval_decides_nothing(claim_id):
    at = {"s-good-comes-close": -0.04}.get(claim_id, CLAIMS[claim_id].asks.at)
    (found,) = read(claim_id, PLANTED[claim_id](at, 0.3)[0])
    assert found.effect.low < at < found.effect.high
    assert bound(claim_id, found).verdict(found.effect) == "underpowered"


@pytest.mark.parametrize("planted", [good("m", runs=1), good("m", runs=4)])
def test_few_trainings_show_nothing_about_training(planted):
    (found,) = read("m-good-reaches-full", planted(0.5, SURE)[0])
    assert not found.effect.sure and "needs 5 seeds" in found.why


def test_pooled_heads_give_a_number_but_no_interval():
    (found,) = read("survivors-not-meaningful", shapes(0.3, SURE)[0])
    assert found.effect.value == 0.3 and not found.effect.sure and "not independent" in found.why and found.n == 100


def test_a_method_that_was_not_asked_for_says_nothing():
    (result,) = good("s")(0.1, SURE)
    assert read("s-good-comes-close", result) and not read("m-good-reaches-full", result)
    assert not read("bad-gains-by-training", result) and not read("heads-can-go", result)


def test_heads_are_switched_off_as_the_paper_does_it_and_a_fine_tuned_model_is_one_training():
    (result,) = ablate("head", best=True)(0.1, SURE)
    result.subject["mode"] = "zero"
    assert not read("a-head-off-improves", result)
    result.subject["mode"] = "uniform"
    origin = Origin("finetune", ModelRecord(BASE, BASE), DataRecord("toy", TASK, "classification"), seed=0)
    tuned = ModelRecord("1", "my-run", origin, "classifier")
    (found,) = read("a-head-off-improves", replace(result, models={"1": tuned}))
    assert found.model == tuned and found.runs == 1 and found.over == "texts, corrected for 2 parts"


def test_a_lottery_without_the_full_models_score_says_what_it_lacks():
    (result,) = good("m")(0.1, SURE)
    result.headline = [Number("chance", 0.5)]
    with pytest.raises(KeyError, match="the full model's score"):
        read("m-good-reaches-full", result)


@pytest.mark.parametrize("claim_id", ["m-good-reaches-full", "no-head-is-needed"])
def test_whether_the_whole_model_is_at_chance_is_told_by_keys(claim_id):
    (result,) = PLANTED[claim_id](0.0, SURE)
    of = {"arm": "full"} if result.question == "lottery" else {}
    others = Number("score", 0.4, 0.3, 0.45, 500, of={"arm": "bad", "stage": "retrained", "method": "m"})
    for chance, nothing in ((0.52, True), (0.5, False)):
        whole = Number("score", 0.53, 0.51, 0.55, 500, of=of)
        result.headline = [*([others] if of else []), whole, Number("chance", chance)]
        assert at_chance(result, [result]) is nothing


def test_agreement_is_that_of_the_heads_alone_and_over_seeds():
    (found,) = read("masks-are-unstable", agreeing("kappa")(0.3, 0.05)[0])
    assert (found.n, found.over, found.effect) == (144, "seeds", Estimate(0.3, 0.25, 0.35))
    (few,) = read("masks-are-unstable", agreeing("kappa", runs=4)(0.3, 0.05)[0])
    assert not few.effect.sure and "needs 5 seeds" in few.why
