"""The command line: what it prints, what it stores, and what it doesn't compute twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.core.result import Result
from bertscope.experiments.scratch.question import TRAININGS


def test_finetune_then_ablate_then_page(command, csv, model, tmp_path):
    code, out, err = command("finetune", model, "--on", csv, "--epochs", "1", "--out", "tuned")
    assert code == 0, err
    assert "after" in out and "bag of words" in out and "columns guessed" in out
    assert (tmp_path / "tuned" / "model.safetensors").exists()
    code, out, err = command("ablate", "tuned", "--on", csv, "--permutations", "199", "--json")
    assert code == 0 and not err
    assert {number["key"] for number in json.loads(out)["numbers"]} > {"score", "chance"}
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
    assert code == 0 and "constant answer" in out and "tables: scores (" in out and steps[0] in out
    for words, said in (
        (("show", "finetune"), "2 stored steps begin with 'finetune'"),
        (("show", f"finetnue{steps[0][8:17]}"), f"did you mean '{steps[0][:17]}'?"),
        (("rm", "ablate"), "no step 'ablate' is stored"),
        (("rm",), "name the steps to delete"),
        (("rm", "", "--yes"), "the name of a step is empty"),
        (("show", steps[0], "--table", "scores", "--rows", "-1"), "rows is -1; give 1 or more"),
    ):
        code, _, err = command(*words)
        assert code == 2 and said in err, err
    code, out, _ = command("rm", steps[0])
    assert code == 0 and "would be deleted: 1" in out and (tmp_path / "bertscope-store" / "steps" / steps[0]).exists()
    code, out, _ = command("rm", steps[0], "--yes")
    assert code == 0 and "deleted: 1" in out
    assert [path.name for path in (tmp_path / "bertscope-store" / "steps").iterdir()] == steps[1:]


def test_a_table_of_a_stored_answer_is_printed(command, csv, model):
    asked = ["errors", str(model), "--on", str(csv), "--repeats", "100", "--permutations", "99", "--neighbours", "0"]
    out = command(*asked)[1]
    step = out.split("steps/")[1].split()[0]
    code, shown, _ = command("show", step, "--table", "rows", "--rows", "3")
    assert code == 0 and "the first 3 of" in shown and len(shown.strip().splitlines()) == 5
    code, _, err = command("show", step, "--table", "row")
    assert code == 2 and "has no table 'row'; did you mean 'rows'?" in err


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


@pytest.mark.slow
def test_scratch_shares_the_fine_tuning(command, csv, model, tmp_path):
    command("finetune", model, "--on", csv, "--epochs", "1")
    code, _, err = command("scratch", model, "--on", csv, "--epochs", "1", "--out", "compared")
    assert code == 0 and err.count("stored   finetune") == 1
    assert err.count("running  finetune") == len(TRAININGS) - 1
    result = Result.load(tmp_path / "compared")
    assert [number.of["arm"] for number in result.numbers(key="score")] == [*TRAININGS, "untuned"]
    assert [number.label for number in result.headline[:2]] == ["fine-tuned", "random init, tuned"]
    told = [number.key for number in result.headline[-4:]]
    assert told == ["bag_of_words", "chance", "pretraining_gives", "fine_tuning_gives"]
    assert result["chance"].value == 0.5
    code, _, err = command(
        "scratch", model, "--on", csv, "--epochs", "1", "--seeds", "0,1", "--no-patterns", "--out", "many"
    )
    assert code == 0 and err.count("stored   finetune") == len(TRAININGS) and "running  patterns" not in err
    scores = Result.load(tmp_path / "many").tables["scores"]
    assert scores.groupby("arm")["seed"].nunique()["tuned"] == 2


@pytest.mark.slow
def test_on_a_terminal_an_experiment_says_where_it_stands(csv, model, tmp_path):
    import pty

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


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (["study", "run", "demo", "--sett", "x"], "study run"),
        (["report", "compare", "one"], "report compare"),
        (["ablate", "pocket"], "ablate"),
        (["ablat"], ""),
    ],
)
def test_a_line_that_is_not_understood_names_the_help_that_has_its_flags(command, words, page):
    code, _, said = command(*words)
    assert code == 2 and said.strip().endswith(f"(see bertscope {page} --help)".replace("  ", " "))


def test_help_says_what_each_flag_is_for(command):
    code, out, _ = command("finetune", "--help")
    assert code == 0
    for said in ("--learning-rate", "--init", "--text-pair", "The peak learning rate", "--store"):
        assert said in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rm", "unless you add --yes"), ("explore", "Nothing is written."), ("inspect", "Nothing is trained, unless"),
        ("convert", "only from people you trust"), ("claims", "Which of the papers' claims"),
    ],
)  # fmt: skip
def test_help_of_a_command_says_more_than_its_line_in_the_list(command, name, said):
    for words in ([name, "--help"], [name, "-h"]):
        code, out, _ = command(*words)
        assert code == 0 and said in " ".join(out.split())


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
        lowest = [number["of"]["kind"] for number in json.loads(out)["numbers"] if number["key"] == "lowest_score"]
        assert lowest == ["heads"]
    assert "stored" in command("ablate", "tuned", "--on", csv, "--permutations", "199", "--units", "heads,mlp")[2]


@pytest.mark.slow
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
    said = {(number["key"], *sorted(number["of"].values())): number["label"] for number in json.loads(out)["numbers"]}
    assert said["rank_correlation", "head", "rise"] == "Spearman with the loss's rise (heads)"
    assert said["area", "mlp", "random"].startswith("area, MLPs")
    code, out, err = command("report", "build")
    assert code == 0, err


def test_the_metric_is_named(command, csv, model):
    _, out, _ = command("finetune", model, "--on", csv, "--epochs", "1", "--json")
    said = json.loads(out)
    assert said["subject"]["task"] == "reviews"
    assert {number["unit"] for number in said["numbers"]} == {"accuracy"}
