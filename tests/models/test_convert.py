"""`bertscope convert`: pickled weights to safetensors, in a process that does nothing else."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from bertscope.core import seal
from bertscope.core.errors import UserError
from bertscope.models.convert import convert
from bertscope.models.load import load
from bertscope.models.source import POCKET, model_root
from small_model_folders import small_folder, small_masked_folder, small_sharded_folder

TEXTS = ["a good text .", "bad bad", "the text was"]


def pickle_weights(folder, name="model"):
    """As transformers wrote them before safetensors."""
    for path in [*folder.glob("*.safetensors")]:
        torch.save(load_file(path), path.with_name(f"{path.stem.replace('model', 'pytorch_model', 1)}.bin"))
        path.unlink()
    return folder


@pytest.fixture
def pickled(tmp_path):
    return pickle_weights(shutil.copytree(small_folder(tmp_path / "whole"), tmp_path / "model"))


def test_the_model_gives_the_same_and_is_sealed(pickled, tmp_path, command):
    wanted = load(tmp_path / "whole", device="cpu").predict(TEXTS).logits
    (pickled / "training_args.bin").write_bytes(b"nobody's weights")
    (pickled / "optimizer.pt").write_bytes(b"nobody's weights")
    before = sorted(path.name for path in pickled.iterdir())
    code, out, err = command("convert", "model", "--allow-pickle")
    assert code == 0 and "written to " in out and "model-safetensors" in out, err
    made = tmp_path / "model-safetensors"
    assert (load(made, device="cpu").predict(TEXTS).logits == wanted).all() and seal.flaw(made, "model") == ""
    assert model_root(str(made)).digest == load(made).id
    assert (
        not [*made.rglob("*.bin"), *made.rglob("*.pt")] and sorted(path.name for path in pickled.iterdir()) == before
    )
    assert command("convert", "model", "--allow-pickle")[0] == 0, "what it wrote before is written again"


def test_without_the_flag_a_line_says_what_to_do(pickled, command):
    for words in (("convert", "model"), ("patterns", "model", "--on", "demo/corpus")):
        code, _, err = command(*words)
        (line,) = [line for line in err.splitlines() if line.startswith("bertscope: ")]
        assert code == 2 and "is a pickle, which can run any code" in line and "--allow-pickle" in line
    with pytest.raises(UserError, match=r"bertscope convert .*model --allow-pickle"):
        load(pickled)
    with pytest.raises(UserError, match="of nobody/nothing are downloaded only if you trust its maker; run again"):
        convert("nobody/nothing", None, False)


@pytest.mark.slow
def test_several_files_with_an_index(tmp_path):
    folder = small_sharded_folder(tmp_path)
    wanted = load(folder, device="cpu").predict(TEXTS).logits
    index = json.loads((folder / "model.safetensors.index.json").read_text())
    (folder / "model.safetensors.index.json").unlink()
    pickle_weights(folder)
    places = {name: f"pytorch_{file.removesuffix('.safetensors')}.bin" for name, file in index["weight_map"].items()}
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": places}))
    made = convert(str(folder), tmp_path / "made", True)
    assert len([*made.glob("*.safetensors")]) == len(set(places.values())) > 1
    assert (load(made, device="cpu").predict(TEXTS).logits == wanted).all()


def test_weights_that_share_memory_and_views(tmp_path):
    folder = small_masked_folder(tmp_path / "model")
    wanted = load(folder, device="cpu")
    state = load_file(folder / "model.safetensors")
    word = state["bert.embeddings.word_embeddings.weight"]
    turned = state["bert.encoder.layer.0.output.dense.weight"].T.contiguous().T
    assert not turned.is_contiguous()
    state |= {"cls.predictions.decoder.weight": word, "bert.encoder.layer.0.output.dense.weight": turned,
              "cls.predictions.decoder.bias": state["cls.predictions.bias"]}  # fmt: skip
    (folder / "model.safetensors").unlink()
    torch.save(state, folder / "pytorch_model.bin")
    again = load(convert(str(folder), tmp_path / "made", True), device="cpu")
    assert again.task_head == "masked-lm" and again.fingerprint == wanted.fingerprint
    inputs = again.tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        np.testing.assert_array_equal(again.model(**inputs).logits, wanted.model(**inputs).logits)


def test_sentence_folders_and_adapters(tmp_path, pickled):
    (pickled / "modules.json").write_text(json.dumps([
        {"type": "a.Transformer", "path": "0_Transformer"}, {"type": "a.Pooling", "path": "1_Pooling"},
        {"type": "a.Dense", "path": "2_Dense"},
    ]))  # fmt: skip
    for name in ("0_Transformer", "1_Pooling", "2_Dense"):
        (pickled / name).mkdir()
    for path in [path for path in pickled.iterdir() if path.is_file() and path.name != "modules.json"]:
        path.rename(pickled / "0_Transformer" / path.name)
    (pickled / "1_Pooling" / "config.json").write_text('{"pooling_mode": "cls"}')
    (pickled / "2_Dense" / "config.json").write_text('{"in_features": 8, "out_features": 3}')
    dense = {"linear.weight": torch.randn(3, 8), "linear.bias": torch.randn(3)}
    torch.save(dense, pickled / "2_Dense" / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"2_Dense/pytorch_model\.bin is a pickle.* convert .*/model --allow-pickle"):
        model_root(str(pickled))
    config = json.loads((pickled / "0_Transformer" / "config.json").read_text())
    assert config["architectures"] == ["BertForSequenceClassification"]
    made = load(convert(str(pickled), tmp_path / "made", True))
    assert torch.equal(made.sentence.dense[0].weight.cpu(), dense["linear.weight"])


def test_an_adapters_pickle(tmp_path):
    base, folder = small_masked_folder(tmp_path / "base"), tmp_path / "adapter"
    folder.mkdir()
    name = "base_model.model.bert.encoder.layer.0.attention.self.query"
    pair = {f"{name}.lora_A.weight": torch.randn(2, 8), f"{name}.lora_B.weight": torch.randn(8, 2)}
    torch.save(pair, folder / "adapter_model.bin")
    about = {"peft_type": "LORA", "lora_alpha": 2, "base_model_name_or_path": str(base)}
    (folder / "adapter_config.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match=r"bertscope convert .*adapter --allow-pickle"):
        load(folder)
    made = load(convert(str(folder), tmp_path / "made", True))
    assert made.task_head == "masked-lm" and made.id != load(base).id


class Runs:
    """What a hostile pickle holds: code that is run when it is opened."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def hostile(folder, mark):
    torch.save({"a": torch.ones(1), "b": Runs(mark)}, folder / "pytorch_model.bin")


