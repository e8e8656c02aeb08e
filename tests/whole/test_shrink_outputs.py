"""`shrink` of a model of every kind of output: what is needed stays, and what is written does what it did."""

from __future__ import annotations

import numpy as np
import pytest

from bertscope.core.units import every
from bertscope.experiments.shrink.measure import _need_equal
from bertscope.experiments.shrink.question import ShrinkConfig, shrink
from bertscope.models.export import OnnxModel
from bertscope.models.load import load
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from planted_kinds import PLANTED
from planted_outputs import ROWS


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_the_needed_heads_stay(kind, _pocket) -> None:
    planted = PLANTED[kind]
    model, task = planted.model(_pocket.tokenizer), planted.task(ROWS)
    shrunk = shrink(model, task, ShrinkConfig("60%", step=0.1, retrain=False, onnx=False))
    left = shrunk.result.arrays["heads"]
    kept = {str(unit) for unit in every("head", model.head_counts) if left[unit.layer_index, unit.index]}
    assert set(planted.needed) <= kept and len(kept) < 8
    assert shrunk.result.numbers(key="score", arm="cut")[0].value == pytest.approx(1, abs=1e-2)


@pytest.mark.slow
@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_what_is_written_opens_and_runs_with_the_same_outputs(kind, _pocket, tmp_path) -> None:
    planted = PLANTED[kind]
    model = planted.model(_pocket.tokenizer)
    task = planted.task(ROWS).asked_of(model)
    config = ShrinkConfig("60%", step=0.2, epochs=1, learning_rate=1e-4)
    shrunk = shrink(model, task, config, out=tmp_path / "small")
    wanted = shrunk.encoder.predict(task.test, task.output).logits
    again = load(tmp_path / "small")
    assert again.task_head == model.task_head
    assert np.array_equal(again.predict(task.test, task.output).logits, wanted)
    found = OnnxModel(tmp_path / "small" / "model.onnx", again).predict(task.test, task.output)
    assert np.allclose(found.logits, wanted, atol=1e-4)
    arms = set(shrunk.result.tables["models"]["arm"])
    assert {"whole", "cut", "whole_onnx", "whole_int8", "cut_onnx", "cut_int8"} == arms
    assert "session.run" in (tmp_path / "small" / "README.md").read_text()


def test_what_is_chosen_may_hardly_differ_and_numbers_by_rounding() -> None:
    said = np.zeros((200, 4, 2), np.int64)
    other = said.copy()
    other[:2] = 1
    _need_equal("one", other, "two", said, 1e-5)
    other[2, 0, 0] = 1
    with pytest.raises(RuntimeError, match=r"one and two answer 1\.5% of the rows differently, more than 1%"):
        _need_equal("one", other, "two", said, 1e-5)
    _need_equal("one", said[:0], "two", said[:0], 1e-5)
    numbers = np.full((3, 2), 10.0)
    _need_equal("one", numbers + 5e-5, "two", numbers, 1e-5)
    with pytest.raises(RuntimeError, match=r"give logits that differ by 2\.0e-05, more than 1e-05"):
        _need_equal("one", numbers + 2e-4, "two", numbers, 1e-5)
