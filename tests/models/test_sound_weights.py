"""Opening a model: weights that it has no use for, that don't fit or that are no numbers are refused by name; nothing
that transformers itself writes is."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import BertForPreTraining, BertForSequenceClassification, BertModel

from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.sound_weights import refuse_unsound
from bertscope.models.source import POCKET
from families import MARKED, tiny_config
from pocket_facts import PIECES, POSITIONS

WORDS = PIECES * 192
"""Values of pocket's word embeddings."""

OPENED = {
    "classifier": transformers.AutoModelForSequenceClassification,
    "masked": transformers.AutoModelForMaskedLM,
    "pretraining": transformers.AutoModelForPreTraining,
    "token": transformers.AutoModelForTokenClassification,
    "span": transformers.AutoModelForQuestionAnswering,
    "bare": transformers.AutoModel,
}


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(POCKET, tmp_path / "copy")


def change_config(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def change_weights(folder, change):
    """Write the weights again after `change`, which may alter them or give others."""
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file(change(weights) or weights, path)


@pytest.mark.parametrize("family", MARKED)
def test_nothing_that_the_library_writes_is_refused(family, tmp_path, pocket):
    written = 0
    for kind, opened in OPENED.items():
        config = tiny_config(family, num_labels=2)
        if type(config) not in opened._model_mapping:
            continue
        model = opened.from_config(config)
        model.save_pretrained(tmp_path / kind)
        again = load(tmp_path / kind, tokenizer=pocket.tokenizer, device="cpu").model
        assert type(again) is type(model)
        before = model.state_dict()
        for name, weights in again.state_dict().items():
            assert torch.equal(weights, before[name]), name
        load(tmp_path / kind, task_head="none", tokenizer=pocket.tokenizer)
        written += 1
    assert written >= 4


def old_names(weights):
    """As Google's checkpoints were converted: LayerNorm's old names, the decoder beside what it is tied to."""
    found = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in weights.items()
    }
    word = weights["bert.embeddings.word_embeddings.weight"].clone()
    bias = weights["cls.predictions.bias"].clone()
    positions = torch.arange(POSITIONS)[None]
    return found | {
        "cls.predictions.decoder.weight": word, "cls.predictions.decoder.bias": bias,
        "bert.embeddings.position_ids": positions,
    }  # fmt: skip


@pytest.mark.parametrize("architecture", ["BertForPreTraining", "BertForMaskedLM", "BertModel"])
def test_old_checkpoints_open_as_what_they_say(folder, architecture, pocket):
    change_weights(folder, old_names)
    change_config(folder, architectures=[architecture])
    opened = load(folder, device="cpu")
    assert type(opened.model).__name__ == architecture
    before = pocket.model.bert.state_dict()
    for name, weights in opened.model.base_model.state_dict().items():
        assert torch.equal(weights, before[name].cpu()), name


# What published checkpoints hold beside the weights of the architecture that they name.
PUBLISHED = [
    ("bert", "bare", ["embeddings.position_ids"]),  # all-MiniLM-L6-v2
    ("bert", "masked", ["cls.seq_relationship.weight", "bert.pooler.dense.weight", "bert.embeddings.position_ids"]),
    ("roberta", "masked", ["roberta.pooler.dense.weight", "roberta.embeddings.position_ids"]),
    ("roberta", "classifier", ["roberta.pooler.dense.bias"]),  # roberta-large-mnli
    ("xlm-roberta", "token", ["roberta.pooler.dense.weight", "lm_head.dense.weight"]),
    ("distilbert", "masked", ["distilbert.embeddings.position_ids"]),
    (
        "albert",
        "masked",
        ["albert.pooler.weight", "sop_classifier.classifier.weight"],
    ),
    ("electra", "pretraining", ["electra.embeddings.position_ids", "generator_predictions.dense.weight"]),
    ("mpnet", "masked", ["mpnet.pooler.dense.weight", "mpnet.embeddings.position_ids"]),
    ("deberta-v2", "masked", ["mask_predictions.dense.weight", "lm_predictions.lm_head.dense.weight"]),
    ("nomic_bert", "bare", ["encoder.layers.0.attn.rotary_emb.inv_freq"]),
]


