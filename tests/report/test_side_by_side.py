"""The ledger with a column for each pretrained model: of planted results, in one store and in three."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.cli.main import app
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.core.store import Store
from bertscope.report.side_by_side import side_by_side
from bertscope.study.ledger import ledger_of
from bertscope.study.runner import run_steps
from planted_layers import geometry, similarity, tuned_on
from stored_steps import put_step

POCKET, MINILM, MPNET = (ModelRecord(f"{name}-id", name) for name in ("pocket", "minilm", "mpnet"))
GROWTH = {"pocket": 0.4, "minilm": -0.2, "mpnet": 0.0}
"""By how much two random words grow more alike from the first layer to the last, and how sure that is."""


def put(folder: Path, result: Result, model: ModelRecord) -> None:
    result.provenance = {"created": "2026-11-15T10:00:00+00:00"}
    inputs = {"models": Root("model", model.name, model.id), "examples": Root("examples", "texts", "1" * 16)}
    put_step(folder, Step(result.question, result.version, {"of": model.name}, inputs), result)


def filled(folder: Path, *models: ModelRecord) -> Path:
    """A store in which the cone narrows, widens, or it isn't known; and one model was also fine-tuned."""
    Store(folder).mark()
    for model in models:
        value = GROWTH[model.name]
        cone = geometry("baseline", lambda v: [0.3, 0.9, 0.3 + v], model=model)
        put(folder, cone(value, 0.05)[0], model)
        if model is not MPNET:
            tuned = replace(tuned_on("toy", base=model), id=f"{model.name}-tuned", name=f"{model.name} tuned on toy")
            told = [Number("rsa_last_layer", 0.6, 0.59, 0.61, of={"layer": "3"}), Number("lowest_rsa_layer", 2)]
            put(folder, replace(similarity(tuned, [1.0, 0.9, 0.6], 0.01, before=model), headline=told), model)
    return folder


def run(*words: str | Path) -> None:
    app([str(word) for word in words], exit_on_error=False, print_error=False, result_action="return_value")


def lines_of(store: Path, *beside: Path) -> tuple[list[str], dict]:
    shelf = Store(store)
    step = ledger_of(shelf, [Store(one) for one in beside])
    assert step is not None
    run_steps([step], shelf)
    models, lines = side_by_side(shelf.result(step).tables["ledger"])
    return models, {(line.claim, line.asked): line.readings for line in lines}


def verdicts(readings: dict) -> dict[str, list[str]]:
    return {model: [row["verdict"] for row in rows] for model, rows in readings.items()}


def test_each_model_has_its_own_verdict(tmp_path):
    models, lines = lines_of(filled(tmp_path, POCKET, MINILM, MPNET))
    assert set(models) == {"pocket", "minilm", "mpnet"}
    (asked,) = [asked for claim, asked in lines if claim == "cone-narrows"]
    assert verdicts(lines["cone-narrows", asked]) == {
        "pocket": ["holds"],
        "minilm": ["fails"],
        "mpnet": ["underpowered"],
    }
    effects = {model: rows[0]["effect"] for model, rows in lines["cone-narrows", asked].items()}
    assert effects == pytest.approx(GROWTH)
    # What was trained stands in its base's column; what was not asked of a model has no reading.
    ((tuned, readings),) = [
        (asked, found) for (claim, asked), found in lines.items() if claim == "top-layers-move-most"
    ]
    assert tuned.startswith("tuned") and set(readings) == {"pocket", "minilm"}


def test_three_stores_say_what_one_says(tmp_path):
    together = lines_of(filled(tmp_path / "all", POCKET, MINILM, MPNET))
    stores = [filled(tmp_path / model.name, model) for model in (POCKET, MINILM, MPNET)]
    apart = lines_of(*stores)
    assert set(together[0]) == set(apart[0]) and set(together[1]) == set(apart[1])
    for key, readings in together[1].items():
        assert verdicts(readings) == verdicts(apart[1][key])


def test_two_models_of_one_name_are_two_columns(tmp_path):
    other = replace(POCKET, id="other-id", source="/elsewhere/pocket")
    for model, value in ((replace(POCKET, source="/here/pocket"), 0.4), (other, -0.2)):
        put(tmp_path, geometry("baseline", lambda v: [0.3, 0.9, 0.3 + v], model=model)(value, 0.05)[0], model)
    models, lines = lines_of(tmp_path)
    assert len(models) == 2
    (readings,) = [found for (claim, _), found in lines.items() if claim == "cone-narrows"]
    assert sorted(rows[0]["verdict"] for rows in readings.values()) == ["fails", "holds"]


def test_a_base_of_which_only_the_name_is_known_is_no_column(tmp_path):
    """all-MiniLM-L6-v2's config names the model that it was trained from, which nobody has."""
    known = ModelRecord("minilm-id", "all-MiniLM", Origin(base=ModelRecord("", "somebody/MiniLM")))
    put(tmp_path, geometry("baseline", lambda v: [0.3, 0.9, 0.3 + v], model=known)(0.4, 0.05)[0], known)
    assert lines_of(tmp_path)[0] == ["all-MiniLM"]


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    stores = [filled(tmp_path / model.name, model) for model in (POCKET, MINILM)]
    run("claims", "--store", stores[0], "--beside", stores[1], "--side-by-side")
    said = capsys.readouterr().out
    assert re.search(r"claim +pocket +minilm|claim +minilm +pocket", said)
    assert "✓ 0.400 [0.350, 0.450]" in said and "✗ -0.200 [-0.250, -0.150]" in said
    run("claims", "--store", stores[0], "--beside", stores[1], "--json")
    rows = json.loads(capsys.readouterr().out)["ledger"]
    assert {row["base"] for row in rows if row["claim"] == "cone-narrows"} == {"pocket", "minilm"}


def test_what_cannot_be_beside_is_refused(tmp_path):
    from bertscope.core.errors import UserError

    store = filled(tmp_path / "one", POCKET)
    with pytest.raises(UserError, match="is no store of bertscope's"):
        run("claims", "--store", store, "--beside", tmp_path / "nothing")
    with pytest.raises(UserError, match="--beside is for all that stores hold"):
        run("claims", store / "steps", "--store", store, "--beside", store)


def test_the_page_has_the_table_where_there_are_several_models(tmp_path):
    pytest.importorskip("altair")
    for name, models, there in (("two", (POCKET, MINILM), True), ("one", (POCKET,), False)):
        store = filled(tmp_path / name, *models)
        run("claims", "--store", store)
        run("report", "build", "--store", store, "--out", store / "page.html")
        page = (store / "page.html").read_text(encoding="utf-8")
        assert ("Model by model" in page) is there
        if there:
            table = page[page.index('<details class="model-by-model">') :].partition("</details>")[0]
            assert "0.400 [0.350, 0.450]" in table and "−0.200 [−0.250, −0.150]" in table
            assert re.findall(r'<th scope="col"><bdi>(.*?)</bdi>', table) in (
                ["pocket", "minilm"],
                ["minilm", "pocket"],
            )
