"""Circuits: planted heads and curves whose ends and areas are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.integrate import trapezoid

from bertscope.analyses.circuit.measure import _changed, faithful
from bertscope.analyses.circuit.question import CircuitConfig, circuit
from bertscope.analyses.importance.question import importance
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.equivalence import margin
from bertscope.core.errors import UserError
from bertscope.core.estimate import Estimate
from bertscope.core.ranking import COMPUTED
from bertscope.core.result import Result
from bertscope.core.units import Unit
from bertscope.data.task import Task
from own_task import own_task, said_by, some
from planted_task import NEEDED, leave_one_head, planted
from planted_task import task as planted_task

FEW = CircuitConfig(repeats=200, steps=4, random=3, nodes=4)


@pytest.fixture
def task() -> Task:
    return own_task()


@pytest.mark.parametrize("mode", ["zero", "mean"])
def test_every_ranking_puts_the_head_first_that_decides(tiny, task, mode):
    """Its curve is a step: nothing is lost while it is kept, so that all areas are known."""
    leave_one_head(tiny, task.test, mlps=False)
    task = said_by(tiny, task)
    config = replace(FEW, units=("head",), steps=12, mode=mode)
    result = circuit(tiny, task, config)
    parts = result.tables["parts"]
    for by in COMPUTED:
        rows = parts[(parts["kind"] == "head") & (parts["ranking"] == by)].set_index("unit")
        assert rows["rank"]["head:2.3"] == 1, by
        assert (rows["rank"].drop("head:2.3") == 2).all() and rows["value"].drop("head:2.3").abs().max() < 1e-9
    curves, areas = result.tables["curves"], result.tables["areas"].set_index("ranking")
    for by in COMPUTED:
        line = curves[curves["ranking"] == by]
        assert line["kept"].tolist() == list(range(13)) and line["share"].iloc[6] == 0.5
        assert line["score"].iloc[1:].tolist() == [1.0] * 12 and line["score"].iloc[0] < 0.9
        assert line["kl"].iloc[1:].abs().max() < 1e-9 < line["kl"].iloc[0]
        nothing = line["score"].iloc[0]
        assert areas.loc[by, "area"] == pytest.approx(1 - (1 - nothing) / 24)  # a trapezoid over one twelfth
        assert areas.loc[by, "faithful_area"] == pytest.approx(1 - 1 / 24)
        (size,) = result.numbers(key="size", kind="head", ranking=by)
        assert (size.value, size.n) == (1, 12)
        (change,) = result.numbers(key="change", kind="head", ranking=by)
        unseen = np.log(1 / 0.025) / len(task.test)  # what none of so many texts shows, in one case of 40
        assert (change.value, change.low, change.high) == (0, pytest.approx(-unseen), pytest.approx(unseen))
    smallest = result.tables["smallest"]
    assert (smallest["margin"] < unseen).all() and (smallest["verdict"] == "open").all(), "texts are too few for more"
    # In random order it is met anywhere: where it is kept from j parts on, the area is 1 - (j - 1/2) / 12.
    random = np.random.default_rng(config.seed).random((config.random, 12 + 3))[:, :12]
    place = [12 - int((values < values[6]).sum()) for values in random]  # head:2.3 is the seventh
    expected = np.mean([1 - (j - 0.5) / 12 for j in place])
    assert areas.loc["random", "faithful_area"] == pytest.approx(expected)
    assert areas.loc["loss", "faithful_more_than_random"] == pytest.approx(1 - 1 / 24 - expected)


@pytest.mark.parametrize(("texts", "verdict"), [(60, "open: neither clear of 0 nor within"), (80, "as good, within")])
def test_both_heads_of_a_planted_task_are_its_circuit(pocket, texts, verdict):
    """The margin is a twentieth: a loss of which none of 60 texts shows anything may be larger."""
    model = planted(pocket.tokenizer)
    result = circuit(model, planted_task(texts), replace(FEW, units=("head", "both"), mode="zero", steps=8))
    for kind in ("head", "both"):
        for by in COMPUTED:
            (size,) = result.numbers(key="size", kind=kind, ranking=by)
            assert size.value == 2
    parts = result.tables["parts"]
    for by in COMPUTED:
        best = parts[(parts["ranking"] == by) & (parts["kind"] == "head")].nsmallest(2, "rank")
        assert set(best["unit"]) == set(NEEDED)
    told = circuit.sentence(result)
    assert told is not None and told.main == 2 / 8
    assert "2 of 8 heads keep the validation set's score" in told.sentence and verdict in told.sentence
    assert {number.key for number in result.headline} == set(circuit.numbers)
    assert result.subject == {"task": "planted", "mode": "zero"} and list(result.models) == [model.id]


@pytest.mark.parametrize(
    ("change", "verdict"), [(-0.3, "worse"), (0.3, "better"), (-0.02, "open"), (0.0, "as_good"), (-0.04, "open")]
)
def test_what_few_texts_allow_leaves_a_clear_change_clear(change, verdict):
    seen = Estimate(change, change - 0.03, change + 0.03) if change else Estimate(0.0, 0.0, 0.0)
    assert _changed(seen, 200, 0.04)["verdict"] == verdict


def test_the_curves_end_with_the_whole_model_and_with_all_parts_off(tiny, task):
    result = circuit(tiny, task, replace(FEW, units=("head", "mlp", "both")))
    curves = result.tables["curves"]
    whole = tiny.predict(task.test)
    for kind, units in (
        ("head", ["heads:1", "heads:2", "heads:3"]),
        ("mlp", ["mlp:1", "mlp:2", "mlp:3"]),
        ("both", ["heads:1", "heads:2", "heads:3", "mlp:1", "mlp:2", "mlp:3"]),
    ):
        with tiny.gates(units, mode="mean", reference=tiny.means(task.validation)):
            off = tiny.predict(task.test)
        moved = task.divergence(whole, off).mean()
        here = curves[curves["kind"] == kind]
        full, none = here[here["share"] == 1], here[here["share"] == 0]
        assert len(full) == len(none) == 5  # four rankings, and random
        assert set(full["score"]) == {task.score(whole).value} and (full["kl"] == 0).all()
        assert (full["faithful"] == 1).all() and (none["faithful"] == 0).all()
        np.testing.assert_allclose(none["score"], task.score(off).value)
        np.testing.assert_allclose(none["kl"], moved, rtol=1e-4)
    assert result["score"].value == task.score(whole).value


def test_kept_parts_are_those_that_a_ranking_puts_first(tiny, task):
    """A point of a curve, by gates that are closed by hand; its area by the trapezoid rule."""
    result = circuit(tiny, task, replace(FEW, mode="zero"))
    parts, curves = result.tables["parts"], result.tables["curves"]
    for kind, kept in (("head", 6), ("mlp", 1)):
        for by in COMPUTED:
            rows = parts[(parts["kind"] == kind) & (parts["ranking"] == by)].sort_values("value", ascending=False)
            with tiny.gates(rows["unit"].tolist()[kept:]):
                logits = tiny.predict(task.test).logits
            line = curves[(curves["kind"] == kind) & (curves["ranking"] == by)]
            point = line[line["kept"] == kept].iloc[0]
            assert point["score"] == pytest.approx((logits.argmax(-1) == task.test.label).mean())
            assert point["kl"] == pytest.approx(
                task.divergence(tiny.predict(task.test).logits, logits).mean(), rel=1e-3, abs=1e-7
            )
            row = result.tables["areas"].query("kind == @kind and ranking == @by").iloc[0]
            for measured, column in (("score", "area"), ("kl", "kl_area"), ("faithful", "faithful_area")):
                assert row[column] == pytest.approx(trapezoid(line[measured], line["share"]))
            assert row["low"] <= row["area"] <= row["high"]
            assert row["one_more_low"] <= row["more_low"] <= row["more_high"] <= row["one_more_high"]


def test_parts_that_leave_their_optimal_constants(tiny, task):
    """Those of a set are fitted once, wherever it is met; on the rows they are fitted on nothing is nearer."""
    task = said_by(tiny, task)
    ranked = importance(tiny, task, repeats=100, faithful=False)
    kl = {}
    for mode in ("optimal", "mean", "zero"):
        config = replace(FEW, units=("mlp",), by=(), steps=2, mode=mode)
        result = circuit(tiny, replace(task, test=task.validation), config, rankings=ranked)
        kl[mode] = result.tables["curves"].query("ranking == 'importance'")["kl"].to_numpy()
    assert kl["optimal"][0] <= min(kl["mean"][0], kl["zero"][0]) + 1e-9 and kl["optimal"][-1] == 0
    without = WithoutParts(tiny, task, "optimal")
    first, sets = without.judged(task.test, [[], [Unit("mlp", 1)]]), [[Unit("mlp", 1)], [Unit("mlp", 2)]]
    known = without.reference([Unit("mlp", 1)], alone=False)
    again = without.judged(task.test, [[], *sets])
    np.testing.assert_array_equal(first.losses, again.losses[:2])
    assert without.reference([Unit("mlp", 1)], alone=False) is known
    alone = without.reference([Unit("mlp", 1), Unit("mlp", 2)], alone=True)
    assert torch.equal(alone.mlps[0], known.mlps[0])
    assert torch.equal(alone.mlps[1], without.reference([Unit("mlp", 2)], alone=False).mlps[1])


def test_faithfulness_is_the_share_of_the_divergence_that_is_undone():
    kl = np.array([[0.0, 1.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(faithful(kl)[0], [1.0, 0.75, 0.25, 0.0])
    assert np.isnan(faithful(kl)[1]).all()


def test_the_smallest_circuit_is_decided_on_validation(tiny, task):
    """The fewest parts from which on the score stays within a tenth of the skill; the test set only tells."""
    task = said_by(tiny, task)
    config = replace(FEW, units=("head",), steps=12, by=("loss", "gradient"))
    result = circuit(tiny, task, config)
    parts = result.tables["parts"]
    means = tiny.means(task.validation)
    for row in result.tables["smallest"].to_dict("records"):
        order = parts[(parts["ranking"] == row["ranking"]) & (parts["kind"] == "head")]
        units = order.sort_values("value", ascending=False, kind="stable")["unit"].tolist()
        scores = []
        for kept in range(13):
            with tiny.gates(units[kept:], mode="mean", reference=means):
                logits = tiny.predict(task.validation).logits
            scores.append((logits.argmax(-1) == task.validation.label).mean())
        bar = 1 - margin(1.0, task.chance(task.validation))
        under = [kept for kept, score in enumerate(scores) if score < bar]
        assert row["kept"] == max(under, default=-1) + 1
        assert row["kept_low"] <= row["kept"] <= row["kept_high"] and row["of"] == 12
        assert row["margin"] == pytest.approx(0.1 * (1 - task.chance()))
    other = circuit(tiny, replace(task, test=replace(some(40, 9), label=np.arange(40) % 2)), config)
    assert other.tables["smallest"]["kept"].tolist() == result.tables["smallest"]["kept"].tolist()
    assert other.tables["parts"].equals(result.tables["parts"])
    assert not other.tables["curves"].equals(result.tables["curves"])


def test_results_repeat_and_come_back(tiny, task, tmp_path):
    one, two = circuit(tiny, task, FEW), circuit(tiny, task, FEW)
    assert one.equals(two) and Result.load(one.save(tmp_path / "r")).equals(one)
    assert not one.equals(circuit(tiny, task, replace(FEW, seed=1)))
    keys = [figure.key for figure in one.figures]
    names = ("score", "faithful", "areas", "correlations")
    assert keys == [f"{kind}_{name}" for kind in ("head", "mlp") for name in names]


def test_a_cut_model_and_a_model_without_skill(tiny, task):
    cut = tiny.cut(["head:1.2", "heads:2", "mlp:3"])
    result = circuit(cut, task, FEW)
    assert result.tables["curves"].groupby("kind")["kept"].max().to_dict() == {"head": 7, "mlp": 2}
    constant = replace(task.validation, label=np.zeros(len(task.validation), int))
    unskilled = circuit(tiny, replace(task, validation=constant), replace(FEW, by=("kl",)))
    assert "smallest" not in unskilled.tables and circuit.sentence(unskilled) is None
    assert any("there is no smallest circuit" in note for note in unskilled.notes)
    with pytest.raises(UserError, match="has no heads left; leave them out of --units"):
        circuit(tiny.cut(["heads:1", "heads:2", "heads:3"]), task, FEW)
