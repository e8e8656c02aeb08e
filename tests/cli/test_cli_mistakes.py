"""The command line's mistakes: one clear line and exit code 2; what a bug and Ctrl-C leave."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.cli import main as cli


def no_weights(tmp_path, model):
    (model / "model.safetensors").unlink()


def csv_with(text: str | bytes):
    def write(tmp_path, model):
        data = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "reviews.csv").write_bytes(data)

    return write


def file_in_the_way(tmp_path, model):
    (tmp_path / "taken").write_text("mine")


def strangers_folder(tmp_path, model):
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "cat.jpg").write_text("meow")


ROWS = "\n".join(f"it was {'good' if row % 2 else 'bad'} {row},{row % 2}" for row in range(40))
TUNE = ["finetune", "{model}", "--on", "{csv}"]
MISTAKES = {
    "no such command": (None, ["ablat", "{model}"], "ablate"),
    "unknown option": (None, [*TUNE, "--epoch", "1"], "--epochs"),
    "no data named": (None, ["finetune", "{model}"], "--on"),
    "not a number": (None, [*TUNE, "--epochs", "many"], "--epochs"),
    "not a choice": (None, ["ablate", "{model}", "--on", "{csv}", "--mode", "off"], "--mode"),
    "epochs of 0": (None, [*TUNE, "--epochs", "0"], "epochs is 0"),
    "missing file": (None, ["finetune", "{model}", "--on", "nowhere.csv"], "nowhere.csv"),
    "missing model": (None, ["finetune", "./nowhere", "--on", "{csv}"], "no model folder './nowhere'"),
    "model without weights": (no_weights, TUNE, "no weights"),
    "wrong column": (None, [*TUNE, "--text", "txt"], "did you mean 'text'"),
    "unknown demo": (None, ["finetune", "{model}", "--on", "demo/sentimnt"], "did you mean 'demo/sentiment'"),
    "empty file": (csv_with(""), TUNE, "empty"),
    "one label": (csv_with("text,label\n" + ROWS.replace(",0", ",1")), TUNE, "label"),
    "empty text": (csv_with("text,label\n,1\n" + ROWS), TUNE, "line 2"),
    "not UTF-8": (csv_with(b"text,label\n\xff,1\n" + ROWS.encode()), TUNE, "UTF-8"),
    "a broken row": (csv_with("text,label\na,b,1\n" + ROWS), TUNE, "line 2"),
    "no classifier": (None, ["ablate", "pocket", "--on", "{csv}"], "bertscope finetune pocket"),
    "out is a file": (file_in_the_way, [*TUNE, "--out", "taken"], "is a file"),
    "out is a stranger's": (strangers_folder, [*TUNE, "--out", "taken"], "didn't write"),
    "store is a file": (file_in_the_way, [*TUNE, "--store", "taken"], "taken"),
    "nothing stored": (None, ["ls"], "nothing is stored"),
    "no results for a page": (None, ["report", "build"], "bertscope demo"),
    "a file for a result": (None, ["overlap", "{csv}", "{csv}"], "holds no result"),
    "limit of 0": (None, [*TUNE, "--limit", "0"], "limit"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_clear_line_and_exit_code_2(command, csv, model, tmp_path, name):
    damage, words, expected = MISTAKES[name]
    if damage:
        damage(tmp_path, model)
    code, out, err = command(*(word.format(model=model, csv=csv) for word in words))
    lines = [line for line in err.splitlines() if not line.startswith("running")]
    assert code == 2, err
    assert len(lines) == 1 and lines[0].startswith("bertscope: ") and not out
    assert expected in lines[0]
    assert not (tmp_path / "bertscope-store" / "steps").exists() or not any(
        (tmp_path / "bertscope-store" / "steps").iterdir()
    )
    for mine, text in (("taken", "mine"), ("taken/cat.jpg", "meow")):
        if (tmp_path / mine).is_file():
            assert (tmp_path / mine).read_text() == text


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write anywhere")
def test_an_unwritable_place_is_refused_before_training(csv, model, tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    drop = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    words = [sys.executable, "-m", "bertscope", "finetune", str(model), "--on", str(csv), "--out", str(locked / "m")]
    done = subprocess.run(
        [*drop, *words, "--store", "/tmp/none"],
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": "/tmp", **os.environ},
    )
    assert done.returncode == 2 and "permission denied" in done.stderr, done.stderr


def test_a_bug_is_called_one_and_kept_in_a_log(command, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(cli, "app", broken)
    code, _, err = command("ls")
    assert code == 1 and "bug in bertscope" in err and len(err.splitlines()) == 1
    log = Path(err.strip().rpartition("details: ")[2])
    assert "ZeroDivisionError" in log.read_text()
    log.unlink()


def test_what_may_not_be_opened_is_no_bug(command, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied", "kept/steps")

    monkeypatch.setattr("bertscope.core.store.Store.look", refuse)
    code, _, err = command("ls")
    assert code == 2 and "Permission denied: 'kept/steps'; choose a place" in err
    assert len(err.splitlines()) == 1


def test_ctrl_c_leaves_130_and_nothing_half_made(command, csv, model, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("bertscope.training.loop.Training._step", interrupted)
    code, _, err = command("finetune", model, "--on", csv, "--epochs", "1")
    assert code == 130 and "interrupted" in err
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert not list((tmp_path / "bertscope-store" / "steps").iterdir())
    assert command("finetune", model, "--on", csv, "--epochs", "1")[0] == 0


def test_seeds_below_zero_are_refused(command, csv, model):
    for words in (["finetune", model, "--on", csv, "--seed", "-1"], ["demo", "--seed", "-1"]):
        code, _, err = command(*words)
        assert code == 2 and "at least 0" in err
