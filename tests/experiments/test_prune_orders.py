"""`prune` by other orders than the paper's: measured once, random, or a stored result's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bertscope.analyses.ablate.question import ablate
from bertscope.analyses.importance.question import importance
from bertscope.analyses.part_rankings import rank_parts
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.errors import UserError
from bertscope.data.task import Task
from bertscope.experiments.prune import measure
from bertscope.experiments.prune.measure import Pruning
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.experiments.subnetworks import parts
from own_task import own_task
from planted_task import NEEDED, planted, task

ORDERS = ("gradient", "loss", "kl", "integrated", "random")


@pytest.fixture
def own() -> Task:
    return own_task()


def _masks(folder, size: int) -> np.ndarray:
    """What was kept after each step, [step, part]."""
    rows = json.loads((folder / "iterations.json").read_text())["rows"]
    packed = [np.frombuffer(bytes.fromhex(row["step"]), np.uint8) for row in rows]
    return np.stack([np.unpackbits(one, count=size).astype(bool) for one in packed])


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
def test_parts_go_in_the_order_and_a_killed_run_goes_on(tiny, own, order, tmp_path, monkeypatch):
    config = PruneConfig(force=True, share=0.5, order=order, stop="smallest")
    whole = prune(tiny, own, config, out=tmp_path / "whole").result
    masks, units = _masks(tmp_path / "whole", len(parts(tiny))), parts(tiny)
    if order == "random":
        values = np.random.default_rng(0).random(len(units))
    elif order != "gradient":
        values = rank_parts(WithoutParts(tiny, own), [order]).rankings[0].of(units)
    if order != "gradient":  # whatever has gone is lower than what stays
        for mask, kind in ((mask, kind) for mask in masks for kind in ("head", "mlp")):
            here = np.array([unit.kind == kind for unit in units])
            gone, stay = values[here & ~mask], values[here & mask]
            assert not len(gone) or not len(stay) or gone.max() <= stay.min()
    assert whole.subject == {"task": "own", "method": "s", "order": order}
    assert any(note.startswith("parts go ") for note in whole.notes)
    original, scored = Pruning._row, []

    def dies(self, phase, kept):
        if len(scored) == 3:
            raise KeyboardInterrupt
        scored.append(phase)
        return original(self, phase, kept)

    monkeypatch.setattr(Pruning, "_row", dies)
    with pytest.raises(KeyboardInterrupt):
        prune(tiny, own, config, out=tmp_path / "killed")
    monkeypatch.undo()
    assert len(json.loads((tmp_path / "killed" / "iterations.json").read_text())["rows"]) == 3
    assert prune(tiny, own, config, out=tmp_path / "killed").result.equals(whole)

    def never(*_, **__):
        raise AssertionError("what is written down isn't measured again")

    monkeypatch.setattr(measure, "rank_parts", never)
    monkeypatch.setattr(measure, "gate_gradients", never)
    assert prune(tiny, own, config, out=tmp_path / "killed").result.equals(whole)


def test_an_order_that_is_measured_once_is_another_than_the_papers(tiny, own, tmp_path):
    masks = {}
    for order in ("recomputed", "gradient"):
        prune(tiny, own, PruneConfig(force=True, share=0.25, order=order, stop="smallest"), out=tmp_path / order)
        masks[order] = _masks(tmp_path / order, len(parts(tiny)))
    once, again = masks["gradient"], masks["recomputed"]
    assert np.array_equal(once[1], again[1])  # the full model's importance decides the first step of both
    assert not np.array_equal(once, again)


@pytest.mark.parametrize("order", ["gradient", "loss", "kl", "integrated"])
def test_by_any_ranking_the_planted_heads_survive(pocket, order):
    found = prune(planted(pocket.tokenizer), task(), PruneConfig(order=order)).result
    table = found.tables["survivors"]
    assert set(table["unit"][table["survives"]]) == set(NEEDED)
    assert prune.sentence(found).sentence.count("order: ") == 1


def test_the_order_of_a_stored_result(tiny, own, tmp_path):
    config = PruneConfig(force=True, share=0.5, stop="smallest")
    important = importance(tiny, own, repeats=100, faithful=False)
    alone = ablate(tiny, own, units=["head", "mlp"], repeats=100, permutations=99)
    by_both = {}
    for name, ranking in (("importance", important), ("ablate_loss", alone)):  # one folder: rows of another order
        by_both[name] = prune(tiny, own, config, ranking=ranking, out=tmp_path).result
        assert by_both[name].subject["order"] == name
        fresh = prune(tiny, own, config, ranking=ranking).result
        assert by_both[name].equals(fresh)
        masks, units = _masks(tmp_path, len(parts(tiny))), parts(tiny)
        table = ranking.table.set_index("unit")["importance" if ranking is important else "loss_rise"]
        values = table[[str(unit) for unit in units]].to_numpy()
        heads = np.array([unit.kind == "head" for unit in units])
        first = np.flatnonzero(~masks[1] & heads)
        assert values[first].max() <= values[heads & masks[1]].min()
    assert any("measured on the test set" in note for note in by_both["ablate_loss"].notes)
    assert not any("measured on the test set" in note for note in by_both["importance"].notes)
    alone.tables["effects"]["loss_rise"] *= -1  # another ranking of the same parts: its log isn't taken
    other = prune(tiny, own, config, ranking=alone, out=tmp_path).result
    assert other.equals(prune(tiny, own, config, ranking=alone).result)
    assert not other.tables["survivors"].equals(by_both["ablate_loss"].tables["survivors"]) or not other.tables[
        "steps"
    ].equals(by_both["ablate_loss"].tables["steps"])


def test_orders_that_cannot_be_followed_are_refused(tiny, own, pocket):
    for wrong, message in (
        ({"order": "size"}, "unknown order 'size'"),
        (
            {"order": "loss", "method": "m"},
            r"order loss is for heads and MLPs; weights \(method m\) go by their size",
        ),
        ({"seed": -1}, "seed is -1"),
    ):
        with pytest.raises(UserError, match=message):
            PruneConfig(**wrong)
    heads = ablate(tiny, own, units=["head"], repeats=100, permutations=99)
    with pytest.raises(UserError, match="the result of ablate ranks no MLPs, which are pruned too; ask it of both"):
        prune(tiny, own, ranking=heads)
    for config in (PruneConfig(order="random"), PruneConfig("m")):
        with pytest.raises(UserError, match="leave out --order and --method m beside it"):
            prune(tiny, own, config, ranking=heads)
    with pytest.raises(UserError, match="the result of ablate ranks the parts of"):
        prune(planted(pocket.tokenizer), task(), ranking=heads)
