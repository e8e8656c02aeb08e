"""Labels belong to predictions: a model that names its outputs in another order gives the same answers."""

from __future__ import annotations

import ast
import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import bertscope
import toy
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.predictions import Predictions
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.intervene import Change, judge_with
from bertscope.models.judge import judge_without, predict_without
from bertscope.models.outputs.kinds import model_output
from bertscope.training.objective import Labelled
from house import FILES, SOURCE, tree_of
from planted_task import planted, task


@pytest.fixture
def model(_pocket) -> Encoder:
    """It is always right."""
    return planted(_pocket.tokenizer)


def turned(encoder: Encoder, names: tuple[str, ...] = ()) -> Encoder:
    """A copy that gives its two outputs in the other order, under their own names or under others."""
    other = replace(encoder, model=copy.deepcopy(encoder.model))
    for weights in (other.model.classifier.weight, other.model.classifier.bias):
        weights.data = weights.data.flip(0)
    return named(other, names or encoder.labels[::-1])


def named(encoder: Encoder, names: tuple[str, ...]) -> Encoder:
    other = replace(encoder, model=copy.deepcopy(encoder.model))
    other.model.config.id2label = dict(enumerate(names))
    other.model.config.label2id = {name: place for place, name in enumerate(names)}
    return other


def three(n: int = 9) -> Task:
    rows = Examples(tuple(map(str, range(n))), ("x",) * n, label=np.arange(n) % 3)
    return Task("letters", "classification", ("a", "b", "c"), rows, rows, rows, "accuracy")


def test_a_perfect_model_in_another_order_scores_1_from_its_folder_too(model, tmp_path):
    turned(model).save(tmp_path / "turned")
    encoder, own = bertscope.load(tmp_path / "turned"), task()
    predicted = encoder.predict(own.test)
    assert predicted.labels == ("good", "bad")
    scores = own.score(predicted)
    assert (scores.value, scores.secondary["matthews"], scores.notes) == (1, 1, ())
    assert own.score(predicted.logits).value == 0  # a bare array is in the task's order
    assert np.array_equal(own.outputs_to_predictions(predicted), own.test.label)
    assert own.score(named(turned(model), (" GOOD", "Bad")).predict(own.test)).value == 1


def test_three_labels_are_brought_into_the_tasks_order_and_not_back():
    own = three()
    logits = np.eye(3)[own.test.label][:, [2, 0, 1]]
    predicted = Predictions(own.test.ids, logits, ("c", "a", "b"), 0)
    assert np.array_equal(own.outputs(predicted), np.eye(3)[own.test.label])
    assert own.score(predicted).value == 1 and own.score(logits).value == 0
    several = replace(predicted, logits=np.stack([logits, logits[:, ::-1]]))
    assert own.moments(several).mean((1, 2)).tolist() == [1, own.score(several.of_change(1)).value]


def test_numbered_labels_go_by_their_order_and_that_is_said(model):
    own = task()
    note = "labels matched by their order: LABEL_0 is bad, LABEL_1 is good"
    scores = own.score(named(model, ("LABEL_0", "LABEL_1")).predict(own.test))
    assert (scores.value, scores.notes) == (1, (note,))
    assert own.score(named(turned(model), ("LABEL_0", "LABEL_1")).predict(own.test)).value == 0
    assert replace(own, labels=("0", "1")).score(model.predict(own.test)).notes == (
        "labels matched by their order: bad is 0, good is 1",
    )


def test_results_say_that_the_order_decided(model, clock):
    own, numbered = task(), named(model, ("LABEL_0", "LABEL_1"))
    note = "labels matched by their order: LABEL_0 is bad, LABEL_1 is good"
    quick = bertscope.AblateConfig(units=("layer",), repeats=100, permutations=99)
    answers = [
        bertscope.ablate(numbered, own, quick),
        bertscope.importance(numbered, own, bertscope.ImportanceConfig(faithful=False, repeats=100)),
        bertscope.prune(numbered, own).result,
        bertscope.shrink(numbered, own, bertscope.ShrinkConfig("50%", retrain=False, onnx=False)).result,
    ]
    assert [result.notes.count(note) for result in answers] == [1, 1, 1, 1]


