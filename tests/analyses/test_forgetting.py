"""`forgetting`: what drifted comes back by a map, what is gone doesn't; and all in one figure."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM

import bertscope
from bertscope.analyses.forgetting import measure as measured
from bertscope.analyses.forgetting.measure import steps_of
from bertscope.analyses.forgetting.question import forgetting
from bertscope.core.errors import UserError
from bertscope.core.model_record import Origin
from bertscope.data.corpus import read_examples
from bertscope.data.minimal import read_pairs
from bertscope.models.cast import Cast
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.new_task_head import bare
from bertscope.training.task_kinds import with_task_head
from device import DEVICE
from pocket_facts import PIECES
from short_training import make_task

QUICK = {"probes": False, "repeats": 100}


@pytest.fixture(scope="module")
def texts():
    return read_examples("demo/corpus", limit=250)


def checkpoint(base: Encoder, step: int, change=None) -> Encoder:
    """The bare base after so many steps, with something done to it."""
    made = bare(base, name=f"step {step}", origin=Origin("finetune", base.record, step=step))
    if change is not None:
        with torch.no_grad():
            change(made.model)
    return made


def drift(model) -> None:
    """An affine change of the last states, which loses nothing."""
    last = model.encoder.layer[-1].output.LayerNorm
    last.weight[::2].mul_(-2.0)
    last.bias.add_(1.0)


def lose(model) -> None:
    """All but a few directions of the last states are gone."""
    last = model.encoder.layer[-1].output.LayerNorm
    last.weight[8:] = 0.0


@pytest.mark.slow
def test_what_drifted_comes_back_and_what_is_gone_does_not(_pocket, texts):
    base = _pocket
    models = [base, checkpoint(base, 0), checkpoint(base, 5, drift), checkpoint(base, 9, lose)]
    before = [one.fingerprint for one in models]
    result = forgetting(models, texts, **QUICK)
    assert before == [one.fingerprint for one in models]
    lines = result.tables["lines"].set_index(["way", "step"])["value"]
    own = result["base"].value
    assert own > 0.3 and (result.tables["lines"]["base"] == own).all()
    assert lines["as_it_is", 0] == pytest.approx(own, abs=1e-9), "the same encoder"
    assert abs(lines["mapped", 0] - own) < 0.02
    assert lines["as_it_is", 5] < own / 2 and abs(lines["mapped", 5] - own) < 0.02, "coordinates alone"
    assert lines["mapped", 9] < own - 0.1, "gone"
    assert result["forgotten"].low > 0.05 and result["forgotten"].value == pytest.approx(own - lines["mapped", 9])
    assert result["drifted"].value == pytest.approx(own - lines["as_it_is", 9])
    assert (
        result.tables["maps"]["explained"].tolist()[1] > 0.95 > 0.9 > result.tables["maps"]["explained"].tolist()[2]
    )
    assert "points of the masked words" in forgetting.sentence(result).sentence
    assert not forgetting.consequences(result)[0].is_open


@pytest.mark.slow
def test_masked_pieces_are_those_of_the_task_and_so_is_the_base(_pocket, texts):
    """Against the masked-word task's own score of the base."""
    from bertscope.data.read import read_task

    task = read_task("demo/corpus", kind="masked", limit=40)
    asked = task.asked_of(_pocket)
    said = _pocket.predict(asked.test, asked.output)
    result = forgetting([_pocket, checkpoint(_pocket, 0)], replace(task.test, name="test"), **QUICK)
    assert result["base"].value == pytest.approx(asked.score(said).value, abs=1e-9)
    assert not any(word in result.figures[0].caption for word in ("pairs", "probes")), "only what was asked"
    assert task.metric and result["base"].n == int((asked.output.gold(asked.test) >= 0).sum())


