"""Claims about layers: what counts as evidence, of results made by hand; which model came of which, and by what."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.study.claims.records.claim import Evidence
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


# Geometry


@pytest.mark.parametrize("model", [RANDOM, replace(TUNED, origin=replace(TUNED.origin, by="contrastive"))])
def test_the_paper_speaks_of_pretrained_models(model):
    planted = ("baseline", lambda value: [0.1, 0.9, 0.1 + value])
    assert untested("cone-narrows", space(*planted, model=model)(0.3, SURE))
    for known in (POCKET, TUNED):
        found, verdict = one("cone-narrows", space(*planted, model=known)(0.3, SURE))
        assert verdict == "holds" and found.effect.value == pytest.approx(0.3) and found.model == known
