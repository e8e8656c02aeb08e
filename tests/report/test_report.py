"""The report: figures drawn from descriptions, and the page's text for friendly, odd and hostile results."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.report.answer import card_of
from bertscope.report.build import build_report
from bertscope.report.charts import chart, draw, save_figure
from bertscope.report.values import texts, with_ends
from planted_page import HOSTILE, ablation, data_of, heads, heat, models, page_of, put


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def marks(figure: Figure, table: pd.DataFrame) -> list[str]:
    return [layer["mark"]["type"] for layer in draw(figure, table).to_dict()["layer"]]


# Figures


def test_a_heat_map_has_its_neutral_colour_in_the_middle():
    spec = draw(heat(middle=0.01), heads()).to_dict()
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    low, high = scale["domain"]
    assert scale["domainMid"] == 0.01 and (low + high) / 2 == pytest.approx(0.01)
    assert spec["layer"][0]["encoding"]["y"]["sort"] == [1, 2]  # layer 1 on top


def test_a_heat_map_without_a_middle_is_sequential_and_marks_nothing():
    spec = draw(heat(middle=None), heads()).to_dict()
    assert "domainMid" not in spec["layer"][0]["encoding"]["color"]["scale"]
    assert marks(heat(middle=None), heads()) == ["rect", "text"]


def test_words_keep_the_tables_order_and_numbers_are_sorted():
    table = pd.DataFrame({"arm": ["tuned", "bag", "random"], "accuracy": [0.9, 0.8, 0.7]})
    spec = draw(Figure("intervals", "arms", "accuracy", "arm", "t", "c"), table).to_dict()
    assert spec["layer"][0]["encoding"]["y"]["sort"] == ["tuned", "bag", "random"]
    assert draw(heat(), heads().iloc[::-1]).to_dict()["layer"][0]["encoding"]["x"]["sort"] == [1, 2, 3]


def test_lines_have_a_band_and_labelled_rules():
    table = pd.DataFrame({"epoch": [1, 2], "accuracy": [0.7, 0.8], "low": [0.6, 0.7], "high": [0.8, 0.9]})
    figure = Figure("lines", "curve", "epoch", "accuracy", "t", "c", low="low", high="high", rules={"majority": 0.51})
    assert marks(figure, table) == ["rule", "text", "text", "area", "line", "point"]
    assert "majority 0.510" in json.dumps(draw(figure, table).to_dict())


def test_a_logarithmic_axis_that_starts_at_zero_keeps_its_first_point():
    def kind(first: int) -> str:
        table = pd.DataFrame({"step": [first, 10, 100], "loss": [3.0, 2.0, 1.0]})
        spec = draw(Figure("lines", "t", "step", "loss", "t", "c", log_x=True), table).to_dict()
        return spec["layer"][0]["encoding"]["x"]["scale"]["type"]

    assert (kind(1), kind(0)) == ("log", "symlog")


def test_only_the_rows_asked_for_are_drawn():
    spec = draw(heat(where={"layer": 2}), heads()).to_dict()
    assert {row["c0"] for row in spec["data"]["values"]} == {2}


ODD = {
    "missing values": heads().assign(effect=[None, 1.0, float("inf"), float("nan"), 0.5, 0.1], low=None),
    "nothing but missing": heads().assign(effect=float("nan"), low=float("nan"), high=float("nan")),
    "one row": heads(1, 1),
    "no row": heads().head(0),
    "odd names": heads().rename(columns={"effect": "a.b['c']:Q", "low": HOSTILE}),
    "other columns": heads().assign(flag=[True, None] * 3, words=HOSTILE, when=pd.Timestamp(0), n=[[1]] * 6),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", ["heatmap", "lines", "intervals"])
def test_odd_tables_are_drawn_all_the_same(name, kind, tmp_path):
    table = ODD[name]
    effect, low = table.columns[2], table.columns[3]
    along = {"x": "head", "y": "layer", "value": effect} if kind == "heatmap" else {"x": "head", "y": effect}
    along = {"x": effect, "y": "head"} if kind == "intervals" else along
    more = {"low": low, "high": "high", "middle": 0.0, "rules": {HOSTILE: 0.1}}
    figure = Figure(kind, "t", **along, title=HOSTILE, caption="c", **more)
    assert save_figure(figure, table, tmp_path / "figure.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(("ending", "first"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_figures_are_saved_as_their_ending_says(ending, first, tmp_path):
    assert save_figure(heat(), heads(), tmp_path / "new" / f"f.{ending}").read_bytes().startswith(first)


def test_a_figure_is_not_saved_as_something_else(tmp_path):
    with pytest.raises(UserError, match=r"saved as \.svg, \.png or \.pdf"):
        save_figure(heat(), heads(), tmp_path / "f.gif")


def test_an_unknown_kind_is_refused():
    with pytest.raises(UserError, match="no way to draw the kind 'heatmop'; did you mean 'heatmap'"):
        chart(Figure("heatmop", "t", "head", "layer", "t", "c"), heads())


def test_a_result_plots_itself():
    assert ablation().plot().to_dict()["title"] == "One head off"


# Numbers


def test_a_columns_numbers_share_their_decimals():
    assert texts([0.91234, -0.5, None, float("nan"), 0.00001]) == ["0.912", "−0.500", "–", "–", "1e−05"]
    assert texts([1234.5, 2.0]) == ["1234", "2"]
    assert texts([3.0, None]) == ["3", "–"]
    assert texts([0.04812, float("inf")]) == ["0.0481", "∞"]
    assert texts([True, 3, "a-b"]) == ["yes", "3", "a-b"]


def test_an_interval_ends_in_no_exponent_but_a_small_value_has_one():
    assert with_ends(0.529, 5e-6, 0.704) == ["0.529", "0.000", "0.704"]
    assert with_ends(0.0123, -5e-6, 0.02, 1e-6) == ["0.0123", "0.0000", "0.0200", "1e−06"]
    assert with_ends(1e-5, None, None) == [texts([1e-5])[0], "–", "–"]
    assert card_of(Number("heterogeneous", 0.529, 5e-6, 0.704)).interval == "0.000 to 0.704"


# The page


def test_the_page_says_what_the_results_say(tmp_path):
    provenance = {"created": "2025-03-01T10:00:00", "seconds": 1.5}
    put(tmp_path, ablation(notes=["12 texts were cut."], provenance=provenance))
    page = page_of(tmp_path)
    for text in ("What if a head, an MLP or a layer is switched off?", "pocket on demo/sentiment", "0.861 to 0.912",
                 "n = 800", "12 texts were cut.", "Inside pocket", "2025-03-01", "One head off", "1.5"):  # fmt: skip
        assert text in page


def test_sections_follow_the_catalogue_and_group_their_results(tmp_path):
    put(tmp_path, Result("scratch", 1, models=models()))
    put(tmp_path, ablation(), seed=10)
    put(tmp_path, ablation(), seed=2)
    put(tmp_path, Result("finetune", 1, models=models()))
    page = page_of(tmp_path)
    assert re.findall('<section id="question-(.*)">', page) == ["scratch", "ablate", "finetune"]
    assert re.findall("<h3><bdi>(.*)</bdi>", page)[1:3] == [f"pocket on demo/sentiment, seed {n}" for n in (2, 10)]


def test_a_result_whose_question_is_gone_is_still_shown(tmp_path):
    put(tmp_path, Result("phrenology", 1, {"bumps": heads()}, models=models()))
    assert "<h2>phrenology</h2>" in page_of(tmp_path)


def test_nothing_is_loaded_from_the_network(tmp_path):
    put(tmp_path, ablation())
    page = page_of(tmp_path)
    assert not re.search(r"""<[^>]*\b(src|href|action|data)\s*=\s*["']?\s*(https?:)?//""", page)
    assert "@import" not in page and "url(" not in page.split("<script>")[0]
    assert "default-src 'none'; script-src 'sha256-" in page and "unsafe-eval" not in page.split("<style>")[0]


