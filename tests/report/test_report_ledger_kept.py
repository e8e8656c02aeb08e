"""Which of several ledgers a page shows, and which results one judges."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("altair")  # not on the bare GPU machine
pytest.importorskip("cyclopts")

from bertscope.cli.main import app
from bertscope.core.store import Store
from bertscope.report import ledger
from bertscope.report.build import stored_findings
from planted_claims import PLANTED
from planted_results import SURE
from planted_store import filled, put


def run(*words: str) -> None:
    app([str(word) for word in words], exit_on_error=False, print_error=False, result_action="return_value")


def test_what_was_deleted_is_judged_no_more_and_what_came_later_is(tmp_path):
    store, other = filled(tmp_path / "s"), Store(tmp_path / "other")

    def tested() -> set[str]:
        run("report", "build", "--store", store, "--out", tmp_path / "page.html")
        rows = ledger.found(stored_findings(store)).result.tables["ledger"].dropna(subset="effect")
        return {"m-random-worse", "bias-costs", "vertical-grows"} & {*rows["claim"]}

    assert tested() == {"m-random-worse", "bias-costs"}
    run("rm", next((store / "steps").glob("lottery-*")).name, "--store", store, "--yes")
    assert tested() == {"bias-costs"}
    other.mark()
    for value in (0.1, 0.2, 0.3):
        put(other.folder, PLANTED["m-random-worse"](value, SURE)[0], seeds=value)
    run("claims", "--store", store, "--beside", other.folder)
    assert tested() == {"m-random-worse", "bias-costs"}, "as it was asked for"
    put(store, PLANTED["vertical-grows"](0.1, SURE)[0])
    assert tested() == {"vertical-grows", "bias-costs"}


def test_what_two_stores_hold_or_two_versions_answered_is_one_result(tmp_path, capsys):
    store, other = filled(tmp_path / "s"), filled(tmp_path / "other")
    Store(other).mark()
    (worse,) = (store / "steps").glob("lottery-*")

    def judged(*words) -> list[str]:
        run("claims", *words, "--json")
        said = json.loads(capsys.readouterr().out)
        return [said["id"], said["subject"]["of"]]

    alone = judged("--store", store)
    assert judged("--store", store, "--beside", other) == alone
    assert judged(worse, worse / "result", "--store", tmp_path / "named")[1] == "1 result"
    (earlier, *_) = PLANTED["m-random-worse"](-0.1, SURE)
    earlier.version -= 1
    put(store, earlier)
    assert judged("--store", store) == alone
