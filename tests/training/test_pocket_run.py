"""The next pocket's run: what travels in parts is whole on the other side; what breaks off is told and taken up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pocket_cargo
import pocket_run
from bertscope.models.load import load
from bertscope.training.packed_text import PackedText
from planted_text import write_text
from pocket_compare import FINETUNED
from small_model_folders import small_folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name in (*FINETUNED.values(), *pocket_cargo._DATA):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(pocket_run, "PLACE", tmp_path / "place")
    monkeypatch.setattr(pocket_run, "GOODS", tmp_path / "place/goods")
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def test_what_travels_in_parts_is_whole_there(data, place, tmp_path):
    text, carry, recipe = write_text(tmp_path / "text.txt"), tmp_path / "carry", pocket_run.RECIPE
    recipe = recipe | {"batch_tokens": 512}
    room = 12_000
    teacher = small_folder(tmp_path / "small", "bert")
    count = pocket_cargo.pack(carry, [str(text)], recipe, str(teacher), data, room)
    calls = [carry / f"call-{call}" for call in range(1, count + 1)]
    assert count > 2
    assert all(sum(one.stat().st_size for one in call.iterdir()) <= room for call in calls)
    for call in reversed(calls[1:]):
        assert "still missing: part-1-of" in pocket_cargo.bring(call, place)
    with pytest.raises(SystemExit, match="not all parts were brought"):
        pocket_run.start("plain", 1)
    assert "all of it" in pocket_cargo.bring(calls[0], place)
    brought = PackedText.open(pocket_run.unpacked(place / "model.text"))
    packed = PackedText.open(carry / "goods/text")
    assert len(packed.train) > 1000 and np.array_equal(brought.train, packed.train)
    assert json.loads((place / "goods/text/texts.json").read_text())[0]["name"] == "text.txt"
    assert load(place / "goods/teacher").hidden_size == load(teacher).hidden_size
    assert (place / "goods/data/blimp/BLiMP.zip").read_text() == "blimp/BLiMP.zip"
    assert pocket_run.unpacked(place / "model.text").exists(), "a second time it is there already"


def test_who_waits_is_told_at_once_of_one_that_breaks(place, monkeypatch):
    """Another one goes on; what is done isn't begun again, and what broke is taken up."""
    going = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for run, pid in (("taught", going.pid), ("plain", 2**22 + 1)):
            (place / run).mkdir()
            (place / run / "pid").write_text(str(pid))
            (place / run / "log").write_text("what it said last")
        assert [pocket_run.broke(run) for run in ("taught", "plain", "emerging")] == [False, True, False]
        began = time.perf_counter()
        pocket_run.wait(["taught", "plain"], 30)
        assert time.perf_counter() - began < 10 and "broken: what it said last" in pocket_run.status("plain")
        (place / "goods").mkdir()
        with pytest.raises(SystemExit, match="taught is not begun again: getting ready"):
            pocket_run.start("taught", 1)
        begun = []
        monkeypatch.setattr(pocket_run.subprocess, "Popen", lambda words, **how: begun.append(words) or going)
        pocket_run.start("plain", 2)
        assert begun[0][2:] == ["once", "plain", "--minutes", "2"] and not pocket_run.broke("plain")
        (place / "plain/done").write_text("9 seconds in all")
        with pytest.raises(SystemExit, match="done: 9 seconds"):
            pocket_run.start("plain", 1)
    finally:
        going.kill()
        going.wait()


def test_files_that_were_fetched_are_not_fetched_again(place, tmp_path):
    for name in ("", *(f"checkpoint-{step}" for step in (1, 2, 30, 400, 5000))):
        folder: Path = place / "emerging/model" / name
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_text(name)
    told = []
    for call in ("first", "second"):
        (tmp_path / call).mkdir()
        told.append(pocket_run.collect(["emerging"], tmp_path / call))
    assert told[0][0] == "2 more to fetch" and "emerging-checkpoint-30.safetensors" in told[0]
    assert [name.removeprefix("emerging") for name in told[1][1:]] == [
        "-checkpoint-1.safetensors", "-checkpoint-2.safetensors", ".tar.gz",
    ]  # fmt: skip
