"""What a checkpoint from elsewhere was fine-tuned from: said by its user, in its config, or on its card."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from bertscope.core.errors import UserError
from bertscope.core.inputs import Inputs
from bertscope.core.model_record import ModelRecord
from bertscope.core.planning import planned
from bertscope.core.registry import find
from bertscope.data.corpus import examples_root
from bertscope.models.known_base import model_root
from bertscope.models.load import load
from bertscope.models.source import POCKET, model_digest

CARD = "---\nlicense: mit\nbase_model: {}\ntags: [a, b]\n---\n# A model\nbase_model: another\n"
HUB = ModelRecord("", "bert-base-uncased", source="bert-base-uncased")


@pytest.fixture
def base(tiny, tmp_path) -> Path:
    return tiny.save(tmp_path / "base")


@pytest.fixture
def foreign(tiny, tmp_path) -> Path:
    """A checkpoint that others trained, and saved without any note of ours."""
    with torch.no_grad():
        next(tiny.model.parameters())[0, 0] += 1
    folder = tmp_path / "foreign"
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({key: one for key, one in config.items() if key != "bertscope"}))
    return folder


def note(folder: Path, said: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"_name_or_path": said}))


# Said by the user


def test_a_base_that_lies_here_is_known_by_what_it_holds(base, foreign, tmp_path):
    assert load(foreign).record.came_of(load(base).record) is None
    told = load(foreign, base=base).record
    assert told.came_of(load(base).record) is True and told.origin.base.name == "BertForSequenceClassification"
    moved = base.rename(tmp_path / "moved")
    assert told.came_of(load(moved).record) is True, "wherever it is"
    assert told.came_of(load(foreign).record) is False and told.origin.by == "", "only the base is known"
    assert load(foreign, base="pocket").record.origin.base.id == model_digest(POCKET)


def test_a_hub_id_is_known_by_its_name_and_asks_nothing_of_the_hub(foreign):
    told = load(foreign, base="bert-base-uncased").record
    assert told.origin.base == HUB and told.came_of(ModelRecord("x", "?", source="bert-base-uncased")) is True
    assert told.came_of(ModelRecord("x", "bert-base-uncased", source="/elsewhere")) is None


def test_what_is_recorded_is_not_said_again_and_no_model_is_its_own_base(base, foreign, tiny, tmp_path):
    cut = tiny.cut(["head:1.1"]).save(tmp_path / "cut")
    assert load(cut, base="pocket").record.origin.by == "cut"
    assert load(base, base=base).record.origin is None and load("pocket", base="pocket").record.origin is None
    roots = {folder: model_root(str(folder), base=str(base)) for folder in (base, cut, foreign)}
    assert [dict(root.options) for root in roots.values()] == [{}, {}, {"base": str(base)}]
    assert model_root("pocket", base="pocket").options == {}
    copied = shutil.copytree(base, tmp_path / "a copy")
    assert load(copied, base=base).record.origin is None and not model_root(str(copied), base=str(base)).options


def test_a_copy_keeps_what_was_said(base, foreign, tmp_path):
    copied = load(load(foreign, base=base).save(tmp_path / "copy"))
    assert copied.record.came_of(load(base).record) is True and copied.record.place == str(tmp_path / "copy")


def test_a_model_in_memory_has_one_too(base, tiny):
    assert load(tiny.model, tokenizer=tiny.tokenizer, base=base).record.origin.base.id == load(base).id


@pytest.mark.parametrize("base", ["./nowhere", "/no/such/folder", "a b", "~/x"])
def test_a_base_that_is_nowhere_is_one_clear_line(foreign, base):
    for read in (load, model_root):
        with pytest.raises(UserError, match=r"no model folder '.*', which is said to be the base; give a folder"):
            read(str(foreign), base=base)


def test_a_base_that_is_no_model_is_refused(foreign, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="is not a model folder"):
        load(foreign, base=tmp_path / "empty")


# Part of how it is read


def test_it_is_part_of_the_models_identity_and_reaches_the_question(base, foreign, tmp_path):
    plain, told = (model_root(str(foreign), **more) for more in ({}, {"base": str(base)}))
    assert plain.digest == told.digest and plain.id != told.id
    step = find("patterns").step({"models.0": told, "examples": examples_root("demo/corpus", limit=4)})
    (opened,) = Inputs(lambda step: tmp_path).of(step)["models"]
    assert opened.record.origin.base.id == load(base).id


def test_what_is_planned_says_it_of_models_alone(base, foreign):
    question = find("patterns")
    step = planned(
        question, [str(base), str(foreign)], "demo/corpus", question.config(), {"limit": 4}, {}, base=str(base)
    )
    assert step.inputs["models.0"].options == {} and step.inputs["models.1"].options == {"base": str(base)}
    assert "base" not in step.inputs["examples"].options


# Said by its own files


def test_transformers_notes_what_it_was_loaded_from(base, foreign):
    note(foreign, "bert-base-uncased")
    assert load(foreign).record.origin.base == HUB
    note(foreign, str(base))
    said = load(foreign).record
    assert said.origin.base == ModelRecord("", "base", source=str(base)), "by where it is: it may have changed since"
    assert said.came_of(load(base).record) is True
    assert load(foreign, base="pocket").record.origin.base.name == "pocket", "who names it knows better"


def test_a_card_says_it(foreign):
    for written in ("bert-base-uncased", "[bert-base-uncased]", "\n- bert-base-uncased"):
        (foreign / "README.md").write_text(CARD.format(written))
        assert load(foreign).record.origin.base == HUB, written
    digest = model_root(str(foreign)).digest
    (foreign / "README.md").unlink()
    assert model_root(str(foreign)).digest == digest and load(foreign).record.origin is None


@pytest.mark.parametrize(
    "written", ["[bert-base-uncased, roberta-base]", "3", "{a: b}", "'/home/somebody/run 3'", "a/b/c", "[[", "''"]
)
def test_a_card_that_names_no_model_says_nothing(foreign, written):
    (foreign / "README.md").write_text(CARD.format(written))
    assert load(foreign).record.origin is None


@pytest.mark.parametrize("text", ["", "# base_model: x", "---\nbase_model: x\n", "---\n- a\n---\n", "\x00"])
def test_a_card_without_front_matter_says_nothing(foreign, text):
    (foreign / "README.md").write_text(text)
    assert load(foreign).record.origin is None


@pytest.mark.parametrize("said", [None, "", 3, ["x"], "old_models/mini/0_Transformer", "/gone/away"])
def test_a_note_that_names_no_model_says_nothing(foreign, said):
    note(foreign, said)
    assert load(foreign).record.origin is None


def test_a_model_that_names_itself_says_nothing(base, foreign, monkeypatch):
    note(foreign, str(foreign))
    assert load(foreign).record.origin is None
    monkeypatch.chdir(foreign.parent)
    note(foreign, "foreign")
    assert load("foreign").record.origin is None
    note(base, "bert-base-uncased")
    (base / "seal.json").unlink()
    assert load(base).record.origin is None, "what we wrote ourselves says where it came from, or doesn't know"