@pytest.mark.parametrize(("family", "kind", "beside"), PUBLISHED)
def test_what_published_checkpoints_hold_beside_their_weights_is_known(family, kind, beside, tmp_path, pocket):
    OPENED[kind].from_config(tiny_config(family)).save_pretrained(tmp_path)
    held = {name: torch.ones(1, 1, dtype=torch.long if name.endswith("_ids") else torch.float) for name in beside}
    change_weights(tmp_path, lambda weights: weights | held)
    load(tmp_path, tokenizer=pocket.tokenizer)
    change_weights(tmp_path, lambda weights: weights | {"encoder.foreign.weight": torch.ones(1)})
    with pytest.raises(UserError, match="has 1 weights for which"):
        load(tmp_path, tokenizer=pocket.tokenizer)


def test_names_without_the_prefix_and_the_pooler_of_others_are_known(folder):
    change_weights(folder, lambda weights: {name.removeprefix("bert."): held for name, held in weights.items()})
    assert isinstance(load(folder).model, BertForPreTraining)
    change_config(folder, architectures=["BertModel"])
    assert type(load(folder).model) is BertModel


def relative(folder):
    change_config(folder, position_embedding_type="relative_key_query")
    distances = {f"bert.encoder.layer.{at}.attention.self.distance_embedding.weight": torch.ones(255, 16)
                 for at in range(12)}  # fmt: skip
    change_weights(folder, lambda weights: weights | distances)


def relative_without_a_word(folder):
    relative(folder)
    change_config(folder, position_embedding_type="absolute")


def relative_without_weights(folder):
    change_config(folder, position_embedding_type="relative_key")


def half_of_the_layers(folder):
    change_config(folder, num_hidden_layers=6)


def whole_numbers(folder):
    name = "bert.encoder.layer.5.output.dense.weight"
    change_weights(folder, lambda weights: weights | {name: (weights[name] * 100).to(torch.int8)})


def small_floats(folder):
    name = "bert.encoder.layer.5.output.dense.weight"
    change_weights(folder, lambda weights: weights | {name: weights[name].to(torch.float8_e4m3fn)})


