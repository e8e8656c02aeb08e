"""The command line: what it prints, what it stores, and one clear line with exit code 2 for every mistake."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.cli import main as cli
from bertscope.core.result import Result
from bertscope.experiments.scratch.question import TRAININGS
from toy import write_reviews


@pytest.fixture
def csv(tmp_path) -> Path:
    return write_reviews(tmp_path / "reviews.csv", 60)


@pytest.fixture
def model(tmp_path, tiny) -> Path:
    return tiny.save(tmp_path / "tiny")


def test_finetune_then_ablate_then_page(command, csv, model, tmp_path):
    code, out, err = command("finetune", model, "--on", csv, "--epochs", "1", "--out", "tuned")
    assert code == 0, err
    assert "after" in out and "bag of words" in out and "columns guessed" in out
    assert (tmp_path / "tuned" / "model.safetensors").exists()
    code, out, err = command("ablate", "tuned", "--on", csv, "--permutations", "199", "--json")
    assert code == 0 and not err
    assert {number["name"] for number in json.loads(out)["headline"]} > {"score", "chance"}
    code, out, _ = command("ls")
    assert code == 0 and "finetune-" in out and "ablate-" in out and "tuned on reviews" in out
    code, _, err = command("report", "build")
    assert code == 0 and "report.html" in err
    page = (tmp_path / "report.html").read_text()
    assert "What if a head, an MLP or a layer is switched off?" in page


def test_a_stored_answer_is_shown_and_deleted(command, csv, model, tmp_path):
    for layers in ("1", "1-2"):
        command("finetune", model, "--on", csv, "--epochs", "1", "--frozen", layers)
    out = " ".join(command("ls")[1].split())
    assert "frozen 1 finetune-" in out and "frozen 1-2" in out
    steps = sorted(path.name for path in (tmp_path / "bertscope-store" / "steps").iterdir())
    code, out, _ = command("show", steps[0][:14])
    assert code == 0 and "majority" in out and "tables: scores (" in out and steps[0] in out
    for words, said in (
        (("show", "finetune"), "2 stored steps begin with 'finetune'"),
        (("show", f"finetnue{steps[0][8:17]}"), f"did you mean '{steps[0][:17]}'?"),
        (("rm", "ablate"), "no step 'ablate' is stored"),
        (("rm",), "name the steps to delete"),
    ):
        code, _, err = command(*words)
        assert code == 2 and said in err, err
    code, out, _ = command("rm", steps[0])
    assert code == 0 and "would be deleted: 1" in out and (tmp_path / "bertscope-store" / "steps" / steps[0]).exists()
    code, out, _ = command("rm", steps[0], "--yes")
    assert code == 0 and "deleted: 1" in out
    assert [path.name for path in (tmp_path / "bertscope-store" / "steps").iterdir()] == steps[1:]


def test_nothing_is_computed_twice_and_one_changed_setting_is(command, csv, model, tmp_path):
    words = ("finetune", model, "--on", csv, "--epochs", "1")
    assert "running" in command(*words)[2]
    steps = tmp_path / "bertscope-store" / "steps"
    before = {path: path.stat().st_mtime_ns for path in steps.rglob("*")}
    code, _, err = command(*words)
    assert code == 0 and "stored" in err and "running" not in err
    assert {path: path.stat().st_mtime_ns for path in steps.rglob("*")} == before
    command(*words, "--seed", "1")
    assert len(list(steps.iterdir())) == 2
    (tmp_path / "elsewhere").mkdir()
    moved = shutil.move(csv, tmp_path / "elsewhere")
    assert "running" not in command("finetune", model, "--on", moved, "--epochs", "1")[2]


def test_scratch_shares_the_fine_tuning(command, csv, model, tmp_path):
    command("finetune", model, "--on", csv, "--epochs", "1")
    code, _, err = command("scratch", model, "--on", csv, "--epochs", "1", "--out", "compared")
    assert code == 0 and err.count("stored   finetune") == 1
    assert err.count("running  finetune") == len(TRAININGS) - 1
    result = Result.load(tmp_path / "compared")
    trained = [training.arm for training in TRAININGS.values()]
    assert trained[:2] == ["fine-tuned", "random init, tuned"]
    assert [number.name for number in result.headline] == [
        *trained, "pretrained, not tuned", "bag of words", "majority"
    ]  # fmt: skip
    assert result.number("majority").value == 0.5
    code, _, err = command(
        "scratch", model, "--on", csv, "--epochs", "1", "--seeds", "0,1", "--no-patterns", "--out", "many"
    )
    assert code == 0 and err.count("stored   finetune") == len(TRAININGS) and "running  patterns" not in err
    scores = Result.load(tmp_path / "many").tables["scores"]
    assert scores.groupby("arm")["seed"].nunique()["fine-tuned"] == 2


def test_on_a_terminal_an_experiment_says_where_it_stands(csv, model, tmp_path):
    import os
    import pty
    import subprocess

    leader, follower = pty.openpty()
    words = ["scratch", model, "--on", csv, "--epochs", "1", "--no-patterns"]
    done = subprocess.Popen([sys.executable, "-m", "bertscope", *map(str, words)], cwd=tmp_path,
                            stdout=subprocess.DEVNULL, stderr=follower)  # fmt: skip
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 4096):
            seen += chunk
    except OSError:  # how a terminal says that nobody writes any more
        pass
    os.close(leader)
    assert done.wait() == 0, seen
    assert b"5 waiting" in seen and b"so far" in seen and b"running  finetune" in seen


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


def test_help_says_what_each_flag_is_for(command):
    code, out, _ = command("finetune", "--help")
    assert code == 0
    for said in ("--learning-rate", "--init", "--text-pair", "The highest learning rate", "--store"):
        assert said in out


def test_help_is_quick():
    """Under half a second of processor time, whatever else the machine is doing: nothing heavy sneaks in."""
    times = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, "-m", "bertscope", "--help"], capture_output=True, check=True)
        after = os.times()
        times.append(after.children_user - before.children_user + after.children_system - before.children_system)
    assert min(times) < 0.5


def test_several_values_by_commas_or_spaces(command, csv, model):
    command("finetune", model, "--on", csv, "--epochs", "1", "--out", "tuned")
    for several in (["--units", "heads", "mlp"], ["--units", "heads,mlp"], ["--units", "heads", "--units", "mlp"]):
        code, out, err = command("ablate", "tuned", "--on", csv, "--permutations", "199", "--json", *several)
        assert code == 0, err
        assert "lowest without all heads of a layer" in out
    assert "stored" in command("ablate", "tuned", "--on", csv, "--permutations", "199", "--units", "heads,mlp")[2]


def test_sets_of_parts_and_importance(command, csv, model):
    command("finetune", model, "--on", csv, "--epochs", "1", "--out", "tuned")
    for mode in ("uniform", "zero", "mean"):
        code, out, err = command(
            "ablate",
            "tuned",
            "--on",
            csv,
            "--units",
            "mlp",
            "--mode",
            mode,
            "--sets",
            "top=head:3.1+head:3.2",
            "b=mlp:1",
        )
        assert code == 0, err
        assert "change without top" in out and "change without b" in out
    code, _, err = command("ablate", "tuned", "--on", csv, "--sets", "top=head:9.1")
    assert code == 2 and "head:9.1: the model has layers 1 to 3" in err
    code, out, err = command(
        "importance", "tuned", "--on", csv, "--repeats", "100", "--units", "head,mlp,neuron", "--json"
    )
    assert code == 0, err
    names = [number["name"] for number in json.loads(out)["headline"]]
    assert "Spearman with the loss's rise (heads)" in names and "area, MLPs in random order" in names
    code, out, err = command("report", "build")
    assert code == 0, err


def test_seeds_below_zero_are_refused(command, csv, model):
    for words in (["finetune", model, "--on", csv, "--seed", "-1"], ["demo", "--seed", "-1"]):
        code, _, err = command(*words)
        assert code == 2 and "at least 0" in err


def test_the_metric_is_named(command, csv, model):
    _, out, _ = command("finetune", model, "--on", csv, "--epochs", "1", "--json")
    said = json.loads(out)
    assert said["subject"]["task"] == "reviews"
    assert {number["unit"] for number in said["headline"]} == {"accuracy"}
