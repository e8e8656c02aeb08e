"""Questions that score, asked of a tagger: the one head that its tags need is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.analyses.redundancy.question import RedundancyConfig, redundancy
from bertscope.core.units import Unit, every
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.models.judge import judge_without
from planted_tags import LABELS, NEEDED, planted, task

FEW = ImportanceConfig(repeats=200, steps=3, random=2)


@pytest.fixture
def model(pocket):
    return planted(pocket.tokenizer)


def test_the_planted_tagger_is_right_and_without_its_head_isnt(model):
    asked = task().asked_of(model)
    whole = asked.score(model.predict(asked.test))
    assert (whole.metric, whole.value, whole.chance) == ("entity_f1", 1.0, 0.0)
    with model.gates(off=[NEEDED]):
        assert asked.score(model.predict(asked.test)).value == 0.5


def test_ablate_finds_it(model):
    result = ablate(model, task(), AblateConfig(units=["head"], mode="zero", repeats=200, permutations=199))
    heads = result.table.set_index("unit")
    others = heads.drop(NEEDED)
    assert heads.loc[NEEDED, "effect"] == -0.5 and heads.loc[NEEDED, "high"] < 0
    assert (others["effect"] == 0).all() and others["loss_rise"].abs().max() < 1e-9
    # One word of the sentence is a name: without the head its tags are equally likely, and the others are sure.
    lengths = np.array([len(words) for words in task().test.words])
    assert heads.loc[NEEDED, "loss_rise"] == pytest.approx((np.log(2) / lengths).mean(), rel=0.02)
    assert heads.loc[NEEDED, "flips"] == 0.5 and (others["flips"] == 0).all()


def test_the_panel_of_ablate_runs(model):
    config = AblateConfig(units=["head"], mode="zero", repeats=100, permutations=99, null=True)
    assert np.isfinite(ablate(model, task(), config).table["random_weights"]).all()


@pytest.mark.parametrize("form", ["example", "token"])
def test_importance_finds_it(model, form):
    result = importance(model, task(), replace(FEW, form=form))
    heads = result.table.query("kind == 'head'").set_index("unit")["importance"]
    assert heads.idxmax() == NEEDED and heads.drop(NEEDED).max() < 1e-6 < heads[NEEDED]


def test_prune_keeps_it_alone(model):
    survivors = prune(model, task(), PruneConfig()).result.tables["survivors"]
    assert set(survivors["unit"][survivors["survives"]]) == {NEEDED}


def test_redundancy_runs_on_it(model):
    config = RedundancyConfig(together=[NEEDED, "head:1.3"], mode="zero", repeats=100)
    found = redundancy(model, task(), config).tables["together"].groupby("set")["effect"]
    assert found.get_group("named").tolist() == [-0.5] and set(found.get_group("random")) <= {0.0, -0.5}


def test_replay_equals_running_all_of_the_model(model):
    asked = task().asked_of(model)
    sets = [[], *([unit] for unit in every("head", [4, 4])), [Unit("layer", 1)]]
    fast, slow = (
        judge_without(model, asked.output, asked.test, sets, replay=replay, tokens=60 if replay else 500)
        for replay in (True, False)
    )
    np.testing.assert_allclose(fast.losses, slow.losses, atol=1e-6)
    np.testing.assert_array_equal(fast.predicted, slow.predicted)
    np.testing.assert_array_equal(fast.moments, slow.moments)
    np.testing.assert_allclose(fast.divergence, slow.divergence, atol=1e-6)


def test_tags_in_another_order_make_no_difference(model, pocket):
    other = planted(pocket.tokenizer, ("B-PER", "O", "B-LOC"))
    one, two = (ablate(each, task(), AblateConfig(units=["head"], mode="zero", repeats=100, permutations=99))
                for each in (model, other))  # fmt: skip
    for column in ("effect", "loss_rise", "flips", "kl"):
        np.testing.assert_allclose(one.table[column], two.table[column], atol=1e-6)
    assert task().labels == LABELS
