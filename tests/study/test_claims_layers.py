"""Claims about layers: what counts as evidence, of results made by hand; which model came of which, and by what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from bertscope.core import null_panel
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.study.claims.records.claim import Evidence
from bertscope.study.claims.records.evidence import layer_third
from bertscope.study.claims.records.grafted import top_third
from judging import BY_ID, rows
from planted_layers import (
    JUDGE,
    PARSER,
    POCKET,
    RANDOM,
    READER,
    TUNED,
    depths,
    elsewhere,
    expected,
    grafted,
    probed,
    random_like,
    similarity,
    structure,
    tuned_on,
)
from planted_layers import geometry as space
from planted_results import SURE, ends

OTHER = ModelRecord("minilm-id", "minilm")


def read(claim_id: str, results: list[Result]) -> list[Evidence]:
    claim = BY_ID[claim_id]
    return [
        found for one in results for found in (claim.read(one, results) if claim.compares else claim.read(one))
    ]  # fmt: skip


def one(claim_id: str, results: list[Result]) -> tuple[Evidence, str]:
    """What is read, and the verdict."""
    (found,), (row,) = read(claim_id, results), rows(claim_id, results)
    return found, row["verdict"].removesuffix("_this_training")


def untested(claim_id: str, results: list[Result]) -> bool:
    """Whether nothing in these bears on the claim."""
    return [row["verdict"] for row in rows(claim_id, results)] == ["not_tested"]


# What was taught, and what came of what


@pytest.mark.parametrize("after", [READER, JUDGE])
def test_a_parser_is_known_whatever_its_data_is_called(after):
    results = [similarity(after, depths(0.2), SURE), similarity(PARSER, depths(0.0), SURE)]
    found, verdict = one("parsing-moves-deeper", results)
    assert verdict == "holds" and found.effect.value == pytest.approx(0.2) and found.runs == 1 and found.n == 900
    assert found.note == "minus pocket tuned on trees" and found.model == after
    renamed = replace(PARSER, name="my-run")
    assert one("parsing-moves-deeper", [results[0], similarity(renamed, depths(0.0), SURE)])[1] == "holds"
    ratings = similarity(tuned_on("UD_treebank", "regression"), depths(0.0), SURE)
    assert not read("parsing-moves-deeper", [results[0], ratings])


def test_inference_in_two_classes_is_not_what_the_paper_trained_on():
    two = similarity(tuned_on("rte", labels=("entailment", "not_entailment")), depths(0.2), SURE)
    assert not read("parsing-moves-deeper", [two, similarity(PARSER, depths(0.0), SURE)])


def test_a_parser_is_compared_with_its_own_base_only():
    judge, parser = similarity(JUDGE, depths(0.2), SURE), similarity(PARSER, depths(0.0), SURE)
    assert read("parsing-moves-deeper", [judge, parser]) and not read("parsing-moves-deeper", [judge])
    of_another = similarity(PARSER, depths(0.0), SURE, before=OTHER)
    assert not read("parsing-moves-deeper", [judge, of_another])
    namesake = similarity(PARSER, depths(0.0), SURE, before=replace(OTHER, name=POCKET.name))
    assert not read("parsing-moves-deeper", [judge, namesake])


def test_a_parser_says_nothing_about_what_is_kept_or_comes_from_pretraining():
    assert untested("trees-are-kept", structure((POCKET, PARSER), (0.6, 0.8), SURE))
    assert untested("trees-come-from-training", structure((PARSER, random_like(PARSER)), (0.8, 0.4), SURE))
    assert untested("knowledge-is-kept", probed(0.0, SURE, PARSER))
    assert not untested("knowledge-is-kept", probed(0.0, SURE))


# Similarity


def test_every_checkpoint_and_the_tasks_own_texts():
    results = [similarity(TUNED, depths(0.1), SURE)]
    elsewhere_too = results[0].tables["layers"].assign(corpus="another", value=0.0)
    results[0].tables["layers"] = pd.concat([results[0].tables["layers"], elsewhere_too])
    found, verdict = one("top-layers-move-most", results)
    assert found.effect.value == pytest.approx(0.1) and verdict == "holds" and found.model == TUNED
    assert found.task == "toy" and found.runs == 1 and found.n == 900
    assert one("elsewhere-moves-less", elsewhere(-0.1, SURE))[1] == "holds"
    assert not read("elsewhere-moves-less", results)


# Trees and probes


def test_trees_are_paired_by_sentence():
    (made,) = structure((POCKET, TUNED), (0.60, 0.61), 0.1)
    found, verdict = one("trees-are-kept", [made])
    assert verdict == "underpowered" and found.n == 60 and found.runs == 1
    rows = ({"checkpoint": TUNED.id, "metric": metric, **ends(value, 0.005)}
            for metric, value in (("nspr", -0.9), ("uuas", 0.01)))  # fmt: skip
    made.tables["changes"] = pd.DataFrame(rows)
    found, verdict = one("trees-are-kept", [made])
    assert verdict == "holds" and found.note == "paired by sentence" and found.model == TUNED
    assert (found.effect.low, found.effect.high) == pytest.approx((0.005, 0.015))


@pytest.mark.parametrize(("chain", "effect"), [(0.2, 0.2), (0.5, 0.1), (0.7, -0.1)])
def test_trees_must_beat_the_better_of_random_weights_and_a_chain(chain, effect):
    found, verdict = one("trees-come-from-training", structure((POCKET, RANDOM), (0.6, 0.4), SURE, chain))
    assert found.effect.value == pytest.approx(effect) and verdict == ("holds" if effect > 0 else "fails")
    assert found.note == f"random weights 0.400, a chain {chain:.3f}" and found.n == 60
    assert found.model == POCKET and found.runs is None


def test_which_word_it_is_and_how_long_the_text_is_no_linguistic_knowledge():
    found, _ = one("knowledge-is-kept", probed(-0.1, SURE))
    assert found.effect.value == pytest.approx(-0.1) and found.note == "pos and relation" and found.n == 300
    assert found.model == TUNED and found.runs == 1


def test_the_depth_of_what_is_low_is_of_the_models_layers():
    found, verdict = one("low-level-below", expected("pos", "relation")(0.4, SURE))
    assert found.effect.value == pytest.approx(0.4) and verdict == "holds" and found.model == POCKET


# Grafts


def test_of_a_model_without_layers_the_ledger_says_nothing():
    """`finetune --without` can leave the embeddings alone, and geometry and probe are asked of those too."""
    (flat,) = space("baseline", lambda value: [value])(0.3, SURE)
    (bare,) = expected("pos")(0.3, SURE)
    bare.tables["probes"] = bare.tables["probes"].query("layer == 0")
    assert untested("cone-narrows", [flat]) and untested("low-level-below", [bare])


def test_where_the_last_layer_tells_no_words_apart_the_ledger_goes_on():
    """Its RSA isn't known then, and no headline number has it."""
    (found,) = elsewhere(-0.1, SURE)
    found.headline = []
    evidence, verdict = one("elsewhere-moves-less", [found])
    assert (evidence.n, verdict) == (900, "holds")


