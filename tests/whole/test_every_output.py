"""Every kind of output x the questions that name parts: where the truth is planted, they find it."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.circuit.question import CircuitConfig, circuit
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.core.units import every
from bertscope.data.outputs import OUTPUTS
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.models.encoder import Encoder
from bertscope.models.judge import judge_without
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from planted_kinds import PLANTED
from planted_outputs import ROWS

KINDS = list(MODEL_OUTPUTS)


@pytest.fixture(scope="module", params=KINDS)
def planted(request, _pocket):
    """A task, a model that does it, and the heads that it needs."""
    one = PLANTED[request.param]
    model = one.model(_pocket.tokenizer)
    return one.task(ROWS).asked_of(model), model, set(one.needed)


def test_every_kind_has_both_halves_and_is_planted() -> None:
    assert list(OUTPUTS) == KINDS and set(PLANTED) == set(KINDS)


def test_the_model_is_always_right_and_by_nothing_but_the_needed_heads(planted) -> None:
    task, model, needed = planted
    assert task.score(model.predict(task.test, task.output)).value == pytest.approx(1, abs=1e-3)
    parts = [*every("head", model.head_counts), *every("mlp", model.head_counts)]
    judged = judge_without(model, task.output, task.test, [[], *([part] for part in parts)])
    rise = judged.losses[1:].mean(1) - judged.losses[0].mean()
    missed = {str(part) for part, by in zip(parts, rise, strict=True) if abs(by) > 1e-6}
    assert missed == needed


def test_ablate_finds_the_heads_by_the_loss(planted) -> None:
    task, model, needed = planted
    found = ablate(model, task, AblateConfig(mode="zero", repeats=200, permutations=499)).table
    heads = found[found["kind"] == "head"].set_index("unit")
    assert {name for name, row in heads.iterrows() if row["loss_certain"] and row["loss_rise"] > 0} == needed
    assert set(heads["loss_rise"].nlargest(len(needed)).index) == needed
    others = heads.drop(list(needed))
    assert others["loss_rise"].abs().max() < 1e-6 and (heads.loc[list(needed), "effect"] < -0.1).all()
    assert not others["effect"].any() and not others.filter(like=task.output.divergence_key).to_numpy().any()


@pytest.mark.slow
def test_random_weights_stand_beside_whatever_is_on_top(planted) -> None:
    task, model, _ = planted
    found = ablate(
        model, task, AblateConfig(units=("head",), mode="zero", null=True, repeats=100, permutations=99)
    ).table
    assert np.isfinite(found["random_weights"]).all() and found["random_weights"].any()
    twin = model_output(model, task.output).with_random_weights(0)
    assert twin.task_head == model.task_head and twin.labels == model.labels
    assert twin.fingerprint != model.fingerprint


def test_importance_ranks_the_heads_first(planted) -> None:
    task, model, needed = planted
    result = importance(model, task, ImportanceConfig(repeats=100, random=2))
    heads = result.table[result.table["kind"] == "head"].set_index("unit")["importance"]
    assert set(heads.nlargest(len(needed)).index) == needed
    assert heads.drop(list(needed)).max() < 1e-6 < 1e-4 < heads[list(needed)].min()


@pytest.mark.slow
def test_the_heads_are_the_circuit(planted) -> None:
    task, model, needed = planted
    result = circuit(
        model, task, CircuitConfig(units=("head",), mode="zero", steps=8, repeats=100, random=3, nodes=8)
    )
    parts, curves = result.tables["parts"], result.tables["curves"]
    for by in ("loss", "kl", "gradient", "integrated"):
        ranked = parts[(parts["ranking"] == by) & (parts["kind"] == "head")].set_index("unit")["value"]
        assert set(ranked.nlargest(len(needed)).index) == needed, by
        line = curves[curves["ranking"] == by].set_index("kept")
        assert (line.loc[len(needed) :, "kl"].abs() < 1e-6).all() and line.loc[0, "faithful"] == 0
    assert (result.tables["smallest"]["kept"] <= len(needed)).all()


def test_prune_keeps_the_heads(planted) -> None:
    task, model, needed = planted
    result = prune(model, task, PruneConfig()).result
    parts = result.tables["survivors"]
    kept = set(parts[parts["survives"].astype(bool) & (parts["kind"] == "head")]["unit"])
    assert needed <= kept and len(kept) < sum(model.head_counts)
    assert result.tables["steps"]["score"].iloc[0] == pytest.approx(1, abs=1e-3)


def test_a_cut_without_the_other_heads_says_the_same(planted) -> None:
    task, model, needed = planted
    others = [unit for unit in every("head", model.head_counts) if str(unit) not in needed]
    smaller: Encoder = model.cut([*others, "mlp:1", "mlp:2"])
    assert sum(smaller.head_counts) == len(needed)
    whole, cut = (one.predict(task.test, task.output).logits for one in (model, smaller))
    assert np.allclose(whole, cut, atol=1e-5)
