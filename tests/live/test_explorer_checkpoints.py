"""Two checkpoints: whose task head a base is read by, what is told of them, and the lines that say the same."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForMaskedLM

import bertscope
from bertscope.core.examples import Examples
from bertscope.live.explorer import Explorer
from bertscope.live.messages import AskRows, Change, LookAt, Reading
from bertscope.models.load import load
from explored import another
from families import MARKED, tiny_model
from planted_kinds import PLANTED

TEXT = "the old man by the river was never seen again"


def bare(encoder, form=AutoModel):
    """A model with other weights, and nothing or masked words on top."""
    model = form.from_config(encoder.model.config)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    return load(model.eval().to(encoder.device), tokenizer=encoder.tokenizer)


@pytest.fixture(scope="module", params=MARKED)
def family(request, _pocket):
    return load(tiny_model(request.param), tokenizer=_pocket.tokenizer)


def test_a_base_without_a_task_head_is_read_by_the_models(family):
    base = bare(family)
    explorer = Explorer.open(family, base)
    found = explorer.look(LookAt(Reading(TEXT), [Change(), Change(["head:2.1"])])).seen[1]
    # By hand: the model with the base's weights loaded into it, but for what is on top.
    mixed = copy.deepcopy(family.model)
    own = {name: tensor for name, tensor in base.model.state_dict().items() if "pooler" not in name}
    missing, unexpected = mixed.base_model.load_state_dict(own, strict=False)
    assert not unexpected and all("pool" in name for name in missing)
    mixed = load(mixed, tokenizer=family.tokenizer)
    for off, prediction in (([], found.before), (["head:2.1"], found.after)):
        with mixed.gates(off=off):
            logits = mixed.predict([TEXT]).logits[0].astype(float)
        shares = np.exp(logits) / np.exp(logits).sum()
        told = {one.label: one.p for one in prediction.shares}
        assert [told[label] for label in mixed.labels] == pytest.approx(shares.tolist(), abs=1e-5)
    about = explorer.about().checkpoints[1]
    assert about.id == base.id and "task head" in about.notes[0] and about.predicts == "one label"
    assert base.model.state_dict().keys() == bare(family).model.state_dict().keys()


def test_a_masked_word_model_is_a_base_too(tiny):
    base = bare(tiny, AutoModelForMaskedLM)
    before = base.fingerprint, tiny.fingerprint
    explorer = Explorer.open(tiny, base)
    seen = explorer.look(LookAt(Reading(TEXT), [Change(graft=["embeddings", "layer:1", "layer:2", "layer:3"])])).seen
    assert seen[0].after.p == pytest.approx(seen[1].after.p, abs=1e-6)  # all of the base's weights
    assert seen[0].before.p != pytest.approx(seen[1].before.p, abs=1e-3)
    back = explorer.look(
        LookAt(Reading(TEXT), [Change(), Change(graft=["embeddings", "layer:1", "layer:2", "layer:3"])])
    )
    assert back.seen[1].after.p == pytest.approx(back.seen[0].before.p, abs=1e-6)
    assert (base.fingerprint, tiny.fingerprint) == before


def test_a_base_with_a_task_head_of_its_own_keeps_it(tiny):
    other = another(tiny)
    found = Explorer.open(tiny, other).look(LookAt(Reading(TEXT))).seen[1].after
    logits = other.predict([TEXT]).logits[0].astype(float)
    assert found.p == pytest.approx((np.exp(logits) / np.exp(logits).sum()).max(), abs=1e-5)


def test_a_parsers_base_lends_it_weights(_pocket):
    """The parser itself is on top, and stays."""
    parser = PLANTED["trees"].model(_pocket.tokenizer)
    base = load(another(parser).model.__class__(parser.model.config).eval(), tokenizer=_pocket.tokenizer)
    explorer = Explorer.open(parser, base)
    assert explorer.about().graft == "" and base.task_head == "none"
    found = explorer.look(
        LookAt(Reading("good old house"), [Change(graft=["embeddings", "layer:1", "layer:2"])])
    ).seen
    assert found[0].after == found[1].after != found[0].before


def test_a_model_that_says_nothing_still_shows_its_maps(tiny):
    explorer = Explorer.open(bare(tiny))
    found = explorer.look(LookAt(Reading(TEXT), [Change(["head:2.1"])])).seen[0]
    assert found.before is found.after is None and found.maps.first == 2
    assert explorer.about().checkpoints[0].predicts == ""
    assert explorer.python(LookAt(Reading(TEXT))).count("with") == 0


def test_data_that_a_model_isnt_asked_is_shown_without_answers(_pocket, toy_task):
    explorer = Explorer.open(_pocket, None, toy_task)
    rows = explorer.rows(AskRows(count=3))
    assert rows.found == 128 and rows.rows[0].said == [""] and rows.rows[0].right is None
    assert {row.gold for row in rows.rows} <= {"good", "bad"}
    assert "isn't asked toy" in explorer.about().checkpoints[0].notes[0]


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_told_is_json(_pocket, kind):
    explorer = Explorer.open(PLANTED[kind].model(_pocket.tokenizer), None, PLANTED[kind].task(6))
    about = explorer.about()
    look = explorer.look(LookAt(about.example, [Change(["head:1.2"])]))
    for told in (about, look, explorer.rows(AskRows())):
        json.dumps(asdict(told), allow_nan=False)
    assert about.version == bertscope.__version__ and about.limits.tokens == 32
    assert about.presets[-1].off and all(part.startswith("head:") for part in about.presets[-1].off)
    explorer.look(LookAt(about.example, [Change(about.presets[-1].off)]))


# As Python


@pytest.mark.parametrize("kind", PLANTED)
def test_the_lines_say_the_same(_pocket, kind):
    model, task = PLANTED[kind].model(_pocket.tokenizer), PLANTED[kind].task(8)
    base = another(model, 0.02)
    explorer = Explorer.open(model, base, task)
    reading = Reading("long long [MASK]") if kind == "masked" else explorer.about().example
    assert (explorer.about().called[0] == "Question") == (kind == "spans")
    changes = [Change(["head:1.2", "mlp:2"], "mean", ["head:2.1"]), Change(["head:2.3"], "uniform", ["layer:1"])]
    asked = LookAt(reading, changes)
    named = {"model": model, "base": base, "data": task}
    exec(explorer.python(asked), named)
    for side, name in zip(explorer.look(asked).seen, ("p_model", "p_base"), strict=True):
        said, after = np.asarray(torch.as_tensor(named[name]).cpu()), side.after
        if kind in ("classification", "choices"):
            assert said.max() == pytest.approx(after.p, abs=1e-5)
        elif kind == "one_logit":
            assert max(said[0], 1 - said[0]) == pytest.approx(after.p, abs=1e-5)
        elif kind == "several":
            assert sorted(said) == pytest.approx(sorted(one.p for one in after.shares), abs=1e-5)
        elif kind in ("regression", "vectors"):
            assert said[0] == pytest.approx(after.shares[0].value, abs=1e-5)
        elif kind == "tokens":
            assert said.max(-1) == pytest.approx([mark.p for mark in after.marks], abs=1e-5)
        elif kind == "spans":
            assert said.tolist() == [after.marks[0].start, after.marks[0].end]
        elif kind == "trees":
            assert len(said) == len(after.marks)
        else:
            assert said.max() == pytest.approx(after.guesses[0].words[0].p, abs=1e-5)


def test_the_lines_open_what_was_named(tiny, tmp_path, csv):
    base = bare(tiny)
    folders = tiny.save(tmp_path / "tiny"), base.save(tmp_path / "base")
    explorer = Explorer.open(str(folders[0]), folders[1], str(csv), text="text")
    asked = LookAt(
        Reading("it's a 'good' \"house\""), [Change(["head:1.1"], "mean"), Change(["head:2.1"], graft=["mlp:1"])]
    )
    lines, named = explorer.python(asked), {}
    exec(lines, named)
    seen = explorer.look(asked).seen
    assert float(named["p_model"].max()) == pytest.approx(seen[0].after.p, abs=1e-5)
    assert float(named["p_base"].max()) == pytest.approx(seen[1].after.p, abs=1e-5)
    assert "read_task" in lines and "text='text'" in lines


def test_texts_without_labels_are_said_something_of(tiny):
    explorer = Explorer.open(tiny, None, [TEXT, "a good house", "a bad one"])
    rows = explorer.rows(AskRows(order="file")).rows
    logits = tiny.predict(Examples(("1", "2", "3"), (TEXT, "a good house", "a bad one"))).logits
    assert [row.said[0] for row in rows] == [tiny.labels[place] for place in logits.argmax(1)]
    assert all(0.5 <= row.p[0] <= 1 and row.right is None and row.gold == "" for row in rows)
