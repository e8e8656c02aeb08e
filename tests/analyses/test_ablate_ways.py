"""`ablate`, `importance` and `redundancy` with what parts leave behind: which modes they take, and their tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import planted_task
from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.analyses.redundancy.question import RedundancyConfig
from bertscope.core.errors import UserError
from bertscope.core.null_panel import fails
from bertscope.core.units import Unit
from bertscope.models import optimal
from bertscope.models.judge import judge_without
from bertscope.models.references import reference_for

QUICK = AblateConfig(units=("head", "mlp"), repeats=100, permutations=1999)
MODES = ("position", "resample", "optimal")


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(optimal, "STEPS", 3)


@pytest.mark.parametrize("mode", MODES)
def test_ablate_finds_the_planted_heads_and_its_panel_holds(mode, pocket, few_steps):
    model, task = planted_task.planted(pocket.tokenizer), planted_task.task()
    result = ablate(model, task, replace(QUICK, mode=mode, null=True, sets=("both=head:1.2+mlp:1",)))
    table = result.table.set_index("unit")
    heads = table[table["kind"] == "head"]
    assert set(heads[heads["loss_certain"]].index) == set(planted_task.NEEDED)
    assert result.subject["mode"] == mode and not fails(result)
    assert np.isfinite(table[["random_weights", "p", "loss_p"]]).all(axis=None)
    assert np.isfinite(heads[["random_part", "over_random_p_holm"]]).all(axis=None)
    flips = result.tables["flips"]
    assert set(flips["unit"]) <= set(planted_task.NEEDED)


def test_flips_are_shares_of_draws_and_the_score_is_tested_by_swaps(pocket):
    """Half a hit has no exact test. What flips in most draws is listed."""
    model, task = planted_task.planted(pocket.tokenizer), planted_task.task()
    result = ablate(model, task, replace(QUICK, mode="resample", seed=4))
    unit = planted_task.NEEDED[0]
    reference = reference_for("resample", model, task.output, task.validation, [], seed=4)
    judged = judge_without(
        model, task.output, task.test, [[], [Unit.parse(unit)]], mode="resample", reference=reference
    )
    row = result.table.set_index("unit").loc[unit]
    assert row["flips"] == pytest.approx(judged.flips[1].mean()) and 0 < row["flips"] < 1
    assert row["effect"] == pytest.approx(judged.moments[1, :, 0].mean() - judged.moments[0, :, 0].mean())
    assert row["p"] * 2000 == pytest.approx(round(row["p"] * 2000)), "of 1999 swaps"
    listed = set(result.tables["flips"].query(f"unit == '{unit}'")["row"])
    assert listed == {name for name, share in zip(task.test.ids, judged.flips[1], strict=True) if share > 0.5}


@pytest.mark.parametrize("mode", MODES)
def test_importance_takes_them(mode, pocket, few_steps):
    model, task = planted_task.planted(pocket.tokenizer), planted_task.task()
    config = ImportanceConfig(units=("head",), mode=mode, steps=2, random=2, repeats=100)
    result = importance(model, task, config)
    parts = result.tables["parts"].set_index("unit")
    assert set(parts["rise"].nlargest(2).index) == set(planted_task.NEEDED)
    others = parts.drop(list(planted_task.NEEDED))
    np.testing.assert_allclose(others["rise"], 0, atol=1e-6)


def test_redundancy_takes_the_plain_ones_alone():
    with pytest.raises(UserError, match="unknown mode 'resample'"):
        RedundancyConfig(mode="resample")
    with pytest.raises(UserError, match="unknown mode 'median'"):
        AblateConfig(mode="median")
