"""Fine-tuning: it learns, repeats, resumes, stops when it must, and leaves a plain folder."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from bertscope.core.bucketing import bucketed
from bertscope.core.errors import UserError
from bertscope.data.task import Task
from bertscope.models.load import load
from bertscope.training import loop, objective
from bertscope.training.finetune.question import FinetuneConfig, finetune
from device import DEVICE, on_cpu
from short_training import QUICK, make_task, same, stop_in_epoch

FILLERS = ("the", "old", "house", "was", "by", "a", "long", "road", "and", "she", "said", "it", "to", "him")
LEARN = FinetuneConfig(epochs=5, learning_rate=5e-4, batch_size=8)


@pytest.fixture
def task() -> Task:
    return make_task()


def test_learns_and_says_how(pocket, task, tmp_path):
    before = pocket.fingerprint
    trained = finetune(pocket, task, LEARN, out=tmp_path / "model")
    assert pocket.fingerprint == before, "the base is untouched"
    assert trained.result["after"].value == 1.0
    assert trained.result["chance"].value == 0.5
    assert [number.key for number in trained.result.headline] == ["after", "before", "bag_of_words", "chance"]
    assert trained.result.provenance["data"] == task.fingerprint == trained.encoder.record.trained_on.id
    epochs = trained.result.tables["epochs"]
    assert epochs["epoch"].tolist() == [0, 1, 2, 3, 4, 5] and epochs["score"].iloc[-1] == 1.0
    steps = trained.result.tables["steps"]
    assert steps["step"].tolist() == list(range(1, 41)) and steps["loss"].iloc[-1] < steps["loss"].iloc[0]
    assert trained.result.provenance["settings"]["learning_rate"] == 5e-4
    assert not list(tmp_path.glob("*checkpoint*"))


def test_leaves_a_plain_hugging_face_folder(tiny, task, tmp_path):
    trained = finetune(tiny, task, QUICK, out=tmp_path / "model")
    expected = trained.encoder.predict(task.test).logits
    again = load(tmp_path / "model")
    assert same(again, trained.encoder) and again.name == trained.encoder.name
    assert np.array_equal(again.predict(task.test).logits, expected)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    plain = [model(**tokenizer(text, return_tensors="pt")).logits[0].tolist() for text in task.test.text]
    assert np.allclose(
        plain, expected, atol=1e-4 if DEVICE == "cuda" else 1e-5
    )  # another device, another order of sums
    said = pipeline("text-classification", model=model, tokenizer=tokenizer)(list(task.test.text))
    assert [answer["label"] for answer in said] == [("no", "yes")[label] for label in expected.argmax(-1)]


@on_cpu
def test_the_seed_decides_everything_and_the_caller_keeps_its_own(tiny, task):
    torch.manual_seed(5)
    state = torch.get_rng_state()
    one = finetune(tiny, task, QUICK)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    two = finetune(tiny, task, QUICK)
    assert same(one.encoder, two.encoder) and one.result.equals(two.result)
    assert not same(one.encoder, finetune(tiny, task, replace(QUICK, seed=1)).encoder)


def test_random_init_starts_from_other_weights(tiny, task):
    random = finetune(tiny, task, replace(QUICK, init="random"))
    assert random.result.subject["init"] == "random" and list(random.result.models) == [tiny.id]
    assert random.encoder.record.is_random and random.encoder.name.endswith("(random init) tuned on toy")
    assert not same(random.encoder, finetune(tiny, task, QUICK).encoder)


def test_regression_speaks_in_the_tasks_own_units(pocket):
    task = make_task(regression=True)
    trained = finetune(pocket, task, LEARN)
    predicted = trained.encoder.predict(task.test).logits[:, 0]
    assert trained.result["after"].value > 0.95
    assert np.abs(predicted - task.test.label).mean() < 10


@on_cpu
@pytest.mark.parametrize("keep", ["last", "best"])
@pytest.mark.parametrize("regression", [False, True])
def test_a_stopped_training_goes_on_to_the_same_weights(tiny, tmp_path, monkeypatch, keep, regression):
    task, config = make_task(regression), replace(QUICK, keep=keep, weight_decay=0.01)
    whole = finetune(tiny, task, config)
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, config, out=tmp_path / "model")
    assert not (tmp_path / "model").exists()
    ran = []
    plain = loop.Training.epoch
    monkeypatch.setattr(loop.Training, "epoch", lambda self, at, bar: ran.append(at) or plain(self, at, bar))
    resumed = finetune(tiny, task, config, out=tmp_path / "model")
    assert ran == [3]
    assert same(resumed.encoder, whole.encoder) and resumed.result.equals(whole.result)
    assert not list(tmp_path.glob("*checkpoint*"))


@on_cpu
def test_a_checkpoint_of_another_training_is_refused(tiny, task, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, QUICK, out=tmp_path / "model")
    other = replace(QUICK, seed=9)
    with pytest.raises(UserError, match="is the checkpoint of another training"):
        finetune(tiny, task, other, out=tmp_path / "model")
    assert same(
        finetune(tiny, task, other, out=tmp_path / "model", resume=False).encoder, finetune(tiny, task, other).encoder
    )


def test_a_damaged_checkpoint_is_named(tiny, task, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_in_epoch(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            finetune(tiny, task, QUICK, out=tmp_path / "model")
    (tmp_path / "model.checkpoint" / "weights.safetensors").write_bytes(b"short")
    with pytest.raises(UserError, match=r"is damaged: weights\.safetensors has 5 bytes .*; delete it and run again"):
        finetune(tiny, task, QUICK, out=tmp_path / "model")


@on_cpu
def test_the_best_epoch_is_kept_on_request(tiny, task, monkeypatch):
    scores = iter([0.1, 0.9, 0.3, 0.2])
    plain = Task.score

    def score(self, logits, examples=None):
        real = plain(self, logits, examples)
        return replace(real, value=next(scores)) if examples is self.validation else real

    monkeypatch.setattr(Task, "score", score)
    kept = finetune(tiny, task, replace(QUICK, keep="best"))
    monkeypatch.undo()
    # Epoch 1 of a 3-epoch schedule: the same training, cut short after its first epoch.
    scores_after_one = finetune_first_epoch(tiny, task)
    assert kept.encoder.fingerprint == scores_after_one


def finetune_first_epoch(tiny, task) -> str:
    found = []
    plain = loop.Training._close_epoch

    def close(self, epoch, loss):
        row = plain(self, epoch, loss)
        found.append(self.encoder.fingerprint)
        return row

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Training, "_close_epoch", close)
        finetune(tiny, task, QUICK)
    return found[1]


@on_cpu
@pytest.mark.parametrize("at", ["first epoch", "second epoch"])
def test_a_non_finite_loss_stops_and_keeps_the_last_good_weights(tiny, task, tmp_path, monkeypatch, at):
    plain, calls = objective.Labelled.loss, []

    def loss(self, batch):
        calls.append(0)
        return plain(self, batch) * (float("nan") if len(calls) > (10 if at == "second epoch" else 3) else 1)

    monkeypatch.setattr(objective.Labelled, "loss", loss)
    with pytest.raises(
        UserError, match=r"training stopped: the loss became nan at step \d+ of 24 .*try a learning rate"
    ):
        finetune(tiny, task, QUICK, out=tmp_path / "model")
    if at == "second epoch":
        assert load(tmp_path / "model").fingerprint == finetune_first_epoch_plain(tiny, task, monkeypatch)
    else:
        assert not (tmp_path / "model").exists()


def finetune_first_epoch_plain(tiny, task, monkeypatch) -> str:
    monkeypatch.undo()
    return finetune_first_epoch(tiny, task)


def test_a_learning_rate_that_diverges_is_caught(tiny, task):
    with pytest.raises(UserError, match="training stopped"):
        finetune(tiny, task, replace(QUICK, learning_rate=1e30, warmup=0.0))


def test_texts_that_are_cut_in_training_are_counted(tiny, task):
    assert objective.Labelled(tiny, task).notes == ()
    long = (" ".join([task.train.text[0]] * tiny.max_length), *task.train.text[1:])
    cut = objective.Labelled(tiny, replace(task, train=replace(task.train, text=long)))
    assert cut.notes == (
        f"longer than {tiny.max_length} tokens, and cut there: 1 of {len(task.train)} training texts",
    )


def test_learning_rate_rises_and_falls_linearly(tiny, task):
    run = loop.Training(
        tiny, objective.Labelled(tiny, task), replace(QUICK, warmup=0.25, learning_rate=1.0), None
    )  # 24 steps, 6 of warm-up
    rates = [run.course.rate(step) for step in range(24)]
    assert rates[:7] == pytest.approx([1 / 7, 2 / 7, 3 / 7, 4 / 7, 5 / 7, 6 / 7, 1])
    assert rates[6:] == pytest.approx(np.linspace(1, 1 / 18, 18))


def test_batches_have_like_lengths_and_every_row_once():
    lengths = np.random.default_rng(0).integers(3, 100, size=1003)
    batches = bucketed(lengths, 16, np.random.default_rng(1))
    assert sorted(np.concatenate(batches)) == list(range(1003))
    assert sorted(map(len, batches))[:2] == [11, 16] and set(map(len, batches)) == {11, 16}
    padded = sum(len(rows) * lengths[rows].max() for rows in batches)
    shuffled = np.random.default_rng(2).permutation(1003)
    plain = sum(16 * lengths[shuffled[start : start + 16]].max() for start in range(0, 1003, 16))
    assert padded < 1.1 * lengths.sum() < 0.7 * plain
    firsts = [lengths[rows].mean() for rows in batches]
    assert abs(np.corrcoef(firsts, np.arange(len(firsts)))[0, 1]) < 0.3, "long and short batches are mixed"
    other = bucketed(lengths, 16, np.random.default_rng(3))
    assert not np.array_equal(batches[0], other[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"learning_rate": -1.0}, "learning-rate is -1.0; it must be at least 0"),
        ({"warmup": 2.0}, "warmup is 2.0; it must be between 0 and 1"),
        ({"batch_size": 0}, "batch-size is 0; it must be at least 1"),
        ({"recipe": "papr"}, "unknown recipe 'papr'; did you mean 'paper'?"),
        ({"init": "zero"}, "unknown init 'zero'"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(UserError) as error:
        FinetuneConfig(**settings)
    assert str(error.value).startswith(message)


def test_recipes_fill_what_is_left_open():
    assert FinetuneConfig("pocket").settled(768, 100) == FinetuneConfig(
        "pocket", epochs=4, learning_rate=3e-4, warmup=0.1, head_rate=10.0
    )
    assert FinetuneConfig("paper").settled(192, 100) == FinetuneConfig(
        "paper", epochs=3, learning_rate=2e-5, warmup=0.0, head_rate=1.0
    )
    assert FinetuneConfig(epochs=9).settled(768, 100).epochs == 9


def test_out_is_not_written_over_a_strangers_folder(tiny, task, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="bertscope didn't write"):
        finetune(tiny, task, QUICK, out=tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_checkpoints_hold_no_pickle(tiny, task, tmp_path, monkeypatch):
    stop_in_epoch(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        finetune(tiny, task, QUICK, out=tmp_path / "model")
    names = sorted(path.name for path in (tmp_path / "model.checkpoint").iterdir())
    assert names == ["history.json", "optimizer.safetensors", "rows.safetensors", "seal.json", "weights.safetensors"]
    assert len(json.loads((tmp_path / "model.checkpoint" / "history.json").read_text())["epochs"]) == 2
