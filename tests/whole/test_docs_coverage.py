"""Intervals hold the truth as often as docs/methods.md says. `python tests/support/coverage_table.py` writes it."""

from __future__ import annotations

import pytest

from coverage_table import CASES, LEAST, MOST, documented, table, why
from output_pools import NAMES

QUICK = [case for case in CASES if case.kind in ("variance components", "Student's over seeds")]
OUTPUTS = [case for case in CASES if case.of.startswith(NAMES) and "n = 200" in case.of and "macro" not in case.of]
SHARES = [case for case in CASES if case.kind == "paired bootstrap of a share" and "n = 100" in case.of]
ROWS = {
    (kind.strip(), of.strip()): (float(found), reason.strip())
    for kind, of, found, reason in (line.strip("|\n").split("|") for line in documented().splitlines()[2:])
}


def test_every_case_is_told_and_those_that_miss_say_why():
    assert list(ROWS) == [(case.kind, case.of) for case in CASES]
    for case in CASES:
        found, reason = ROWS[case.kind, case.of]
        assert reason == why(case, found) and bool(reason) == (not LEAST <= found <= MOST)


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.of)
def test_over_trainings_they_hold_the_truth_as_often_as_is_said(case):
    found = case.coverage()
    assert found == pytest.approx(ROWS[case.kind, case.of][0], abs=0.001)
    assert LEAST <= found <= MOST or "fail" in case.of


@pytest.mark.parametrize("case", OUTPUTS, ids=lambda case: f"{case.kind}, {case.of}")
def test_of_outputs_of_every_kind_they_hold_the_truth_as_often_as_is_said(case):
    assert case.coverage() == pytest.approx(ROWS[case.kind, case.of][0], abs=0.001)


@pytest.mark.parametrize("case", SHARES, ids=lambda case: case.of)
def test_shares_hold_the_truth_also_where_there_is_hardly_a_whole(case):
    assert case.coverage() == pytest.approx(ROWS[case.kind, case.of][0], abs=0.001)


@pytest.mark.slow
def test_the_table_is_what_the_simulation_gives():
    assert documented() == table(), "run: python tests/support/coverage_table.py"
