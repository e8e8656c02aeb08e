"""`bertscope data`: what it shows of any data, and that it harms none."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.cli import questions
from bertscope.cli.options import RunOptions
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Step
from bertscope.data.read import read_task

TREE = "# sent_id = {}\n1\tDogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def run(command, monkeypatch):
    """`bertscope data` in a wide terminal."""
    monkeypatch.setenv("COLUMNS", "200")
    return partial(command, "data")


@pytest.fixture
def csv(tmp_path):
    """Labels and texts that rich would take for markup and emoji."""
    path = tmp_path / "mine.csv"
    rows = [f"a woman [/b] said {row} :dog:,{'[/x]' if row % 2 else 'plain'}" for row in range(40)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


@pytest.mark.parametrize("target", ["mine.csv", "taken.jsonl", "taken.conllu"])
@pytest.mark.parametrize("source", ["mine.csv", "missing.csv"])
def test_nothing_is_written_over(run, csv, tmp_path, source, target):
    for name in ("taken.jsonl", "taken.conllu"):
        (tmp_path / name).write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    code, out, err = run(source, "--words", "woman", "--write", target)
    assert (code, out, err) == (2, "", f"bertscope: {target} exists; name another file or remove it\n")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_target_that_cant_be_written_is_refused_before_reading(run):
    assert run("missing.csv", "--write", "out.doc")[2].startswith("bertscope: cannot write out.doc: give a name")


def test_brackets_and_emoji_are_shown_as_they_are(run, csv, tmp_path):
    code, out, err = run("mine.csv", "--show", "8")
    assert code == 0, err
    assert "[/x] " in out and "plain " in out and "a woman [/b] said" in out and ":dog:" in out
    (tmp_path / "t.conllu").write_text(TREE.format("a [/b] x").replace("bark", "[/i]:dog:"))
    code, out, err = run("t.conllu", "--show", "1")
    assert code == 0, err
    assert "a [/b] x" in out and "[/i]:dog:" in out


@pytest.mark.parametrize("source", ["mine.csv", "t.txt"])
def test_json_stays_json(run, csv, tmp_path, source):
    (tmp_path / "t.txt").write_text("A woman.\n\nNobody.\n")
    code, out, err = run(source, "--json", "--show", "1", "--words", "woman", "--write", "out.csv")
    assert code == 0, err
    assert json.loads(out)["slice"]["words"] == ["woman"]
    assert "woman" in err and "examples written to out.csv" in err


@pytest.mark.parametrize("name", ["t.txt", "t.conllu"])
def test_a_split_of_what_has_none_is_refused(run, tmp_path, name):
    (tmp_path / name).write_text(TREE.format("a"))
    code, _, err = run(name, "--split", "train")
    assert code == 2 and err == f"bertscope: {name} has no splits; leave out --split train\n"
    assert run(name, "--split", "test")[0] == 0


def test_labels_are_shown_by_name_and_only_where_there_are_some(run, tmp_path):
    (tmp_path / "hans").mkdir()
    rows = ["The actor slept.\tThe actor slept.\tentailment", "The actor ran.\tThe judge ran.\tnon-entailment"] * 3
    (tmp_path / "hans" / "hans_ketm.txt").write_text("\n".join(rows) + "\n")
    code, out, err = run("hans", "--show", "2", "--write", "out.jsonl")
    assert code == 0, err
    assert "entailment 3, non-entailment 3" in out and "  entailment\n" in out and "  non-entailment\n" in out
    assert json.loads((tmp_path / "out.jsonl").read_text().splitlines()[1])["label"] == "non-entailment"
    (tmp_path / "t.txt").write_text("A sentence.\n")
    assert "labels" in out and "labels" not in run("t.txt")[1]


def test_a_slice_is_written_and_read_again(run, tmp_path):
    code, out, err = run("demo/paraphrase", "--words", "doctor,physician", "--write", "slice.jsonl")
    assert code == 0, err
    again = read_task(tmp_path / "slice.jsonl")
    assert f"{len(again.train) + len(again.validation) + len(again.test)} examples written to slice.jsonl" in out
    assert run("slice.jsonl")[0] == 0


@pytest.mark.parametrize("given", [("site,year",), ("site", "year"), ("site", "--slice", "year")])
def test_further_columns_are_named_in_any_way(run, tmp_path, given):
    rows = [f"text {row},{row % 2},{('uk', 'us')[row % 2]},{1900 + row}" for row in range(40)]
    (tmp_path / "sites.csv").write_text("\n".join(["text,label,site,year", *rows]) + "\n")
    code, _, err = run("sites.csv", "--slice", *given, "--write", "out.jsonl")
    assert code == 0, err
    for line in (tmp_path / "out.jsonl").read_text().splitlines():
        one = json.loads(line)
        row = int(one["text"].split()[1])
        assert (one["site"], one["year"]) == (("uk", "us")[row % 2], str(1900 + row))


def test_brackets_in_what_a_question_found(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    numbers = [Number("pos", 0.5, n=3, unit="[/i]", label="pos [/b]")]
    models = {"m": ModelRecord("m", "m [/x]")}
    result = Result("ablate", 1, headline=numbers, models=models, subject={"task": "t"}, notes=["[/n]"])
    questions._print(result, Step("ablate", 1, {}, {}), Path("steps"), RunOptions())
    out = capsys.readouterr().out
    assert all(said in out for said in ("pos [/b] ([/i])", "m [/x] on t", "note: [/n]"))
