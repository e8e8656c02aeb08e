"""Which precision a training has: by what was measured, and the one that it began with."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext

import pytest

from bertscope.models.new_task_head import with_classifier
from bertscope.training import loop, precision
from bertscope.training.objective import Labelled
from bertscope.training.precision import HALF, LEAST, MEASURED, SINGLE, Measured, half_is_better
from doc_pages import HERE
from short_training import QUICK, make_task, stop_in_epoch


@pytest.mark.parametrize(("units", "half"), [(64, False), (192, False), (256, False), (384, True), (1024, True)])
def test_what_was_measured_decides(units, half):
    assert half_is_better(units) == half


@pytest.mark.parametrize(("measured", "half"), [
    ([Measured(8, 2.0)], False), ([Measured(8, 2.0, 0.0, 0.01)], True), ([Measured(8, 1.2, 0.1, 0.01)], False),
    ([Measured(8, 2.0, -0.05, 0.01)], False), ([Measured(8, 1.0, 0.0, 0.01), Measured(9, 2.0)], True),
    ([Measured(8, 2.0, -0.05, 0.01), Measured(9, 2.0)], False), ([Measured(10, 2.0, 0.0, 0.01)], False),
])  # fmt: skip
def test_it_must_be_fast_and_must_not_be_known_to_cost_score(monkeypatch, measured, half):
    monkeypatch.setattr(precision, "MEASURED", tuple(measured))
    assert half_is_better(9) == half and LEAST > 1


def test_the_page_has_what_was_measured():
    page = (HERE / "docs" / "gpu.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d+ x \d+ x (\d+)[^|]*\|.*\| ([\d.]+)x \|$", page, re.MULTILINE)
    for one in MEASURED:
        assert (str(one.units), f"{one.faster:.2f}") in rows
        if one.score is not None:
            assert f"{abs(one.score):.4f}" in page and f"standard error {one.error:.4f}" in page


def train(tiny, out):
    encoder, task = with_classifier(tiny, ("no", "yes"), seed=1), make_task()
    return loop.train(encoder, Labelled(encoder, task), QUICK.settled(24, 100), out=out, resume=True)


def test_a_training_that_goes_on_keeps_its_precision(tiny, tmp_path, monkeypatch):
    """As if half precision were to be had here; the passes themselves stay as they are."""
    seen = []
    monkeypatch.setattr(loop, "has_half", lambda device: True)
    monkeypatch.setattr(loop, "half_is_better", lambda units: not seen)
    monkeypatch.setattr(loop.Training, "_precision", lambda self: _noting(seen, self.halves))
    with monkeypatch.context() as killing:
        stop_in_epoch(killing, 3)
        with pytest.raises(KeyboardInterrupt):
            train(tiny, tmp_path / "out")
    assert json.loads((tmp_path / "out.checkpoint" / "history.json").read_text())["precision"] == HALF
    before = len(seen)
    history = train(tiny, tmp_path / "out")
    assert seen and all(seen) and len(seen) > before, "what would be chosen now doesn't count"
    assert history.precision == HALF and history.notes == []


def test_a_training_that_can_t_keep_it_says_so(tiny, tmp_path, monkeypatch):
    with monkeypatch.context() as killing:
        stop_in_epoch(killing, 3)
        with pytest.raises(KeyboardInterrupt):
            train(tiny, tmp_path / "out")
    history = tmp_path / "out.checkpoint" / "history.json"
    assert json.loads(history.read_text())["precision"] == SINGLE
    run = loop.Training(*_parts(tiny), None)
    run.go_on_in(SINGLE)
    assert run.history.notes == [] and not run.halves
    monkeypatch.setattr(loop, "has_half", lambda device: False)
    run.go_on_in(HALF)
    assert not run.halves and len(run.history.notes) == 1 and "went on in single" in run.history.notes[0]


def _parts(tiny):
    encoder, task = with_classifier(tiny, ("no", "yes"), seed=1), make_task()
    return encoder, Labelled(encoder, task), QUICK.settled(24, 100)


def _noting(seen, halves):
    seen.append(halves)
    return nullcontext()
