"""What programs read of a result: everything but its tables, as JSON that any reader takes."""

from __future__ import annotations

import json

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result, as_json, describe

POCKET = ModelRecord("1a", "pocket")
TUNED = ModelRecord(
    "2b", "pocket tuned on demo/sentiment",
    Origin("finetune", POCKET, DataRecord("d", "demo/sentiment", "classification", ("a", "b")), 3),
    "classifier", "/models/mine", "2026-11-16T14:02:10+00:00",
)  # fmt: skip


def result() -> Result:
    table = pd.DataFrame({"layer": [1], "effect": [0.5]})
    figure = Figure("intervals", "effects", x="effect", y="layer", title="t", caption="c", key="by_layer")
    gone = Number("gone", float("nan"), float("-inf"), of={"model": "2b"})
    return Result(
        "ablate", 3, {"effects": table, "empty": table.iloc[:0]}, figures=[figure],
        headline=[Number("score", 0.75, 0.7, 0.8, 400), gone],
        models={"1a": POCKET, "2b": TUNED}, subject={"task": "demo/sentiment"}, notes=["a note"],
        provenance={"seconds": 1.5},
    )  # fmt: skip


def test_everything_but_the_tables():
    said = json.loads(json.dumps(result().to_json("ablate-00"), allow_nan=False))
    assert list(said) == ["id", "question", "version", "subject", "models", "numbers", "notes", "tables", "figures",
                          "provenance"]  # fmt: skip
    assert (said["id"], said["question"], said["subject"]) == ("ablate-00", "ablate", {"task": "demo/sentiment"})
    assert said["numbers"][0] == {"key": "score", "value": 0.75, "low": 0.7, "high": 0.8, "n": 400, "unit": "",
                                  "label": "score", "of": {}}  # fmt: skip
    gone = said["numbers"][1]
    assert (gone["value"], gone["low"], gone["of"]) == (None, None, {"model": "2b"}), "JSON knows no NaN"
    assert (said["tables"], said["figures"], said["notes"]) == (["effects", "empty"], ["by_layer"], ["a note"])
    assert said["provenance"] == {"seconds": 1.5}


def test_a_model_says_what_it_came_of():
    base, tuned = result().to_json()["models"]
    assert (base["key"], base["id"], base["name"]) == ("1a", "1a", "pocket")
    assert base["base"] is None and base["trained_on"] is None and base["seed"] is None
    assert tuned["base"] == {"id": "1a", "name": "pocket", "source": ""} and tuned["seed"] == 3
    assert tuned["trained_on"]["name"] == "demo/sentiment" and tuned["made"].startswith("2026-11-16T14:02")
    assert (tuned["by"], tuned["init"], tuned["source"]) == ("finetune", "pretrained", "/models/mine")


def test_a_stored_result_says_the_same_without_being_read_whole(tmp_path):
    stored = as_json(describe(result().save(tmp_path / "r")), "ablate-00")
    assert json.dumps(stored) == json.dumps(result().to_json("ablate-00"))
