"""A model folder that is changed at random opens and answers, or is refused in one line: no bug, no hang, no flood of
memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fuzzed_model_folders
from bertscope.core.errors import UserError
from fuzzed_model_folders import GIGABYTES, bases, changed, fuzz

SUPPORT = Path(fuzzed_model_folders.__file__).parent


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return bases(tmp_path_factory.mktemp("made"))


@pytest.mark.slow
def test_changed_folders_open_or_are_refused(made, tmp_path):
    found = fuzz(tmp_path, made, 0, 200)
    assert not found["wrong"], "\n".join(found["wrong"])
    ends = {name.split(": ")[1] for name in found["found"]}
    assert ends == {"opened", "refused"} and found["found"].total() == 200


def test_the_same_number_makes_the_same_folder(made, tmp_path):
    for copy in ("one", "two"):
        for number in range(20):
            folder = tmp_path / copy / str(number)
            folder.mkdir(parents=True)
            for path in made[number % len(made)].iterdir():
                (folder / path.name).write_bytes(path.read_bytes())
            changed(folder, number)
    one, two = ({path.relative_to(tmp_path / copy): path.read_bytes() for path in (tmp_path / copy).rglob("*.*")}
                for copy in ("one", "two"))  # fmt: skip
    assert one == two


@pytest.mark.parametrize("fails", [KeyError("model_type"), MemoryError(), UserError("two\nlines")])
def test_what_isnt_one_line_is_noticed(made, tmp_path, monkeypatch, fails):
    """The fuzzer itself can fail."""

    def broken(*_args, **_kwargs):
        raise fails

    monkeypatch.setattr("bertscope.models.load.load", broken)
    found = fuzz(tmp_path, made, 0, 3)
    assert len(found["wrong"]) == 3 and found["found"].total() == 3


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 5000, 1250))
def test_5000_changed_folders_take_no_more_than_2_gigabytes(first, tmp_path):
    """In a process that may have no more, so that a crash of a library's own code is seen too."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "RUST_BACKTRACE": "0"}
    command = [sys.executable, str(SUPPORT / "fuzzed_model_folders.py"), str(tmp_path), str(10_000 + first), "1250"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800)
    at = tmp_path / "at"
    assert ran.returncode == 0, f"died at {at.read_text() if at.exists() else 'the start'}: {ran.stderr[-2000:]}"
    found = json.loads(ran.stdout.splitlines()[-1])
    assert not found["wrong"], "\n".join(found["wrong"])
    assert sum(found["found"].values()) == 1250 and found["gigabytes"] < GIGABYTES
