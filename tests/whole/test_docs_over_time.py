"""docs/findings/over-time.md says what its script makes of the stored lines; and what that calls half and there."""

from __future__ import annotations

import json

import numpy as np
import pytest

from over_time_table import FORGOTTEN, KEPT, PAGE, QUANTITIES, TASKS, is_certain, lines_of, onset, reached, written

STEPS = np.array([0, 1, 3, 7, 15])


def test_the_page_is_as_its_script_writes_it():
    page = PAGE.read_text(encoding="utf-8")
    assert written(page, json.loads(KEPT.read_text())) == page
    assert page.count("| SST-2 |") >= 3 and "<!-- end -->" in page


def test_all_trainings_are_there():
    kept = json.loads(KEPT.read_text())
    for task in TASKS:
        steps, lines = lines_of(kept, task)
        assert len(steps) == 12 and {one.shape for one in lines.values()} == {(5, 12)}
        assert {*QUANTITIES} - {*lines} <= {"tags"}, "parts of speech were asked of SST-2 alone"
        asked, lost = lines_of(kept, task, FORGOTTEN)
        assert {*lost} == {*FORGOTTEN} and {one.shape for one in lost.values()} == {(5, 6)} and {*asked} <= {*steps}
        assert all(len(set(one[:, 0])) == 1 for one in lost.values()), "the start is pocket, whichever the seed"


@pytest.mark.parametrize(
    ("values", "half", "there"),
    [
        ([0, 0, 0, 1, 1], 2.5, 3),  # in the middle between the doublings 2 and 3
        ([1, 1, 0, 0, 0], 1.5, 2),
        ([0, 1, 0, 0, 1], 3.5, 4),  # it came, and went again
        ([0, 0.25, 0.5, 0.75, 1], 2.0, 4),
        ([0, 0.2, 0.95, 1.05, 1], 1.4, 2),
    ],
)
def test_half_and_there(values, half, there):
    line = np.array(values, float)
    assert reached(line, STEPS, 0.5) == pytest.approx(half) and onset(line) == there


def test_a_change_that_seeds_dont_share_is_open():
    steady, torn = np.array([[0, 1.0], [0, 1.2], [0, 0.9]]), np.array([[0, 1.0], [0, -1.0], [0, 0.5]])
    assert is_certain(steady) and not is_certain(torn)
