"""Rankings of parts: what they are by, and those that come from stored results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.ablate.question import ablate
from bertscope.analyses.circuit.question import CircuitConfig, circuit
from bertscope.analyses.graft.question import graft
from bertscope.analyses.importance.question import importance
from bertscope.analyses.part_rankings import rank_parts
from bertscope.analyses.patch.question import patch
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.errors import UserError
from bertscope.core.ranking import COMPUTED, Ranking, places, stored_rankings
from bertscope.core.units import Unit, heads_and_mlps
from bertscope.data.task import Task
from bertscope.experiments.prune.question import prune
from bertscope.models.load import load
from own_task import own_task
from planted_task import NEEDED, planted
from planted_task import task as planted_task
from toy import fresh

FEW = CircuitConfig(repeats=200, steps=4, random=3, nodes=4)


@pytest.fixture
def task() -> Task:
    return own_task()


def test_rankings_are_what_they_are_said_to_be(tiny, task):
    """Each by hand: parts off alone, in the same mode; gradients as importance has them; all on validation."""
    means, validation = tiny.means(task.validation), task.validation
    found = {one.by: one for one in rank_parts(WithoutParts(tiny, task, "mean"), COMPUTED).rankings}
    whole = tiny.predict(validation)
    for unit in ("head:1.2", "mlp:3"):
        with tiny.gates([unit], mode="mean", reference=means):
            off = tiny.predict(validation)
        rise = (task.losses(off, validation) - task.losses(whole, validation)).mean()
        assert found["loss"].of([Unit.parse(unit)])[0] == pytest.approx(rise, rel=1e-3, abs=1e-6)
        moved = task.divergence(whole, off).mean()
        assert found["kl"].of([Unit.parse(unit)])[0] == pytest.approx(moved, rel=1e-3, abs=1e-7)
    (gradient,) = rank_parts(WithoutParts(tiny, task), ["gradient"]).rankings
    stored = importance(tiny, task, repeats=100, faithful=False).table
    np.testing.assert_allclose(gradient.values, stored["importance"], rtol=1e-5)
    numbers = importance(tiny, task, repeats=100, faithful=False).numbers(key="reliability", ranked_by="importance")
    for number in numbers:
        assert gradient.reliability[number.of["kind"]].pearson == pytest.approx(number.value, abs=1e-4)


@pytest.mark.parametrize("mode", ["zero", "mean", "optimal"])
def test_integrated_gates_add_up(tiny, task, mode):
    """To the loss with all parts minus the loss with none; and one part's, against a plain sum of differences."""
    units, without = heads_and_mlps(tiny.head_counts, tiny.neuron_counts), WithoutParts(tiny, task, mode)
    ranked = rank_parts(without, ["integrated"], nodes=16)
    (integrated,), reference = ranked.rankings, without.reference(units, alone=False)
    assert list(integrated.units) == units

    def loss(heads: float, mlps: float, one: float | None = None) -> float:
        with tiny.gates(mode=mode, reference=reference) as gates:
            gates.heads, gates.mlps = gates.heads * heads, gates.mlps * mlps
            if one is not None:
                gates.heads[1, 2] = one
            return float(task.losses(tiny.predict(task.validation), task.validation).mean())

    taken = loss(0.0, 0.0) - loss(1.0, 1.0)
    assert integrated.values.sum() == pytest.approx(taken, rel=1e-3, abs=2e-5) and ranked.missed < 0.01
    steps = (np.arange(20) + 0.5) / 20
    slopes = [(loss(a, a, a + 0.02) - loss(a, a, a - 0.02)) / 0.04 for a in steps]
    assert integrated.of([Unit("head", 2, 3)])[0] == pytest.approx(-np.mean(slopes), rel=0.02, abs=2e-5)


def test_stored_rankings_are_followed(tiny, task):
    alone = ablate(tiny, task, units=["head"], mode="mean", repeats=100, permutations=99)
    important = importance(tiny, task, repeats=100, faithful=False)
    result = circuit(tiny, task, replace(FEW, by=("loss",)), rankings=[alone, important])
    told = {kind: set(rows["ranking"]) for kind, rows in result.tables["curves"].groupby("kind")}
    assert told["head"] == {"loss", "random", "ablate_loss", "importance"}
    assert told["mlp"] == told["head"] - {"ablate_loss"}  # which ranks heads alone
    reliability = result.tables["reliability"].set_index(["kind", "ranking"])
    assert reliability.loc[("head", "ablate_loss"), "split"] == "test"
    assert reliability.loc[("head", "importance"), "split"] == "validation"
    (number,) = important.numbers(key="reliability", kind="head", ranked_by="importance")
    assert reliability.loc[("head", "importance"), "pearson"] == number.value
    assert any("rise of the loss (stored ablate) was measured on the test set" in note for note in result.notes)
    assert not any("importance (stored) was measured on the test" in note for note in result.notes)
    ranks = result.tables["parts"].query("ranking == 'ablate_loss'").set_index("unit")["value"]
    expected = alone.table.set_index("unit")["loss_rise"]
    np.testing.assert_array_equal(ranks, expected[ranks.index])
    again = circuit(tiny, task, replace(FEW, by=()), rankings=[important, important])
    assert set(again.tables["curves"]["ranking"]) == {"importance", "importance_2", "random"}
    same = again.tables["areas"].query("kind == 'head'").set_index("ranking")
    assert same.loc["importance", "area"] == same.loc["importance_2", "area"]
    from_circuit = circuit(tiny, task, replace(FEW, by=("kl",)), rankings=result)
    assert "circuit_loss" in set(from_circuit.tables["curves"]["ranking"])


