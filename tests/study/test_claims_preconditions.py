"""What is no evidence: wrong pairs of models, corpora that nobody knows, too little power, a failed null panel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.core import null_panel
from bertscope.core.estimate import Estimate, extreme
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.study.claims.records import CLAIMS
from bertscope.study.claims.records.claim import HOLDS, Evidence
from bertscope.study.claims.records.preconditions import BeyondRandomWeights, Power, Studied, TunedFromFirst
from few_flips import lost_in, passing
from judging import BY_ID, bound, one_row, rows
from planted_attention import gains
from planted_claims import PLANTED
from planted_layers import POCKET, RANDOM, elsewhere
from planted_layers import geometry as space
from planted_parts import ablate
from planted_results import SURE

OF_TUNING = [claim.id for claim in CLAIMS if TunedFromFirst() in claim.needs]
DECIDED = ("holds", "fails")
DATA = DataRecord("toy", "toy", "classification", ("no", "yes"))
OTHER = ModelRecord("minilm", "minilm", source="sentence-transformers/all-MiniLM-L6-v2")


def wrong(base: ModelRecord) -> dict[str, Origin | None]:
    """How a model can have been made that isn't the base, fine-tuned."""
    return {
        "random weights": Origin("random", base, seed=0, init="random"),
        "random weights, tuned": Origin("finetune", base, DATA, seed=0, init="random"),
        "of another model": Origin("finetune", OTHER, DATA, seed=0),
        "of another model of the same name": Origin("finetune", replace(OTHER, name=base.name), DATA, seed=0),
        "unknown": None,
        "of an unknown base": Origin("finetune", ModelRecord("", "lost"), DATA, seed=0),
        "cut": Origin("cut", base, removed="head:1.1"),
        "a subnetwork": Origin("ticket", base, DATA, seed=0),
        "contrastive": Origin("contrastive", base, DataRecord("texts", "texts", "texts"), seed=0),
        "frozen below": Origin("finetune", base, DATA, seed=0, frozen="embeddings,1-8"),
    }


def made_otherwise(results: list[Result], origin: Origin | None) -> list[Result]:
    """The same numbers, of a first model and one that was made so."""
    changed = []
    for result in results:
        first, *after = result.models.values()
        models = {first.id: first} | {one.id: replace(one, origin=origin, task_head="none") for one in after}
        changed.append(replace(result, models=models))
    return changed


def test_every_claim_about_what_fine_tuning_did_asks_what_was_fine_tuned():
    speaking = {claim.id for claim in CLAIMS if "Fine-tuning " in claim.says and claim.question not in TRAINED}
    about_change = {
        claim.id for claim in CLAIMS if "after minus before" in claim.effect and claim.question not in TRAINED
    }
    assert speaking | about_change | {"parsing-moves-deeper", "last-two-layers-more", "most-heads-unchanged"} == set(
        OF_TUNING
    )


TRAINED = ("scratch", "freeze", "truncate", "bias", "contrast", "lottery")
"""Questions that train by themselves: what was made of what is theirs to know."""


@pytest.mark.parametrize("how", wrong(POCKET))
@pytest.mark.parametrize("claim_id", OF_TUNING)
def test_no_verdict_about_fine_tuning_on_models_that_are_not_fine_tuned_from_the_first(claim_id, how):
    planted = PLANTED[claim_id](bound(claim_id) + 0.05, SURE)
    first = next(iter(planted[0].models.values()))
    assert any(row["verdict"].startswith(DECIDED) for row in rows(claim_id, planted)), "as it is, it decides"
    found = rows(claim_id, made_otherwise(planted, wrong(first)[how]))
    assert not [row for row in found if row["verdict"].startswith(DECIDED)]
    assert all(row["why"] for row in found) and all(np.isnan(row["low"]) for row in found)


@pytest.mark.parametrize("claim_id", [claim.id for claim in CLAIMS if Studied() in claim.needs])
def test_no_verdict_about_pretrained_models_on_random_weights(claim_id):
    planted = PLANTED[claim_id](bound(claim_id) + 0.05, SURE)
    drawn = [
        replace(one, models={key: replace(model, origin=Origin("random", OTHER, init="random"))
                             for key, model in one.models.items()}) for one in planted
    ]  # fmt: skip
    assert [row["verdict"] for row in rows(claim_id, drawn)] == ["not_tested"]


def test_what_is_said_to_be_the_base_by_hand_is_evidence():
    for claim_id in OF_TUNING:
        planted = PLANTED[claim_id](bound(claim_id) + 0.05, SURE)
        first = next(iter(planted[0].models.values()))
        if claim_id == "parsing-moves-deeper":  # which also asks what was taught
            continue
        found = rows(claim_id, made_otherwise(planted, Origin(base=first)))
        assert [row for row in found if row["verdict"].startswith(DECIDED)], claim_id


