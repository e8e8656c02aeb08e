"""LoRA adapters are merged as PEFT merges them, with the task head that was trained beside them; what can't be merged
to the last bit is refused by name."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.source import model_root
from small_model_folders import edit, small_masked_folder

TEXTS = ["a good text .", "bad bad", "the text was"]
QUERY = "bert.encoder.layer.1.attention.self.query"
CONFIG = {
    "peft_type": "LORA", "task_type": "SEQ_CLS", "r": 2, "lora_alpha": 6, "bias": "none", "use_dora": False,
    "target_modules": ["query"], "modules_to_save": ["classifier", "score"], "init_lora_weights": True,
    "revision": None, "fan_in_fan_out": False, "qalora_group_size": 16, "eva_config": None, "peft_version": "0.18.0",
}  # fmt: skip


@pytest.fixture
def base(tmp_path):
    return small_masked_folder(tmp_path / "base")


@pytest.fixture
def held():
    """Of one query, and a classifier of two labels."""
    torch.manual_seed(1)
    return {
        f"base_model.model.{QUERY}.lora_A.weight": torch.randn(2, 8),
        f"base_model.model.{QUERY}.lora_B.weight": torch.randn(8, 2),
        "base_model.model.classifier.weight": torch.randn(2, 8),
        "base_model.model.classifier.bias": torch.randn(2),
    }


@pytest.fixture
def adapter(tmp_path, base, held):
    """An adapter by hand, as PEFT writes it."""
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG | {"base_model_name_or_path": str(base)}))
    save_file(held, folder / "adapter_model.safetensors")
    return folder


def query_of(encoder):
    return encoder.model.state_dict()[QUERY + ".weight"].cpu()


def test_merging_by_hand(adapter, base, held):
    encoder = load(adapter, device="cpu")
    before = load_file(base / "model.safetensors")
    product = held[f"base_model.model.{QUERY}.lora_B.weight"] @ held[f"base_model.model.{QUERY}.lora_A.weight"]
    torch.testing.assert_close(query_of(encoder), before[QUERY + ".weight"] + 6 / 2 * product)
    state = encoder.model.state_dict()
    assert torch.equal(state["classifier.weight"], held["base_model.model.classifier.weight"])
    for name, weights in state.items():
        if name != QUERY + ".weight" and "classifier" not in name:
            assert torch.equal(weights, before[name]), name
    assert encoder.task_head == "classifier" and encoder.labels == ("LABEL_0", "LABEL_1")
    assert encoder.predict(TEXTS).logits.shape == (3, 2)
    edit(adapter / "adapter_config.json", use_rslora=True)
    torch.testing.assert_close(query_of(load(adapter)), before[QUERY + ".weight"] + 6 / 2**0.5 * product)
    edit(adapter / "adapter_config.json", use_rslora=False, alpha_pattern={"layer.0.attention.self.query": 100,
                                                                           r"layer\.1\..*query": 10})  # fmt: skip
    torch.testing.assert_close(query_of(load(adapter)), before[QUERY + ".weight"] + 10 / 2 * product)


def test_what_it_is_is_the_adapter_and_its_base(adapter, base):
    encoder = load(adapter)
    assert encoder.id == model_root(str(adapter)).digest and encoder.name == "adapter"
    assert encoder.record.origin.base.id == load(base).id == model_root(str(base)).digest
    assert encoder.record.came_of(load(base).record) and encoder.record.source == str(adapter)
    ids = {encoder.id, load(base).id}
    path = adapter / "adapter_model.safetensors"
    save_file({name: weights + 1 for name, weights in load_file(path).items()}, path)
    ids.add(load(adapter).id)
    edit(adapter / "adapter_config.json", lora_alpha=7)
    ids.add(load(adapter).id)
    path = base / "model.safetensors"
    save_file({name: weights + 1 for name, weights in load_file(path).items()}, path)
    ids.add(load(adapter).id)
    assert len(ids) == 5
    assert load(adapter).id == model_root(str(adapter)).digest


def test_a_copy_of_it_is_a_plain_model(adapter, base, tmp_path):
    encoder = load(adapter, device="cpu")
    again = load(encoder.save(tmp_path / "saved"), device="cpu")
    assert (again.predict(TEXTS).logits == encoder.predict(TEXTS).logits).all()
    assert again.record.came_of(load(base).record) and not (tmp_path / "saved" / "adapter_config.json").exists()
    bare = load(adapter, task_head="none", device="cpu")
    assert bare.task_head == "none" and torch.equal(
        bare.model.state_dict()[QUERY.removeprefix("bert.") + ".weight"], query_of(encoder)
    )


def test_labels_beside_the_adapter_are_its_labels(adapter, base):
    shutil.copy(base / "config.json", adapter)
    edit(adapter / "config.json", id2label={"0": "bad", "1": "good"}, label2id={"bad": 0, "good": 1})
    assert load(adapter).labels == ("bad", "good")


def test_commands_take_it(adapter, command, tmp_path):
    (tmp_path / "texts.txt").write_text("a good text .\nthe text was bad\na text was the text .\n" * 4)
    code, _, err = command("patterns", "adapter", "--on", "texts.txt")
    assert code == 0, err


def test_the_base_may_be_pocket(adapter):
    edit(adapter / "adapter_config.json", base_model_name_or_path="pocket", task_type=None)
    torch.manual_seed(0)
    name = "base_model.model.bert.encoder.layer.0.attention.self.query"
    pair = {f"{name}.lora_A.weight": torch.randn(2, 192), f"{name}.lora_B.weight": torch.randn(192, 2)}
    save_file(pair, adapter / "adapter_model.safetensors")
    encoder = load(adapter)
    assert encoder.task_head == "masked-lm" and encoder.tokenizer.vocab_size == load("pocket").tokenizer.vocab_size
    assert encoder.record.origin.base.id == load("pocket").id


def test_an_adapter_may_lie_in_a_sentence_folder(adapter, held, base):
    pair = {name.replace(".bert.", "."): one for name, one in held.items() if "lora" in name}
    save_file(pair, adapter / "adapter_model.safetensors")
    edit(adapter / "adapter_config.json", task_type="FEATURE_EXTRACTION")
    modules = [{"type": "a.Transformer", "path": ""}, {"type": "a.Pooling", "path": "1_Pooling"}]
    (adapter / "modules.json").write_text(json.dumps(modules))
    (adapter / "1_Pooling").mkdir()
    (adapter / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    encoder = load(adapter, device="cpu")
    assert encoder.task_head == "none" and encoder.sentence.in_words() == "cls"
    before = load(base, task_head="none", device="cpu").model.state_dict()
    moved = {name for name, one in encoder.model.state_dict().items() if not torch.equal(one, before[name])}
    assert moved == {QUERY.removeprefix("bert.") + ".weight"}
    assert encoder.id == model_root(str(adapter)).digest


def untrained(folder, base):
    """The task head didn't come back."""
    path = folder / "adapter_model.safetensors"
    save_file({name: held for name, held in load_file(path).items() if "classifier" not in name}, path)