def test_hostile_text_stays_text(tmp_path):
    table = heads().assign(words=HOSTILE).rename(columns={"high": HOSTILE})
    hostile = heat(high=HOSTILE, labels={"effect": HOSTILE, "head": HOSTILE})
    figure = Figure(**{**vars(hostile), "title": HOSTILE, "caption": HOSTILE})
    result = Result(
        "ablate", 1, {"heads": table}, headline=[Number(HOSTILE, 1.0)], figures=[figure],
        models=models(HOSTILE), subject={"task": HOSTILE, HOSTILE: HOSTILE}, notes=[HOSTILE],
        provenance={"command": HOSTILE, HOSTILE: HOSTILE, "packages": {HOSTILE: HOSTILE}},
    )  # fmt: skip
    put(tmp_path, result, **{HOSTILE: HOSTILE})
    plain, page = tmp_path / "plain", page_of(tmp_path, title=HOSTILE)
    put(plain, ablation())
    (data,) = data_of(page)
    assert page.count("alert(") > 20 and json.dumps(data).count("alert(") > 6
    assert "<script>alert" not in page and "alert('x')</script" not in page
    assert page.count("<script>") == page_of(plain).count("<script>") == 2


def test_the_same_results_give_the_same_bytes(tmp_path):
    for store in ("one", "two"):
        for seed in (1, 2, 3) if store == "one" else (3, 1, 2):
            put(tmp_path / store, ablation(provenance={"created": "2025-03-01"}), seed=seed)
    assert page_of(tmp_path / "one") == page_of(tmp_path / "two")
    assert len(page_of(tmp_path / "one").encode()) < 1_200_000