def trained(seed: int) -> ModelRecord:
    """One of several trainings that differ by their seed alone."""
    return replace(TUNED, id=f"tuned-{seed}", origin=replace(TUNED.origin, seed=seed))


def over_trainings(shares: list[float], reach: float = SURE) -> list[Result]:
    return [made for seed, share in enumerate(shares) for made in grafted(5, tuned=trained(seed))(share, reach)]


def test_five_trainings_are_one_number_with_an_interval_over_them():
    """By hand: their mean is 0.6, their variance (2 * 0.1 ** 2 + 2 * 0.05 ** 2) / 4 = 0.0790569 ** 2."""
    shares = [0.5, 0.55, 0.6, 0.65, 0.7]
    (row,) = rows("last-two-layers-carry", over_trainings(shares))
    reach = 2.7764451 * 0.0790569 / 5**0.5  # Student's t with 4 degrees of freedom, the sample's deviation
    assert row["verdict"] == "holds" and row["runs"] == 5 and row["over"] == "seeds and texts" and row["others"] == 0
    assert (row["effect"], row["low"], row["high"]) == pytest.approx((0.6, 0.6 - reach, 0.6 + reach), abs=1e-6)
    assert row["note"] == "2 of 6 layers" and row["n"] == 400
    # What all owe to the same texts is in it: by hand, with an error of 0.03 over texts, of Satterthwaite's freedom.
    (row,) = rows("last-two-layers-carry", over_trainings(shares, 0.03 * 1.959964))
    of_runs, of_texts = 0.0790569**2 / 5, 0.03**2
    freedom = (of_runs + of_texts) ** 2 / (of_runs**2 / 4 + of_texts**2 / 399)
    wider = t.ppf(0.975, freedom) * (of_runs + of_texts) ** 0.5
    assert (row["low"], row["high"]) == pytest.approx((0.6 - wider, 0.6 + wider), abs=1e-5)
    # However sure each is of itself, trainings that differ much decide nothing.
    (row,) = rows("last-two-layers-carry", over_trainings([0.1, 0.9, 0.95, 0.9, 0.6]))
    assert row["verdict"] == "underpowered" and row["why"] == "the interval reaches to both sides"


