"""Every folder of the list opens as what it is, or is refused in one line; planning never ends as a bug either."""

from __future__ import annotations

import os
import re
import shutil
import signal

import pytest

from bertscope.core import seal
from bertscope.core.errors import UserError
from bertscope.models.load import load
from bertscope.models.source import model_root
from odd_configs import OTHERWISE, SAME
from odd_model_folders import FOLDERS, SHARDED
from odd_seals import SEALS
from small_model_folders import FAMILIES, edit, small_folder, small_sharded_folder

TEXTS = ["a good text .", "bad bad \u2603", "the text was"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return small_folder(tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    return small_sharded_folder(tmp_path_factory.mktemp("sharded"))


@pytest.fixture(scope="module")
def right(whole):
    return load(whole, device="cpu").predict(TEXTS).logits


def told(folder, right) -> str:
    """How opening it ends; what planning refuses can't be opened either."""
    try:
        model_root(str(folder))
        planned = True
    except UserError:
        planned = False
    try:
        answers = load(folder, device="cpu").predict(TEXTS).logits
    except UserError as error:
        assert str(error).isprintable() and len(str(error)) < 700 and ";" in str(error)
        return str(error)
    assert planned
    return SAME if (answers == right).all() else OTHERWISE


@pytest.mark.parametrize("case", FOLDERS)
def test_a_folder_opens_or_is_refused_in_one_line(case, whole, right, tmp_path):
    change, said = FOLDERS[case]
    folder = shutil.copytree(whole, tmp_path / "model")
    change(folder)
    assert re.search(said, told(folder, right))


@pytest.mark.parametrize("case", SHARDED)
def test_so_does_one_with_an_index(case, sharded, right, tmp_path):
    change, said = SHARDED[case]
    folder = shutil.copytree(sharded, tmp_path / "model")
    (tmp_path / "x.safetensors").write_bytes(b"")  # what an index may not lead to
    change(folder)
    assert re.search(said, told(folder, right))


@pytest.mark.parametrize("case", SEALS)
def test_so_does_one_with_an_odd_seal(case, whole, right, tmp_path):
    change, said = SEALS[case]
    folder = shutil.copytree(whole, tmp_path / "model")
    seal.write(folder, "model")
    change(folder)
    signal.signal(signal.SIGALRM, _never_ends)
    signal.alarm(20)
    try:
        assert re.search(said, told(folder, right))
    finally:
        signal.alarm(0)


def _never_ends(*_args):
    raise TimeoutError("a seal is waited for")


def test_the_list_is_long_enough():
    assert len(FOLDERS) + len(SHARDED) >= 300
    assert all(said for _, said in (FOLDERS | SHARDED).values())


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_opens_with_how_it_was_run_last(family, tmp_path):
    folder = small_folder(tmp_path / "model", family)
    before = load(folder, device="cpu").predict(TEXTS).logits
    edit(folder / "config.json", return_dict=False, output_attentions=True, attn_implementation="flash_attention_2",
         output_hidden_states=True, torch_dtype="bfloat16", chunk_size_feed_forward=5)  # fmt: skip
    assert (load(folder, device="cpu").predict(TEXTS).logits == before).all()


def test_positions_that_are_counted_from_no_padding_are_refused(tmp_path):
    folder = small_folder(tmp_path / "model", "roberta")
    edit(folder / "config.json", pad_token_id=None)
    with pytest.raises(UserError, match="a roberta counts positions from it"):
        model_root(str(folder))


def test_labels_keep_their_names(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "model")
    edit(folder / "config.json", id2label=["x", "y", 7])
    encoder = load(folder, device="cpu")
    assert encoder.labels == ("x", "y", "7") and encoder.model.config.label2id == {"x": 0, "y": 1, "7": 2}


def test_a_pattern_that_gives_up_on_a_text_is_no_bug(whole, tmp_path, capfd):
    folder = shutil.copytree(whole, tmp_path / "model")
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    edit(folder / "tokenizer.json", pre_tokenizer=pattern)
    encoder = load(folder, device="cpu")
    with pytest.raises(UserError, match=r"the tokenizer can't read these texts .*retry-limit"):
        encoder.predict(["a" * 60 + "!"])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_what_may_not_be_read_is_refused(name, whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "model")
    for path in folder.iterdir():
        path.chmod(0o644)
    (folder / name).chmod(0)
    for above in (folder, *folder.parents):
        if above.stat().st_mode & 0o005 != 0o005:
            above.chmod(above.stat().st_mode | 0o055)
    os.seteuid(65534)
    try:
        with pytest.raises(UserError, match=f"{name} can't be read"):
            model_root(str(folder))
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", ["x" * 300, "/tmp/" + "x" * 300, "~nobody-of-that-name/model", "/\0", "./a\nb"])
def test_names_that_no_file_can_have(name):
    with pytest.raises(UserError, match="no model"):
        model_root(name)


def test_a_folder_may_have_the_longest_name(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / ("x" * 255))
    assert load(folder, device="cpu").name == "x" * 255 and model_root(str(folder)).digest
