"""What users hand over in Python: one thing for several, a task for its texts, a path for a name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bertscope
from bertscope.core.config import to_json
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit


@pytest.fixture(scope="module")
def task():
    return bertscope.read_task("demo/sentiment", limit=4)


def test_texts_are_taken_from_what_holds_them(task):
    assert Examples.of(task.train) is task.train
    test = Examples.of(task)
    assert test.text == task.test.text and test.name == "demo/sentiment"
    assert Examples.of(["one", "two"]).ids == ("1", "2")
    for given in ("one", ["one", 2], [], 3):
        with pytest.raises(UserError, match="give Examples, a task, or a list of texts"):
            Examples.of(given)


def test_predictions_of_a_list_and_of_a_task(tiny, task):
    texts = list(task.test.text)
    predicted = tiny.predict(task.test)
    for given in (texts, task):
        assert np.array_equal(tiny.predict(given).logits, predicted.logits)
    assert repr(predicted) == "<Predictions: logits [4, 2], 0 texts cut>"
    scores = task.score(predicted)
    assert scores.notes == ("labels matched by their order: LABEL_0 is negative, LABEL_1 is positive",)
    assert replace(scores, notes=()) == task.score(predicted.logits)
    assert bertscope.hidden_states(tiny, texts).ids == ("1", "2", "3", "4")


def test_a_question_takes_a_task_for_its_texts_and_a_path_for_a_name(tiny, task, tmp_path):
    config = bertscope.PatternsConfig(repeats=100)
    found = bertscope.patterns(tiny.save(tmp_path / "saved"), task, config)
    assert found.equals(bertscope.patterns(str(tmp_path / "saved"), Examples.of(task), config))


def test_a_question_takes_a_transformers_model_in_memory(tiny, task, tmp_path):
    from transformers import AutoModelForSequenceClassification

    folder = tiny.save(tmp_path / "saved")
    module = AutoModelForSequenceClassification.from_pretrained(folder).to(tiny.device)
    config = bertscope.AblateConfig(units=("layer",), repeats=100, permutations=99)
    found, named = (bertscope.ablate(model, task, config) for model in (module, folder))
    pd.testing.assert_frame_equal(found.table, named.table)
    config = bertscope.PatternsConfig(repeats=100)
    one, two = (bertscope.patterns(models, task, config) for models in (module, [module, folder]))
    assert len(two.tables["heads"]) == 2 * len(one.tables["heads"])


def test_what_reads_a_task_or_texts_takes_a_list_of_texts(tiny, task):
    texts = list(task.test.text)
    config = bertscope.RedundancyConfig(repeats=100)
    found = bertscope.redundancy(tiny, texts, config)
    assert found.tables["pairs"].equals(bertscope.redundancy(tiny, Examples.of(texts), config).tables["pairs"])
    for ask in (bertscope.redundancy, bertscope.contrastive):
        with pytest.raises(UserError, match="can't read int as data; give a name or a path, a list of texts"):
            ask(tiny, 3)


def test_one_part_stands_for_a_list_of_one(tiny, task):
    assert Unit.parse_all("head:1.2") == [Unit("head", 1, 2)] == Unit.parse_all(Unit("head", 1, 2))
    assert tiny.cut("layer:3").n_layers == tiny.n_layers - 1
    with tiny.gates(off="head:1.2") as one:
        assert one.heads[0].tolist() == [1, 0, 1, 1] and one.heads[1:].all()


def test_bare_text_for_several_is_refused(tiny, task):
    config = bertscope.AblateConfig(units="heads")
    message = r"units is 'heads'; it takes several: units=\('heads',\)"
    for ask in (lambda: to_json(config), lambda: bertscope.ablate(tiny, task, config)):
        with pytest.raises(UserError, match=message):
            ask()


def test_a_result_is_loaded_from_the_folder_of_its_step(tmp_path):
    result = bertscope.Result("ablate", 1, tables={"t": pd.DataFrame({"a": [1]})})
    result.save(tmp_path / "ablate-1" / "result")
    assert bertscope.Result.load(tmp_path / "ablate-1").equals(result)


def test_tab_completion_has_what_is_public_alone():
    assert {name for name in dir(bertscope) if not name.startswith("_")} == set(bertscope.__all__)