def test_what_cant_be_matched_is_refused_in_one_line(model):
    other, own = named(model, ("yes", "no")), task()
    message = "^the model answers yes, no, but planted is labelled bad, good; rename .* or fine-tune it on this task$"
    for ask in (
        lambda: own.score(other.predict(own.test)),
        lambda: own.moments(predict_without(other, own.test, [[]])),
        lambda: judge_with(other, own.output, own.test, [None, Change(1, lambda states: states)]),
        lambda: judge_without(other, own.output, own.test, [[]]),
        lambda: bertscope.ablate(other, own),
        lambda: bertscope.prune(other, own),
        lambda: bertscope.shrink(other, own),
        lambda: bertscope.importance(other, own),
        lambda: bertscope.together(other, own, ["head:1.2"]),
        lambda: model_output(other, own.output),
        lambda: Labelled(other, own),
    ):
        with pytest.raises(UserError, match=message):
            ask()
    with pytest.raises(UserError, match=r"the model gives 2 outputs, but letters has 3 labels \(a, b, c\)"):
        three().score(model.predict(three().test))


def test_what_cant_be_matched_is_refused_before_anything_is_computed(model, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("a pass for nothing")

    other = named(model, ("yes", "no"))
    monkeypatch.setattr(type(other.model), "forward", never)
    for ask in (bertscope.ablate, bertscope.importance, bertscope.prune, bertscope.shrink):
        with pytest.raises(UserError, match="the model answers yes, no"):
            ask(other, task())


def test_a_score_has_no_name_to_match(_pocket):
    own = toy.task(regression=True)
    encoder = toy.fresh(own, _pocket.tokenizer)
    predicted = encoder.predict(own.test)
    assert predicted.labels == () and own.score(predicted) == own.score(predicted.logits)
    assert np.array_equal(own.outputs(predicted), predicted.logits)
    with pytest.raises(UserError, match="the model gives 3 outputs, but toy has one score"):
        own.score(Predictions(own.test.ids, np.zeros((len(own.test), 3)), ("a", "b", "c"), 0))
    with pytest.raises(UserError, match="the model gives 1 outputs, but toy has 2 labels"):
        toy.task().score(predicted)


@pytest.mark.slow
def test_questions_give_a_turned_models_numbers_as_the_straight_ones(model, clock):
    own, other = task(), turned(model)
    configs = [
        (bertscope.ablate, bertscope.AblateConfig(units=("head", "layer"), repeats=100, permutations=99)),
        (bertscope.importance, bertscope.ImportanceConfig(repeats=100, random=2)),
        (bertscope.prune, bertscope.PruneConfig()),
        (bertscope.shrink, bertscope.ShrinkConfig("50%", retrain=False, onnx=False)),
        (bertscope.shrink, bertscope.ShrinkConfig("50%", epochs=1, onnx=False, distill=True)),
    ]
    for ask, config in configs:
        one, two = (getattr(given := ask(each, own, config), "result", given) for each in (model, other))
        for name, table in one.tables.items():
            pd.testing.assert_frame_equal(table, two.tables[name], rtol=1e-4, atol=1e-6)
        assert [number.value for number in one.headline] == pytest.approx(
            [number.value for number in two.headline], rel=1e-4, abs=1e-6
        )
    assert one.numbers(key="score", arm="whole")[0].value == 1
    how = {"random_sets": 2, "repeats": 100, "mode": "zero"}
    one, two = (bertscope.together(each, own, ["head:1.2"], **how) for each in (model, other))
    assert one.effect == two.effect < 0 and one.p == two.p


def test_training_on_goes_by_name(toy_task, toy_model):
    other, settings = turned(toy_model), replace(toy.RECIPE, epochs=1)
    for encoder in (toy_model, other):
        toy.train(encoder, Labelled(encoder, toy_task), settings, out=None, resume=False)
    weights = (one.model.classifier.weight for one in (toy_model, other))
    assert torch.allclose(next(weights), next(weights).flip(0), atol=1e-4)
    assert toy_task.score(other.predict(toy_task.test)).value > 0.9


_OUTPUTS = ("self", "output", "task.output")


def test_labels_are_matched_in_one_place_for_arrays_and_in_one_for_losses_of_each_kind_that_has_names():
    """Nobody else asks which output is which, or picks outputs out of logits."""
    matching, picking = set(), set()
    for path in FILES:
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Attribute) and node.attr == "match" and ast.unparse(node.value) in _OUTPUTS:
                matching.add(name)
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):  # [:, order], [..., order]
                picking |= {name} if ast.unparse(node.value).endswith(".logits") else set()
    arrays = {"data/outputs/classes.py", "data/outputs/several.py", "data/outputs/tags.py"}
    losses = {"models/outputs/classifier.py", "models/outputs/several.py", "models/outputs/tagger.py"}
    assert matching == arrays | losses
    assert not picking
    assert not [path for path in FILES if "match_labels" in path.read_text(encoding="utf-8")]
