"""Results come back equal, whole or not at all."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result

DATA = DataRecord("d1", "demo/sentiment", "classification", ("negative", "positive"))


@pytest.fixture
def result() -> Result:
    table = pd.DataFrame(
        {
            "unit": ["head:1.1", "head:1.2", "mlp:1"],
            "layer": [1, 1, 1],
            "head": pd.array([1, 2, None], dtype="Int64"),
            "effect": [0.125, -1e-17, np.nan],
            "text": ["<b>", "naïve “quotes” 你好", ""],
        }
    )
    return Result(
        "ablate",
        3,
        tables={"effects": table, "empty": table.iloc[:0]},
        arrays={"maps": np.random.default_rng(0).random((2, 3)).astype(np.float32), "ids": np.arange(4)},
        headline=[Number("score", 0.75, 0.7, 0.8, 400, of={"arm": "whole"}), Number("chance", 0.5)],
        figures=[
            Figure("heatmap", "effects", x="head", y="layer", value="effect", title="t", caption="c", middle=0.0)
        ],
        models={"m1": ModelRecord("m1", "pocket tuned", Origin("finetune", ModelRecord("m0", "pocket"), DATA, 3))},
        subject={"task": "demo/sentiment"},
        notes=["12 texts were cut"],
        provenance={"seconds": 1.5},
    )


def test_saved_and_loaded_equal(result, tmp_path):
    again = Result.load(result.save(tmp_path / "r"))
    assert again.equals(result) and result.equals(again)
    assert again.provenance == result.provenance
    assert again.tables["effects"]["head"].dtype == "Int64"
    assert again["score"] == Number("score", 0.75, 0.7, 0.8, 400, of={"arm": "whole"})
    assert again.models == result.models and again.models["m1"].origin.data == DATA


def test_numbers_that_are_none_or_numpys_own_load_back_equal(result, tmp_path):
    result.headline += [Number("none", float("nan")), Number("single", np.float32(0.5), n=np.int64(3))]
    result.arrays["one"] = np.array(2.0)
    again = Result.load(result.save(tmp_path / "r"))
    assert again.equals(result) and again.arrays["one"].shape == ()
    assert again["single"] == Number("single", 0.5, n=3) == result["single"]


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.tables.update(effects=r.tables["effects"].assign(effect=[0.125, 0.0, np.nan])),
        lambda r: r.arrays["maps"].__setitem__((0, 0), 9),
        lambda r: r.headline.append(Number("more", 1.0)),
        lambda r: r.headline.__setitem__(0, replace(r.headline[0], of={"arm": "good"})),
        lambda r: r.models.update(m1=replace(r.models["m1"], id="m2")),
        lambda r: r.notes.clear(),
        lambda r: r.figures.__setitem__(0, replace(r.figures[0], caption="other")),
        lambda r: r.tables.pop("empty"),
    ],
)
def test_any_difference_but_provenance_counts(result, tmp_path, change):
    again = Result.load(result.save(tmp_path / "r"))
    again.provenance = {}
    assert again.equals(result)
    change(again)
    assert not again.equals(result)


def test_an_older_result_is_replaced_and_a_stranger_is_not(result, tmp_path):
    folder = result.save(tmp_path / "r")
    result.notes.append("again")
    assert Result.load(result.save(folder)).notes == result.notes
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("meow")
    with pytest.raises(UserError, match="bertscope didn't write"):
        result.save(tmp_path / "photos")
    assert (tmp_path / "photos" / "cat.jpg").read_text() == "meow"


def test_a_failed_save_leaves_the_older_result(result, tmp_path, monkeypatch):
    folder = result.save(tmp_path / "r")
    result.tables["effects"] = result.tables["effects"].assign(bad=[object(), object(), object()])
    with pytest.raises(Exception, match="bad"):
        result.save(folder)
    assert "bad" not in Result.load(folder).table.columns
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_damage_is_named(tmp_path, result):
    with pytest.raises(UserError, match="holds no result"):
        Result.load(tmp_path)
    folder = result.save(tmp_path / "r")
    (folder / "result.json").write_text("{")
    with pytest.raises(UserError, match=r"result.json is damaged"):
        Result.load(folder)


def test_a_figure_must_fit_its_table(result):
    with pytest.raises(ValueError, match=r"needs the columns \['colour'\]"):
        replace(result, figures=[replace(result.figures[0], value="colour")])
    with pytest.raises(ValueError, match="did you mean 'effects'"):
        replace(result, figures=[replace(result.figures[0], table="effect")])


def test_plot_gives_a_chart(result):
    pytest.importorskip("altair")  # not on the bare GPU machine
    assert json.loads(result.plot().to_json())["$schema"].startswith("https://vega.github.io")


def test_arrays_in_any_memory_order_load_back_equal(tmp_path):
    wide = np.arange(6.0).reshape(2, 3)
    result = Result("ablate", 1, arrays={"columns first": np.asfortranarray(wide), "strided": wide[:, ::2]})
    again = Result.load(result.save(tmp_path / "result"))
    assert np.array_equal(again.arrays["columns first"], wide)
    assert np.array_equal(again.arrays["strided"], wide[:, ::2])


def test_numbers_as_they_are_read():
    written = {
        Number("score", 1.0, 0.9, 1.0, unit="accuracy"): "1.000 [0.900, 1.000]",
        Number("heads", 1234.0): "1,234",
        Number("share", 0.5): "0.500",
        Number("slope", -0.00437, -0.0045, -0.0042, unit="cosine a layer"): "-0.00437 [-0.00450, -0.00420]",
        Number("nothing", -0.0001, -0.02, 0.02): "0.000 [-0.020, 0.020]",
        Number("exactly", 0.0, 0.0, 0.0, unit="accuracy"): "0.000 [0.000, 0.000]",
        Number("tiny", 1.234e-7): "1.23e-07",
    }
    for number, text in written.items():
        assert str(number) == text
