"""What stored results about attention say of the claims: of which model, by its record and never by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bertscope.core.model_record import Origin
from bertscope.core.result import Result
from bertscope.study.claims.records.claim import Evidence
from judging import BY_ID, one_row
from planted_attention import (
    MODELS,
    first_tokens,
    gains,
    last_share,
    on_special,
    patterns,
    ranks,
    redundancy,
    related,
)
from planted_results import BASE, SURE, TUNED

OF_TUNING = {
    "vertical-grows": lambda: patterns((0.3, SURE), (0.4, SURE), "vertical"),
    "last-two-layers-most": lambda: ranks(1.0, SURE),
    "last-two-layers-more": lambda: last_share(0.4, SURE),
    "no-feature-gains": lambda: gains(0.0, SURE),
}
"""Results of a model before and after, each of which bears out its claim."""


def read(claim_id: str, result: Result) -> list[Evidence]:
    return list(BY_ID[claim_id].read(result))


def with_tuned(result: Result, **changed: object) -> Result:
    """The same, where something else is known of the model after."""
    return replace(result, models=result.models | {TUNED: replace(MODELS[TUNED], **changed)})


@pytest.mark.parametrize("claim_id", OF_TUNING)
def test_what_fine_tuning_did_is_said_of_what_came_of_it(claim_id):
    (result,) = OF_TUNING[claim_id]()
    (found,) = read(claim_id, result)
    assert found.model == MODELS[TUNED] and found.task == "toy" and found.runs == 1 and found.n == 400
    assert BY_ID[claim_id].asks.verdict(found.effect) == "holds"


@pytest.mark.parametrize("claim_id", OF_TUNING)
def test_a_models_name_changes_nothing(claim_id):
    (result,) = OF_TUNING[claim_id]()
    (before,), (after,) = read(claim_id, result), read(claim_id, with_tuned(result, name="my-run"))
    assert after.model.name == "my-run" and replace(after, model=before.model) == before


@pytest.mark.parametrize("claim_id", [*OF_TUNING, "a-third-on-special", "less-than-half-heterogeneous"])
def test_weighted_attention_is_another_question(claim_id):
    shares = patterns((0.3, SURE), (0.4, SURE), "heterogeneous")
    planted = OF_TUNING.get(claim_id, lambda: on_special(0.5, SURE) if "special" in claim_id else shares)
    (result,) = planted()
    assert one_row(claim_id, [result])["verdict"] != "not_tested"
    result.subject["attention"] = "norm-weighted"
    assert one_row(claim_id, [result])["verdict"] == "not_tested"


def test_shares_are_said_of_each_model_that_the_paper_speaks_of():
    (result,) = patterns((0.3, SURE), (0.6, SURE), "heterogeneous")
    base, tuned = read("less-than-half-heterogeneous", result)
    assert (base.model, base.effect.value, base.runs) == (MODELS[BASE], 0.3, None)
    assert (tuned.model, tuned.effect.value, tuned.runs) == (MODELS[TUNED], 0.6, 1)
    drawn = replace(MODELS[TUNED], origin=Origin("random", MODELS[BASE], init="random"))
    (only,) = read("less-than-half-heterogeneous", replace(result, models=result.models | {TUNED: drawn}))
    assert only.model == MODELS[BASE]


def test_nothing_is_said_of_layers_where_nothing_changed():
    (result,) = last_share(0.4, SURE)
    result.headline = [number for number in result.headline if number.key == "cosine"]
    assert read("last-two-layers-more", result) == []


@pytest.mark.parametrize(
    ("claim_id", "planted"),
    [
        ("a-third-on-special", on_special), ("cls-in-first-layers", first_tokens), ("relation-heads-exist", related),
        ("similar-heads-are-redundant", redundancy("interaction_difference")),
        ("relation-heads-not-needed", redundancy("together_effect")),
    ],
)  # fmt: skip
def test_a_number_is_of_the_model_that_it_says(claim_id, planted):
    (result,) = planted(0.4, SURE)
    (found,) = read(claim_id, result)
    assert found.model == MODELS[BASE] and found.effect.value == pytest.approx(0.4) and found.runs is None
