"""Several labels a text, asked of models: losses, thresholds, a planted head, training, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

import planted_labels
from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.gradients import gate_gradients
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.data.task import Task
from bertscope.experiments.prune.question import prune
from bertscope.models.judge import judge_without
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.training.finetune.question import FinetuneConfig, finetune
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from planted_task import NEEDED

OFF = [Unit.parse("head:1.1"), Unit.parse("mlp:2")]
LABELS = ("bad", "good", "old")


def some(n: int, seed: int) -> Examples:
    """Texts with any of three words in any order, which are their labels."""
    generator = np.random.default_rng(seed)
    gold = (generator.random((n, 3)) < 0.4).astype(np.int64)
    rest = ["the", "house", "by", "water", "long", "road"]
    text = [
        " ".join(
            generator.permutation([*(w for w, has in zip(LABELS, row, strict=True) if has), *rest[: 1 + at % 5]])
        )
        for at, row in enumerate(gold)
    ]
    return Examples(tuple(f"{seed}.{row}" for row in range(n)), tuple(text), label=gold)


@pytest.fixture
def task() -> Task:
    return Task("made", "several", LABELS, some(400, 1), some(80, 2), some(100, 3), "micro_f1")


@pytest.fixture
def planted(pocket):
    return planted_labels.several(pocket.tokenizer)


def test_losses_are_those_of_plain_loops_whatever_the_labels_order(tiny, task):
    encoder = with_task_head(tiny, replace(task, labels=("old", "bad", "good")), seed=3)
    assert encoder.model.config.problem_type == "multi_label_classification"
    examples, asked = task.test, task.asked_of(encoder)
    judged = judge_without(encoder, asked.output, examples, [[]])
    logits = torch.from_numpy(encoder.predict(examples).logits).double()[:, [1, 2, 0]]
    gold = torch.from_numpy(examples.label).double()
    wanted = [
        sum(binary_cross_entropy_with_logits(x, y).item() for x, y in zip(*row, strict=True)) / 3
        for row in zip(logits, gold, strict=True)
    ]
    np.testing.assert_allclose(judged.losses[0], wanted, rtol=1e-5)
    np.testing.assert_array_equal(judged.predicted[0], (logits > asked.threshold).numpy())
    objective = Labelled(encoder, task)
    loss = objective.loss(objective.batch(np.arange(20))).item()
    again = encoder.model(**objective.batch(np.arange(20)).inputs).logits[:, [1, 2, 0]]
    right = torch.from_numpy(task.train.label[:20]).to(again)
    assert loss == pytest.approx(binary_cross_entropy_with_logits(again, right).item(), rel=1e-5)


def test_forms_of_a_model_are_compared_as_outputs_say(tiny, task):
    encoder = with_task_head(tiny, task, seed=3)
    asked = task.asked_of(encoder)
    judged = judge_without(encoder, asked.output, task.test, [[], OFF])
    plain = judge_without(encoder, asked.output, task.test, [[], OFF], replay=False)
    np.testing.assert_allclose(judged.losses, plain.losses, rtol=1e-4)
    whole = encoder.predict(task.test, asked.output)
    with encoder.gates(OFF):
        other = encoder.predict(task.test, asked.output)
    np.testing.assert_allclose(judged.divergence[1], asked.divergence(whole, other), rtol=1e-3, atol=1e-9)
    np.testing.assert_array_equal(judged.flips[1], asked.flips(whole, other))
    np.testing.assert_array_equal(judged.moments[1], asked.moments(other))
    # The other form is held to the whole one's threshold, not to its own.
    assert asked.threshold == asked.asked_of(encoder).threshold


def test_each_head_of_a_planted_model_is_needed_or_not(planted):
    task = planted_labels.several_task()
    result = ablate(planted, task, AblateConfig(units=("head",), mode="zero"))
    effects = result.table.set_index("unit")
    others = effects.drop(list(NEEDED))
    assert result.numbers(key="score")[0].value == 1
    assert (effects.loc[list(NEEDED), "effect"] < -0.15).all() and effects.loc[list(NEEDED), "certain"].all()
    assert (others["effect"] == 0).all() and not others["certain"].any() and (others["kl"] < 1e-9).all()
    assert any("the best micro F1 on validation" in note for note in result.notes)
    found = importance(planted, task, ImportanceConfig(units=("head",), faithful=False)).table.set_index("unit")
    assert set(found["importance"].nlargest(2).index) == set(NEEDED)
    survivors = prune(planted, task).result.tables["survivors"]
    assert set(survivors["unit"][survivors["survives"]]) == set(NEEDED)


def test_gradients_are_those_of_one_example_at_a_time(tiny, task):
    encoder = with_task_head(tiny, task, seed=3)
    few = task.test.take(range(6))
    found = gate_gradients(encoder, task.asked_of(encoder), few)
    each = [gate_gradients(encoder, task.asked_of(encoder), few.take([row])).heads for row in range(6)]
    np.testing.assert_allclose(found.heads, np.mean(each, 0), rtol=1e-3, atol=1e-7)


@pytest.mark.slow
def test_a_model_learns_it_keeps_its_names_and_is_read_again(pocket, task, tmp_path):
    trained = finetune(pocket, task, FinetuneConfig(epochs=4, learning_rate=5e-4), out=tmp_path / "model")
    result, again = trained.result, load(tmp_path / "model")
    scores = {number.key: number.value for number in result.headline}
    assert scores["after"] > scores["chance"] + 0.3 and {"before", "bag_of_words"} <= set(scores)
    assert again.labels == LABELS and again.model.config.problem_type == "multi_label_classification"
    asked = task.asked_of(again)
    assert asked.score(again.predict(task.test)).value == pytest.approx(scores["after"])
    # What is stored says what it predicted, threshold included.
    assert task.score(result.arrays["outputs"]).value == pytest.approx(scores["after"])
    assert result.arrays["outputs"][0, 3] == pytest.approx(asked.threshold, rel=1e-4)


def test_a_probability_of_a_half_is_kept_on_request(tiny, task):
    half = finetune(tiny, replace(task, threshold=0.0), FinetuneConfig(epochs=1)).result
    assert (half.arrays["outputs"][:, 3] == 0).all()
    assert not any("the best micro F1" in note for note in half.notes)


def test_a_teacher_teaches_each_label(tiny, task):
    encoder = with_task_head(tiny, task, seed=3)
    asked = model_output(encoder, task.output)
    student, said = torch.randn(5, 3), torch.randn(5, 4)
    p, q = (torch.distributions.Bernoulli(logits=each / 2) for each in (said[:, :3], student))
    wanted = 4 * torch.distributions.kl_divergence(p, q).mean()
    assert asked.taught(student, said, 2.0).item() == pytest.approx(wanted.item(), rel=1e-4)


def test_other_models_are_refused(tiny, pocket, planted, task):
    with pytest.raises(UserError, match="pocket has no classifier on top"):
        task.asked_of(pocket)
    with pytest.raises(UserError, match="gives 2 outputs, the task needs 3"):
        task.asked_of(tiny)
    one_each = with_task_head(tiny, replace(task, kind="classification"))
    with pytest.raises(UserError, match="gives an example one label, and the task any number; fine-tune it"):
        task.asked_of(one_each)
    with pytest.raises(UserError, match="the model answers any, fine, poor, but made is labelled bad, good, old"):
        task.asked_of(planted)
    one = Examples(("a", "b"), ("one", "two"), label=np.array([0, 1]))
    with pytest.raises(UserError, match="gives an example any number of labels"):
        Task("one", "classification", planted_labels.SEVERAL, one, one, one, "accuracy").asked_of(planted)
