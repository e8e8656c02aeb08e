"""What commands say of models: JSON by key, two models of one name told apart, and a base that somebody names."""

from __future__ import annotations

import json

import pytest
import torch

pytest.importorskip("cyclopts")  # not on the bare GPU machine
pytest.importorskip("altair")

from bertscope.core.result import Result

KEYS = ["id", "question", "version", "subject", "models", "numbers", "notes", "tables", "figures", "provenance"]
FEW = ("--limit", "24", "--repeats", "100")


@pytest.fixture
def foreign(tiny, tmp_path):
    """A checkpoint without any note of ours, in a folder whose name says nothing."""
    with torch.no_grad():
        for weight in tiny.model.parameters():
            weight += 0.02 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0))
    folder = tmp_path / "my-run"
    tiny.model.config.bertscope = None
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    return folder


def test_programs_read_the_same_of_an_answer_wherever_they_ask(command, model):
    code, out, err = command("patterns", model, "--on", "demo/corpus", *FEW, "--json")
    said = json.loads(out)
    assert code == 0 and not err and list(said) == KEYS and said["question"] == "patterns"
    (one,) = said["models"]
    assert one["source"] == str(model) and one["base"] is None and one["key"] == one["id"]
    assert {"key", "label", "value", "low", "high", "n", "unit", "of"} == set(said["numbers"][0])
    assert said["id"].startswith("patterns-") and "heads" in said["tables"] and all(said["figures"])
    assert said["provenance"]["command"]
    code, out, err = command("show", said["id"][:14], "--json")
    assert code == 0 and not err and json.loads(out) == said
    code, out, err = command("ls", "--json")
    listed = {name: value for name, value in said.items() if name not in ("tables", "figures")}
    assert code == 0 and not err and json.loads(out) == [listed]
    code, out, err = command("claims", "--json")
    judged = json.loads(out)
    assert code == 0 and not err and list(judged) == [*KEYS, "ledger"]
    assert {number["key"] for number in judged["numbers"]} == {row["verdict"] for row in judged["ledger"]} | {
        "holds", "holds_this_training", "fails", "fails_this_training", "underpowered", "not_tested"
    }  # fmt: skip
    tested = [row for row in judged["ledger"] if row["model"]]
    assert tested and {row["model"] for row in tested} == {one["id"]}
    assert {row["model_name"] for row in tested} == {one["name"]}


def test_a_store_of_another_version_says_nothing_beside_json(command, model, tmp_path):
    command("patterns", model, "--on", "demo/corpus", "--limit", "9")
    (other,) = (tmp_path / "bertscope-store" / "steps").iterdir()
    record = json.loads((other / "step.json").read_text())
    (other / "step.json").write_text(json.dumps(record | {"format": 1}))
    (other / "seal.json").unlink()
    command("patterns", model, "--on", "demo/corpus", *FEW)
    for words in (["ls", "--json"], ["show", "patterns", "--json"]):
        code, out, err = command(*words)
        assert code == 0 and not err and json.loads(out), words


@pytest.mark.slow
def test_a_folder_that_is_trained_anew_is_two_models_of_one_name(command, csv, model, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    times = iter(("2026-11-16T14:02:10+00:00", "2026-11-16T14:31:50+00:00"))
    for epochs in ("1", "2"):
        made = next(times)
        monkeypatch.setattr("bertscope.models.load.written", lambda weights, made=made: made)
        assert command("finetune", model, "--on", csv, "--epochs", epochs, "--out", "mine")[0] == 0
        assert command("patterns", model, "mine", "--on", csv, "--repeats", "100")[0] == 0
    said = command("ls")[1]
    assert "tuned on reviews, of 14:02 " in said and "tuned on reviews, of 14:31 " in said
    printed = command("claims")[1]
    assert "of 14:31 (1 earlier model in its place was also measured)" in printed and "of 14:02" not in printed
    assert command("report", "build")[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    name = json.loads(command("ls", "--json")[1])[1]["models"][1]["name"]
    assert f"<option>{name}, of 14:02</option>" in page and f"<option>{name}, of 14:31</option>" in page
    assert "1 earlier model in its place was also measured" in page


def test_a_base_that_is_named_makes_evidence(command, model, foreign, csv):
    asked = ("change", model, foreign, "--on", csv, "--repeats", "100")

    def rows(*more: str) -> list[dict]:
        step = json.loads(command(*asked, *more, "--json")[1])
        ledger = json.loads(command("claims", f"bertscope-store/steps/{step['id']}", "--json")[1])["ledger"]
        return [row for row in ledger if row["effect"] is not None]

    unknown, known = rows(), rows("--base", str(model))
    assert unknown and {row["verdict"] for row in unknown} == {"underpowered"}
    assert all(row["why"].endswith("isn't recorded; say it with --base") for row in unknown)
    assert [row["claim"] for row in known] == [row["claim"] for row in unknown]
    assert any(row["verdict"].endswith("_this_training") for row in known)
    assert len(json.loads(command("ls", "--json")[1])) > 2, "another answer: it is part of how the model is read"
    code, _, err = command(*asked, "--base", "./nowhere")
    assert code == 2 and "no model folder './nowhere', which is said to be the base" in err and err.count("\n") == 1


def test_a_study_names_a_base_too(command, model, foreign, csv, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        f"base: {model}\nmodel: {model}\nmodels: {{mine: {foreign}}}\ncorpus: {csv}\n"
        "questions: [{change: {of: [model, mine], repeats: 100}}]\n"
    )
    code, _, err = command("study", "run", "mine.yaml")
    assert code == 0, err
    (result,) = (Result.load(folder) for folder in (tmp_path / "bertscope-store" / "steps").glob("change-*"))
    base, tuned = result.models.values()
    assert base.origin is None and tuned.came_of(base) is True
