"""What stored results about parts and smaller models say of the claims: read by keys, of the model they are about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.estimate import Estimate
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.study.claims.records import lottery, switched_off
from bertscope.study.claims.records.claim import Evidence
from judging import bound, one_row
from planted_parts import (
    ablate,
    agreeing,
    compared,
    gained,
    heads_left,
    retrained,
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
    "m-good-reaches-full": retrained("m", "good"),
    "s-good-comes-close": retrained("s", "good"),
    "s-random-as-good": compared("s", "good", "random"),
    "s-bad-is-trainable": retrained("s", "bad"),
    "m-random-worse": compared("m", "good", "random"),
    "m-bad-worse": compared("m", "good", "bad"),
    "m-bad-below-random": compared("m", "random", "bad"),
    "bad-gains-by-training": gained("bad"),
    "random-gains-by-training": gained("random"),
    "heads-can-go": heads_left,
    "weights-can-go": weights_left,
    "masks-are-unstable": agreeing("kappa"),
    "super-survivors-are-few": agreeing("kept_by_four"),
    "survivors-not-meaningful": shapes,
}
TEXTS = {*PLANTED} - {
    "masks-are-unstable", "super-survivors-are-few", "heads-can-go", "weights-can-go", "survivors-not-meaningful",
}  # fmt: skip
"""Those that count texts, and not parts."""


def read(claim_id: str, result: Result) -> list[Evidence]:
    return list(CLAIMS[claim_id].read(result))


@pytest.mark.parametrize("claim_id", PLANTED)
def test_what_is_read_is_about_the_model_and_the_trainings_that_the_result_is_of(claim_id):
    value = bound(claim_id) + 0.05
    (result,) = PLANTED[claim_id](value, SURE)
    (found,) = read(claim_id, result)
    assert found.model == ModelRecord(BASE, BASE) and found.task == TASK and not found.why
    assert found.runs == (None if result.question == "ablate" else 5)
    assert claim_id not in TEXTS or found.n == 400
    assert found.effect.value == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("planted", [retrained("m", "good", runs=1), retrained("m", "good", runs=4)])
def test_few_trainings_show_nothing_about_training(planted):
    row = one_row("m-good-reaches-full", planted(0.5, SURE))
    assert np.isnan(row["low"]) and "needs 5 seeds" in row["why"]


def test_a_method_that_was_not_asked_for_says_nothing():
    (result,) = retrained("s", "good")(0.1, SURE)
    assert read("s-good-comes-close", result) and not read("m-good-reaches-full", result)
    assert not read("heads-can-go", result)


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
    (result,) = retrained("m", "good")(0.1, SURE)
    result.headline = [Number("chance", 0.5)]
    with pytest.raises(KeyError, match="the full model's score"):
        read("m-good-reaches-full", result)


@pytest.mark.parametrize("claim_id", ["m-good-reaches-full", "no-head-is-needed"])
def test_whether_the_whole_model_is_at_chance_is_told_by_keys(claim_id):
    (result,) = PLANTED[claim_id](0.0, SURE)
    of = {"arm": "full"} if result.question == "lottery" else {}
    others = Number("score", 0.4, 0.3, 0.45, 500, of={"arm": "bad", "stage": "retrained", "method": "m"})
    for chance, nothing in ((0.52, True), (0.5, False)):
        whole = Number("score", 0.6, 0.51, 0.69, 9000, of=of)
        result.headline = [*([others] if of else []), whole, Number("chance", chance)]
        row = one_row(claim_id, [result])
        assert ("not clearly above chance" in row["why"]) is nothing
        assert row["at"] == pytest.approx(-0.1 * (0.6 - chance))


def test_agreement_is_that_of_the_heads_alone_and_over_seeds():
    (found,) = read("masks-are-unstable", agreeing("kappa")(0.3, 0.05)[0])
    assert (found.n, found.over, found.effect) == (144, "seeds", Estimate(0.3, 0.25, 0.35))
    few = one_row("masks-are-unstable", agreeing("kappa", runs=4)(0.3, 0.05))
    assert few["verdict"] == "underpowered" and "needs 5 seeds" in few["why"]
