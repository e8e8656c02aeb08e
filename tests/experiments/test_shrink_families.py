"""shrink of families that are built unlike BERT."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.experiments.shrink.costs import block_parameters, parameter_cost
from bertscope.experiments.shrink.question import ShrinkConfig, shrink
from bertscope.experiments.shrink.search import Search
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from families import tiny_model

pytestmark = pytest.mark.usefixtures("clock")
QUARTER = ShrinkConfig(target="25%", retrain=False, onnx=False, step=0.25, force=True)


def fresh(name, _pocket, task):
    return with_classifier(load(tiny_model(name), tokenizer=_pocket.tokenizer), task.labels)


@pytest.mark.parametrize("name", ["modernbert", "eurobert", "deberta-v2", "mpnet"])
def test_a_quarter_is_left_and_opens_again(name, _pocket, toy_task, tmp_path):
    task = replace(toy_task, validation=toy_task.validation.take(range(16)), test=toy_task.test.take(range(16)))
    encoder = fresh(name, _pocket, task)
    small = shrink(encoder, task, QUARTER, out=tmp_path / name).encoder
    assert block_parameters(*small.layers) <= 0.25 * block_parameters(*encoder.layers)
    assert np.array_equal(
        load(tmp_path / name, device=str(small.device)).predict(task.test).logits, small.predict(task.test).logits
    )


@pytest.mark.parametrize("name", ["modernbert", "deberta-v2"])
def test_a_first_layer_that_must_stay_is_never_tried(name, _pocket, toy_task):
    encoder = fresh(name, _pocket, toy_task)
    search = Search(encoder, toy_task, toy_task.validation.take(range(8)), parameter_cost(encoder), step=0.25)
    assert [str(move.units[0]) for move in search._layers()] == ["layer:2", "layer:3"]
