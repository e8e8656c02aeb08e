"""What goes with the package: licence, notice, the card of its model; and what SECURITY.md says of the code."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from zipfile import ZipFile

import pytest

from bertscope.models.source import POCKET, model_digest
from house import FILES, SOURCE
from lock import HERE

CARD = (POCKET / "README.md").read_text(encoding="utf-8")


def test_the_wheel_has_licence_notice_and_card(tmp_path):
    pytest.importorskip("hatchling", reason="`make` installs it")
    copy = tmp_path / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(HERE / name, copy)
    shutil.copytree(SOURCE, copy / "src" / "bertscope", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=copy, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = ZipFile(wheel).namelist()
    assert "bertscope/models/pocket/README.md" in names
    for name in ("LICENSE", "NOTICE"):
        assert any(re.fullmatch(rf"bertscope-[^/]+\.dist-info/licenses/{name}", one) for one in names)


def test_the_card_of_pocket_is_no_part_of_what_it_is(tmp_path):
    for path in POCKET.iterdir():
        if path.suffix != ".md":
            shutil.copy(path, tmp_path)
    assert model_digest(tmp_path) == model_digest(POCKET)


def test_the_card_of_pocket_says_what_its_config_says():
    config = json.loads((POCKET / "config.json").read_text(encoding="utf-8"))
    heads, width = config["num_attention_heads"], config["hidden_size"]
    words = (
        f"`{config['architectures'][0]}`: {config['num_hidden_layers']} layers, {heads} heads of {width // heads}, "
        f"width {width}, MLPs of {config['intermediate_size']}, {config['max_position_embeddings']} positions"
    )
    assert words in CARD and f"{config['vocab_size']:,} pieces" in CARD and "license: apache-2.0" in CARD


def test_the_notice_names_every_file_of_numbers():
    notice = (HERE / "NOTICE").read_text(encoding="utf-8")
    for path in SOURCE.rglob("*.safetensors"):
        place = path.relative_to(SOURCE.parent)  # as the package has it
        assert str(place) in notice or str(place.parent) in notice


def test_no_code_of_others_is_run_and_no_pickle_is_read():
    # SECURITY.md says so; what opens a pickle on demand is named `allow_pickle`, and stays in the models' room.
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"trust_remote_code=(?!False)|weights_only=False|^\s*(import|from) (pickle|dill)\b", text, re.M
        )
        if path.relative_to(SOURCE).parts[0] != "models":
            assert not re.search(r"allow_pickle=(?!False)", text), path
