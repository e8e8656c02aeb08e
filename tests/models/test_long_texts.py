"""Texts that are longer than a model reads: in windows, whose outputs are averaged, if that is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope import ablate, finetune, importance, read_task
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.kinds import model_output
from bertscope.models.windows import text_windows
from bertscope.training.objective import Labelled
from plain_windows import plain_windows

LONG = " ".join(f"the old house by the river was cold and number {row} was long ." for row in range(20))
TEXTS = ("a good text .", LONG, "the old house", LONG[: len(LONG) // 3])


def task_of(windows: int = 0, pair: tuple[str, ...] | None = None) -> Task:
    rows = Examples(tuple("abcd"), TEXTS, pair, label=np.array([0, 1, 0, 1]))
    return Task("long", "classification", ("no", "yes"), rows, rows, rows, "accuracy", windows=windows)


def logits_of_windows(encoder, text: str, pair: str | None, most: int) -> np.ndarray:
    """The mean over windows, by a plain loop."""
    found = []
    for window in plain_windows(encoder.tokenizer, text, pair, encoder.max_length, encoder.max_length // 2)[:most]:
        inputs = {name: torch.tensor([ids], device=encoder.device) for name, ids in window.items()}
        with torch.no_grad():
            found.append(encoder.model(**inputs).logits[0].cpu().numpy())
    return np.mean(found, 0)


@pytest.mark.parametrize("most", [1, 2, 50])
@pytest.mark.parametrize("pair", [None, ("one", "another text", LONG, "short")])
def test_what_is_said_is_the_mean_over_the_first_windows(tiny, most, pair):
    task = task_of(most, pair)
    if pair:
        task = replace(task, test=replace(task.test, text=("a good text .",) * 4))
    found = tiny.predict(task.test, task.output)
    texts = zip(task.test.text, task.test.pair or (None,) * 4, strict=True)
    expected = [logits_of_windows(tiny, text, other, most) for text, other in texts]
    np.testing.assert_allclose(found.logits, expected, atol=1e-5)


def test_how_many_lost_their_end_is_said(tiny):
    windows = text_windows(tiny.tokenizer, task_of().test, tiny.max_length, 2)
    count = np.bincount(text_windows(tiny.tokenizer, task_of().test, tiny.max_length, 99).example)
    assert count[1] > count[3] > 1 == count[0] and np.bincount(windows.example).tolist() == [1, 2, 1, 2]
    assert windows.truncated.tolist() == (count > 2).tolist()
    assert tiny.predict(task_of(2).test, task_of(2).output).truncated == int((count > 2).sum())
    assert tiny.predict(task_of(99).test, task_of(99).output).truncated == 0
    assert tiny.predict(task_of().test, task_of().output).truncated == 2  # without windows
    notes = task_of(3).asked_of(tiny).notes
    note = (
        "2 test texts are longer than 64 tokens and read in windows, 3 at most: answers are averaged over the windows"
    )
    assert notes == (note,)


def test_losses_and_gradients_are_of_the_mean(tiny):
    task = task_of(3)
    asked = model_output(tiny, task.output)
    (batch,) = asked.batches(task.test, tokens=10_000, gold=True)
    total, count = asked.losses(asked.run(batch), batch)
    logits = tiny.predict(task.test, task.output).logits
    np.testing.assert_allclose((total / count).detach().cpu().numpy(), task.losses(logits)[batch.examples], rtol=1e-4)
    objective = Labelled(with_classifier(tiny, ("no", "yes")), task)
    assert len(objective.lengths) == 4 < len(objective.tokens)
    loss = objective.loss(objective.batch(np.arange(4)))
    loss.backward()
    assert torch.isfinite(loss)


def test_questions_take_it_and_it_is_part_of_what_was_learnt(tiny):
    trained = finetune(tiny, task_of(2), epochs=1, learning_rate=1e-3)
    assert trained.result["after"].n == 4
    found = ablate(trained.encoder, task_of(2), units=["layer"], repeats=100, permutations=99)
    assert np.isfinite(found.table["loss_rise"]).all()
    assert importance(trained.encoder, task_of(2), repeats=100, faithful=False)["loss"].value > 0
    assert task_of(2).fingerprint != task_of().fingerprint


def test_the_option_is_for_labels_and_scores(tmp_path):
    rows = "\n".join(f"{'good' if row % 2 else 'bad'} text {row},{'yes' if row % 2 else 'no'}" for row in range(60))
    (tmp_path / "x.csv").write_text(f"text,label\n{rows}\n")
    assert read_task(tmp_path / "x.csv", windows=4).windows == 4
    with pytest.raises(UserError, match="windows are for labels and scores of texts, and demo/qa is spans"):
        read_task("demo/qa", windows=2)
    with pytest.raises(UserError, match="windows is -1; give how many of a long text are read"):
        read_task(tmp_path / "x.csv", windows=-1)