def older_and_hostile(folder, mark):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Runs(mark)}, protocol=2))


def newer_and_hostile(folder, mark):
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Runs(mark)}, protocol=4))


def a_training(folder, mark):
    torch.save({"epoch": 3, "state": {}}, folder / "pytorch_model.bin")


def a_list(folder, mark):
    torch.save([torch.ones(1)], folder / "pytorch_model.bin")


def a_whole_module(folder, mark):
    torch.save(torch.nn.Linear(2, 2), folder / "pytorch_model.bin")


def nothing(folder, mark):
    (folder / "pytorch_model.bin").write_bytes(b"")


WRONG = [
    (hostile, r"isn't converted: it asks for (posix|os|nt)\.system, which no weights need; take the model"),
    (older_and_hostile, r"isn't converted: it asks for (posix|os|nt)\.system"),
    (newer_and_hostile, r"isn't converted: it holds what no weights need \(Unsupported operand 149\)"),
    (a_whole_module, r"isn't converted: it asks for torch\.nn\.modules\.linear\.Linear"),
    (a_training, "it holds 'epoch', a int, beside weights"),
    (a_list, "it holds a list, not weights by their names"),
    (nothing, "isn't converted: it breaks off; take"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "message"), WRONG)
def test_what_is_no_weights_is_left_closed(change, message, pickled, tmp_path):
    change(pickled, tmp_path / "mark")
    with pytest.raises(UserError, match=message) as error:
        convert(str(pickled), tmp_path / "made", True)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "mark").exists() and not (tmp_path / "made").exists()


CLOSED = {
    "a socket": "import socket; socket.socket()",
    "a name looked up": "import socket; socket.getaddrinfo('localhost', 80)",
    "a program": "import subprocess; subprocess.run(['true'])",
    "a shell": "import os; os.system('true')",
    "another process": "import os; os.fork()",
    "a file": "open('mark', 'w')",
    "a file by its number": "import os; os.open('mark', os.O_CREAT | os.O_WRONLY)",
    "a deletion": "import os; os.remove('there')",
    "native code": "import ctypes; ctypes.CDLL(None)",
}


@pytest.mark.parametrize("case", CLOSED)
def test_the_process_does_nothing_else(case, tmp_path):
    (tmp_path / "there").write_text("")
    code = f"import sys\nfrom bertscope.models import unpickle\nsys.addaudithook(unpickle._refuse)\n{CLOSED[case]}"
    # It may be found by a path that is told from another folder.
    paths = os.pathsep.join(str(Path(path).resolve()) for path in sys.path)
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "PermissionError" in done.stderr and "is closed to a file of weights" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_there_is_nothing_to_convert(tmp_path, pickled):
    with pytest.raises(UserError, match=r"has no pickled weights .*it has model\.safetensors: give the folder"):
        convert(str(POCKET), tmp_path / "made", True)
    save_file(torch.load(pickled / "pytorch_model.bin", weights_only=True), pickled / "model.safetensors")
    with pytest.raises(UserError, match=r"it has model\.safetensors: give the folder as it is"):
        convert(str(pickled), None, True)
    with pytest.raises(UserError, match="no model folder"):
        convert(str(tmp_path / "nowhere"), None, True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="name a folder that has them"):
        convert(str(tmp_path / "empty"), None, True)


def test_nobodys_folder_is_written_over(pickled, tmp_path):
    with pytest.raises(UserError, match="it holds things that bertscope didn't write"):
        convert(str(pickled), tmp_path / "whole", True)
    with pytest.raises(UserError, match="it holds things that bertscope didn't write"):
        convert(str(pickled), pickled, True)
