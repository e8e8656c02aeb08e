"""A store with damaged steps and other people's folders in it: listed, verified, mended, and nothing else touched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.study.runner import run_steps
from sums import register, step

ONE, TWO = step(add=1), step(add=2)
DAMAGE = {
    "table": lambda folder: _flip(folder / "result" / "t.parquet", 40),
    "number": lambda folder: _edit(folder / "result" / "result.json", '"value": 6', '"value": 9'),
    "step": lambda folder: (folder / "step.json").write_text("{"),
    "seal": lambda folder: (folder / "seal.json").write_text("[]"),
    "no seal": lambda folder: (folder / "seal.json").unlink(),
    "cut short": lambda folder: (folder / "result" / "t.parquet").write_bytes(b"PAR1"),
    "gone": lambda folder: shutil.rmtree(folder / "result"),
}


def _flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 4
    path.write_bytes(content)


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture
def store(tmp_path, monkeypatch, command) -> Store:
    register(monkeypatch)
    found = Store(tmp_path / "bertscope-store")
    run_steps([ONE, TWO], found)
    return found


def everything(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("how", DAMAGE)
def test_one_damaged_step_blocks_nothing_and_is_made_again(store, command, how):
    DAMAGE[how](store.path(ONE))
    code, out, _ = command("verify")
    assert code == 3 and f"damaged     {ONE.id}: " in out and out.endswith("MB: 1 damaged\n")
    code, out, err = command("ls")
    assert code == 0 and TWO.id[:10] in out and "damaged: " in out and "skipped 1 damaged" in err
    code, _, err = command("show", ONE.id)
    assert code == 2 and "is damaged: " in err and len(err.splitlines()) == 2
    assert command("show", TWO.id)[0] == 0
    code, _, err = command("report", "build")
    assert code == 0 and "skipped 1 damaged step" in err and Path("report.html").exists()
    assert set(run_steps([ONE, TWO], store).done) == {ONE.id}
    assert store.result(ONE)["total"].value == 6 and command("verify")[0] == 0


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_step_can_be_deleted(store, command, how):
    DAMAGE[how](store.path(ONE))
    code, out, _ = command("rm", ONE.id, "--yes")
    assert code == 0 and "deleted: 1" in out and not store.path(ONE).exists() and store.has(TWO)
    assert not list((store.folder / "work").iterdir())


def test_rm_and_gc_touch_nothing_that_is_not_ours(store, command):
    for name in ("work/thesis/chapter.tex", "steps/notes/idea.md", "work/patterns-0123456789abcdef/mine.txt",
                 "steps/sums-0123456789abcdef/mine.txt"):  # fmt: skip
        path = store.folder / name
        path.parent.mkdir(parents=True)
        path.write_text("months of work")
    kept = {path: text for path, text in everything(store.folder).items() if text == b"months of work"}
    Path("empty.yaml").write_text("model: pocket\ntasks: demo/sentiment\nquestions: [patterns]\n")
    code, out, err = command("study", "gc", "empty.yaml", "--yes")
    assert code == 0 and "deleted: 2 folders" in out, err
    assert out.count("left alone: ") == 4 and "left alone: work/thesis, which bertscope didn't write" in out
    assert kept.items() <= everything(store.folder).items()
    assert command("rm", "sums-0123456789abcdef", "--yes")[0] == 2
    code, out, _ = command("verify", "--json")
    (found,) = json.loads(out)
    assert code == 0 and found["strangers"] == ["steps/notes", "steps/sums-0123456789abcdef",
                                                "work/patterns-0123456789abcdef", "work/thesis"]  # fmt: skip


def test_gc_deletes_nothing_where_there_is_no_store(command, tmp_path):
    project = tmp_path / "project"
    for name in ("work/thesis", "steps/notes", "work/patterns-0123456789abcdef"):
        (project / name).mkdir(parents=True)
        (project / name / "file").write_text("x")
    before = everything(project)
    Path("empty.yaml").write_text("model: pocket\ntasks: demo/sentiment\nquestions: [patterns]\n")
    code, out, _ = command("study", "gc", "empty.yaml", "--store", str(project), "--yes")
    assert everything(project) == before and (code, "deleted: 0" in out) in ((0, True), (2, False))
    code, _, err = command("verify", "--store", str(project))
    assert code == 2 and "is neither a store nor a folder that bertscope sealed" in err


def test_notes_in_a_steps_folder_are_not_deleted_with_it(store, command):
    notes = store.path(ONE) / "notes.md"
    notes.write_text("mine")
    assert store.has(ONE) and command("show", ONE.id)[0] == 0 and command("verify")[0] == 0
    code, _, err = command("rm", ONE.id, "--yes")
    assert code == 2 and "holds notes.md, which bertscope didn't write; move it elsewhere" in err and notes.exists()
    (store.path(ONE) / "step.json").write_text("{")
    from bertscope.core.errors import UserError

    with pytest.raises(UserError, match=r"holds notes\.md"):
        run_steps([ONE], store)
    assert notes.read_text() == "mine"


def test_verify_reads_folders_that_were_written_elsewhere(command, tmp_path):
    Result("toy", 1).save(tmp_path / "r")
    code, out, _ = command("verify", "r")
    assert code == 0 and out.startswith("r: 0.") and out.endswith("all as it was written\n")
    (tmp_path / "r" / "mine.txt").write_text("x")
    assert "not ours    mine.txt" in command("verify", "r")[1]
    (tmp_path / "r" / "result.json").write_text("{}")
    code, out, _ = command("verify", "r")
    assert code == 3 and "damaged     .: result.json has 2 bytes and had" in out


def test_verify_says_what_a_killed_run_left(store, command):
    with store.claim(step(add=3)) as claim:
        (claim.work / "epoch").write_text("half")
        assert "unfinished" not in command("verify")[1], "it is being made"
    code, out, _ = command("verify")
    assert code == 0 and f"unfinished  {step(add=3).id}\n" in out


def test_a_page_that_cannot_be_written_is_refused_before_any_work(store, command, monkeypatch):
    monkeypatch.setattr("bertscope.study.ledger.refresh", lambda _: pytest.fail("a ledger is made for it"))
    code, _, err = command("report", "build", "--out", "/dev/null")
    assert code == 2 and err.endswith("cannot write /dev/null: it is a device, not a file; choose another place\n")
