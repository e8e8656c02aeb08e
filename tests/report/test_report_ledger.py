"""The ledger on the page, files and comparisons of stores: friendly, hostile and damaged."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("cyclopts")

from bertscope.cli.main import app
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.report.compare import compare_page, compare_stores
from bertscope.report.export import export_report, safe_name
from bertscope.study.claims.question import claims_step
from bertscope.study.ledger import refresh
from planted_claims import PLANTED
from planted_page import models
from planted_parts import compared
from planted_results import SURE
from planted_store import filled, put

HOSTILE = "</script><script>alert('x')</script>/../..\\\"quoted\" & \u202eright to left"


def run(*words: str) -> None:
    app([str(word) for word in words], exit_on_error=False, print_error=False, result_action="return_value")


def page_of(store: Path) -> str:
    run("report", "build", "--store", store, "--out", store / "page.html")
    return (store / "page.html").read_text(encoding="utf-8")


# The ledger


def test_what_one_training_shows_is_said_so_on_the_page_and_in_the_terminal(tmp_path, capsys):
    put(tmp_path / "s", PLANTED["vertical-grows"](0.1, SURE)[0])
    ledger = page_of(tmp_path / "s").partition('id="ledger"')[2]
    assert re.search(r'class="verdict holds once"><span aria-hidden="true">✓</span> holds, this training', ledger)
    assert ": n = 400, interval over texts and classifiers, of one training" in ledger
    run("claims", "--store", tmp_path / "s")
    printed = capsys.readouterr().out
    assert "✓ holds, this training" in printed and "1 holds, this training" in printed and "0 holds;" in printed


def test_the_page_shows_verdicts_numbers_and_where_they_are_shown(tmp_path):
    html = page_of(filled(tmp_path / "s"))
    ledger = html.split('<section id="ledger"')[1].split("</section>")[0]
    for verdict, sign in (("holds", "✓"), ("fails", "✗"), ("underpowered", "≈")):
        assert re.search(rf'class="verdict {verdict}"><span aria-hidden="true">{sign}</span> {verdict}', ledger)
    assert "Random m-subnetworks of the same size do worse than good ones." in ledger
    assert "claimed above 0" in ledger and "interval over seeds and texts" in ledger
    step = next((tmp_path / "s" / "steps").glob("lottery-*")).name
    assert f'href="#{step}"' in ledger and f'id="{step}"' in html
    assert "bertscope truncate BASE --on TASK" in ledger  # what wasn't tested, with the command
    assert html.index('<section id="ledger"') < html.index('<section id="glance"')
    assert 'id="question-claims"' not in html  # it is shown once


def test_the_ledger_follows_what_is_stored(tmp_path):
    store = filled(tmp_path / "s")
    first = refresh(Store(store))
    assert refresh(Store(store)).id == first.id and page_of(store).count('<section id="ledger"') == 1
    put(store, compared("m", "good", "random", runs=9)(-0.3, SURE)[0], seeds=9)
    second = refresh(Store(store))
    assert second.id != first.id
    ledger = page_of(store).split('<section id="ledger"')[1].split("</section>")[0]
    assert "9 seeds" in ledger and "the largest of 2 results" in ledger  # the newer ledger, not both


def test_nothing_that_a_claim_is_about_gives_a_page_without_a_ledger(tmp_path):
    put(tmp_path, Result("states", 1, {"t": pd.DataFrame({"x": [1]})}, models=models("m")))
    assert refresh(Store(tmp_path)) is None and '<section id="ledger"' not in page_of(tmp_path)
    with pytest.raises(UserError, match="bears on a claim; ask a question first"):
        run("claims", "--store", tmp_path)


def test_hostile_names_stay_text(tmp_path):
    (result,) = compared("m", "good", "random")(0.1, SURE)
    result.models, result.subject = models(HOSTILE), {"task": HOSTILE}
    put(tmp_path / "store", result)
    html = page_of(tmp_path / "store")
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html
    index = export_report(tmp_path / "store", tmp_path / "files")
    written = [path for path in (tmp_path / "files").rglob("*") if path.is_file()]
    assert written and all(re.fullmatch(r"[a-z0-9.-]+", path.name) for path in written)
    assert all((tmp_path / "files") in path.resolve().parents for path in written)
    assert "<script>alert" not in index.read_text(encoding="utf-8")


def test_the_command_prints_stores_and_reads_single_results(tmp_path, capsys):
    store = filled(tmp_path / "s")
    run("claims", "--store", store, "--out", tmp_path / "ledger")
    printed = capsys.readouterr().out
    assert "✓ holds" in printed and "✗ fails" in printed and "· not tested" in printed
    assert claims_step(one.step for one in Store(store).finished()).id in {
        path.name for path in (store / "steps").iterdir()
    }
    run("claims", next((store / "steps").glob("lottery-*")), "--store", tmp_path / "other", "--json")
    rows = json.loads(capsys.readouterr().out)["ledger"]
    assert {row["verdict"] for row in rows} == {"holds", "not_tested"}
    assert Result.load(tmp_path / "ledger").question == "claims"


def test_a_damaged_result_is_left_out_and_named(tmp_path):
    store = filled(tmp_path / "s")
    table = next((store / "steps").glob("lottery-*/result/*.parquet"))
    assert 'id="lottery' in page_of(store)
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 1
    table.write_bytes(content)
    (bad,) = Store(store).damaged(results=True)
    assert bad.folder == table.parents[1] and bad.reason == f"result/{table.name} was changed"
    assert 'id="lottery' not in page_of(store)


# Export


def drawn(about: str = "pocket") -> Result:
    table = pd.DataFrame({"layer": [1, 2], "head": [1, 1], "effect": [0.1, -0.2]})
    figures = [
        Figure("heatmap", "effects", "head", "layer", title, "Read it so.", value="effect")
        for title in ("One head off", "One head off", "Ünïts: 50%")
    ]
    return Result("ablate", 1, {"effects": table}, headline=[Number("score", 0.9, 0.8, 1.0, 400, "accuracy")],
                  figures=figures, models=models(about), subject={"task": "glue/sst2"})  # fmt: skip


def test_figures_and_tables_become_files_that_say_what_they_are(tmp_path, capsys):
    put(tmp_path / "s", drawn())
    run("report", "export", "--store", tmp_path / "s", "--out", tmp_path / "out")
    folder = tmp_path / "out" / "ablate" / "pocket-on-glue-sst2"
    stems = ("one-head-off", "one-head-off-2", "units-50")
    names = {f"{stem}.{ending}" for stem in stems for ending in ("svg", "png", "pdf")} | {"effects.csv"}
    assert {path.name for path in folder.iterdir()} == names
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for ending, start in starts.items():
        assert (folder / f"one-head-off.{ending}").read_bytes().startswith(start)
    with (folder / "effects.csv").open(encoding="utf-8") as stream:
        assert list(csv.reader(stream)) == [["layer", "head", "effect"], ["1", "1", "0.1"], ["2", "1", "-0.2"]]
    index = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    linked = set(re.findall(r'href="([^"]+)"', index))
    assert linked == {f"ablate/pocket-on-glue-sst2/{name}" for name in names} and "Read it so." in index


def test_formats_are_chosen_and_an_export_is_replaced_whole(tmp_path):
    put(tmp_path / "s", drawn())
    export_report(tmp_path / "s", tmp_path / "out", formats=("svg",))
    put(tmp_path / "s", drawn("other"), kind="b")
    export_report(tmp_path / "s", tmp_path / "out", formats=("png",))
    endings = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert endings == {".png", ".csv", ".html", ".json"}, "and its seal"
    assert len(list((tmp_path / "out" / "ablate").iterdir())) == 2


def test_an_export_refuses_what_it_cannot_do(tmp_path):
    put(tmp_path / "s", drawn())
    with pytest.raises(UserError, match="cannot export figures as gif; formats are svg, png, pdf"):
        export_report(tmp_path / "s", tmp_path / "out", formats=("gif",))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(UserError):
        export_report(tmp_path / "s", tmp_path / "mine", formats=("svg",))
    assert (tmp_path / "mine" / "thesis.tex").exists()
    with pytest.raises(UserError, match="no finished results"):
        export_report(tmp_path / "nothing", tmp_path / "out")


def test_file_names_are_safe_short_and_told_apart():
    assert safe_name("pocket on glue/sst2") == "pocket-on-glue-sst2"
    assert safe_name("../../etc/passwd") == "etc-passwd" and safe_name("nul") == "nul-"
    assert safe_name("情感") != safe_name("分類") and safe_name("情感").startswith("name-")
    long = [safe_name("x" * 300 + end) for end in "ab"]
    assert long[0] != long[1] and max(map(len, long)) <= 80
    assert re.fullmatch(r"[a-z0-9-]+", safe_name(HOSTILE))


# Compare


def scored(model: str, task: str, *numbers: Number) -> Result:
    return Result("finetune", 2, {"t": pd.DataFrame({"x": [1]})}, headline=list(numbers),
                  models=models(model), subject={"task": task})  # fmt: skip


def test_what_is_in_both_stands_side_by_side(tmp_path, capsys):
    one, other = tmp_path / "one", tmp_path / "two"
    put(one, scored("a", "sst2", Number("after", 0.8, 0.78, 0.82, 400, "accuracy"), Number("loss", 1.0)), seed=0)
    put(other, scored("a", "sst2", Number("after", 0.9, 0.85, 0.95, 400, "accuracy"), Number("loss", 0.5)), seed=1)
    put(one, scored("a", "rte", Number("after", 0.6, 0.5, 0.7, 400, "accuracy")), seed=2)
    put(other, scored("a", "rte", Number("after", 0.62, 0.5, 0.7, 400, "accuracy")), seed=2)
    put(one, drawn())
    for store in (one, other):
        put(store, scored("a", "cola", Number("after", 0.4, 0.3, 0.5, 400, "accuracy")), seed=3)
    result = compare_stores(one, other)
    rows = {(row["about"], row["number"]): row for row in result.tables["numbers"].to_dict("records")}
    far, near = rows["a on sst2", "after"], rows["a on rte", "after"]
    assert far["difference"] == pytest.approx(0.1) and far["overlap"] == "no"
    assert near["difference"] == pytest.approx(0.02) and near["overlap"] == "yes"
    assert rows["a on sst2", "loss"]["overlap"] == ""  # no interval, nothing said
    assert result.tables["only"].to_dict("records") == [
        {"store": "one", "question": "ablate", "about": "pocket on glue/sst2"}
    ]
    run("report", "compare", one, other, "--out", tmp_path / "compared.html")
    printed = capsys.readouterr().out
    assert "intervals apart" in printed and "intervals overlap" in printed and "only in one: ablate" in printed
    assert "the same in both: finetune of a on cola" in printed and "finetune: a on cola" not in printed
    assert set(result.tables["beside"]["about"]) == {"a on sst2", "a on rte"}  # what is the same isn't drawn
    assert result.figures[0].facet == "about" and result["differing"].value == 3
    page = (tmp_path / "compared.html").read_text(encoding="utf-8")
    assert "one and two, compared" in page and "only" in page


def test_one_answer_of_each_is_compared_though_the_models_differ_but_not_other_units(tmp_path):
    one, other = tmp_path / "one", tmp_path / "two"
    put(one, scored("a", "sst2", Number("after", 0.8, unit="accuracy"), Number("r", 0.1, unit="accuracy")), seed=1)
    put(other, scored("b", "sst2", Number("after", 0.9, unit="accuracy"), Number("r", 0.2, unit="pearson")), seed=2)
    result = compare_stores(one, other)
    (row,) = result.tables["numbers"].to_dict("records")
    assert (row["number"], row["other_about"]) == ("after", "b on sst2")
    assert set(result.tables["beside"]["about"]) == {"a on sst2 | b on sst2"}
    assert result.figures[0].caption.endswith("They are of a on sst2 | b on sst2.")
    put(other, scored("c", "sst2", Number("after", 0.5, unit="accuracy")), seed=3)
    assert compare_stores(one, other).tables["numbers"].empty  # which of the two is meant?


def test_a_store_is_not_compared_with_itself_or_with_nothing(tmp_path):
    put(tmp_path / "s", drawn())
    with pytest.raises(UserError, match="compared with itself"):
        compare_stores(tmp_path / "s", tmp_path / "s" / ".." / "s")
    with pytest.raises(UserError, match="no finished results"):
        compare_stores(tmp_path / "s", tmp_path / "empty")
    (tmp_path / "mine.html").write_text("my own page")
    put(tmp_path / "t", drawn())
    with pytest.raises(UserError, match="not a page of bertscope"):
        compare_page(compare_stores(tmp_path / "s", tmp_path / "t"), tmp_path / "mine.html")