@pytest.mark.slow
def test_everything_in_one_figure(_pocket, texts):
    task = make_task()
    base = _pocket
    steps = []
    for step in (0, 4):
        made = with_task_head(
            base, task, init="pretrained", seed=0, name=f"s{step}", origin=Origin("finetune", base.record, step=step)
        )
        steps.append(made)
    with torch.no_grad():
        drift(steps[1].model.base_model)
    pairs = read_pairs("demo/minimal", limit=60)
    result = forgetting(
        [base, *steps], read_examples("demo/corpus", limit=200), pairs=pairs, task=task, repeats=100, words=200
    )
    lines = result.tables["lines"]
    assert set(lines["quantity"]) == {"score", "masked", "pairs", "trees", "parts_of_speech"}
    assert set(lines["step"]) == {0, 4} and (lines["shown"] == lines["step"] + 1).all()
    assert (lines["low"] <= lines["value"]).all() and (lines["value"] <= lines["high"]).all()
    trees = lines[lines["quantity"] == "trees"]
    assert trees["value"].iloc[0] == pytest.approx(trees["base"].iloc[0]), "the base's own encoder, the same probe"
    assert {one.key for one in result.headline} >= {"pairs_forgotten", "trees_lost", "parts_of_speech_lost", "learnt"}
    (figure,) = result.figures
    assert (figure.facet, figure.x, figure.color) == ("quantity", "shown", "way")
    assert "masked words and minimal pairs by" in figure.caption and "what probes find" in figure.caption


@pytest.mark.parametrize("n", [10, 20])
def test_where_a_group_has_too_few_pieces_there_is_no_map_and_no_answer(_pocket, n):
    with pytest.raises(UserError, match=f"{n} texts have too few masked pieces for an affine map: some of their 5"):
        forgetting([_pocket, checkpoint(_pocket, 0)], read_examples("demo/corpus", limit=n), **QUICK)


def test_texts_that_probes_cannot_use_have_their_masked_words_all_the_same(tiny, texts):
    """A treebank without parts of speech doesn't say what punctuation is; and what is cut is said."""
    base = load(BertForMaskedLM(copy.deepcopy(tiny.model.config)).eval(), tokenizer=tiny.tokenizer)
    words = tuple(word * (30 if row < 3 else 1) for row, word in enumerate(texts.words))
    governors = tuple(tuple(range(-1, len(row) - 1)) for row in words)
    some = replace(texts, words=words, text=tuple(map(" ".join, words)), governors=governors, marks={}, links=None)
    found = forgetting([base, checkpoint(base, 1)], some, repeats=100)
    assert set(found.tables["lines"]["quantity"]) == {"masked"}
    assert any("no probes of trees and parts of speech" in note and "punctuation" in note for note in found.notes)
    assert f"3 texts are longer than {base.max_length} tokens and were cut" in found.notes


def test_few_pieces_are_said_to_be_few(training, texts):
    """24 hidden units: 48 pieces are enough."""
    base, run = training
    told = {}
    for n in (12, 60):
        result = forgetting([str(base), str(run / "checkpoint-5")], texts.take(range(n)), steps=(5,), **QUICK)
        told[result["base"].n] = [note for note in result.notes if "maps" in note]
        assert np.isfinite(result.tables["maps"]["explained"]).all()
    (few, more), (enough,) = told.values()
    fewest, most = told
    assert fewest < 48 <= most and few == f"affine maps are fitted on {fewest} masked pieces of 12 texts"
    assert enough == f"affine maps are fitted on {most} masked pieces of 60 texts"
    assert more.startswith("that is fewer than twice the 24 numbers of a state: with more texts the maps")


def test_steps_and_mistakes(_pocket, tiny, texts):
    one, other = checkpoint(_pocket, 3), checkpoint(_pocket, 8)
    known = [one.record, other.record]
    assert steps_of(known) == [3, 8] and steps_of(known, (1, 7)) == [1, 7]
    assert steps_of(known[:1] * 2) == [1, 2]
    with pytest.raises(UserError, match="there are 1 steps for 2 checkpoints; give a step for each"):
        forgetting([_pocket, one, other], texts, steps=(4,), **QUICK)
    with pytest.raises(UserError, match="aren't in the order of their steps; name the earliest first"):
        forgetting([_pocket, other, one], texts, **QUICK)
    with pytest.raises(UserError, match="name the base first, then the checkpoints"):
        forgetting([_pocket], texts, **QUICK)
    with pytest.raises(UserError, match="doesn't guess masked words"):
        forgetting([one, other], texts, **QUICK)
    with pytest.raises(UserError, match="24 hidden units"):
        forgetting([_pocket, tiny], texts, **QUICK)
    with pytest.raises(UserError, match="9 texts are too few for an affine map; give 10 or more"):
        forgetting([_pocket, one], texts.take(range(9)), **QUICK)