def test_the_head_that_differs_from_the_base_comes_first_by_graft(pocket):
    model, base = planted(pocket.tokenizer), planted(pocket.tokenizer)
    with torch.no_grad():  # the base lacks what head 2.3 says
        base.model.bert.encoder.layer[1].attention.output.dense.weight.zero_()
    quick = {"units": ["head", "mlp"], "repeats": 100, "permutations": 99, "steps": 3}
    grafted = graft(base, model, planted_task(), **quick)
    result = circuit(model, planted_task(), replace(FEW, by=()), rankings=[grafted])
    parts = result.tables["parts"]
    for by in ("graft_needed", "graft_enough"):
        rows = parts[(parts["ranking"] == by) & (parts["kind"] == "head")].set_index("unit")["rank"]
        assert rows["head:2.3"] == 1 and (rows.drop("head:2.3") == 2).all()
    with pytest.raises(UserError, match="found nothing to rank parts by; see its notes"):
        circuit(model, planted_task(), FEW, rankings=graft(planted(pocket.tokenizer), model, planted_task(), **quick))


def test_the_heads_that_carry_the_word_come_first_by_patch(pocket):
    model = planted(pocket.tokenizer)
    pairs = [(f"{good} the old {rest}", f"{bad} the old {rest}") for rest in ("house", "road", "water")
             for good, bad in (("good", "bad"), ("sad", "happy"), ("kind", "cruel"), ("poor", "fine"))]  # fmt: skip
    patched = patch(model, pairs, units=["head", "mlp", "head_at"], repeats=100, permutations=99)
    result = circuit(model, planted_task(), replace(FEW, by=(), mode="zero", steps=8), rankings=patched)
    parts = result.tables["parts"]
    for by in ("patch_denoise", "patch_noise"):
        ranked = parts[(parts["ranking"] == by) & (parts["kind"] == "head")].set_index("unit")["value"]
        assert set(ranked.nlargest(2).index) == set(NEEDED) and ranked.drop(list(NEEDED)).abs().max() < 1e-6
        (size,) = result.numbers(key="size", kind="head", ranking=by)
        assert size.value == 2
    assert set(result.tables["reliability"]["split"]) == {"pairs"}
    assert not any("measured on the test set" in note for note in result.notes)


def test_rankings_agree_with_themselves_and_as_spearman_has_it(tiny, task):
    from scipy.stats import spearmanr

    result = circuit(tiny, task, FEW)
    parts, table = result.tables["parts"], result.tables["correlations"]
    for row in table.to_dict("records"):
        here = parts[parts["kind"] == row["kind"]]
        one, other = (here[here["ranking"] == row[name]].set_index("unit")["value"] for name in ("ranking", "other"))
        assert row["correlation"] == pytest.approx(spearmanr(one, other[one.index]).statistic)
    assert len(table) == 2 * 16


def test_results_that_rank_something_else_are_refused(tiny, task, pocket):
    other = fresh(task, pocket.tokenizer)
    quick = {"repeats": 100, "permutations": 99}
    of_other = ablate(other, task, units=["head"], **quick)
    with pytest.raises(UserError, match=r"the result of ablate ranks the parts of .*, not of this .*; ask ablate of"):
        circuit(tiny, task, FEW, rankings=of_other)
    of_layers = ablate(tiny, task, units=["layer"], **quick)
    with pytest.raises(UserError, match="the result of ablate ranks neither all heads nor all MLPs of"):
        circuit(tiny, task, FEW, rankings=[of_layers])
    some_heads = ablate(tiny, task, units=["head"], **quick)
    some_heads.tables["effects"] = some_heads.tables["effects"].iloc[1:]
    with pytest.raises(UserError, match="ranks neither all heads nor all MLPs of"):
        circuit(tiny, task, FEW, rankings=[some_heads])
    pruned = prune(tiny, task, force=True, share=0.5).result
    with pytest.raises(UserError, match=r"a result of prune ranks no parts; give one of .*graft.*ablate.*importance"):
        circuit(tiny, task, FEW, rankings=[pruned])
    with pytest.raises(UserError, match=r"no ranking to follow; name some with --by, or give results"):
        circuit(tiny, task, replace(FEW, by=()))
    with pytest.raises(UserError, match="has no classifier"):
        circuit(load("pocket"), task, FEW)
    for settings, message in (
        ({"units": ("hed",)}, "unknown kind of part 'hed'; did you mean 'head'"),
        ({"units": ()}, "no parts to rank"),
        ({"by": ("los",)}, "unknown by 'los'; did you mean 'loss'"),
        ({"mode": "off"}, "unknown mode 'off'"),
        ({"steps": 1}, "steps is 1; it must be at least 2"),
        ({"random": 2}, "random is 2; it must be at least 3"),
        ({"nodes": 0}, "nodes is 0"),
        ({"repeats": 3}, "repeats is 3; it must be at least 100"),
        ({"seed": -1}, "seed is -1"),
    ):
        with pytest.raises(UserError, match=message):
            CircuitConfig(**settings)


def test_a_ranking_is_read_as_its_question_declares_it(tiny, task):
    units = heads_and_mlps(tiny.head_counts, tiny.neuron_counts)
    (found,) = stored_rankings(importance(tiny, task, repeats=100, faithful=False), tiny.record, units)
    assert found.by == "importance" and found.has(units) and not found.has([])
    assert found.rising("both") == sorted(units, key=lambda unit: found.of([unit])[0])
    tied = Ranking("x", tuple(units), np.zeros(len(units)))
    assert tied.rising("mlp") == [units[place] for place in places(units, "mlp")]
    assert tied.digest != found.digest != replace(found, values=-found.values).digest