def test_fewer_trainings_speak_each_for_itself():
    (row,) = rows("last-two-layers-carry", over_trainings([0.6, 0.7, 0.3, 0.8]))
    assert row["verdict"].endswith("_this_training") and row["others"] == 3 and row["over"].startswith("texts")
    again = [*over_trainings([0.6, 0.7, 0.3, 0.8]), *over_trainings([0.6])]
    assert rows("last-two-layers-carry", again)[0]["runs"] == 1, "the same model asked again is no other training"
    elsewhere_tuned = replace(trained(4), origin=replace(trained(4).origin, recipe={"epochs": 9}))
    found = rows("last-two-layers-carry", [*over_trainings([0.6] * 4), *grafted(5, tuned=elsewhere_tuned)(0.6, SURE)])
    assert [row["runs"] for row in found] == [1, 1], "another recipe is another kind of model"


def test_no_training_is_left_out_of_the_mean_for_what_it_lacks():
    made = over_trainings([0.6, 0.6, 0.6, 0.6, float("nan")])
    (row,) = rows("last-two-layers-carry", made)
    assert row["verdict"] == "underpowered" and row["effect"] == pytest.approx(0.6)
    assert row["why"] == "in 1 of 5 trainings base and tuned can't be told apart"
    assert untested("last-two-layers-carry", over_trainings([float("nan")]))


def test_one_failed_panel_of_five_is_enough_to_test_nothing():
    made = over_trainings([0.6, 0.62, 0.61, 0.6, 0.6])
    made[3].tables["null"] = null_panel.panel({"layer": np.ones(50)}, ["kind"])
    (row,) = rows("last-two-layers-carry", made)
    assert row["verdict"] == "not_tested" and row["null"] == "failed" and "null panel: FAILS" in row["why"]


def test_of_a_model_at_chance_nothing_is_said_and_of_two_layers_neither():
    (made,) = grafted(5)(0.8, SURE)
    made.headline = [Number("score", 0.52, 0.48, 0.56, 400), Number("chance", 0.5)]
    assert "not clearly above chance" in rows("last-two-layers-carry", [made])[0]["why"]
    assert untested("last-two-layers-carry", grafted(1, 2)(0.8, SURE))
    assert not untested("top-layers-carry", grafted(2, 2)(0.8, SURE))


def test_the_top_third_is_that_of_the_other_claims():
    for layers in (3, 4, 6, 12, 24):
        thirds = layer_third(pd.Series(range(1, layers + 1)), layers)
        assert top_third(layers) == 1 + int((thirds < 3).sum())


# Geometry


@pytest.mark.parametrize("model", [RANDOM, replace(TUNED, origin=replace(TUNED.origin, by="contrastive"))])
def test_the_paper_speaks_of_pretrained_models(model):
    planted = ("baseline", lambda value: [0.1, 0.9, 0.1 + value])
    assert untested("cone-narrows", space(*planted, model=model)(0.3, SURE))
    for known in (POCKET, TUNED):
        found, verdict = one("cone-narrows", space(*planted, model=known)(0.3, SURE))
        assert verdict == "holds" and found.effect.value == pytest.approx(0.3) and found.model == known