@pytest.fixture(scope="module")
def training(_pocket, tmp_path_factory):
    """A small base with a masked-word head, and the folder of a training of it, as a Trainer leaves it: nothing but
    the folders' names tells the steps."""
    folder, task = tmp_path_factory.mktemp("forgetting"), make_task()
    config = BertConfig(
        vocab_size=PIECES, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64, initializer_range=0.3,
    )  # fmt: skip
    torch.manual_seed(7)
    base = load(BertForMaskedLM(config).eval().to(DEVICE), tokenizer=_pocket.tokenizer)
    base.save(folder / "base")
    run = folder / "run"
    for step, change in ((0, None), (5, drift), (9, lose)):
        made = with_task_head(base, task, init="pretrained", seed=0, name=f"s{step}")
        with torch.no_grad():
            if change is not None:
                change(made.model.base_model)
        made.save(run / f"checkpoint-{step}")
    return folder / "base", run


@pytest.fixture
def opened(monkeypatch):
    """The most weights that were in memory at once, in models, whenever one was asked for its states."""
    most = [0.0]
    real = measured._states

    def counting(model, some):
        seen = {weight.data_ptr(): weight.numel() for one in casts for each in one.members
                for weight in each.encoder.model.parameters() if weight.numel()}  # fmt: skip
        most[0] = max(most[0], sum(seen.values()) / sum(weight.numel() for weight in model.model.parameters()))
        return real(model, some)

    casts = []
    monkeypatch.setattr(measured, "_states", counting)
    monkeypatch.setattr(measured, "Cast", lambda *args: casts.append(Cast(*args)) or casts[-1])
    return most


@pytest.mark.slow
def test_a_series_is_asked_at_once_in_the_memory_of_two(training, opened, tmp_path):
    base, run = training
    texts, how = read_examples("demo/corpus", limit=60), {"store": tmp_path / "store", **QUICK}
    few = read_pairs("demo/minimal", limit=15)
    rows = zip(few.clean.text, few.corrupted.text, few.phenomenon, strict=True)
    file = tmp_path / "pairs.tsv"
    file.write_text("good\tbad\tphenomenon\n" + "".join("\t".join(row) + "\n" for row in rows))
    pairs = {"pairs": str(file)}
    whole = forgetting([str(base), f"{run}/checkpoint-*"], texts, **QUICK, **pairs, store=tmp_path / "store")
    assert opened[0] < 2.1, "all four would be more"
    table, maps = whole.tables["lines"], whole.tables["maps"]
    assert maps["explained"].nunique() == 3, "each has its own states"
    assert sorted(set(table["step"])) == [0, 5, 9] and not any("counted" in note for note in whole.notes)
    for named in ([str(base), str(run)], [str(base), bertscope.series(run)]):
        assert forgetting(named, texts, **how, **pairs).tables["lines"].equals(table)
    for step in (0, 5, 9):
        alone = forgetting([str(base), str(run / f"checkpoint-{step}")], texts, steps=(step,), **QUICK, **pairs)
        assert alone.tables["lines"].equals(table[table["step"] == step].reset_index(drop=True)), step
        assert alone.tables["maps"].equals(maps[maps["step"] == step].reset_index(drop=True)), "of its own states"
    held = [load(str(base)), *(load(str(run / f"checkpoint-{step}")) for step in (0, 5, 9))]
    before = [one.fingerprint for one in held]
    assert forgetting(held, texts, steps=(0, 5, 9), **QUICK, **pairs).tables["lines"].equals(table)
    assert before == [one.fingerprint for one in held], "a user's models stay as they are"


def test_the_command_line_takes_a_series(training, command):
    base, run = training
    how = ("--on", "demo/corpus", "--limit", 40, "--repeats", 100, "--no-probes")
    code, out, err = command("forgetting", base, f"{run}/checkpoint-*", *how)
    assert code == 0 and "masked pieces lost in spite of an affine map" in out, err
    code, _, err = command("forgetting", base, run, run, *how)
    assert code == 2 and "forgetting of a series takes one model before it, its base" in err
    code, _, err = command("forgetting", run, *how)
    assert code == 2 and "doesn't guess masked words" in err
