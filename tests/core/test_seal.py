"""Seals: nothing that was changed, cut short, lost or put elsewhere is read as if it were what was written."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertscope.core import files, seal
from bertscope.core.errors import UserError
from bertscope.core.number import Number
from bertscope.core.result import Result, load_result
from bertscope.core.store import Damaged, Store
from bertscope.study.runner import run_steps
from sums import CALLS, register, step

FLIPS = 1400


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A sealed folder with another one, sealed before, in it."""
    inner = tmp_path / "f" / "inner"
    inner.mkdir(parents=True)
    (inner / "deep.txt").write_text("deep")
    seal.write(inner, "inner")
    (tmp_path / "f" / "a.txt").write_text("abc")
    seal.write(tmp_path / "f", "outer")
    return tmp_path / "f"


def test_a_seal_holds_every_file_once(folder):
    sealed = json.loads((folder / "seal.json").read_text())
    assert sealed["of"] == "outer" and set(sealed["files"]) == {"a.txt", "inner/seal.json"}
    # SHA-256 of "abc", as FIPS 180-2 gives it.
    assert sealed["files"]["a.txt"] == [3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
    assert not seal.flaw(folder) and not seal.flaw(folder, "outer") and not seal.strangers(folder)
    assert seal.flaw(folder, "model") == "it is 'outer' by its seal.json"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: (f / "a.txt").write_text("abd"), "a.txt was changed"),
        (lambda f: (f / "a.txt").write_text("ab"), "a.txt has 2 bytes and had 3"),
        (lambda f: (f / "a.txt").unlink(), "a.txt is missing"),
        (lambda f: (f / "inner" / "deep.txt").write_text("Deep"), "inner/deep.txt was changed"),
        (lambda f: shutil.rmtree(f / "inner"), "inner/seal.json is missing"),
        (lambda f: seal.write(f / "inner", "other"), "inner/seal.json was changed"),
        (lambda f: (f / "seal.json").write_text("{"), "seal.json can't be read"),
        (lambda f: (f / "seal.json").write_text('{"of": "o", "files": {}, "growing": []}'), "seal.json was changed"),
        (lambda f: (f / "seal.json").unlink(), "it has no seal.json"),
        (lambda f: (f / "a.txt").unlink() or (f / "a.txt").mkdir(), "a.txt is no file any more"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(folder, change, said):
    change(folder)
    assert said in seal.flaw(folder)
    with pytest.raises(UserError, match=r"is damaged: .*; make it again, or restore it from a copy"):
        seal.refuse_damaged(folder)


def test_what_lies_beside_is_told(folder):
    (folder / "notes.md").write_text("mine")
    (folder / "inner" / "more").mkdir()
    assert not seal.flaw(folder), "it is none of what was sealed"
    assert seal.strangers(folder) == ["inner/more", "notes.md"]


def test_sizes_are_always_compared_and_digests_where_it_is_asked(folder):
    (folder / "inner" / "deep.txt").write_text("Deep")
    other = folder.with_name("copy")
    shutil.copytree(folder, other)
    assert not seal.flaw(folder, within=()) and not seal.flaw(folder, within=("a.txt",))
    assert seal.flaw(folder, within=("inner",)) == "inner/deep.txt was changed"
    assert seal.flaw(folder, within=()) == "inner/deep.txt was changed", "known now, without reading it again"
    assert not seal.flaw(other, within=())


def test_a_file_is_read_once_in_a_process(folder, monkeypatch):
    old = 1_600_000_000
    for path in folder.rglob("*"):
        os.utime(path, (old, old))
    read = []
    plain = files.hashlib.file_digest
    monkeypatch.setattr(files.hashlib, "file_digest", lambda stream, how: read.append(1) or plain(stream, how))
    for _ in range(3):
        assert not seal.flaw(folder)
    assert len(read) == 3, "a.txt, inner/seal.json, inner/deep.txt"
    (folder / "a.txt").write_text("abd")
    assert seal.flaw(folder) == "a.txt was changed"


def test_a_result_from_another_step_is_not_this_ones(tmp_path):
    store, one, other = Store(tmp_path), step(add=1), step(add=2)
    run_steps([one, other], store)
    shutil.rmtree(store.path(one) / "result")
    shutil.copytree(store.path(other) / "result", store.path(one) / "result")
    with pytest.raises(UserError, match=r"result/seal\.json"):
        load_result(store.path(one))
    assert not store.has(one) and set(run_steps([one], store).done) == {one.id}
    # A whole step under another one's name.
    shutil.rmtree(store.path(one))
    shutil.copytree(store.path(other), store.path(one))
    assert not store.has(one)
    (bad,) = store.damaged()
    assert bad.folder == store.path(one) and bad.reason == f"it is '{other.id}' by its seal.json"


def test_a_step_that_says_it_is_another_is_damaged(tmp_path):
    store = Store(tmp_path)
    run_steps([step(add=1)], store)
    folder = store.path(step(add=1))
    marker = folder / "step.json"
    marker.write_text(marker.read_text().replace('"add": 1', '"add": 9'))
    seal.write(folder, folder.name)  # as somebody would who knows how
    (bad,) = store.damaged()
    assert bad.reason == "step.json is of another step"


def saved(folder: Path) -> Result:
    table = pd.DataFrame({"layer": [1, 2, 3], "effect": [0.25, -0.5, 1.0]})
    made = Result("toy", 1, {"effects": table}, {"maps": np.arange(12.0).reshape(3, 4)}, [Number("score", 0.75)])
    made.save(folder)
    return made


def flip(path: Path, at: int, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1 << bit
    path.write_bytes(content)


def test_no_flipped_bit_of_a_saved_result_is_silent(tmp_path):
    made, draws = saved(tmp_path / "r"), random.Random(0)
    names = sorted(path for path in (tmp_path / "r").iterdir())
    for _ in range(FLIPS // 2):
        path = draws.choice(names)
        at, bit = draws.randrange(path.stat().st_size), draws.randrange(8)
        flip(path, at, bit)
        with pytest.raises(UserError):
            Result.load(tmp_path / "r")
        flip(path, at, bit)
    assert Result.load(tmp_path / "r").equals(made)


def test_no_flipped_bit_of_a_store_is_silent(tmp_path):
    """Each makes its step damaged, and asked for again it is made again, as it was."""
    store, first = Store(tmp_path / "s"), step(add=1)
    last = step({"earlier.0": first}, add=10)
    run_steps([last], store)
    wanted, draws = store.result(last), random.Random(1)
    for turn in range(FLIPS // 2):
        folder = store.path(draws.choice((first, last)))
        path = draws.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        at, bit = draws.randrange(path.stat().st_size), draws.randrange(8)
        flip(path, at, bit)
        (bad,) = [one for one in store.verified() if isinstance(one, Damaged)]
        assert bad.folder == folder
        if turn % 25:
            flip(path, at, bit)
            continue
        if turn % 2:
            shutil.rmtree(store.path(last))  # so that the first is opened as an input
        CALLS.clear()
        run_steps([first, last], Store(store.folder))
        assert CALLS.count("sum") == 1 + (turn % 2 and folder == store.path(first))
        assert store.result(last).equals(wanted)
    assert not [one for one in store.verified() if isinstance(one, Damaged)]