def without_a_pooler(folder, base):
    path = base / "model.safetensors"
    save_file({name: held for name, held in load_file(path).items() if "pooler" not in name}, path)


def changed(**changes):
    return lambda folder, base: edit(folder / "adapter_config.json", **changes)


def weights(change):
    def do(folder, base):
        path = folder / "adapter_model.safetensors"
        save_file(change(load_file(path)), path)

    return do


def pickled(folder, base):
    torch.save(load_file(folder / "adapter_model.safetensors"), folder / "adapter_model.bin")
    (folder / "adapter_model.safetensors").unlink()


def an_adapter_itself(folder, base):
    shutil.copytree(folder, folder.parent / "second")
    changed(base_model_name_or_path=str(folder.parent / "second"))(folder, base)


WRONG = {
    "untrained": (untrained, r"neither .*adapter_model\.safetensors nor its base .*base holds 'classifier'.*"
                  r"modules_to_save=\['classifier'\]"),
    "no pooler": (without_a_pooler, r"holds 'bert\.pooler\.dense'.*modules_to_save"),
    "another kind": (changed(peft_type="IA3"), "of the kind 'IA3'; only LORA adapters .*merge_and_unload"),
    "dora": (changed(use_dora=True), "says use_dora: DoRA also rescales"),
    "biases": (changed(bias="lora_only"), "says bias 'lora_only': biases were trained too"),
    "pissa": (changed(init_lora_weights="pissa"), "init_lora_weights 'pissa': its base was changed"),
    "replicated": (changed(layer_replication=[[0, 2]]), r"says layer_replication \[\[0, 2\]\], which isn't merged"),
    "tokens": (changed(trainable_token_indices=[1]), "says trainable_token_indices"),
    "of tomorrow": (changed(use_something_new=True), "says use_something_new True, which isn't merged here"),
    "a revision": (changed(revision="abc"), "names the revision 'abc' of its base; download that"),
    "generates": (changed(task_type="CAUSAL_LM"), "says task_type 'CAUSAL_LM'; encoders have SEQ_CLS"),
    "no base": (changed(base_model_name_or_path=None), "doesn't say what its base is"),
    "lost base": (changed(base_model_name_or_path="/not/there"),
                  "the base of the adapter in .* isn't found: no model folder '/not/there'.*base_model_name_or_path"),
    "another base": (changed(base_model_name_or_path="pocket"), r"is \[8, 8\] there, and \[192, 192\] in its base|"
                     r"and its base pocket has \[2, 192\] there, not \[2, 8\]"),
    "an adapter itself": (an_adapter_itself, "is an adapter itself; merge that one first"),
    "no alpha": (changed(lora_alpha="much"), "lora_alpha or alpha_pattern aren't numbers"),
    "odd pattern": (changed(alpha_pattern={"(": 1}), "lora_alpha or alpha_pattern aren't numbers"),
    "pickled": (pickled, "is a pickle: bertscope convert .*adapter --allow-pickle"),
    "no weights": (lambda folder, base: (folder / "adapter_model.safetensors").unlink(), "copy the adapter again"),
    "cut short": (lambda folder, base: (folder / "adapter_model.safetensors").write_bytes(b"\x10"), "breaks off"),
    "no config": (lambda folder, base: (folder / "adapter_config.json").unlink(), "but no adapter_config.json"),
    "half a pair": (weights(lambda held: {name: one for name, one in held.items() if "lora_B" not in name}),
                    "has no second matrix that fits it"),
    "the other half": (weights(lambda held: {name: one for name, one in held.items() if "lora_A" not in name}),
                       "has no first matrix"),
    "a magnitude": (weights(lambda held: held | {f"base_model.model.{QUERY}.lora_magnitude_vector": torch.ones(8)}),
                    "lora_magnitude_vector', which isn't merged here"),
    "another layer": (weights(lambda held: {name.replace("layer.1", "layer.7"): one for name, one in held.items()}),
                      r"adapts 'bert\.encoder\.layer\.7\.attention\.self\.query', which its base .* hasn't"),
    "foreign": (weights(lambda held: held | {"x.weight": torch.ones(1)}), "'x.weight', which no LoRA adapter"),
    "empty": (weights(lambda held: {}), "is empty; copy|neither"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_isnt_whole_is_refused_in_one_line(case, adapter, base):
    change, message = WRONG[case]
    change(adapter, base)
    with pytest.raises(UserError, match=message) as error:
        load(adapter)
    assert ("\n" not in str(error.value) and ";" in str(error.value)) or ":" in str(error.value)


def test_one_beside_whole_weights_stays_refused(adapter, base):
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(adapter / name, base)
    for opened in (load, lambda folder: model_root(str(folder))):
        with pytest.raises(UserError, match=r"has an adapter beside its weights \(adapter_config\.json\)"):
            opened(base)
