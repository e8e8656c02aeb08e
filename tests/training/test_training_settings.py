"""Class weights, gradients of several batches added up, and an end where nothing gets better any more."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import nn
from torch.nn.functional import cross_entropy

import output_runs
from bertscope.core.errors import UserError
from bertscope.data.read import read_task
from bertscope.data.scored import Scores
from bertscope.models.new_task_head import with_classifier
from bertscope.models.outputs.classifier import balanced_weights
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.training import loop
from bertscope.training.checkpoint import Checkpoint
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.history import History
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from short_training import make_task

PLAIN = FinetuneConfig(epochs=2, learning_rate=1e-3, batch_size=8, warmup=0.0)


@pytest.fixture
def uneven():
    """Three labels, of which one is rare."""
    task = make_task()
    label = np.zeros(len(task.train), dtype=np.int64)
    label[:7], label[7:9] = 1, 2
    return replace(task, labels=("a", "b", "c"), train=replace(task.train, label=label))


def still(encoder):
    for module in encoder.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return encoder


def test_weights_are_scikit_learns():
    gold = np.array([0, 0, 0, 0, 1, 2, 2])
    expected = compute_class_weight("balanced", classes=np.arange(3), y=gold)
    np.testing.assert_allclose(balanced_weights(gold, 3).numpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(balanced_weights(gold, 4).numpy(), [*expected, 0], rtol=1e-6)  # the last isn't there


def test_the_weighted_loss_is_torchs_own(tiny, uneven):
    encoder = still(with_classifier(tiny, uneven.labels))
    objective = Labelled(encoder, uneven, balanced=True)
    rows = np.arange(0, 24)
    loss = objective.loss(objective.batch(rows)).item()
    weights = compute_class_weight("balanced", classes=np.arange(3), y=uneven.train.label)
    logits = torch.from_numpy(encoder.predict(uneven.train.take(rows)).logits)
    gold = torch.from_numpy(uneven.train.label[rows])
    expected = cross_entropy(logits, gold, weight=torch.tensor(weights, dtype=torch.float32)).item()
    assert loss == pytest.approx(expected, rel=1e-4)
    plain = Labelled(encoder, uneven)
    assert plain.loss(plain.batch(rows)).item() == pytest.approx(cross_entropy(logits, gold).item(), rel=1e-4)
    assert abs(loss - cross_entropy(logits, gold).item()) > 1e-3


def test_a_rare_label_is_predicted_more_often_with_weights(tiny, uneven):
    def told(weights: str) -> int:
        config = replace(PLAIN, epochs=3, class_weights=weights)
        return int((finetune(tiny, uneven, config).result.arrays["outputs"].argmax(1) > 0).sum())

    assert told("balanced") > told("none")


def test_weights_of_what_has_no_labels_are_refused(tiny):
    task = make_task(regression=True)
    with pytest.raises(UserError, match="class weights are for one label a text or a word, which regression hasn't"):
        Labelled(with_task_head(tiny, task), task, balanced=True)


def test_a_step_of_two_batches_is_a_step_of_one_twice_as_large(tiny):
    task = make_task()
    runs = []
    for parts in ([np.arange(0, 8), np.arange(8, 20)], [np.arange(20)]):
        encoder = still(with_classifier(tiny, task.labels, seed=1))
        run = loop.Training(encoder, Labelled(encoder, task), PLAIN, None)
        value = run._step(parts, run.course.rate(0), 0, 1)
        runs.append((value, torch.cat([weights.detach().flatten() for weights in encoder.model.parameters()])))
    assert runs[0][0] == pytest.approx(runs[1][0], rel=1e-5)
    # AdamW's first step has the gradient's sign alone: nearly all weights that have one are the same.
    assert (torch.isclose(runs[0][1], runs[1][1], atol=1e-6)).float().mean() > 0.999


@pytest.fixture
def tagged(tmp_path):
    """Sentences of very different lengths: short ones first."""
    rows = [[("Anna", "B-PER"), ("left", "O")]] * 40 + [[("Rome", "B-LOC"), *[("is", "O"), ("old", "O")] * 9]] * 40
    path = tmp_path / "names.conll"
    path.write_text("\n".join("".join(f"{word} {tag}\n" for word, tag in row) for row in rows))
    return read_task(path)


@pytest.mark.parametrize("weights", ["none", "balanced"])
@pytest.mark.parametrize("kind", ["classes", "tokens"])
def test_what_has_more_words_or_weight_has_more_in_a_step_of_several_batches(tiny, uneven, tagged, kind, weights):
    task = uneven if kind == "classes" else tagged
    order = np.argsort([len(words) for words in task.train.words]) if kind == "tokens" else np.arange(20)
    runs = []
    for parts in ([order[:8], order[8:12], order[-4:]], [np.concatenate([order[:12], order[-4:]])]):
        encoder = still(with_task_head(tiny, task, seed=1))
        run = loop.Training(encoder, Labelled(encoder, task, balanced=weights == "balanced"), PLAIN, None)
        run.optimizer = torch.optim.SGD([{"params": encoder.model.parameters(), "times": 1.0}], lr=1.0)
        value = run._step(parts, run.course.rate(0), 0, 1)
        runs.append((value, encoder.model.classifier.weight.detach()))
    assert runs[0][0] == pytest.approx(runs[1][0], rel=1e-5)
    torch.testing.assert_close(runs[0][1], runs[1][1], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", MODEL_OUTPUTS)
def test_what_a_batch_counts_for_is_what_its_loss_is_divided_by(_pocket, kind):
    _, encoder, task = output_runs.models(kind, "bert", _pocket.tokenizer)
    objective = Labelled(encoder, task.asked_of(encoder))
    shares = []
    for rows in (np.arange(1), np.arange(1, 9), np.arange(24)):
        batch = objective.batch(rows)
        _, counts = objective._asked.losses(objective._asked.run(batch), batch)
        shares.append(counts.sum().item() / objective.size(batch))
    assert shares == pytest.approx([shares[0]] * 3)


def test_the_weighted_loss_of_words_is_torchs_own(tiny, tagged):
    encoder = still(with_task_head(tiny, tagged, seed=1))
    objective = Labelled(encoder, tagged, balanced=True)
    loss = objective.loss(objective.batch(np.arange(len(tagged.train)))).item()
    gold = tagged.output.gold(tagged.train)
    read = gold >= 0
    weights = compute_class_weight("balanced", classes=np.arange(len(tagged.labels)), y=gold[read])
    logits = torch.from_numpy(encoder.predict(tagged.train, tagged.output).logits[read])
    right, each = torch.from_numpy(gold[read]), torch.tensor(weights, dtype=torch.float32)
    assert loss == pytest.approx(cross_entropy(logits, right, weight=each).item(), rel=1e-4)
    assert abs(loss - cross_entropy(logits, right).item()) > 1e-3


def test_there_are_as_many_fewer_steps(tiny):
    task = make_task()
    result = finetune(tiny, task, replace(PLAIN, epochs=1, accumulate=3)).result
    batches = -(-len(task.train) // 8)
    assert result.tables["steps"]["step"].max() == -(-batches // 3)


class Falling(Labelled):
    """Scores that are best after the first epoch."""

    scores = (0.1, 0.9, 0.5, 0.4, 0.3, 0.2)

    def score(self) -> Scores:
        self.asked = getattr(self, "asked", -1) + 1
        return Scores("accuracy", self.scores[self.asked], 0.0, 1.0, 10, 0.5, {})


@pytest.mark.parametrize(("patience", "epochs"), [(1, 2), (2, 3), (None, 5)])
def test_training_ends_where_nothing_gets_better_and_the_best_is_kept(tiny, patience, epochs):
    task = make_task()
    config = replace(PLAIN, epochs=5, patience=patience)
    encoder = with_classifier(tiny, task.labels, seed=0)
    history = loop.train(encoder, Falling(encoder, task), config, out=None, resume=False)
    assert [row["epoch"] for row in history.epochs] == list(range(epochs + 1)) and history.best == 1
    best = with_classifier(tiny, task.labels, seed=0)
    # The rate falls over all epochs that were planned: the first of five isn't one of one.
    loop.train(best, Falling(best, task), replace(config, patience=1), out=None, resume=False)
    same = torch.equal(best.model.classifier.weight, encoder.model.classifier.weight)
    assert same == (patience is not None)


class Equal(Falling):
    """Scores that no epoch makes better or worse: predictions that never vary, or a model that was good before."""

    scores = (0.5,) * 11


class Spoilt(Falling):
    """The untrained model has the highest score; of the others the third epoch is best, and the second no better than
    the first."""

    scores = (0.9, 0.2, 0.2, 0.4, 0.3, 0.1)


@pytest.mark.parametrize(("scored", "best", "ended"), [(Equal, 1, 3), (Spoilt, 3, 5)])
def test_the_untrained_model_is_never_the_best_epoch(tiny, scored, best, ended):
    """Nor is it waited for something better than it: patience counts from the first epoch that trained."""
    task, kept = make_task(), {}
    encoder = with_classifier(tiny, task.labels, seed=0)

    def note(history) -> None:
        kept[len(history.epochs) - 1] = encoder.model.classifier.weight.detach().clone()

    config = replace(PLAIN, epochs=5, patience=2)
    history = loop.train(encoder, scored(encoder, task), config, out=None, resume=False, closed=note)
    assert (history.best, len(history.epochs) - 1) == (best, ended)
    alike = [epoch for epoch, weight in kept.items() if torch.equal(weight, encoder.model.classifier.weight)]
    assert alike == [best]


def test_a_checkpoint_whose_best_is_the_untrained_model_is_refused(tmp_path):
    """As versions before left it; of a training that keeps the last epoch it doesn't matter."""
    model, checkpoint = nn.Linear(2, 2), Checkpoint(tmp_path / "model.checkpoint")
    optimizer, history = torch.optim.AdamW(model.parameters()), History(chance=0.5, epochs=[{"score": 0.5}] * 3)
    checkpoint.save(model, optimizer, history, "recipe", {"best": None})
    assert checkpoint.restore(model, optimizer, History(0.5), "recipe") == {}
    checkpoint.save(model, optimizer, history, "recipe", {"best": model.state_dict()})
    with pytest.raises(UserError, match=r"took the model before any training .* delete it and run again"):
        checkpoint.restore(model, optimizer, History(0.5), "recipe")


def test_a_training_that_ended_early_ends_there_when_it_is_resumed(tiny, tmp_path):
    task = make_task()
    config = replace(PLAIN, epochs=5, patience=1)
    runs = []
    for _ in range(2):
        encoder = with_classifier(tiny, task.labels, seed=0)
        runs.append(loop.train(encoder, Falling(encoder, task), config, out=tmp_path / "model", resume=True))
    assert len(runs[0].epochs) == len(runs[1].epochs) == 3


def test_what_cant_be_is_refused():
    for wrong in ({"accumulate": 0}, {"patience": 0}, {"class_weights": "some"}):
        with pytest.raises(UserError):
            FinetuneConfig(**wrong)
    assert FinetuneConfig(patience=2).keep == "best"
