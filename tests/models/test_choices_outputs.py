"""Multiple choice asked of models: rows, losses, a planted head, families, training, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import planted_labels
import planted_task
from bertscope.analyses.ablate.question import AblateConfig, ablate
from bertscope.analyses.gradients import gate_gradients
from bertscope.analyses.importance.measure import read_importance
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.analyses.patterns.question import patterns
from bertscope.core.errors import UserError
from bertscope.core.examples import NO_CANDIDATE
from bertscope.core.resampling import Resampling
from bertscope.core.units import Unit
from bertscope.data.task import Task
from bertscope.experiments.prune.question import prune
from bertscope.models.judge import judge_without
from bertscope.models.latency import in_torch, sample_batches
from bertscope.models.load import load
from bertscope.models.outputs.kinds import model_output
from bertscope.training.finetune.question import FinetuneConfig, check, finetune
from bertscope.training.objective import Labelled
from bertscope.training.task_kinds import with_task_head
from families import MARKED, tiny_model
from planted_task import NEEDED

OFF = [Unit.parse("head:1.1"), Unit.parse("mlp:2")]
HEADLESS = ("nomic_bert", "eurobert", "gte", "jina_embeddings_v3", "ultrabert")
"""Families for which the library has no head for choices."""


@pytest.fixture
def task() -> Task:
    return planted_labels.choices_task()


def by_hand(encoder, examples) -> list[torch.Tensor]:
    """The scores of each example's candidates, as transformers' own documentation has it: an example at a time."""
    found = []
    for text, choices in zip(examples.text, examples.choices, strict=True):
        coded = encoder.tokenizer([text] * len(choices), list(choices), return_tensors="pt", padding=True)
        with torch.no_grad():
            found.append(
                encoder.model(**{name: one[None].to(encoder.device) for name, one in coded.items()}).logits[0]
            )
    return found


def test_scores_and_losses_are_those_of_plain_loops(tiny, task):
    encoder = with_task_head(tiny, task, seed=3)
    assert type(encoder.model).__name__ == "BertForMultipleChoice" and encoder.task_head == "multiple-choice"
    wanted = by_hand(encoder, task.test)
    said = encoder.predict(task.test, task.output).logits
    assert said.shape == (60, 4) and {len(one) for one in wanted} == {2, 3, 4}
    for row, scores in zip(said, wanted, strict=True):
        np.testing.assert_allclose(row[: len(scores)], scores.cpu(), rtol=1e-3, atol=1e-5)
        assert (row[len(scores) :] == NO_CANDIDATE).all()
    losses = [-torch.log_softmax(one.double(), 0)[at].item() for one, at in zip(wanted, task.test.label, strict=True)]
    judged = judge_without(encoder, task.output, task.test, [[], OFF])
    np.testing.assert_allclose(judged.losses[0], losses, rtol=1e-3)
    np.testing.assert_allclose(task.losses(said), losses, rtol=1e-3)
    hits = np.mean([one.argmax().item() == at for one, at in zip(wanted, task.test.label, strict=True)])
    assert judged.moments[0].mean() == task.score(said).value == hits
    objective = Labelled(encoder, task)
    some = np.array([3, 0, 8, 20])
    right = [-torch.log_softmax(one, 0)[task.train.label[at]] for at, one in zip(
        some, by_hand(encoder, task.train.take(some)), strict=True)]  # fmt: skip
    assert objective.loss(objective.batch(some)).item() == pytest.approx(torch.stack(right).mean().item(), rel=1e-4)


def test_replay_says_what_gates_say(tiny, task):
    encoder = with_task_head(tiny, task, seed=3)
    judged = judge_without(encoder, task.output, task.test, [[], OFF], tokens=200)
    plain = judge_without(encoder, task.output, task.test, [[], OFF], replay=False)
    np.testing.assert_allclose(judged.losses, plain.losses, rtol=1e-3, atol=1e-6)
    whole = encoder.predict(task.test, task.output)
    with encoder.gates(OFF):
        other = encoder.predict(task.test, task.output)
    np.testing.assert_allclose(judged.divergence[1], task.divergence(whole, other), rtol=1e-2, atol=1e-7)
    np.testing.assert_array_equal(judged.flips[1], task.flips(whole, other))
    cut = encoder.cut(OFF)
    np.testing.assert_allclose(cut.predict(task.test).logits, other.logits, rtol=1e-4, atol=1e-5)


def test_each_head_of_a_planted_model_is_needed_or_not(pocket, task):
    model = planted_labels.choosing(pocket.tokenizer)
    result = ablate(model, task, AblateConfig(units=("head",), mode="zero"))
    effects = result.table.set_index("unit")
    others = effects.drop(list(NEEDED))
    assert result.numbers(key="score")[0].value == 1
    assert (effects.loc[list(NEEDED), "effect"] < -0.4).all() and effects.loc[list(NEEDED), "certain"].all()
    assert (others["effect"] == 0).all() and not others["certain"].any() and (others["kl"] < 1e-9).all()
    found = importance(model, task, ImportanceConfig(units=("head",), faithful=False))
    assert set(found.table.set_index("unit")["importance"].nlargest(2).index) == set(NEEDED)
    read = read_importance(
        model, task, ImportanceConfig(units=("head",)), Resampling(task.validation.ids, repeats=20, seed=0)
    )
    assert read.score.value == 1  # candidates that aren't there are never taken
    survivors = prune(model, task).result.tables["survivors"]
    assert set(survivors["unit"][survivors["survives"]]) == set(NEEDED)


def test_gradients_are_those_of_one_example_at_a_time(tiny, task):
    encoder, few = with_task_head(tiny, task, seed=3), task.test.take(range(6))
    found = gate_gradients(encoder, task, few)
    each = [gate_gradients(encoder, task, few.take([row])).heads for row in range(6)]
    np.testing.assert_allclose(found.heads, np.mean(each, 0), rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", MARKED)
def test_families_choose_or_are_refused(name, pocket, task):
    base = load(tiny_model(name), tokenizer=pocket.tokenizer)
    if name in HEADLESS:
        with pytest.raises(UserError, match=f"transformers has no head for choices on a {name}"):
            with_task_head(base, task)
        return
    encoder = with_task_head(base, task, seed=2)
    few = task.test.take(range(9))
    said = encoder.predict(few, task.output).logits  # the last layer spares what isn't read
    for row, scores in zip(said, by_hand(encoder, few), strict=True):
        np.testing.assert_allclose(row[: len(scores)], scores, rtol=1e-3, atol=1e-5)


def test_a_model_learns_it_and_is_opened_again(tiny, task, tmp_path):
    config = FinetuneConfig(epochs=12, learning_rate=3e-3, batch_size=8)
    result = finetune(tiny, task, config, out=tmp_path / "model").result
    scores = {number.key: number.value for number in result.headline}
    assert scores["after"] > scores["chance"] + 0.2 and set(scores) == {"after", "before", "chance"}
    again = load(tmp_path / "model")
    assert again.task_head == "multiple-choice" and again.labels == ()
    assert task.score(again.predict(task.test)).value == scores["after"]
    assert load(tmp_path / "model", task_head="none").task_head == "none"
    assert task.score(result.arrays["outputs"]).value == scores["after"]
    in_torch(again)(sample_batches(again, task.test, 4, count=1)[0])
    assert patterns(again, ["a text to look at", "and another"]).table is not None
    twin = model_output(again, task.output).with_random_weights(0)
    assert twin.task_head == "multiple-choice" and twin.predict(task.test).logits.shape == (60, 4)


def test_a_teacher_says_which_candidate_it_would_take(tiny, task):
    encoder = with_task_head(tiny, task, seed=3)
    student = torch.tensor([[0.5, 1.0, -1.0], [0.2, 0.1, NO_CANDIDATE]])
    said = torch.tensor([[0.1, 2.0, 0.0, NO_CANDIDATE], [1.0, -1.0, NO_CANDIDATE, NO_CANDIDATE]])
    wanted = 0.0
    for row, count in ((0, 3), (1, 2)):
        p, q = (torch.softmax(each[row, :count] / 2, 0) for each in (said, student))
        wanted += 4 * (p * (p / q).log()).sum().item() / 2
    assert model_output(encoder, task.output).taught(student, said, 2.0).item() == pytest.approx(wanted, rel=1e-5)


def test_other_models_and_settings_are_refused(tiny, pocket, task):
    with pytest.raises(UserError, match=r"has no multiple-choice on top \(it is: classifier\); fine-tune it first"):
        task.asked_of(tiny)
    chooser = planted_labels.choosing(pocket.tokenizer)
    with pytest.raises(UserError, match=r"has no classifier on top \(it is: multiple-choice\)"):
        planted_task.task().asked_of(chooser)
    with pytest.raises(UserError, match="chooses among candidate texts; give examples that have some"):
        chooser.predict(["one text"])
    with pytest.raises(UserError, match="classifier, pooler and dropout are for tasks that a classifier answers"):
        check(task, FinetuneConfig(dropout=0.3))
    roformer = with_task_head(load(tiny_model("roformer"), tokenizer=pocket.tokenizer), task)
    roformer.model.sequence_summary.summary_type = "last"
    with pytest.raises(UserError, match="scores candidates by the last token, padding included"):
        task.asked_of(roformer)


def test_long_candidates_are_cut_and_counted(tiny, task):
    encoder = with_task_head(tiny, task)
    long = replace(task.test, choices=(("word " * 100, "short"), *task.test.choices[1:]))
    right = replace(long, label=np.array([0, *task.test.label[1:]]))
    assert encoder.predict(right).truncated == 1
