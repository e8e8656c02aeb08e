"""A model is its content: the folder's name, and where it lies, change nothing; a changed weight does."""

from __future__ import annotations

import shutil

import torch

from bertscope.core.model_record import ModelRecord
from bertscope.models.load import load
from bertscope.models.new_task_head import bare, with_random_weights
from bertscope.models.source import model_root
from bertscope.models.surgery import without_layers


def test_a_folder_that_is_renamed_holds_the_same_model(tiny, tmp_path):
    first = tiny.save(tmp_path / "one")
    shutil.copytree(first, tmp_path / "other")
    one, other = load(first), load(tmp_path / "other")
    assert one.id == other.id == model_root(str(first)).digest
    assert one.record.source == str(first) and other.record.source == str(tmp_path / "other")
    assert one.record.made and one.record.is_same(other.record)
    assert load(first, task_head="none").id == one.id, "what is left off when it is opened is still in the file"


def test_what_is_changed_in_memory_is_another_model(tiny, tmp_path):
    encoder = load(tiny.save(tmp_path / "one"))
    before = encoder.id
    with torch.no_grad():
        next(encoder.model.parameters())[0, 0] += 1
    changed = encoder.id
    assert changed != before and encoder.record.source == "" == encoder.record.made
    assert encoder.id == changed, "the same content, the same id"
    with torch.no_grad():
        next(encoder.model.parameters())[0, 0] += 1
    assert encoder.id not in (before, changed)


def test_a_model_in_memory_is_known_again(tiny, tmp_path):
    again = load(load(tiny.save(tmp_path / "m")).model, tokenizer=tiny.tokenizer)
    assert again.id == load(again.model, tokenizer=tiny.tokenizer).id and again.record.source == ""


def test_what_is_made_of_a_model_says_so_wherever_it_is_kept(tiny, tmp_path):
    base = load(tiny.save(tmp_path / "base"))
    made = {
        "cut": base.cut(["head:1.1"]).cut(["head:2.1", "mlp:1"]), "random": with_random_weights(base, 5),
        "bare": bare(base, name="b"), "shorter": without_layers(base, [3]),
    }  # fmt: skip
    for name, encoder in made.items():
        record = load(encoder.save(tmp_path / name)).record
        assert record.came_of(base.record) is True and record.id != base.id, name
        assert record.is_random == (name == "random")
    cut = load(tmp_path / "cut").record
    assert cut.origin.removed == "head:1.1; head:2.1, mlp:1" and cut.origin.base.id == base.id
    assert load(tmp_path / "random").record.origin.seed == 5


def test_nobody_says_where_a_foreign_model_came_from(tiny, tmp_path):
    encoder = load(tiny.save(tmp_path / "mine tuned on tickets"))
    assert encoder.record.origin is None and encoder.record.came_of(ModelRecord("x", "mine")) is None


def test_every_way_of_writing_to_a_weight_is_seen_and_a_gate_is_none(tiny, tmp_path):
    encoder = load(tiny.save(tmp_path / "m"))
    whole = encoder.id
    with encoder.gates(off=["head:1.1"]):
        assert encoder.id == whole, "a gate changes nothing"
        encoder.predict(["a text"])
    assert encoder.id == whole
    weight = encoder.model.classifier.weight
    weight.data[[0, 1]] = weight.data[[1, 0]]  # no counter of torch's sees this
    assert encoder.id != whole
    weight.data[[0, 1]] = weight.data[[1, 0]]
    assert encoder.id == whole, "as it was: what its files hold"
    encoder.model.config.id2label = {0: "yes", 1: "no"}
    assert encoder.id != whole, "what its outputs are called is part of it"


def test_the_same_of_a_copy_that_lies_elsewhere_is_the_same_model(tiny, tmp_path):
    shutil.copytree(tiny.save(tmp_path / "one" / "base"), tmp_path / "two" / "base")
    made = [
        load(tmp_path / where / "base").cut(["head:1.1"]).save(tmp_path / where / "cut") for where in ("one", "two")
    ]
    one, two = map(load, made)
    assert one.id == two.id and one.record != two.record and one.record.wherever() == two.record.wherever()


def test_a_tokenizer_that_is_changed_is_another_whatever_was_known_of_it(tiny):
    before = tiny.tokenizer_digest
    tiny.tokenizer(["a text", "another"], padding=True, truncation=True, max_length=3)
    assert tiny.tokenizer_digest == before == load(tiny.model, tokenizer=tiny.tokenizer).tokenizer_digest
    tiny.tokenizer.model_max_length = 7
    shorter = tiny.tokenizer_digest
    tiny.tokenizer.add_tokens(["zyzzyva"])
    assert len({before, shorter, tiny.tokenizer_digest}) == 3
