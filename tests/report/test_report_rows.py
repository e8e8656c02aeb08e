"""Rows on the page, as it is built: which results are joined, whose texts stand there, and how much of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("altair")  # not on the bare GPU machine

from bertscope.core import registry
from bertscope.core.result import Result
from bertscope.core.row_card import RowFact
from bertscope.report import row_card
from bertscope.report.export import export_report
from planted_page import HOSTILE, data_of, page_of
from planted_rows import declare, few_rows, put

FLIPS = {"test:3": ["head:2.1", "mlp:1"], "test:99": ["layer:2"]}


@pytest.fixture(autouse=True)
def _declared(monkeypatch) -> None:
    declare(monkeypatch)


def entries(page: str) -> list[dict]:
    return json.loads(re.search('<script type="application/json" id="answers">(.*)</script>', page)[1])


def rows_of(page: str) -> dict[str, dict]:
    """The page's rows, by their data's key."""
    keys = re.findall('data-rows="([^"]*)"', page)
    packed = [one["tables"]["rows"] for one in data_of(page) if set(one) == {"tables"}]
    return dict(zip(keys, packed, strict=True))


def test_results_about_the_same_rows_are_joined_and_texts_stand_there_once(tmp_path):
    few = few_rows()
    for result in (few.mistakes(), few.duel(), few.reasons(4), few.flips(FLIPS)):
        put(tmp_path, result)
    page = page_of(tmp_path)
    ((key, rows),) = rows_of(page).items()
    assert rows["columns"] == ["row", "text"]
    assert rows["cells"][0] == [*few.ids, "test:99"]  # a row that only `ablate` knows has no text
    assert rows["cells"][1] == [*few.text, ""]
    assert {entry["rows"]["data"] for entry in entries(page)} == {key}
    tables = [one["tables"]["rows"] for one in data_of(page) if "figures" in one and "rows" in one["tables"]]
    held = [table["cells"][table["columns"].index("text")] for table in tables]
    assert held == [{"rows": key, "column": "text"}] * 2
    assert "11 rows: search" in page and page.count("data-rows=") == 1


def test_rows_of_other_data_are_others_though_their_ids_are_the_same(tmp_path):
    few = few_rows()
    other = replace(few, text=[f"another {text}" for text in few.text])
    put(tmp_path, few.mistakes())
    put(tmp_path, other.duel(), data="2" * 16)
    put(tmp_path, few.flips(FLIPS), data="2" * 16)
    put(tmp_path, few.reasons(2, task="glue/rte"), task="glue/rte")  # no result has the texts of these
    page = page_of(tmp_path)
    assert [rows["cells"][1][0] for rows in rows_of(page).values()] == [other.text[0], few.text[0]]
    by_name = {entry["id"].partition("-")[0]: entry["rows"] for entry in entries(page)}
    assert by_name["ablate"]["data"] == by_name["duel"]["data"] != by_name["mistakes"]["data"]
    assert by_name["reasons"] is None


@pytest.mark.parametrize(
    ("read", "same"),
    [({"limit": 5}, True), ({"metric": "f1", "windows": 2}, True), ({"text": "title"}, False), ({"seed": 1}, False)],
)
def test_how_data_is_read_says_whether_rows_are_the_same(tmp_path, read, same):
    few = few_rows()
    put(tmp_path, few.mistakes())
    put(tmp_path, few.duel(), **read)
    assert (len(rows_of(page_of(tmp_path))) == 1) is same


def test_data_that_a_model_was_trained_on_isnt_taken_for_what_it_is_asked_of(tmp_path):
    """The digest is that of the step's own data, not of the first that it rests on."""
    from bertscope.core.step import Root, Step
    from planted_page import id_of
    from stored_steps import put_step

    few = few_rows()
    learnt, asked = Root("task", "demo/sentiment", "7" * 16), Root("task", "glue/rte", "8" * 16)
    tuned = Step("finetune", 2, {}, {"base": Root("model", "pocket", id_of("pocket")), "task": learnt})
    put_step(tmp_path, Step("mistakes", 1, {}, {"model": tuned, "task": asked}), few.mistakes(task="glue/rte"))
    put_step(tmp_path, Step("duel", 1, {}, {"model": tuned, "task": learnt}), few.duel())
    assert len(rows_of(page_of(tmp_path))) == 2


