"""Recorded steps: on a machine without a GPU the recording is planted, and all else is what a GPU does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import captured_table
import contrast_sets
import output_runs
from bertscope.core.bucketing import rounded
from bertscope.core.errors import UserError
from bertscope.models.new_task_head import bare, with_classifier
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.training import loop
from bertscope.training.captured import _beginning
from bertscope.training.distill import Teacher
from bertscope.training.graphs import NumbersThere
from bertscope.training.objective import Labelled
from bertscope.training.static_batch import StaticBatch, shape_of, tensors_of
from device import DEVICE, on_cpu
from families import CONFIGS
from recorders import Again, Broken, capturing
from short_training import QUICK, make_task, same, stop_in_epoch

PLAIN = replace(QUICK, epochs=2)


def still(encoder):
    """Without dropout: what is filled up would draw other numbers."""
    for module in encoder.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if isinstance(getattr(module, "dropout_prob", None), float):
            module.dropout_prob = 0.0
    encoder.model.config.attention_probs_dropout_prob = 0.0
    return encoder


def gradients(encoder, objective, batch) -> tuple[float, torch.Tensor]:
    encoder.model.zero_grad()
    loss = objective.loss(batch)
    loss.backward()
    found = [weights.grad.flatten() for weights in encoder.model.parameters() if weights.grad is not None]
    return loss.item(), torch.cat(found)


def on_device(batch):
    return StaticBatch(batch, torch.device(DEVICE)).batch


@pytest.mark.parametrize("size", range(1, 600, 7))
def test_sizes_are_few_and_little_larger(size):
    assert size <= rounded(size) < max(size + 8, 1.26 * size) and rounded(rounded(size)) == rounded(size)


def test_there_are_few_sizes():
    assert len({rounded(size) for size in range(1, 513)}) == 20


@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_what_fills_a_batch_up_counts_for_nothing(_pocket, kind):
    _, encoder, task = output_runs.models(kind, "bert", _pocket.tokenizer)
    encoder, objective = still(encoder), Labelled(encoder, task.asked_of(encoder))
    things = np.array([3, 11, 7])
    filled = objective.fixed_batch(things, 8)
    assert len(filled.filled.weight) == 8 and filled.special.shape[1] % 8 == 0
    one, other = (gradients(encoder, objective, batch) for batch in (objective.batch(things), on_device(filled)))
    assert one[0] == pytest.approx(other[0], rel=1e-5)
    torch.testing.assert_close(one[1], other[1], atol=2e-5, rtol=1e-3)
    two = [on_device(objective.fixed_batch(some, 8)) for some in (things, things[::-1].copy())]
    sizes = [objective.sized_loss(batch)[1].item() for batch in two]
    assert sizes == pytest.approx([objective.sized_loss(objective.batch(things))[1].item()] * 2)


@pytest.mark.parametrize("kind", [kind for kind, one in MODEL_OUTPUTS.items() if "taught" in dir(one)])
def test_nor_does_a_teacher_say_anything_of_it(_pocket, kind):
    _, encoder, task = output_runs.models(kind, "bert", _pocket.tokenizer)
    encoder, asked = still(encoder), task.asked_of(encoder)
    said = encoder.predict(asked.train, asked.output)
    teacher = Teacher(np.asarray(asked.outputs(said), np.float32) * 0.5 + 0.1)
    try:
        objective = Labelled(encoder, asked, teacher=teacher)
        objective.loss(objective.batch(np.arange(2)))
    except NotImplementedError:
        pytest.skip("this kind has no teacher")
    things = np.array([3, 11, 7])
    plain, filled = objective.batch(things), on_device(objective.fixed_batch(things, 8))
    one, other = (gradients(encoder, objective, batch) for batch in (plain, filled))
    assert one[0] == pytest.approx(other[0], rel=1e-5)
    torch.testing.assert_close(one[1], other[1], atol=2e-5, rtol=1e-3)


def test_examples_of_very_different_sizes_are_not_filled_up(_pocket):
    _, encoder, task = output_runs.models("choices", "bert", _pocket.tokenizer)
    objective = Labelled(encoder, task.asked_of(encoder))
    counts = np.diff(objective._starts)
    assert objective.fixed_batch(np.arange(4), 4) is not None and len(set(counts)) > 1
    objective._starts = np.cumsum([0, 1, 1, 1, 9])
    assert objective.fixed_batch(np.arange(4), 4) is None


def test_a_static_batch_holds_what_it_is_filled_with(_pocket):
    _, encoder, task = output_runs.models("tokens", "bert", _pocket.tokenizer)
    objective = Labelled(encoder, task.asked_of(encoder))
    one, other = (objective.fixed_batch(np.array(things), 4) for things in ([0, 1, 2], [2, 0]))
    assert shape_of(one) == shape_of(other)
    static = StaticBatch(one, torch.device(DEVICE))
    where = [tensor.data_ptr() for tensor in tensors_of(static.batch)]
    for batch in (one, other):
        static.fill(batch)
        assert all(map(torch.equal, (each.cpu() for each in tensors_of(static.batch)), tensors_of(batch)))
    assert [tensor.data_ptr() for tensor in tensors_of(static.batch)] == where


@pytest.mark.parametrize("columns", [2, 3])
def test_nor_is_it_a_negative(tiny, columns):
    made = contrast_sets.objective(still(bare(tiny, name="bare")), columns, contrast_sets.QUICK)
    things = np.array([3, 1, 7])
    plain, filled = made.batch(things), on_device(made.fixed_batch(things, 8))
    one, other = (gradients(made.encoder, made, batch) for batch in (plain, filled))
    assert one[0] == pytest.approx(other[0], rel=1e-4)
    torch.testing.assert_close(one[1], other[1], atol=2e-5, rtol=1e-3)
    assert made.sized_loss(plain)[1] == made.sized_loss(filled)[1] == 3


@pytest.mark.parametrize(
    "settings", [{}, {"accumulate": 3}, {"frozen": "embeddings,1"}, {"weight_decay": 0.1}, {"head_rate": 4.0}]
)
def test_recorded_steps_are_the_steps(tiny, monkeypatch, settings):
    task, config = make_task(), replace(PLAIN, **settings)
    runs = []
    for recorder in (None, Again()):
        if recorder:
            capturing(monkeypatch, recorder)
        encoder = still(with_classifier(tiny, task.labels, seed=1))
        history = loop.train(encoder, Labelled(encoder, task), config.settled(24, 100), out=None, resume=False)
        runs.append((history, encoder.predict(task.test).logits))
    (plain, said), (again, says) = runs
    assert recorder.recorded and again.notes == []
    np.testing.assert_allclose([row["loss"] for row in again.steps], [row["loss"] for row in plain.steps], rtol=2e-3)
    assert [row["step"] for row in again.steps] == [row["step"] for row in plain.steps]
    np.testing.assert_allclose(says, said, atol=5e-3)
    assert again.epochs[-1]["loss"] == pytest.approx(plain.epochs[-1]["loss"], rel=2e-3)


@on_cpu
def test_what_is_tried_before_it_is_recorded_changes_nothing(tiny):
    task = make_task()
    encoder = with_classifier(tiny, task.labels, seed=1)
    run = loop.Training(encoder, Labelled(encoder, task), PLAIN.settled(24, 100), None)
    run.captured = run.capture(Again())
    encoder.model.train()
    run.captured.step([np.arange(8)], 1e-3)
    before, drawn = encoder.fingerprint, torch.get_rng_state()
    moments = [value.clone() for state in run.optimizer.state.values() for value in state.values()]
    long = replace(run.objective.fixed_batch(np.arange(4), 4))
    assert run.captured._found_or_made(long) is not None
    assert encoder.fingerprint == before and torch.equal(torch.get_rng_state(), drawn)
    after = [value for state in run.optimizer.state.values() for value in state.values()]
    assert all(map(torch.equal, moments, after)) and float(after[0]) == 1


@on_cpu
def test_a_killed_training_goes_on_to_the_same_weights(tiny, monkeypatch, tmp_path):
    task = make_task()

    def trained(out, epochs=3):
        encoder = with_classifier(tiny, task.labels, seed=1)
        config = replace(QUICK, epochs=epochs).settled(24, 100)
        loop.train(encoder, Labelled(encoder, task), config, out=out, resume=True)
        return encoder

    capturing(monkeypatch, Again())
    whole = trained(None)
    with monkeypatch.context() as killing:
        stop_in_epoch(killing, 3)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path / "out")
    assert same(trained(tmp_path / "out"), whole)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("can't be recorded.\nand so on", "can't be recorded"),
        ("backend='x' raised:\n\nAssertionError: what\nand so on", "backend='x' raised: AssertionError: what"),
        ("", "RuntimeError"),
    ],
)  # fmt: skip
def test_why_it_failed_is_one_line(error, said):
    assert _beginning(RuntimeError(error)) == said


def test_what_cannot_be_recorded_is_done_as_it_is_and_said_once(tiny, monkeypatch):
    task, runs = make_task(), []
    for recorder in (None, Broken()):
        if recorder:
            capturing(monkeypatch, recorder)
        encoder = still(with_classifier(tiny, task.labels, seed=1))
        history = loop.train(encoder, Labelled(encoder, task), PLAIN.settled(24, 100), out=None, resume=False)
        runs.append((history, encoder.predict(task.test).logits))
    why = "recording a step failed (operation not permitted when stream is capturing)"
    assert [run[0].notes for run in runs] == [[], [f"trained without CUDA graphs: {why}"]]
    np.testing.assert_allclose(runs[0][1], runs[1][1], atol=5e-3)


def test_a_step_that_is_not_finite_changes_nothing_and_is_told(tiny):
    task = make_task()
    encoder = still(with_classifier(tiny, task.labels, seed=1))
    objective = Labelled(encoder, task)
    run = loop.Training(encoder, objective, PLAIN.settled(24, 100), None)
    run.captured = run.capture(run.captured._recorder if run.captured else Again())
    run.captured.step([np.arange(8)], 1e-3)
    before = encoder.fingerprint
    plain = objective.sized_loss
    objective.sized_loss = lambda batch: tuple(each * torch.inf for each in plain(batch))
    run.captured._recorded.clear()
    run.captured.step([np.arange(8)], 1e-3)
    assert encoder.fingerprint == before
    objective.sized_loss = plain
    run.captured._recorded.clear()
    run.captured.step([np.arange(8)], 1e-3)
    assert encoder.fingerprint != before
    with pytest.raises(UserError, match="the loss became inf at step 6 of 16"):
        run._told(step=6, epoch=1)


def test_a_learning_rate_that_diverges_is_caught_in_recorded_steps(tiny, monkeypatch):
    capturing(monkeypatch, Again())
    task = make_task()
    encoder = with_classifier(tiny, task.labels, seed=1)
    config = replace(QUICK, learning_rate=1e30, warmup=0.0).settled(24, 100)
    with pytest.raises(UserError, match=r"training stopped: .* at step [2-9] of 24"):
        loop.train(encoder, Labelled(encoder, task), config, out=None, resume=False)


def test_the_page_tells_what_is_recorded_of_every_family():
    told = captured_table.documented()
    absent = {"gte", "ultrabert"}  # from the transformers that the table was made with
    assert {family for family, _ in told} == set(CONFIGS) - absent
    important = ("bert", "roberta", "distilbert", "modernbert")
    assert {told[family, one] for family in important for one in captured_table.OBJECTIVES} == {"captured"}
    assert {pair for pair, cell in told.items() if cell != "captured"} == {("mpnet", "classification")}


def test_numbers_are_written_where_they_are_wanted():
    wanted = [(0.5, torch.float64), (3, None), (True, None), (-1.25, None)]
    plain = [torch.tensor(value, dtype=dtype, device=DEVICE) for value, dtype in wanted]
    with NumbersThere():
        there = [torch.tensor(value, dtype=dtype, device=DEVICE) for value, dtype in wanted]
        assert torch.equal(torch.tensor([1, 2], device=DEVICE).cpu(), torch.tensor([1, 2]))
    assert all(map(torch.equal, plain, there)) and [one.dtype for one in plain] == [one.dtype for one in there]