def test_an_empty_store_says_what_to_run(tmp_path):
    for store in (tmp_path, str(tmp_path / "nowhere"), Store(tmp_path)):
        with pytest.raises(UserError, match=r"no finished results in .*; run `bertscope demo`"):
            build_report(store, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_damaged_table_is_no_answer(tmp_path):
    folder = put(tmp_path, ablation())
    (folder / "result" / "heads.parquet").write_bytes(b"not a table")
    with pytest.raises(UserError, match=r"no finished results in") as caught:
        page_of(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_page_that_cannot_be_written_is_one_clear_line(tmp_path):
    put(tmp_path, ablation())
    with pytest.raises(UserError, match="it is a folder, not a file"):
        build_report(tmp_path, tmp_path)


def test_building_loads_no_torch(tmp_path):
    put(tmp_path, ablation())
    build = f"bertscope.build_report({str(tmp_path)!r}, {str(tmp_path / 'page.html')!r})"
    assert python(f"import sys, bertscope; {build}; print('torch' in sys.modules)") == "False"


def test_importing_the_report_loads_nothing_heavy():
    heavy = "{'altair', 'pandas', 'jinja2', 'numpy'}"
    assert python(f"import sys, bertscope.report.build; print({heavy} & set(sys.modules))") == "set()"


@pytest.mark.parametrize("marked", [True, False])
def test_marks_are_dots_and_none_leave_no_legend(marked, tmp_path):
    """A legend of no dots at all once made the picture endlessly high."""
    table = heads().assign(certain=[marked, *[False] * 5])
    figure = heat(mark="certain", labels={"certain": "p < .05"})
    assert ('"style": "excludes"' in json.dumps(draw(figure, table).to_dict())) == marked
    picture = save_figure(figure, table, tmp_path / "heat.svg") or tmp_path / "heat.svg"
    height = float(re.search(r'viewBox="0 0 [\d.]+ ([\d.e+]+)"', Path(picture).read_text())[1])
    assert 0 < height < 1000
