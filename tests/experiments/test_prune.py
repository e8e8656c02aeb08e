"""`prune`: what survives, when it stops, and that it goes on where it was killed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.model_record import DataRecord, Origin
from bertscope.experiments.prune import measure
from bertscope.experiments.prune.measure import Pruning
from bertscope.experiments.prune.question import PruneConfig, prune
from bertscope.experiments.subnetworks import Subnetwork, draw, only, parts, share_left
from bertscope.models.config_notes import origin_note
from bertscope.models.load import load
from bertscope.models.masks import prunable
from bertscope.models.surgery import without_layers
from families import CONFIGS, tiny_model
from planted_task import NEEDED, planted, task


@pytest.fixture
def model(pocket):
    return planted(pocket.tokenizer)


def _survivors(result):
    table = result.tables["survivors"]
    return set(table["unit"][table["survives"]])


@pytest.mark.parametrize("form", ["example", "token", "cumulative"])
def test_the_two_heads_that_do_the_task_survive_to_the_end(model, form):
    result = prune(model, task(), PruneConfig(importance=form)).result
    assert _survivors(result) == set(NEEDED)
    assert [number.value for number in result.numbers(key="score")] == [1, 1]
    assert [number.label for number in result.numbers(key="score")] == ["full, test", "pruned, test"]
    assert {number.key for number in result.headline} == set(prune.numbers)
    changed = result.tables["versus"]
    assert changed[["fixed", "broken", "p"]].to_numpy().tolist() == [[0, 0, 1]]  # the planted heads do all of it
    assert not result.tables["changed_by_label"]["change"].any()
    assert any(note.startswith("answers that change: pruned: of") for note in result.notes)
    assert list(result.models) == [model.id] and result.subject == {"task": "planted", "method": "s"}
    assert [figure.key for figure in result.figures] == ["trajectory", "survivors"]
    steps = result.tables["steps"]
    assert not steps["passes"].iloc[-1]  # it stopped because one of the two went
    assert steps["phase"].iloc[:2].tolist() == ["full", "heads_and_mlps"]
    assert result.in_words().tables["steps"]["phase"].iloc[1] == "heads and MLPs"


def test_the_bad_ticket_of_that_model_fails(model):
    found = Subnetwork.of(prune(model, task()).result)
    bad = draw("bad", [found], model, seed=0)
    with only(model, bad) as smaller:
        assert task().score(smaller.predict(task().test).logits).value == 0.5


def test_magnitude_pruning_keeps_the_last_mask_that_passed(model):
    pruned = prune(model, task(), PruneConfig("m", share=0.5)).result
    steps = pruned.tables["steps"]
    assert steps["passes"].tolist() == [True] * (len(steps) - 1) + [False] or steps["passes"].all()
    kept = Subnetwork.of(pruned).kept
    assert kept.sum() == steps["weights"][steps["passes"]].iloc[-1]
    assert [number.value for number in pruned.numbers(key="score", arm="pruned")] == [1]
    assert [number.key for number in pruned.headline] == [
        "left", "score", "score", "above_bar", "chance", "fixed", "broken"
    ]  # fmt: skip


def test_a_task_at_chance_is_refused_unless_forced(tiny, pocket):
    model = planted(pocket.tokenizer)
    model.model.classifier.weight.data.zero_()
    with pytest.raises(UserError, match="isn't clearly above chance on planted"):
        prune(model, task())
    assert prune(model, task(), PruneConfig(force=True)).result.headline


@pytest.mark.parametrize("method", ["s", "m"])
def test_a_model_that_has_nothing_to_prune_is_refused(method, pocket):
    model = planted(pocket.tokenizer)
    empty = without_layers(model, range(1, model.n_layers + 1))
    with pytest.raises(UserError, match="has nothing left to prune; give a model with heads or MLPs"):
        prune(empty, task(), PruneConfig(method, force=True))


@pytest.mark.parametrize(("rule", "bar"), [("chance", 0.5 + 0.9 * 0.5), ("paper", 0.9)])
def test_what_must_remain(model, rule, bar):
    pruning = Pruning(model, task(), PruneConfig(rule=rule), None)
    pruning.result()
    assert pruning.bar == pytest.approx(bar)


def test_a_killed_run_goes_on(model, tmp_path, monkeypatch):
    whole = prune(model, task()).result
    scored = []
    original = Pruning._row

    def dies(self, phase, kept):
        if len(scored) == 4:
            raise KeyboardInterrupt
        scored.append(phase)
        return original(self, phase, kept)

    monkeypatch.setattr(Pruning, "_row", dies)
    with pytest.raises(KeyboardInterrupt):
        prune(model, task(), out=tmp_path)
    monkeypatch.undo()
    assert len(json.loads((tmp_path / "iterations.json").read_text())["rows"]) == 4
    predicted = []
    predict = type(model).predict

    def counts(self, examples, output=None, **options):
        predicted.append(len(examples))
        return predict(self, examples, output, **options)

    monkeypatch.setattr(type(model), "predict", counts)
    measured = []
    gradients = measure.gate_gradients
    monkeypatch.setattr(measure, "gate_gradients", lambda *a, **k: measured.append(1) or gradients(*a, **k))
    again = prune(model, task(), out=tmp_path).result
    assert again.equals(whole)
    assert len(measured) <= len(whole.tables["steps"]) - 4  # what was written down isn't measured again
    assert len(predicted) == len(whole.tables["steps"]) - 4 + 2  # the steps that were missing, and the report twice


def test_a_damaged_file_of_steps_is_named(model, tmp_path):
    (tmp_path / "iterations.json").write_text("{")
    with pytest.raises(UserError, match=r"iterations\.json is damaged"):
        prune(model, task(), out=tmp_path)


def test_steps_of_another_run_are_not_taken(model, tmp_path):
    prune(model, task(), PruneConfig(threshold=0.5), out=tmp_path)
    assert prune(model, task(), out=tmp_path).result.equals(prune(model, task()).result)


def test_what_cannot_work_is_refused():
    for wrong in ({"method": "x"}, {"threshold": 1.0}, {"share": 0}, {"rule": "ninety"}, {"importance": "sum"}):
        with pytest.raises(UserError):
            PruneConfig(**wrong)


def test_a_model_that_was_cut_is_pruned_further(tiny):
    smaller = tiny.cut(["head:1.1", "mlp:2"])
    assert [str(unit) for unit in parts(smaller)].count("mlp:2") == 0
    good = Subnetwork("s", np.arange(len(parts(smaller))) % 2 == 0)
    kinds = np.array([unit.kind for unit in parts(smaller)])
    for arm in ("random", "bad"):
        kept = draw(arm, [good], smaller, 0).kept
        assert [(kept & (kinds == kind)).sum() for kind in ("head", "mlp")] == [
            (good.kept & (kinds == kind)).sum() for kind in ("head", "mlp")
        ]


def test_a_model_tuned_on_other_rows_is_said(model):
    model.model.config.bertscope = origin_note(Origin("finetune", data=DataRecord("something else", "other")))
    notes = prune(model, task()).result.notes
    assert any("fine-tuned on another split" in note for note in notes)


@pytest.mark.parametrize("family", [family for family in CONFIGS if family != "albert"])
def test_the_share_that_is_left_is_what_cutting_leaves(family, pocket):
    encoder = load(tiny_model(family), tokenizer=pocket.tokenizer)
    kept = np.random.default_rng(0).random(len(parts(encoder))) < 0.5
    subnetwork = Subnetwork("s", kept)
    whole = sum(parameter.numel() for parameter in prunable(encoder).values())
    with only(encoder, subnetwork) as smaller:
        left = sum(parameter.numel() for parameter in prunable(smaller).values())
    assert share_left(encoder, subnetwork) == pytest.approx(left / whole)


def test_a_family_whose_layers_cannot_be_cut_one_by_one_is_gated(pocket, texts):
    encoder = load(tiny_model("albert"), tokenizer=pocket.tokenizer)
    kept = np.random.default_rng(0).random(len(parts(encoder))) < 0.5
    off = [unit for unit, stays in zip(parts(encoder), kept, strict=True) if not stays]
    with encoder.gates(off):
        expected = encoder.predict(texts).logits
    with only(encoder, Subnetwork("s", kept)) as smaller:
        assert np.array_equal(smaller.predict(texts).logits, expected)
    assert 0 < share_left(encoder, Subnetwork("s", kept)) < 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kept_share", [0.2, 0.5, 0.8])
def test_all_arms_have_exactly_the_same_size(tiny, seed, kept_share):
    units = parts(tiny)
    heads = np.array([unit.kind == "head" for unit in units])
    good = Subnetwork("s", np.random.default_rng(seed).random(len(units)) < kept_share)
    for arm in ("random", "bad"):
        drawn = draw(arm, [good], tiny, seed)
        for kind in (heads, ~heads):
            assert drawn.kept[kind].sum() == good.kept[kind].sum()
    bad = draw("bad", [good], tiny, seed).kept
    for kind in (heads, ~heads):  # a survivor is in it only where too few were pruned
        shared, pruned = (bad & good.kept & kind).sum(), (~good.kept & kind).sum()
        assert shared == max(0, (good.kept & kind).sum() - pruned)
    assert not np.array_equal(draw("random", [good], tiny, seed).kept, draw("random", [good], tiny, seed + 9).kept)


def test_weights_good_random_bad(tiny):
    size = sum(parameter.numel() for parameter in prunable(tiny).values())
    values = np.concatenate([p.detach().abs().flatten().cpu().numpy() for p in prunable(tiny).values()])
    good = Subnetwork("m", values > np.quantile(values, 0.4))
    bad, random = draw("bad", [good], tiny, 0).kept, draw("random", [good], tiny, 0).kept
    assert good.kept.sum() == bad.sum() == random.sum()
    assert values[bad].max() <= values[~bad].min()  # the largest went
    assert values[good.kept].min() >= values[~good.kept].max()
    assert abs(random[good.kept].mean() - good.kept.sum() / size) < 0.03


def test_super_survivors_and_those_that_never_survive(tiny):
    votes = np.zeros((3, len(parts(tiny))), bool)
    votes[:, :4] = True  # four heads survive with every seed,
    votes[0, 4:9] = True  # five with one,
    votes[:, -1] = True  # and an MLP with all
    found = [Subnetwork("s", vote) for vote in votes]
    assert draw("super", found, tiny, 0).kept.nonzero()[0].tolist() == [0, 1, 2, 3, len(votes[0]) - 1]
    never = draw("never", found, tiny, 0).kept
    heads = np.array([unit.kind == "head" for unit in parts(tiny)])
    # Only three heads never survived: the fourth comes from those that survived once.
    assert never[heads].sum() == 4 and never[heads & ~votes.any(0)].sum() == 3 and not never[:4].any()
    assert draw("any", found, tiny, 0).kept.sum() == 5
    apart = [Subnetwork("s", np.arange(len(votes[0])) % 2 == side) for side in (0, 1)]
    assert not draw("super", apart, tiny, 0).kept.any()  # nothing survived twice: an empty subnetwork
    with pytest.raises(UserError, match="only heads and MLPs"):
        draw("never", [replace(found[0], method="m")], tiny, 0)