def test_results_without_texts_make_no_section(tmp_path):
    put(tmp_path, few_rows().flips(FLIPS))
    page = page_of(tmp_path)
    assert 'id="rows"' not in page and "row-card" not in page.partition("<body>")[2]
    (known,) = data_of(page)
    assert known["tables"]["flips"]["cells"][0] == ["test:3", "test:3", "test:99"]


def test_what_an_older_result_lacks_isnt_missed(tmp_path):
    few = few_rows()
    result = few.mistakes(slices=False)
    put(tmp_path, replace(result, tables={"rows": result.tables["rows"].drop(columns=["p", "loss"])}))
    (entry,) = entries(page_of(tmp_path))
    assert [fact["column"] for fact in entry["rows"]["facts"]] == ["text", "gold", "predicted", "right"]
    assert entry["rows"]["facts"][0]["beside"] == {}  # it has no second texts


def test_pairs_have_both_texts(tmp_path):
    result = few_rows().mistakes()
    result.tables["rows"]["pair"] = [f"second {place}" for place in range(10)]
    put(tmp_path, result)
    (rows,) = rows_of(page_of(tmp_path)).values()
    assert rows["columns"] == ["row", "text", "pair"] and rows["cells"][2][9] == "second 9"


def test_texts_are_cut_alike_or_left_out_and_the_page_says_so(tmp_path, monkeypatch):
    few = few_rows()
    few = replace(few, text=["x" * 2000, *few.text[1:]])
    put(tmp_path, few.mistakes())
    page = page_of(tmp_path)
    assert "Texts are cut after 1,000 characters: a page holds only so much of them." in page
    (rows,) = rows_of(page).values()
    assert rows["cells"][1][0] == "x" * 1000 + "…" and rows["cells"][1][1:] == few.text[1:]
    monkeypatch.setattr(row_card, "TEXTS", 180)
    page = page_of(tmp_path)
    assert "Texts are cut after 100 characters" in page and "The texts of 7 rows are left out" in page
    (rows,) = rows_of(page).values()
    assert rows["cells"][1][0] == "x" * 100 + "…" and rows["cells"][1][-1] == ""


@pytest.mark.parametrize("letter", ["a", "é", "漢"])
@pytest.mark.parametrize("room", [10_000, 40_000, 10**7])
def test_cut_texts_never_need_more_room_than_there_is(letter, room):
    generator = np.random.default_rng(0)
    texts = [letter * int(length) for length in generator.integers(0, 1500, 60)]
    kept, notes = row_card._cut(texts, room)
    assert sum(len(text.rstrip("…").encode()) for text in kept) <= room
    assert all(whole.startswith(text.rstrip("…")) for text, whole in zip(kept, texts, strict=True))
    assert len(kept) == 60 and bool(notes) == (kept != texts)
    if room == 40_000 and letter == "a":  # all room is used: one character more of each would be too much
        longest = max(len(text.rstrip("…")) for text in kept)
        assert sum(min(len(text), longest + 1) for text in texts) > room


def test_words_that_come_again_are_said_once():
    said = row_card._said_once(["a", None, "a", "b", "b", "a"])
    assert said == {"values": ["a", None, "b"], "codes": [0, 1, 0, 2, 2, 0]}
    for plain in (["a", "b"], [1.5] * 9, [True] * 9, []):
        assert row_card._said_once(plain) == plain


def test_what_other_results_are_made_of_has_no_rows_here_and_says_so(tmp_path):
    """Trainings of an experiment, each with as many rows as the data: the page would hold nothing else."""
    from bertscope.core.step import Root, Step
    from planted_page import id_of
    from stored_steps import put_step

    few, parts = few_rows(), []
    for seed in range(5):
        inputs = {"model": Root("model", "pocket", id_of("pocket")), "task": Root("task", "demo/sentiment", "1" * 16)}
        parts.append(Step("mistakes", 1, {"seed": seed}, inputs))
        put_step(tmp_path, parts[-1], few.mistakes())
    whole = Step("scratch", 1, {}, {f"run_{place}": part for place, part in enumerate(parts)})
    put_step(tmp_path, whole, Result("scratch", 1, {"scores": pd.DataFrame({"a": [1.0]})}))
    page = page_of(tmp_path)
    assert 'id="rows"' not in page
    assert page.count("its table rows isn&#39;t on this page; an export has it") == 5


