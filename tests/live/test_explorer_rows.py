"""The data's rows: searched, wrong ones first, told of both checkpoints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.live import data_rows
from bertscope.live.explorer import Explorer
from bertscope.live.messages import AskRows
from explored import another
from planted_kinds import PLANTED


@pytest.fixture
def wrong(_toy_model, toy_task):
    """A task of which three right answers are turned around, and its explorer."""
    label = toy_task.test.label.copy()
    label[[5, 9, 40]] = 1 - label[[5, 9, 40]]
    task = replace(toy_task, test=replace(toy_task.test, label=label))
    return task, Explorer.open(_toy_model, another(_toy_model, 0.3), task)


def test_wrong_ones_come_first_and_then_the_least_sure(wrong):
    task, explorer = wrong
    rows = explorer.rows(AskRows(count=100)).rows
    assert {row.id for row in rows[:3]} == {task.test.ids[at] for at in (5, 9, 40)}
    assert [row.right for row in rows] == [False] * 3 + [True] * 97
    assert rows[0].p[0] <= rows[1].p[0] <= rows[2].p[0] and np.all(np.diff([row.p[0] for row in rows[3:]]) >= 0)
    assert all(row.gold != row.said[0] for row in rows[:3]) and all(len(row.said) == len(row.p) == 2 for row in rows)
    unsure = explorer.rows(AskRows(order="unsure", count=100)).rows
    assert np.all(np.diff([row.p[0] for row in unsure]) >= 0)
    assert [row.id for row in explorer.rows(AskRows(order="file")).rows] == list(task.test.ids[:20])


def test_pages_of_rows(wrong):
    _, explorer = wrong
    whole = explorer.rows(AskRows(count=60))
    pages = [row for first in (0, 20, 40) for row in explorer.rows(AskRows(first=first)).rows]
    assert whole.found == 128 and pages == whole.rows


def test_search_is_in_any_text_whatever_the_case(wrong, _pocket):
    task, explorer = wrong
    found = explorer.rows(AskRows(search="GOOD", order="file", count=100))
    with_it = [id for id, text in zip(task.test.ids, task.test.text, strict=True) if "good" in text]
    assert [row.id for row in found.rows] == with_it[:100] and found.found == len(with_it)
    assert explorer.rows(AskRows(search="nowhere at all")).found == 0
    planted = PLANTED["choices"]
    of_choices = Explorer.open(planted.model(_pocket.tokenizer), None, planted.task(12))
    assert 0 < of_choices.rows(AskRows(search="fine")).found < 12


def test_both_are_asked_once(wrong, monkeypatch):
    _, explorer = wrong
    asked = []
    plain = type(explorer._sides[0].encoder).predict
    monkeypatch.setattr(
        type(explorer._sides[0].encoder), "predict", lambda self, *a, **k: asked.append(self) or plain(self, *a, **k)
    )
    for search in ("", "good", "bad"):
        explorer.rows(AskRows(search=search))
    assert asked == [side.encoder for side in explorer._sides]


def test_no_more_rows_than_there_may_be(_toy_model, toy_task, monkeypatch):
    monkeypatch.setattr(data_rows, "MOST", 50)
    about = Explorer.open(_toy_model, None, toy_task).about()
    assert about.rows == 50 and about.data == "toy (test), the first 50 of 128 rows"
    assert Explorer.open(_toy_model).about().data == ""


def test_scores_that_are_furthest_off_come_first(_pocket):
    planted = PLANTED["regression"]
    task = planted.task(12)
    label = task.test.label.copy()
    label[7] = 30.0
    explorer = Explorer.open(
        planted.model(_pocket.tokenizer), None, replace(task, test=replace(task.test, label=label))
    )
    rows = explorer.rows(AskRows()).rows
    assert rows[0].id == task.test.ids[7] and rows[0].right is None and rows[0].p == [None]
