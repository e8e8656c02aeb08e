"""Folders as people bring them: an encoder's weights under another config, the folder around a training's
checkpoints, a model that chooses."""

from __future__ import annotations

import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertscope.core.errors import UserError
from bertscope.data.outputs import output_of
from bertscope.models.load import load
from bertscope.models.source import model_root
from families import CONFIGS, tiny_config
from small_model_folders import edit, small_folder

TEXTS = ["a good text .", "bad bad", "the text was"]


def encoder_only(folder, family="mpnet", architecture=None):
    """What all-mpnet-base-v2 is: an encoder's weights, and a config that names a masked language model."""
    torch.manual_seed(3)
    config = tiny_config(family)
    masked = transformers.AutoModelForMaskedLM.from_config(config)
    masked.base_model.save_pretrained(folder)
    edit(folder / "config.json", architectures=[architecture or type(masked).__name__])
    return masked


MASKED = [
    family
    for family in CONFIGS
    if family in transformers.CONFIG_MAPPING
    and type(tiny_config(family)) in transformers.AutoModelForMaskedLM._model_mapping
]


@pytest.mark.parametrize("family", MASKED)
def test_an_encoders_file_under_a_masked_lms_config_is_an_encoder(family, tmp_path, pocket):
    masked = encoder_only(tmp_path, family)
    encoder = load(tmp_path, tokenizer=pocket.tokenizer, device="cpu")
    assert encoder.task_head == "none" and type(encoder.model) is type(masked.base_model)
    before = masked.base_model.state_dict()
    for name, held in encoder.model.state_dict().items():
        assert torch.equal(held, before[name]), name
    (note,) = encoder.opening_notes
    assert type(masked).__name__ in note and "the encoder's alone" in note
    with pytest.raises(UserError, match="has no masked-lm on top"):
        load(tmp_path, tokenizer=pocket.tokenizer, task_head="masked-lm")


@pytest.mark.parametrize("architecture", ["BertForPreTraining", "BertForMaskedLM"])
def test_a_file_that_lacks_a_part_of_the_top_is_refused(architecture, tmp_path, pocket):
    masked = encoder_only(tmp_path, "bert", architecture)
    name = "cls.predictions.transform.dense.weight"
    save_file(load_file(tmp_path / "model.safetensors") | {name: masked.state_dict()[name].clone()},
              tmp_path / "model.safetensors")  # fmt: skip
    with pytest.raises(UserError, match=r"lacks \d+ of the model's weights, '(bert\.pooler|cls\.predictions)"):
        load(tmp_path, tokenizer=pocket.tokenizer)


def test_a_classifier_without_its_top_is_refused(tmp_path):
    folder = small_folder(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: held for name, held in weights.items() if "classifier" not in name}, folder / "model.safetensors"
    )
    with pytest.raises(UserError, match=r"lacks 2 of the model's weights, 'classifier\.bias'"):
        load(folder)


def test_planning_and_commands_take_it_and_results_say_so(tmp_path, command, pocket):
    encoder_only(tmp_path / "mpnet")
    pocket.tokenizer.save_pretrained(tmp_path / "mpnet")
    assert model_root(str(tmp_path / "mpnet")).digest == load(tmp_path / "mpnet").id
    (tmp_path / "texts.txt").write_text("a good text .\nthe house was old\nit was never said by him\n" * 4)
    for question in ("states", "patterns"):  # of these only the second shares a pass
        code, out, err = command(question, "mpnet", "--on", "texts.txt")
        assert code == 0, err
        assert "opened as an encoder with nothing on top" in out + err, question


def test_the_parent_of_checkpoints_names_the_newest(tmp_path):
    whole = small_folder(tmp_path / "model")
    training = tmp_path / "out"
    for step in (500, 1000, 90):
        shutil.copytree(whole, training / f"checkpoint-{step}")
    (training / "checkpoint-2000").mkdir()  # a training that was killed as it wrote
    (training / "checkpoint-best").mkdir()
    for opened in (load, lambda folder: model_root(str(folder))):
        with pytest.raises(UserError, match=r"no config.json in it; give .*out/checkpoint-1000, its newest") as error:
            opened(training)
    assert "\n" not in str(error.value)
    assert load(training / "checkpoint-1000").task_head == "classifier"
    shutil.rmtree(training)
    training.mkdir()
    with pytest.raises(UserError, match=r"no config\.json in it; name the one that has it"):
        load(training)


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "modernbert", "deberta-v2"])
def test_a_model_that_chooses_opens(family, tmp_path, pocket):
    config = tiny_config(family)
    opener = transformers.AutoModelForMultipleChoice
    if type(config) not in opener._model_mapping:
        pytest.skip(f"transformers has no {family} that chooses")
    model = opener.from_config(config)
    model.save_pretrained(tmp_path)
    encoder = load(tmp_path, tokenizer=pocket.tokenizer, device="cpu")
    assert encoder.task_head == "multiple-choice" and type(encoder.model) is type(model)
    assert encoder.record.is_one_training and encoder.labels == ()
    assert load(tmp_path, tokenizer=pocket.tokenizer, task_head="none").task_head == "none"
    with pytest.raises(UserError, match=r"has no classifier on top \(it is: multiple-choice"):
        encoder.predict(TEXTS, output_of("classification", "toy", ("bad", "good"), "accuracy"))


def test_questions_about_attention_take_it(tmp_path, command, pocket):
    torch.manual_seed(0)
    transformers.BertForMultipleChoice(tiny_config("bert")).save_pretrained(tmp_path / "one")
    torch.manual_seed(1)
    transformers.BertForMultipleChoice(tiny_config("bert")).save_pretrained(tmp_path / "two")
    for name in ("one", "two"):
        pocket.tokenizer.save_pretrained(tmp_path / name)
    (tmp_path / "texts.txt").write_text("a good text .\nthe house was old\nit was never said by him\n" * 4)
    for words in (("patterns", "one"), ("change", "one", "two"), ("states", "one")):
        code, _, err = command(*words, "--on", "texts.txt")
        assert code == 0, err
