"""Sentence vectors as an output: cosines, losses and changes against plain loops, and who is asked for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from transformers import AutoConfig, AutoModel

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.units import Unit
from bertscope.data.read import read_task
from bertscope.data.task import Task
from bertscope.models.judge import judge_without
from bertscope.models.load import load
from bertscope.models.new_task_head import bare, with_classifier
from bertscope.models.outputs.kinds import model_output
from bertscope.models.sentence_vectors import sentence_vectors
from bertscope.training.finetune.question import FinetuneConfig, finetune
from device import DEVICE
from families import _COMMON, CONFIGS
from six_sentences import SENTENCES

SCORES = np.array([1.0, 5.0, 2.0, 4.5, 3.0, 1.5])
PAIRS = Examples(tuple(map(str, range(6))), SENTENCES, SENTENCES[1:] + SENTENCES[:1], label=SCORES)


@pytest.fixture
def task() -> Task:
    return Task("own", "regression", (), PAIRS, PAIRS, PAIRS, "pearson")


@pytest.fixture
def encoder(tiny):
    return bare(tiny, name="tiny")


def plain_cosines(encoder, off=()) -> np.ndarray:
    """A text at a time: the mean of its tokens' last states, special ones apart."""
    found = []
    for both in zip(PAIRS.text, PAIRS.pair, strict=True):
        vectors = []
        for text in both:
            batch = encoder.tokenizer(text, return_tensors="pt", return_token_type_ids=False).to(DEVICE)
            with torch.inference_mode(), encoder.gates(off):
                states = encoder.model.base_model(**batch).last_hidden_state[0, 1:-1]
            vectors.append(states.mean(0).double().cpu().numpy())
        one, other = vectors
        found.append(one @ other / np.linalg.norm(one) / np.linalg.norm(other))
    return np.array(found)


@pytest.mark.parametrize("family", ["bert", "distilbert", "albert", "modernbert", "deberta-v2", "mpnet", "eurobert"])
def test_cosines_losses_and_changes_are_those_of_a_plain_loop(family, _pocket, task):
    common = {
        k: v for k, v in _COMMON.items()
        if family != "distilbert" or not k.startswith(("hidden", "num_h", "num_a", "inter"))
    }  # fmt: skip
    torch.manual_seed(3)
    model = AutoModel.from_config(AutoConfig.for_model(family, **common | CONFIGS[family])).eval().to(DEVICE)
    encoder, off = load(model, tokenizer=_pocket.tokenizer), [Unit.parse("head:2.3")]
    asked = task.asked_of(encoder)
    judged = judge_without(encoder, asked.output, asked.test, [[], off], tokens=80)
    cosines = np.stack([plain_cosines(encoder), plain_cosines(encoder, off)])
    np.testing.assert_allclose(judged.predicted, cosines, atol=1e-5)
    gold = (SCORES - 1) / 4
    np.testing.assert_allclose(judged.losses, (cosines - gold) ** 2, atol=1e-5)
    np.testing.assert_allclose(judged.divergence, (cosines - cosines[0]) ** 2, atol=1e-5)
    assert np.isnan(judged.flips).all() and judged.divergence[1].max() > 1e-8
    score = asked.score(encoder.predict(asked.test, asked.output))
    assert score.value == pytest.approx(pearsonr(cosines[0], SCORES)[0], abs=1e-4)
    assert score.secondary["spearman"] == pytest.approx(spearmanr(cosines[0], SCORES)[0], abs=1e-6)


def test_vectors_are_those_that_sentences_looks_at(encoder, task):
    asked = task.asked_of(encoder)
    outputs = encoder.predict(asked.test, asked.output).logits
    vectors, _ = sentence_vectors(encoder, [*PAIRS.text, *PAIRS.pair], pools=["mean"], layers=[encoder.n_layers])
    one, other = np.split(vectors[0, 0].astype(float), 2)
    expected = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    np.testing.assert_allclose(outputs[:, 0], expected, atol=1e-5)


def test_scores_become_cosines_by_the_training_set(encoder, task):
    asked = replace(task, test=replace(PAIRS, label=SCORES + 1)).asked_of(encoder)
    assert asked.kind == "vectors" and asked.metric == "pearson"
    np.testing.assert_allclose(asked.train.label, (SCORES - 1) / 4)
    np.testing.assert_allclose(asked.test.label, SCORES / 4)
    assert asked.asked_of(encoder) is asked and asked.by_vectors() is asked
    constant = replace(task, train=replace(PAIRS, label=np.full(6, 2.0))).asked_of(encoder)
    assert np.isfinite(constant.test.label).all()


def test_a_regressor_is_asked_for_its_scores_and_others_for_vectors(tiny, pocket, encoder, task):
    regressor = with_classifier(tiny, ())
    assert task.asked_of(regressor).kind == "regression" and task.asked_of(pocket).kind == "vectors"
    with pytest.raises(
        UserError, match=r"tiny is no embedding model \(it is: classifier\); leave out --kind vectors"
    ):
        task.by_vectors().asked_of(replace(regressor, name="tiny"))
    alone = replace(task, **{split: replace(PAIRS, pair=None) for split in ("train", "validation", "test")})
    with pytest.raises(UserError, match="has no classifier on top"):
        alone.asked_of(encoder)
    with pytest.raises(UserError, match="has no pairs of texts with scores"):
        read_task("demo/sentiment", limit=10, kind="vectors")
    with pytest.raises(
        UserError, match=r"windows are for labels and scores; .* is asked for vectors: leave them out"
    ):
        replace(task, windows=2).asked_of(encoder)
    assert replace(task, windows=2).asked_of(regressor).windows == 2


def test_an_example_stays_whole_in_whatever_batches(encoder, task):
    asked = task.asked_of(encoder)
    output = model_output(encoder, asked.output)
    assert not output.rows_stand_alone and len(output.rows(asked.test).example) == 12
    few, many = (encoder.predict(asked.test, asked.output, tokens=tokens).logits for tokens in (20, 4000))
    np.testing.assert_allclose(few, many, atol=1e-5)


def test_training_brings_cosines_to_their_scores(encoder, task):
    pairs = PAIRS.take(np.arange(24) % 6)
    asked = replace(task, train=pairs).by_vectors()
    trained = finetune(encoder, asked, FinetuneConfig(epochs=60, learning_rate=3e-3, batch_size=6))
    before, after = (trained.result[key].value for key in ("before", "after"))
    assert after > max(0.9, before) and trained.encoder.task_head == "none"
    errors = [np.mean((plain_cosines(one) - (SCORES - 1) / 4) ** 2) for one in (encoder, trained.encoder)]
    assert errors[1] < 0.05 < 0.1 < errors[0]


def test_a_teacher_is_learnt_from(encoder, task):
    asked = task.asked_of(encoder)
    output = model_output(encoder, asked.output)
    (batch,) = output.batches(asked.test, gold=True)
    raw = output.run(batch)
    teacher = torch.linspace(0, 1, 6, device=DEVICE)[:, None]
    cosines = output.outputs(raw, batch)
    assert output.can_be_taught
    assert output.taught(raw, teacher, 2.0).item() == pytest.approx((cosines - teacher).square().mean().item())
