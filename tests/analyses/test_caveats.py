"""The note on rows that a model may have seen: of other data and other splits, not of fewer rows of the same."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bertscope import read_task
from bertscope.analyses.caveats import cautions


@pytest.fixture
def told(tmp_path):
    rows = "\n".join(f"{'good' if row % 2 else 'bad'} text {row},{'yes' if row % 2 else 'no'}" for row in range(200))
    (tmp_path / "x.csv").write_text(f"text,label\n{rows}\n")
    learnt = SimpleNamespace(tuned_on=read_task(tmp_path / "x.csv").fingerprint, max_length=64)

    def notes(**options) -> str:
        task = read_task(tmp_path / "x.csv", **options)
        return " ".join(cautions(learnt, task, SimpleNamespace(low=1, chance=0), truncated=0))

    return notes


@pytest.mark.parametrize("options", [{}, {"limit": 10}, {"limit": 1000}, {"metric": "f1"}])
def test_the_same_splits_are_unseen_however_few_rows_are_taken(told, options):
    assert told(**options) == ""


@pytest.mark.parametrize("options", [{"seed": 1}, {"seed": 1, "limit": 10}])
def test_another_split_isnt(told, options):
    assert "fine-tuned on another split or other data: it may have seen some test rows" in told(**options)
