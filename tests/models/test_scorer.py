"""An ONNX file as a model: it answers as its folder's model does, and whatever can be wrong with it is a line."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from bertscope.analyses.versus.question import VersusConfig, versus
from bertscope.core.errors import UserError
from bertscope.core.planning import root
from bertscope.models import export
from bertscope.models.export import export_onnx, quantise
from bertscope.models.load import load
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.models.scorer import OnnxScorer, open_scorer
from planted_kinds import PLANTED

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")
QUICK = VersusConfig(repeats=100, permutations=199)
ROWS = 24


@pytest.fixture(scope="module")
def _folder(_pocket, tmp_path_factory):
    """A model that labels texts, with its ONNX files beside it."""
    folder = tmp_path_factory.mktemp("onnx") / "labels"
    one = PLANTED["classification"]
    model = one.model(_pocket.tokenizer)
    model.save(folder)
    (folder / "seal.json").unlink()  # files are put beside it here
    quantise(export_onnx(model, folder / "model.onnx", one.task(4).output), folder / "model-int8.onnx")
    return folder


@pytest.fixture
def folder(_folder, tmp_path):
    return shutil.copytree(_folder, tmp_path / "labels")


@pytest.mark.slow
def test_a_file_says_what_torch_says_and_no_row_differs(folder):
    task, model, file = PLANTED["classification"].task(ROWS), load(folder), open_scorer(str(folder / "model.onnx"))
    assert isinstance(file, OnnxScorer) and file.labels == model.labels and file.max_length == model.max_length
    told, wanted = (one.predict(task.test, task.output) for one in (file, model))
    assert np.allclose(told.logits, wanted.logits, atol=1e-4) and told.labels == wanted.labels
    result = versus(folder, folder / "model.onnx", task, QUICK)
    assert result["flips"].value == 0 and set(result.tables["rows"]["outcome"]) == {"both_right"}
    assert result["divergence"].value < 1e-6
    assert [record.name for record in result.models.values()] == [model.name, f"{model.name} (model.onnx)"]
    small = versus(folder, folder / "model-int8.onnx", task, QUICK)
    assert np.isfinite(small["loss_change"].value) and small["divergence"].value > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_a_file_of_every_kind_is_opened_from_its_folder(kind, _pocket, tmp_path):
    one = PLANTED[kind]
    model, task = one.model(_pocket.tokenizer), one.task(ROWS)
    model.save(tmp_path / "model")
    (tmp_path / "model" / "seal.json").unlink()
    export_onnx(model, tmp_path / "model" / "model.onnx", task.asked_of(model).output)
    result = versus(tmp_path / "model", tmp_path / "model" / "model.onnx", task, QUICK)
    assert set(result.tables["rows"]["outcome"]) <= {"both_right", "same", "nearer", "further"}
    assert result["change"].value == pytest.approx(0, abs=1e-4)
    left_out = any(note.startswith("the loss is left out") for note in result.notes)
    assert left_out == (kind in ("spans", "trees")) == ("loss_change" not in result)


def test_it_is_the_file_that_runs_and_its_folders_weights_are_not_needed(folder):
    task = PLANTED["classification"].task(ROWS)
    (folder / "model.safetensors").unlink()
    told = open_scorer(folder / "model.onnx").predict(task.test, task.output)
    assert task.score(told).value == 1


def test_a_file_may_lie_in_a_folder_of_its_own(folder):
    (folder / "onnx").mkdir()
    inner = (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert open_scorer(inner).labels == ("bad", "good")


def test_it_is_known_by_what_it_holds(folder):
    first, other = (root("scorer", str(folder / name)) for name in ("model.onnx", "model-int8.onnx"))
    assert first.kind == "model" and first.digest != other.digest
    assert open_scorer(folder / "model.onnx").id == first.digest
    assert root("scorer", str(folder)) == root("model", str(folder))
    moved = shutil.copytree(folder, folder.parent / "moved")
    assert root("scorer", str(moved / "model.onnx")).digest == first.digest
    (moved / "config.json").write_text((moved / "config.json").read_text().replace('"bad"', '"Bad"'))
    assert root("scorer", str(moved / "model.onnx")).digest != first.digest, "it says what outputs are called"
    held = open_scorer(folder / "model.onnx")
    assert root("scorer", held).held is held and open_scorer(held) is held


def test_it_is_a_form_of_its_folders_model(folder):
    from bertscope.analyses.versus.measure import is_form

    assert is_form(open_scorer(folder / "model.onnx"), load(folder))


def test_what_is_wrong_with_a_file_is_one_line(folder, monkeypatch):
    def line(path, task=None) -> str:
        with pytest.raises(UserError) as found:
            scorer = open_scorer(path)
            scorer.need(task.output)
        return str(found.value)

    assert "no ONNX file" in line(folder / "nothing.onnx")
    alone = folder.parent / "alone" / "deep"
    alone.mkdir(parents=True)
    shutil.copy(folder / "model.onnx", alone)
    assert "lies beside no config.json" in line(alone / "model.onnx")
    shutil.copy(folder / "config.json", alone)
    assert "has no tokenizer" in line(alone / "model.onnx")
    (folder / "broken.onnx").write_bytes(b"nothing")
    assert "can't be run by onnxruntime" in line(folder / "broken.onnx")
    monkeypatch.setattr(export, "find_spec", lambda name: None)
    assert "onnxruntime must be installed to run" in line(folder / "model.onnx")


def test_a_file_of_other_outputs_is_refused(folder):
    import onnx

    graph = onnx.load(folder / "model.onnx")
    for node in graph.graph.node:
        node.output[:] = ["other" if name == "logits" else name for name in node.output]
    graph.graph.output[0].name = "other"
    onnx.save(graph, folder / "other.onnx")
    with pytest.raises(UserError, match="gives other, and classification come of logits"):
        versus(folder, folder / "other.onnx", PLANTED["classification"].task(ROWS), QUICK)
    with pytest.raises(UserError, match="has no span-qa on top"):
        open_scorer(folder / "model.onnx").need(PLANTED["spans"].task(4).output)


def test_what_needs_weights_takes_no_file(folder):
    from bertscope.analyses.ablate.question import ablate

    with pytest.raises(UserError, match="is a file; name the folder"):
        ablate(str(folder / "model.onnx"), PLANTED["classification"].task(ROWS))


def test_the_command_takes_a_file_and_stores_its_answer(folder, command):
    (folder.parent / "rows.csv").write_text(
        "text,label\n"
        + "\n".join(f"{'good' if row % 2 else 'bad'} house {row},{'good' if row % 2 else 'bad'}" for row in range(60))
    )
    asked = ["versus", str(folder), str(folder / "model-int8.onnx"), "--on", str(folder.parent / "rows.csv")]
    for _ in range(2):
        code, out, err = command(*asked, "--repeats", "100", "--permutations", "99")
        assert code == 0, err
    assert "model-int8.onnx" in out and "rows that B fixes" in out