def test_rows_are_in_the_export(tmp_path):
    few = few_rows()
    put(tmp_path / "store", few.mistakes())
    put(tmp_path / "store", few.flips(FLIPS))
    index = export_report(tmp_path / "store", tmp_path / "out", formats=[])
    found = {file.name: pd.read_csv(file) for file in Path(index).parent.rglob("*.csv")}
    assert found["rows.csv"]["text"].tolist()[:3] == few.text[:3] and found["rows.csv"]["p"].tolist() == few.p
    flips = [["test:3", "head:2.1"], ["test:3", "mlp:1"], ["test:99", "layer:2"]]
    assert found["flips.csv"].to_numpy().tolist() == flips


def test_hostile_texts_stay_data(tmp_path):
    few = few_rows()
    put(tmp_path, few.mistakes(task=HOSTILE), task=HOSTILE)
    page = page_of(tmp_path)
    assert "<script>alert" not in page
    (rows,) = rows_of(page).values()
    assert rows["cells"][1][2] == HOSTILE


def test_what_the_questions_themselves_declare_is_found_in_their_tables(tmp_path):
    """In tables of the shapes that `errors`, `versus`, `explain`, `finetune`, `ablate` make; nothing is dropped."""
    few = few_rows()
    mistakes, duel, reasons = few.mistakes(), few.duel(), few.reasons(3)
    mistakes.tables["rows"] = mistakes.tables["rows"].assign(pair="b", p_gold=0.5)
    mistakes.tables["neighbours"] = mistakes.tables["neighbours"].assign(p_trained=0.5)
    duel.tables["rows"] = duel.tables["rows"].assign(pair="b")
    trained = mistakes.tables["rows"][["row", "gold", "predicted", "p", "p_gold"]]
    trained = trained.rename(columns={"p": "p_after"}).assign(
        predicted_before="positive", p_before=0.5, p_gold_before=0.5
    )
    results = {"errors": mistakes, "versus": duel, "explain": reasons, "ablate": few.flips(FLIPS)}
    course = trained[["row", "gold"]].assign(
        confidence=0.5, variability=0.1, correctness=0.5, region="hard", text="a"
    )
    results["finetune"] = replace(
        mistakes, tables={"rows": trained, "training_rows": course, "never_learnt": course[["row", "text"]]}
    )
    for name, result in results.items():
        put(tmp_path, replace(result, question=name, version=registry.find(name).version))
    found = {entry["id"].partition("-")[0]: entry["rows"] for entry in entries(page_of(tmp_path))}
    assert len({one["data"] for one in found.values()}) == 1
    for name in results:
        declared = registry.find(name).row_card
        assert [fact["column"] for fact in found[name]["facts"]] == [fact.column for fact in declared]
        assert [set(fact["beside"]) for fact in found[name]["facts"]] == [set(fact.beside) for fact in declared]
    facts = {(name, fact["column"]): fact for name in results for fact in found[name]["facts"]}
    assert facts["errors", "right"]["called"] == {"true": "right", "false": "wrong"}  # as the browser writes them
    assert facts["errors", "p"]["ends"][0] == "least sure" and facts["versus", "outcome"]["chosen_by"]
    assert [key for key, fact in facts.items() if fact["of_row"]] == [
        ("errors", "gold"), ("versus", "gold"), ("finetune", "gold"),
    ]  # fmt: skip


def test_values_that_are_named_are_those_of_the_page():
    """A table's keys are words there: what is called so, or stands out, must be found by them."""
    fact = RowFact("rows", "outcome", "what became of it", called={"both_wrong": "hopeless", True: "yes"},
                   wrong=("both_wrong", "broken", False))  # fmt: skip
    declared = replace(registry.find("duel"), row_card=(fact,))
    (known,) = row_card.known_facts(few_rows().duel(), declared)
    assert known.called == {"both wrong": "hopeless", True: "yes"} and known.wrong == ("both wrong", "broken", False)
