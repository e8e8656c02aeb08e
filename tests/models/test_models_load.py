"""Loading: what a checkpoint is, and one clear line for everything that isn't right with one."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from transformers import (
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
)

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.models.source import POCKET, model_root, own_folder
from families import tiny_model
from pocket_facts import POSITIONS


@pytest.fixture
def folder(tmp_path):
    target = tmp_path / "copy"
    shutil.copytree(POCKET, target)
    return target


def edit(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_pocket_loads_as_what_it_is(pocket):
    assert (pocket.n_layers, pocket.n_heads, pocket.hidden_size, pocket.max_length) == (12, 12, 192, POSITIONS)
    assert pocket.task_head == "masked-lm" and isinstance(pocket.model, BertForPreTraining)
    assert all(parameter.dtype == torch.float32 for parameter in pocket.model.parameters())
    pair = pocket.tokenizer("one", "two")
    assert 1 in pair["token_type_ids"]
    assert not pocket.model.training


def test_every_head_is_kept_and_none_is_invented(tmp_path, pocket, tiny, texts):
    folder = tiny.save(tmp_path / "classifier")
    again = load(folder)
    assert isinstance(again.model, BertForSequenceClassification) and again.task_head == "classifier"
    assert again.fingerprint == tiny.fingerprint
    assert (again.predict(texts).logits == tiny.predict(texts).logits).all()
    assert type(load(folder, task_head="none").model) is BertModel
    with pytest.raises(UserError, match="has no masked-lm on top"):
        load(folder, task_head="masked-lm")
    with pytest.raises(UserError, match="has no classifier on top"):
        load("pocket", task_head="classifier")
    masked = BertForMaskedLM(tiny.model.config)
    masked.save_pretrained(tmp_path / "masked"), pocket.tokenizer.save_pretrained(tmp_path / "masked")
    assert isinstance(load(tmp_path / "masked").model, BertForMaskedLM)


def test_what_a_config_leaves_unsaid_is_read_off_the_weights(folder, tiny, tmp_path):
    edit(folder, architectures=None)
    assert isinstance(load(str(folder)).model, BertForMaskedLM)
    bare = load(tiny.model, tokenizer=tiny.tokenizer).model.bert
    bare.save_pretrained(tmp_path / "bare"), tiny.tokenizer.save_pretrained(tmp_path / "bare")
    edit(tmp_path / "bare", architectures=None)
    assert type(load(tmp_path / "bare").model) is BertModel


def test_half_precision_files_load_as_single(tmp_path, tiny):
    tiny.model.half()
    folder = tiny.save(tmp_path / "half")
    assert {parameter.dtype for parameter in load(folder).model.parameters()} == {torch.float32}


def test_a_module_in_memory_needs_only_its_tokenizer(tiny):
    assert load(tiny.model, tokenizer=tiny.tokenizer).model is tiny.model
    with pytest.raises(UserError, match="give tokenizer="):
        load(tiny.model)
    with pytest.raises(UserError, match="can't open Linear"):
        load(torch.nn.Linear(2, 2))


def test_a_module_in_memory_that_cant_be_read_is_refused_in_one_line(tiny):
    def refused(model, message):
        with pytest.raises(UserError, match=message) as error:
            load(model, tokenizer=tiny.tokenizer)
        assert "\n" not in str(error.value)

    answering = BertForQuestionAnswering(tiny.model.config)
    answering.qa_outputs = torch.nn.Linear(tiny.hidden_size, 3)
    refused(answering, "this BertForQuestionAnswering can't read a text")
    tiny.model.config.return_dict = False
    refused(tiny.model, "gives its outputs without names; set its config.return_dict to True")
    tiny.model.config.return_dict = True
    tiny.layers[1].half()
    refused(tiny.model, "is in half precision")


@pytest.mark.parametrize("name", ["bert", "roberta", "nomic_bert", "gte", "jina_embeddings_v3", "rembert"])
def test_a_model_of_one_segment_reads_pairs_whatever_its_tokenizer_says(name, pocket, tmp_path):
    pairs = Examples(("0", "1"), ("a good film", "no"), pair=("it was", "never"))
    model = tiny_model(name, type_vocab_size=1)
    coded = pocket.tokenizer(list(pairs.text), list(pairs.pair), padding=True, return_tensors="pt")
    coded["token_type_ids"].zero_()
    with torch.no_grad():
        wanted = model(**coded).logits
    encoder = load(model, tokenizer=pocket.tokenizer)
    for one in (encoder, load(encoder.save(tmp_path / "saved"), device="cpu")):
        torch.testing.assert_close(torch.from_numpy(one.predict(pairs).logits), wanted, atol=1e-5, rtol=1e-5)


def test_roots_are_known_by_content(folder, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert model_root(str(folder)).id == model_root(str(moved)).id == model_root("pocket").id
    weights = bytearray((moved / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (moved / "model.safetensors").write_bytes(bytes(weights))
    assert model_root(str(moved)).id != model_root("pocket").id


def test_new_classifiers_are_seeded_and_leave_the_base_alone(pocket):
    before = pocket.fingerprint
    one, same, other = (with_classifier(pocket, ("a", "b"), seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert torch.equal(one.model.bert.pooler.dense.weight, pocket.model.bert.pooler.dense.weight)
    random = with_classifier(pocket, ("a", "b"), init="random", seed=1)
    assert not torch.equal(random.model.bert.pooler.dense.weight, pocket.model.bert.pooler.dense.weight)
    assert with_classifier(pocket, ()).model.config.num_labels == 1
    assert pocket.fingerprint == before


def break_no_weights(folder):
    (folder / "model.safetensors").unlink()


def break_pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def break_truncated(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])


def break_lfs(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


def break_empty(folder):
    (folder / "model.safetensors").write_bytes(b"")


def break_no_config(folder):
    (folder / "config.json").unlink()


def break_config(folder):
    (folder / "config.json").write_text('{"model_type": "be')


def break_family(folder):
    edit(folder, model_type="gpt2")


def break_shape(folder):
    edit(folder, hidden_size=96)


def break_layers(folder):
    edit(folder, num_hidden_layers=13)


def break_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)


def break_architecture(folder):
    from safetensors.torch import load_file, save_file

    edit(folder, architectures=None)
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"classifier.weight": torch.zeros(2, 192)}, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (break_no_weights, "has a config.json but no weights"),
        (break_pickled, "is a pickle, which can run any code when opened"),
        (break_truncated, r"model.safetensors is cut short, 100,000 of [\d,]+ bytes; copy the model again"),
        (break_lfs, "run 'git lfs pull' there"),
        (break_empty, "breaks off in its header"),
        (break_no_config, "is not a model folder: there is no config.json in it"),
        (break_config, "config.json can't be read"),
        (break_family, "models of type 'gpt2' are not supported: it is a decoder, whose tokens"),
        (
            break_shape,
            r"192 of the weights in .* have another shape .* first, \[192\] instead of \[96\]",
        ),
        (break_layers, r"lacks 16 of the model's weights, 'bert.encoder.layer.12"),
        (break_tokenizer, "has no tokenizer"),
        (break_architecture, "doesn't say the model's architecture"),
    ],
)
def test_damaged_folders_get_one_clear_line(folder, damage, message):
    damage(folder)
    with pytest.raises(UserError, match=message) as error:
        load(str(folder))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "damage", [break_truncated, break_lfs, break_empty, break_pickled, break_family, break_tokenizer]
)
def test_what_cannot_be_opened_is_refused_in_planning(folder, damage):
    damage(folder)
    with pytest.raises(UserError):
        model_root(str(folder))


def test_a_link_to_a_folder_keeps_its_own_name(folder, tmp_path, monkeypatch):
    link = tmp_path / "ours"
    link.symlink_to(folder)
    assert own_folder(str(link)) == link and own_folder("pocket") is None
    assert own_folder(f"{tmp_path}/x/../copy") is None and own_folder(f"{folder}/../copy") == folder
    monkeypatch.chdir(tmp_path)
    assert model_root("ours").source == str(link) and model_root("ours").id == model_root(str(folder)).id


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "no such model!"])
def test_names_that_lead_nowhere(name):
    with pytest.raises(UserError, match="no model folder"):
        load(name)


def test_a_hub_id_offline_says_so(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="no model 'nobody/nothing': no folder of that name here, and no download"):
        load("nobody/nothing")


def test_how_a_tokenizer_was_last_used_is_not_written(tmp_path):
    """Other programs would cut and pad every text as the last batch of a training was."""
    model = load("pocket")
    before = model.tokenizer(["a b c d e f", "g"], truncation=True, max_length=5, padding="max_length")
    model.save(tmp_path / "saved")
    written = json.loads((tmp_path / "saved/tokenizer.json").read_text())
    assert written["truncation"] is None and written["padding"] is None
    reads = model.tokenizer.backend_tokenizer
    assert (reads.truncation["max_length"], reads.padding["length"]) == (5, 5), "who is using it notices nothing"
    opened = load(tmp_path / "saved").tokenizer
    assert opened(["a b c d e f", "g"], truncation=True, max_length=5, padding="max_length") == before
    assert opened.model_max_length == POSITIONS