# Which corpus is the task's


def test_exchanged_corpora_give_the_same_verdict_and_unknown_ones_none():
    claim = "elsewhere-moves-less"
    here, there = (one_row(claim, elsewhere(-0.1, 0.01, own)) for own in ("here", "there"))
    for row in (here, there):
        assert row["verdict"] == "holds_this_training"
        assert (row["effect"], row["low"], row["high"]) == pytest.approx((-0.1, -0.11, -0.09))
    row = one_row(claim, elsewhere(-0.1, 0.01, ""))
    assert row["verdict"] == "underpowered" and "isn't recorded" in row["why"]


def similarity_step(on: str, against: str, learned: str) -> Step:
    base, task = Root("model", "pocket", "1"), Root("task", learned, learned)
    tuned = Step("finetune", 2, {}, {"base": base, "task": task})
    roots = {"examples": Root("examples", on, on), "against": Root("examples", against, against)}
    states = {
        f"{kind}.{place}": Step("states", 2, {}, {"model": model, "examples": roots[corpus]})
        for kind, corpus in (("states", "examples"), ("against_states", "against"))
        for place, model in enumerate((base, tuned))
    }
    return Step("similarity", 1, {}, states | roots)


@pytest.mark.parametrize(
    ("on", "against", "verdict"),
    [("mine", "other", "holds"), ("other", "mine", "holds"), ("other", "third", "under"), ("mine", "mine", "under")],
)
def test_a_result_of_before_tells_the_tasks_corpus_by_its_step(on, against, verdict):
    (made,) = elsewhere(-0.1, 0.01, "there" if against == "mine" else "here")
    made.tables["corpora"] = made.tables["corpora"].drop(columns="own")
    made.provenance["step"] = similarity_step(on, against, "mine").to_json()
    assert one_row("elsewhere-moves-less", [made])["verdict"].startswith(verdict)


# Power


def test_what_few_texts_cannot_show_does_not_hold():
    """No answer of 20 changes without any head: the bootstrap's interval is a point, and tells of no small loss."""
    (made,) = ablate("head", best=False)(0.0, 0.0)
    made.tables["effects"] = pd.DataFrame({"kind": ["head"] * 144, "effect": 0.0, "low": 0.0, "high": 0.0})
    made.tables["effects"]["certain"] = False
    for n, verdict in (
        (20, "underpowered"),
        (216, "underpowered"),
        (217, "holds"),
    ):  # log(144 / 0.025) / 0.04 = 216.5
        made.headline = [Number("score", 0.9, 0.9, 0.9, n), Number("chance", 0.5)]
        assert one_row("no-head-is-needed", [made])["verdict"] == verdict, n
    assert Power() in BY_ID["relation-heads-not-needed"].needs


def test_so_many_texts_do_show_a_loss_as_large_as_the_margin():
    """Of 144 heads one costs the margin: how often is no answer seen to change in as many texts as are asked for?"""
    n, margin = 217, 0.04
    assert 144 * (1 - margin) ** n < 0.025 < 144 * (1 - margin) ** (n - 10)


@pytest.mark.parametrize("n", [100, 120, 150, 310, 600])
@pytest.mark.parametrize("parts", [1, 8])
def test_a_loss_as_large_as_the_margin_rarely_holds_where_few_answers_change(n, parts):
    """The bootstrap's interval of few losses, by which the claim would hold, is too short. Of several parts
    the worst is read off, and any may be the one that costs the margin."""
    claim, skill = BY_ID["relation-heads-not-needed"], Estimate(0.4, 0.4, 0.4)

    def holds(lost: int) -> bool:
        effect = extreme([lost_in(n, lost)] * parts, min)
        evidence = Evidence(effect, None, "", n, "texts", skill=skill, parts=parts)
        return claim.verdict(evidence) == HOLDS and Power().unmet(claim, evidence, made, []) is None

    (made,) = ablate("head", best=False)(0.0, 0.0)
    assert passing(n, 0.04, holds) <= 0.025 / parts
    assert n < 300 or passing(n, 0.0004, holds) > 0.975, "of enough texts a small loss does hold"


