"""Rows over time: the p that the training step itself had for each row's label, in each epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.errors.question import errors
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.training import loop, row_map
from bertscope.training.finetune.question import finetune
from bertscope.training.objective import Labelled
from bertscope.training.row_course import FOLLOWED, RowCourse
from bertscope.training.row_map import course_table
from device import on_cpu
from planted_kinds import PLANTED
from recorders import Again, capturing
from short_training import QUICK, make_task, same, stop_in_epoch

LONG = replace(QUICK, epochs=5)


@on_cpu
def test_p_is_what_the_step_had_before_it_learnt(tiny, monkeypatch):
    """Against a spy that runs the model on each batch itself, with the same dropout, before the step."""
    task, seen = make_task(), []
    plain = loop.Training._step

    def spied(self, parts, rate, step, epoch, **kwargs):
        (rows,) = parts
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            batch = self.objective.batch(rows)
            shares = self.model(**batch.inputs).logits.softmax(-1).numpy()
        seen.append((epoch, rows, shares))
        return plain(self, parts, rate, step, epoch, **kwargs)

    monkeypatch.setattr(loop.Training, "_step", spied)
    result = finetune(tiny, task, LONG).result
    p, right = result.arrays["row_probability"], result.arrays["row_right"]
    assert p.shape == right.shape == (5, len(task.train)) and p.dtype == np.float32
    for epoch, rows, shares in seen:
        gold = task.train.label[rows]
        np.testing.assert_allclose(p[epoch - 1, rows], shares[np.arange(len(rows)), gold], rtol=1e-5)
        assert right[epoch - 1, rows].tolist() == (shares.argmax(-1) == gold).tolist()
    assert sorted(np.concatenate([rows for epoch, rows, _ in seen if epoch == 3])) == list(range(len(task.train)))


def test_a_table_by_hand():
    p = np.array([[0.9, 0.1, 0.2], [0.9, 0.1, 0.8]], np.float32)
    right = np.array([[1, 0, 0], [1, 0, 1]])
    table = course_table(["a", "b", "c"], p, right)
    assert table["confidence"].tolist() == [0.9, 0.1, 0.5] and table["variability"].tolist() == [0.0, 0.0, 0.3]
    assert table["correctness"].tolist() == [1.0, 0.0, 0.5]
    assert table["learnt"].tolist() == ["always", "never", "sometimes"]
    assert table["region"].tolist() == ["easy", "hard", "ambiguous"]


def test_what_fills_a_batch_up_adds_nothing():
    rows = RowCourse(3, torch.device("cpu"))
    things, weight = torch.tensor([2, 0, 2]), torch.tensor([1.0, 1.0, 0.0])
    rows.add(things, torch.tensor([0.5, 1.0, 9.0]), torch.tensor([True, False, True]), weight)
    rows.close()
    np.testing.assert_allclose(rows.p[0], [np.exp(-1), 0, np.exp(-0.5)], rtol=1e-6)
    assert rows.right[0].tolist() == [False, False, True]


@on_cpu
def test_recorded_steps_and_accumulated_ones_have_a_value_for_each_row(tiny, monkeypatch):
    task = make_task()
    capturing(monkeypatch, recorder := Again())
    found = [finetune(tiny, task, replace(LONG, accumulate=several)).result.arrays for several in (1, 3)]
    assert recorder.recorded
    for arrays in found:
        p = arrays["row_probability"]
        assert ((p > 0) & (p < 1)).all(), "each row once: what was tried was taken back"
        assert ((p > 0.5) == arrays["row_right"].astype(bool)).all(), "two labels"


@on_cpu
def test_a_stopped_training_has_the_same_course(tiny, tmp_path, monkeypatch):
    task = make_task()
    whole = finetune(tiny, task, LONG)
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 4)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, LONG, out=tmp_path / "model")
    again = finetune(tiny, task, LONG, out=tmp_path / "model")
    assert same(again.encoder, whole.encoder) and again.result.equals(whole.result)
    assert np.array_equal(again.result.arrays["row_probability"], whole.result.arrays["row_probability"])
    assert Result.load(again.result.save(tmp_path / "result")).equals(whole.result)


@pytest.mark.slow
def test_flipped_labels_are_the_ones_that_arent_learnt(pocket):
    """Planted: three labels of 60 are wrong, the texts say so, and the training is too short to learn by heart."""
    task = make_task()
    label = task.train.label.copy()
    label[[5, 20, 41]] = 1 - label[[5, 20, 41]]
    wrong = replace(task, train=replace(task.train, label=label))
    result = finetune(pocket, wrong, replace(QUICK, epochs=5, learning_rate=5e-4)).result
    hardest = result.tables["training_rows"].sort_values("confidence")["row"].tolist()[:3]
    assert set(hardest) == {"train:5", "train:20", "train:41"}
    assert set(result.tables["never_learnt"]["row"]) <= {"train:5", "train:20", "train:41"}
    told = next(one for one in result.figures if one.key == "training_map")
    assert (told.x, told.y, told.color) == ("variability", "confidence", "learnt")


def test_few_epochs_make_no_map_and_many_rows_are_drawn(tiny, monkeypatch):
    few = finetune(tiny, make_task(), replace(QUICK, epochs=4)).result
    assert "training_rows" not in few.tables and few.arrays["row_probability"].shape == (4, 60)
    monkeypatch.setattr(row_map, "DRAWN", 10)
    many = finetune(tiny, make_task(), LONG).result
    assert len(many.tables["training_rows"]) == 10 and many.arrays["row_probability"].shape == (5, 60)
    assert "training_rows: 10 of 60, drawn by a hash of their ids" in many.notes


@pytest.mark.parametrize("kind", ["choices", "regression", "tokens"])
def test_only_rows_with_one_label_are_followed(_pocket, kind):
    one = PLANTED[kind]
    model = one.model(_pocket.tokenizer)
    objective = Labelled(model, one.task(12).asked_of(model))
    assert (objective.row_course is not None) == (kind in FOLLOWED)
    if objective.row_course:  # the planted model is always right
        for rows in np.array_split(np.arange(12), 3):
            objective.loss(objective.batch(rows))
        assert objective.row_course.now[1].tolist() == [1.0] * 12 and (objective.row_course.now[0] > 1 / 3).all()


@pytest.mark.slow
def test_errors_says_how_the_most_similar_rows_were_learnt(tiny, tmp_path):
    task = make_task()
    trained = finetune(tiny, task, LONG)
    quick = {"words": False, "repeats": 100, "permutations": 99, "neighbours": 2}
    told = errors(trained.encoder, task, training=trained.result, **quick).tables["neighbours"]
    course = dict(zip(task.train.ids, trained.result.arrays["row_probability"].mean(0), strict=True))
    assert told["p_trained"].tolist() == pytest.approx([course[one] for one in told["other"]], abs=1e-4)
    assert "p_trained" not in errors(trained.encoder, task, **quick).tables["neighbours"]
    folder = trained.result.save(tmp_path / "result")
    stored = errors(trained.encoder, task, training=str(folder), store=tmp_path / "store", **quick)
    assert stored.tables["neighbours"].equals(told)
    with pytest.raises(UserError, match="the training read other rows than toy has"):
        errors(trained.encoder, replace(task, train=task.train.take(range(50))), training=trained.result, **quick)
    with pytest.raises(UserError, match="the result of errors doesn't say how its training rows fared"):
        errors(trained.encoder, task, training=errors(trained.encoder, task, **quick), **quick)