def adapter(folder):
    (folder / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    save_file({"base_model.model.bert.lora_A.weight": torch.ones(2, 2)}, folder / "adapter_model.safetensors")


def a_layer_of_somebody(folder):
    change_weights(folder, lambda weights: weights | {"bert.encoder.layer.0.adapter.weight": torch.ones(2, 2)})


def a_classifier_nobody_names(folder):
    change_weights(folder, lambda weights: weights | {"classifier.weight": torch.ones(2, 192)})


def another_pooler(folder):
    change_config(folder, architectures=["BertModel"])
    change_weights(folder, lambda weights: weights | {"bert.pooler.projection.weight": torch.ones(2, 2)})


def twice(folder):
    weights = load_file(folder / "model.safetensors")
    name = "bert.pooler.dense.bias"
    save_file({name: weights[name] + 1}, folder / "model-2.safetensors")
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    places = dict.fromkeys(weights, "model-1.safetensors") | {name: "model-2.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def spoil(weights, name, value):
    weights[name].view(-1)[3] = value


def one_nan(folder):
    name = "bert.encoder.layer.5.attention.self.query.weight"
    change_weights(folder, lambda weights: spoil(weights, name, torch.nan))


def one_infinity(folder):
    change_weights(folder, lambda weights: spoil(weights, "bert.embeddings.LayerNorm.bias", -torch.inf))


def all_nan(folder):
    change_weights(folder, lambda weights: {name: held * torch.nan for name, held in weights.items()})


DAMAGES = [
    (relative, "has position_embedding_type 'relative_key_query', which transformers no longer computes"),
    (relative_without_weights, "has position_embedding_type 'relative_key'"),
    (relative_without_a_word, r"has 12 weights for which a BertForPreTraining has no use, 'bert\.encoder\.layer\.0"
     r"\.attention\.self\.distance_embedding\.weight' first: it would be measured .* save it to another folder"),
    (half_of_the_layers, r"has 96 weights for which .* no use, 'bert\.encoder\.layer\.10\.attention"),
    (whole_numbers, r"'bert\.encoder\.layer\.5\.output\.dense\.weight' in .* holds I8: weights that were quantised"),
    (small_floats, r"'bert\.encoder\.layer\.5\.output\.dense\.weight' in .* holds F8_E4M3: weights that were"),
    (adapter, r"has an adapter beside its weights \(adapter_config\.json\).*merge it first .*merge_and_unload"),
    (a_layer_of_somebody, "has 1 weights for which .* no use, 'bert.encoder.layer.0.adapter.weight'"),
    (a_classifier_nobody_names, "has 1 weights for which .* no use, 'classifier.weight'"),
    (another_pooler, "has 1 weights for which a BertModel has no use, '.*pooler.projection.weight'"),
    (twice, r"'bert.pooler.dense.bias' is in .*model-1.safetensors and in model-2.safetensors"),
    (one_nan, r"1 of 36,864 values of 'bert\.encoder\.layer\.5\.attention\.self\.query\.weight' in .* are NaN or "
     "infinite; copy the model again"),
    (one_infinity, r"1 of 192 values of 'bert\.embeddings\.LayerNorm\.bias'"),
    (all_nan, rf"{WORDS:,} of {WORDS:,} values of 'bert.embeddings.word.* \(and others in \d+ more weights\)"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_weights_that_are_not_what_they_say_get_one_line(folder, damage, message):
    damage(folder)
    with pytest.raises(UserError, match=message) as error:
        load(folder)
    assert "\n" not in str(error.value) and str(folder) in str(error.value)


def test_what_was_cut_is_held_to_its_weights_too(tiny, tmp_path):
    def damaged(change):
        folder = shutil.copytree(cut, tmp_path / change.__name__, ignore=shutil.ignore_patterns("seal.json"))
        change_weights(folder, change)
        return folder

    def foreign(weights):
        return weights | {"bert.encoder.layer.3.output.dense.bias": torch.ones(24)}

    def misshapen(weights):
        return weights | {"classifier.weight": torch.ones(3, 24)}

    def not_numbers(weights):
        spoil(weights, "classifier.weight", torch.nan)

    cut = tiny.cut(["head:1.1", "mlp:2"]).save(tmp_path / "cut")
    assert isinstance(load(cut).model, BertForSequenceClassification)
    assert type(load(cut, task_head="none").model) is BertModel
    with pytest.raises(UserError, match=r"no use, 'bert.encoder.layer.3.output.dense.bias'"):
        load(damaged(foreign))
    with pytest.raises(UserError, match=r"'classifier.weight' first, \[3, 24\] instead of \[2, 24\]"):
        load(damaged(misshapen))
    with pytest.raises(UserError, match=r"1 of 48 values of 'classifier.weight' in .* are NaN or infinite"):
        load(damaged(not_numbers))


def test_pickled_weights_that_were_quantised_are_refused(folder):
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    assert load(folder, allow_pickle=True).task_head == "masked-lm"
    name = "bert.pooler.dense.weight"
    for dtype, held in ((torch.int8, "int8"), (torch.float8_e5m2, "float8_e5m2")):
        torch.save(weights | {name: weights[name].to(dtype)}, folder / "pytorch_model.bin")
        with pytest.raises(UserError, match=f"'bert.pooler.dense.weight' in .* holds {held}: weights that were"):
            load(folder, allow_pickle=True)


def test_models_in_memory_are_looked_at_too(tiny):
    model = tiny.model
    model.config.position_embedding_type = "relative_key"
    with pytest.raises(UserError, match="this BertForSequenceClassification has position_embedding_type"):
        load(model, tokenizer=tiny.tokenizer)
    model.config.position_embedding_type = "absolute"
    with torch.no_grad():
        model.classifier.bias[1] = torch.inf
    with pytest.raises(UserError, match=r"1 of 2 values of 'classifier.bias' in this BertForSequenceClassification"):
        load(model, tokenizer=tiny.tokenizer)
    for dtype, held in ((torch.int8, "int8"), (torch.float8_e4m3fn, "float8_e4m3fn")):
        model.classifier.bias = torch.nn.Parameter(torch.ones(2).to(dtype), requires_grad=False)
        with pytest.raises(UserError, match=f"'classifier.bias' of this .* holds {held}"):
            load(model, tokenizer=tiny.tokenizer)


def test_large_weights_are_numbers_though_their_sum_is_none():
    large = torch.nn.Linear(4, 4)
    with torch.no_grad():
        large.weight.fill_(3e38)
    refuse_unsound(large, "it")
    large.register_buffer("beside", torch.tensor([1.0, torch.nan]))
    with pytest.raises(UserError, match="1 of 2 values of 'beside' in it"):
        refuse_unsound(large, "it")