@pytest.mark.parametrize("claim", ["top-layer-costs-nothing", "lower-layers-can-freeze", "m-good-reaches-full"])
def test_trainings_that_lose_no_text_of_few_do_not_hold(claim):
    """Where all answer alike, the interval over trainings is a point too."""
    (made,) = PLANTED[claim](0.0, 0.0)
    for texts, verdict in ((90, "underpowered"), (5000, "holds")):
        made.tables["arms"]["n"] = texts
        made.headline = [replace(number, n=texts) for number in made.headline]
        row = one_row(claim, [made])
        assert row["verdict"] == verdict and ("so few" in row["why"]) == (texts == 90), row["why"]


@pytest.mark.parametrize(("reference", "beyond"), [(1.0, False), (0.99, True), (None, True)])
def test_as_much_as_random_weights_is_not_beyond_them(reference, beyond):
    """Of texts of two words any head has half of its attention on special tokens: all heads do, whatever they are."""
    claim = BY_ID["a-third-on-special"]
    other = None if reference is None else Estimate(reference, reference, reference)
    found = Evidence(Estimate(1.0, 1.0, 1.0), None, "", 400, "texts", reference=other)
    (made,) = ablate("head", best=False)(0.0, 0.0)
    assert (BeyondRandomWeights().unmet(claim, found, made, []) is None) == beyond


def test_the_possible_effect_is_told_on_the_claims_side():
    claim, skill = BY_ID["s-random-as-good"], Estimate(0.4, 0.4, 0.4)
    few = Evidence(Estimate(-0.01, -0.01, -0.01), None, "", 50, "seeds and texts", skill=skill)
    unmet = Power().unmet(claim, few, ablate("head", best=False)(0.0, 0.0)[0], [])
    assert unmet is not None and unmet.why == "50 texts are so few that an effect of 0.0738 is possible"


def test_no_kind_of_word_gains_is_said_only_where_kinds_were_looked_at():
    (made,) = gains(0.0, SURE)
    assert one_row("no-feature-gains", [made])["verdict"] == "holds_this_training"
    table = made.tables["change_of_layers"]
    made.tables["change_of_layers"] = table[table["feature"] != "pronoun"]
    assert one_row("no-feature-gains", [made])["why"] == "2 kinds of words; at least 3 are needed"


# Random weights beside it


def test_what_random_weights_show_too_was_not_made_by_training():
    planted = ("baseline", lambda value: [0.1, 0.9, 0.1 + value])
    (made,), (drawn,) = (
        space(*planted, model=model)(value, 0.02) for model, value in ((POCKET, 0.3), (RANDOM, 0.29))
    )
    assert one_row("cone-narrows", [made])["verdict"] == "holds"
    row = one_row("cone-narrows", [made, drawn])
    assert row["verdict"] == "underpowered" and row["reference"] == pytest.approx(0.29)
    assert row["why"] == "the effect isn't clearly beyond that of random weights: 0.29"
    (less,) = space(*planted, model=RANDOM)(0.1, 0.02)
    assert one_row("cone-narrows", [made, less])["verdict"] == "holds"
    (falling,) = space(*planted)(-0.3, 0.02)
    assert one_row("cone-narrows", [falling, drawn])["verdict"] == "fails", "only what would hold must exceed it"


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.35, "underpowered"), (0.28, "holds")])
def test_the_best_head_beyond_position_must_beat_that_of_random_weights(accuracy, verdict):
    """The best head finds 0.4 of the words, a fixed offset 0.3."""
    (made,) = PLANTED["relation-heads-exist"](0.1, 0.06)
    made.tables["best"] = made.tables["best"].assign(offset_accuracy=0.3, random_weights=accuracy)
    row = one_row("relation-heads-exist", [made])
    assert row["verdict"] == verdict and row["reference"] == pytest.approx(accuracy - 0.3)


# The null panel


@pytest.mark.parametrize(
    ("found", "verdict", "null"),
    [(40, "not_tested", "failed"), (10, "holds", "passed"), (None, "holds", "not_asked")],
)
def test_a_claim_whose_null_panel_fails_is_not_tested(found, verdict, null):
    (made,) = PLANTED["relation-heads-exist"](0.1, SURE)
    if found is not None:
        made.tables["null"] = null_panel.panel({"obj": np.arange(200) < found}, ("relation",))
    row = one_row("relation-heads-exist", [made])
    assert (row["verdict"], row["null"]) == (verdict, null) and row["effect"] == pytest.approx(0.1)
    assert ("null panel: FAILS" in row["why"]) is (null == "failed") and np.isnan(row["low"]) == (null == "failed")


def test_too_few_draws_decide_nothing_of_the_panel():
    (made,) = PLANTED["relation-heads-exist"](0.1, SURE)
    made.tables["null"] = null_panel.panel({"obj": np.ones(10)}, ("relation",))
    assert one_row("relation-heads-exist", [made])["null"] == "undecided"
