"""Masked words and sentence vectors in which one head does the task: `ablate`, `importance` and `prune` find it."""

from __future__ import annotations

import pandas as pd
import pytest

from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.ablate.result import _reliability_told
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.experiments.prune.question import PruneConfig, prune
from planted_words import NEEDED, embedder, guesser, guessing_task, similarity_task

KINDS = {"masked": (guesser, guessing_task), "vectors": (embedder, similarity_task)}
ABLATE = AblateConfig(mode="zero", units=("head", "mlp"), repeats=200, permutations=999)


@pytest.fixture(params=KINDS)
def asked(request, _pocket):
    model, task = KINDS[request.param]
    return model(_pocket.tokenizer), task()


def test_ablation_finds_the_head_that_is_needed(asked):
    result = ablate(*asked, ABLATE)
    parts = result.table.set_index("unit")
    assert result["score"].value > 0.95 and parts.loc[NEEDED, "score"] < 0.5
    assert parts.loc[NEEDED, "certain"] and parts.loc[NEEDED, "loss_certain"]
    rest = parts.drop(NEEDED)
    assert not rest["certain"].any() and rest["effect"].abs().max() < 1e-6 and rest["loss_rise"].abs().max() < 1e-6
    assert result["parts_needed"].value == 1


def test_ablation_shows_its_null_and_a_twin_with_random_weights(asked):
    config = AblateConfig(mode="zero", units=("head",), repeats=100, permutations=199, null=True)
    result = ablate(*asked, config)
    assert result.table["random_weights"].notna().all() and result.tables["null"]["passes"].all()
    assert result.table["random_part"].notna().all() and result.table["above_random"].notna().all()


def test_importance_feels_the_head_that_is_needed(asked):
    config = ImportanceConfig(repeats=100, steps=3, random=2, mode="zero")
    parts = importance(*asked, config).table.set_index("unit")
    heads = parts[parts["kind"] == "head"]["importance"]
    assert heads.idxmax() == NEEDED and heads.drop(NEEDED).max() < 1e-3 * heads[NEEDED]


def test_pruning_keeps_that_head_alone(asked):
    result = prune(*asked, PruneConfig()).result
    survivors = result.tables["survivors"]
    assert survivors["unit"][survivors["survives"]].tolist() == [NEEDED]
    full, pruned = (number.value for number in result.numbers(key="score"))
    assert full > 0.95 and pruned == pytest.approx(full, abs=1e-6)


def test_the_notes_say_what_is_scored(_pocket):
    vectors = ablate(embedder(_pocket.tokenizer), similarity_task(), ABLATE)
    assert any("pairs are scored by the cosine of their texts' vectors" in note for note in vectors.notes)
    words = ablate(guesser(_pocket.tokenizer), guessing_task(), ABLATE)
    assert any(note.startswith("15% of each text's words are masked") for note in words.notes)


def test_a_loss_that_says_little_is_not_said_to_lead():
    table = pd.DataFrame({"kind": "head", "measure": ["metric", "loss"], "pearson": [0.1, 0.9]})
    names = {"metric": "pearson", "loss": "loss"}
    told = {lead: _reliability_told(table, "head", names, lead) for lead in ("metric", "loss")}
    assert told["loss"].endswith("so the loss is told first")
    assert told["metric"].endswith("but the loss is above that of a constant answer, and says little about pearson")
