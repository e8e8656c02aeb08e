"""What a reviewer got through with: links, hostile seals, disks that don't answer, other people's folders with names
like ours."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from bertscope.core import files, seal
from bertscope.core.errors import UserError
from bertscope.core.folders import refuse_inside
from bertscope.core.result import Result
from bertscope.core.store import Damaged, Store
from bertscope.models.load import load
from bertscope.models.states import hidden_states
from bertscope.study.runner import run_steps
from sums import register, step

ID = "train-0123456789abcdef"


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    register(monkeypatch)
    found = Store(tmp_path / "s")
    run_steps([step(), step(add=1)], found)
    return found


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_stored_file_that_cannot_be_read_is_made_again(store, monkeypatch):
    plain = seal.digest_file

    def fail(path: Path) -> str:
        if path.suffix == ".parquet" and step().id in str(path) and path.stat().st_ino == bad:
            raise OSError(errno.EIO, "Input/output error")
        return plain(path)

    bad = (store.path(step()) / "result" / "t.parquet").stat().st_ino
    monkeypatch.setattr(seal, "digest_file", fail)
    (found,) = [one for one in store.verified() if isinstance(one, Damaged)]
    assert found.reason == "result/t.parquet can't be read (Input/output error)"
    assert set(run_steps([step(), step(add=1)], store).done) == {step().id}


def test_a_step_behind_a_link_is_a_step_and_only_the_link_goes(store, tmp_path):
    elsewhere = tmp_path / "other disk"
    store.path(step()).rename(elsewhere)
    store.path(step()).symlink_to(elsewhere)
    assert store.has(step()) and len(list(store.finished())) == 2 and not store.strangers()
    table = elsewhere / "result" / "t.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"?")
    before = everything(elsewhere)
    assert set(run_steps([step()], store).done) == {step().id}
    assert everything(elsewhere) == before and not store.path(step()).is_symlink() and store.is_whole(step())
    shutil.rmtree(store.path(step()))
    store.path(step()).symlink_to(elsewhere)
    store.delete(store.path(step()))
    assert everything(elsewhere) == before and not store.path(step()).exists()


@pytest.mark.parametrize(
    "name",
    [
        f"steps/{ID}/result/thesis.csv",
        f"steps/{ID}/step.json",
        f"work/{ID}/thesis.tex",
        f"work/{ID}.deleted/thesis.tex",
        "steps/notes/idea.md",
        f"steps/{ID}/seal.json",
    ],
)
def test_folders_with_names_like_ours_are_not_ours(store, name):
    path = store.folder / name
    path.parent.mkdir(parents=True)
    path.write_text('{"epoch": 3}')
    assert store.strangers() == [store.folder / "/".join(name.split("/")[:2])]
    assert not store.of_other_versions() and not store.damaged() and not store.unfinished()


@pytest.mark.parametrize("gone", ["seal.json", "result/seal.json"])
def test_notes_in_a_step_whose_seal_is_gone_are_not_deleted(store, gone):
    notes = store.path(step()) / "result" / "thesis.csv"
    notes.write_text("months of work")
    (store.path(step()) / gone).write_text("" if "/" in gone else "{")
    with pytest.raises(UserError, match=r"holds result/thesis\.csv, which bertscope didn't write"):
        store.delete(store.path(step()))
    with pytest.raises(UserError, match=r"holds result/thesis\.csv, which bertscope didn't write"):
        run_steps([step()], store)
    assert notes.exists()
    notes.unlink()
    store.delete(store.path(step()))
    assert not store.path(step()).exists()


def test_where_one_may_not_be_deleted_none_is(store):
    (store.folder / "store.json").unlink()
    foreign = store.folder / "work" / ID
    foreign.mkdir()
    before = everything(store.folder)
    with pytest.raises(UserError, match=r"is no store of bertscope .*; nothing was deleted"):
        store.refuse_deleting([store.path(step()), foreign])
    assert everything(store.folder) == before


LONG_NAME = json.dumps({"of": "model", "files": {"a\0b": [1, "x"]}, "growing": [], "seal": ""})
SEALS = {
    "a pipe": os.mkfifo,
    "without end": lambda path: path.symlink_to("/dev/zero"),
    "nul": lambda path: path.write_text(LONG_NAME),
    "half a character": lambda path: path.write_text('{"of": "\\ud800", "files": {}, "growing": [], "seal": ""}'),
    "a number": lambda path: path.write_text('{"of": "model", "files": {}, "growing": [5], "seal": ""}'),
    "infinity": lambda path: path.write_text('{"of": "m", "files": {"a": [1e999, "x"]}, "growing": [], "seal": ""}'),
    "a device": lambda path: path.write_text(seal.Seal("model", {"/dev/zero": (0, "x")}).text()),
    "outside": lambda path: path.write_text(seal.Seal("model", {"../../etc/hostname": (7, "x")}).text()),
    "deep": lambda path: path.write_text("[" * 100_000),
    "bytes": lambda path: path.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("how", SEALS)
def test_hostile_seals_hang_nobody_and_are_no_bug(store, tiny, tmp_path, how):
    model = tiny.save(tmp_path / "model")
    for folder in (store.path(step()), model):
        (folder / "seal.json").unlink()
        SEALS[how](folder / "seal.json")
    (bad,) = [one for one in store.verified() if isinstance(one, Damaged)]
    assert bad.folder == store.path(step()) and "\n" not in bad.reason
    try:
        assert load(model).fingerprint == tiny.fingerprint
    except UserError as error:
        assert "\n" not in str(error)
    if how in ("a pipe", "without end"):
        (store.path(step()) / "seal.json").unlink()
    assert set(run_steps([step()], store).done) == {step().id}


def test_links_that_lead_back_are_not_followed_without_end(store):
    """Two of them would make 2^40 paths."""
    folder = store.path(step())
    names = [*seal.files_in(folder), "a/seal.json", "b/seal.json"]
    for name in ("a", "b"):
        (folder / name).symlink_to(".")
    (folder / "seal.json").write_text(seal.Seal(step().id, dict.fromkeys(names, (1, "0" * 64))).text())
    signal.signal(signal.SIGALRM, _never_ends)
    signal.alarm(10)
    try:
        with pytest.raises(UserError, match=r"holds a, which bertscope didn't write"):
            store.delete(folder)
        assert any(isinstance(one, Damaged) for one in store.verified())
    finally:
        signal.alarm(0)


def _never_ends(*_args):
    raise AssertionError("links are followed without end")


def test_another_tools_seal_is_none_of_ours(tiny, tmp_path):
    model = tiny.save(tmp_path / "model")
    (model / "seal.json").write_text('{"wax": "red"}')
    assert load(model).fingerprint == tiny.fingerprint
    with pytest.raises(UserError, match="it holds things that bertscope didn't write"):
        tiny.save(model)


@pytest.mark.parametrize("how", [os.mkfifo, lambda path: path.write_text("[" * 900), lambda path: path.mkdir()])
def test_a_hostile_mark_makes_no_store(tmp_path, how):
    how(tmp_path / "store.json")
    assert not Store(tmp_path).is_marked


def test_nothing_is_written_into_what_is_ours(store, tmp_path, monkeypatch):
    Result("toy", 1).save(tmp_path / "r")
    for target in (store.path(step()) / "result", store.folder / "work", tmp_path / "r" / "deeper" / "still"):
        with pytest.raises(UserError, match="is bertscope's own; choose a place outside of it"):
            refuse_inside(target)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="it is the folder that you are in"):
        refuse_inside(Path())
    refuse_inside(tmp_path / "new")


def test_a_link_to_nothing_above_is_refused_too(tmp_path):
    (tmp_path / "disk").symlink_to(tmp_path / "not mounted")
    with pytest.raises(UserError, match=r"disk is a link to .*not mounted, which isn't there"):
        Result("toy", 1).save(tmp_path / "disk" / "r")
    assert not (tmp_path / "not mounted").exists()


def test_an_empty_folder_keeps_its_rights(tmp_path):
    (tmp_path / "r").mkdir(mode=0o700)
    Result("toy", 1).save(tmp_path / "r")
    assert (tmp_path / "r").stat().st_mode & 0o777 == 0o700


def test_hidden_states_are_not_lost_for_a_missing_fsync_and_hold_no_scratch(tiny, texts, tmp_path, monkeypatch):
    def refuse(handle: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(files.os, "fsync", refuse)
    assert len(hidden_states(tiny, texts, store=tmp_path / "h")) and not seal.flaw(tmp_path / "h", "states")


def test_what_systems_leave_in_folders_is_nobodys_work(store):
    (store.path(step()) / ".DS_Store").write_bytes(b"\0")
    store.delete(store.path(step()))
    assert not store.path(step()).exists()
