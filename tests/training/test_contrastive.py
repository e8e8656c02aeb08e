"""Contrastive training: what is learnt, kept, followed and refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertConfig, BertModel

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.positives import Sets
from bertscope.models.load import load
from bertscope.models.sentence_vectors import sentence_vectors
from bertscope.training import loop
from bertscope.training.contrastive.question import ContrastiveConfig, contrastive
from bertscope.training.contrastive_objective import Contrastive
from contrast_sets import MADE, QUICK, WORDS, objective, sts, texts_of
from device import DEVICE, on_cpu
from pocket_facts import PIECES


@pytest.fixture
def narrow(tiny):
    """A tiny BERT whose vectors lie in a narrow cone: one large vector is added to all of the last layer's."""
    config = BertConfig(
        vocab_size=PIECES, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64, initializer_range=0.2, hidden_dropout_prob=0.05, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    torch.manual_seed(3)
    model = BertModel(config).eval().to(DEVICE)
    with torch.no_grad():
        model.encoder.layer[-1].output.LayerNorm.bias.copy_(3 * torch.randn(24))
    return load(model, tokenizer=tiny.tokenizer)


def test_the_cone_opens(narrow):
    """Without a projection: one would take a part of what all vectors share off them."""
    trained = contrastive(narrow, MADE, replace(QUICK, projection=False, learning_rate=5e-3))
    epochs = trained.result.tables["epochs"]
    assert epochs["uniformity"].iloc[-1] < epochs["uniformity"].iloc[0] - 0.3
    assert epochs["score"].iloc[-1] > epochs["score"].iloc[0]
    before, after = (
        sentence_vectors(one, MADE.text, pools=["cls"], layers=[2])[0][0, 0] for one in (narrow, trained.encoder)
    )
    assert _uniformity(before) > -0.6 and _uniformity(after) < _uniformity(before) - 0.3


def _uniformity(found: np.ndarray) -> float:
    units = found / np.linalg.norm(found, axis=1, keepdims=True)
    apart = [2 - 2 * units[i] @ units[j] for i in range(len(units)) for j in range(len(units)) if i != j]
    return float(np.log(np.mean(np.exp(-2 * np.array(apart)))))


@pytest.mark.parametrize("columns", [2, 3])
def test_what_is_followed_is_what_it_says(tiny, columns):
    """Alignment, uniformity and retrieval of held-out sets, against loops over them."""
    tiny.model = tiny.model.base_model
    made = objective(tiny, columns, replace(QUICK, projection=False, pairs="pairs"))
    score = made.score()
    anchors, *others = (sentence_vectors(tiny, one, pools=["cls"], layers=[3])[0][0, 0] for one in texts_of(columns))
    assert score.secondary["uniformity"] == pytest.approx(_uniformity(anchors), abs=1e-4)
    anchors, *others = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (anchors, *others))
    assert score.secondary["alignment"] == pytest.approx(((anchors - others[0]) ** 2).sum(1).mean(), abs=1e-5)
    assert score.value == ((anchors @ np.concatenate(others).T).argmax(1) == np.arange(16)).mean()
    assert score.chance == 1 / (16 * (columns - 1))


def test_the_kept_model_is_a_plain_encoder(tiny, tmp_path):
    trained = contrastive(tiny, MADE, replace(QUICK, epochs=1), out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.task_head == "none" and again.fingerprint == trained.encoder.fingerprint
    assert again.name == "BertForSequenceClassification contrasted on made, seed 0"
    assert not any("projection" in name for name in again.model.state_dict())
    plain = AutoModel.from_pretrained(tmp_path / "model")
    assert type(plain).__name__ == "BertModel" and not list(tmp_path.glob("*checkpoint*"))


def test_pairs_are_learnt_and_shuffled_ones_are_not(narrow):
    generator = np.random.default_rng(1)
    names = [f"{one} {other}" for one in WORDS for other in WORDS if one != other]
    fillers = generator.choice(WORDS, (2, len(names)))
    text, pair = (tuple(f"{name} {filler}" for name, filler in zip(names, row, strict=True)) for row in fillers)
    data = Examples(ids=tuple(names), text=text, pair=pair, name="made pairs")
    config = replace(QUICK, pairs="pairs", epochs=4, learning_rate=5e-3)
    found = {
        positives: contrastive(narrow, data, replace(config, positives=positives)).result.tables["steps"]["loss"]
        for positives in ("true", "shuffled")
    }
    assert found["true"].iloc[-5:].mean() < 0.6 * found["shuffled"].iloc[-5:].mean()
    assert found["shuffled"].iloc[-5:].mean() > 0.85 * np.log(16)


def test_the_control_is_followed_on_true_positives(tiny):
    """Only what is trained on is shuffled: before any training both arms find as much."""
    words = [f"{one} {other}" for one in WORDS for other in WORDS]
    data = Examples(ids=tuple(words), text=tuple(words), pair=tuple(f"{word} no" for word in words))
    config = replace(QUICK, pairs="pairs", epochs=1, learning_rate=0.0)
    first = [
        contrastive(tiny, data, replace(config, positives=positives)).result.tables["epochs"].iloc[0]
        for positives in ("true", "shuffled")
    ]
    assert first[0].drop("loss").to_dict() == first[1].drop("loss").to_dict()


@on_cpu
def test_a_killed_training_goes_on_and_ends_the_same(tiny, tmp_path, monkeypatch):
    whole = contrastive(tiny, MADE, QUICK, out=tmp_path / "whole")
    plain = loop.Training.epoch

    def stopping(self, epoch, bar):
        if epoch == 3:
            raise KeyboardInterrupt
        return plain(self, epoch, bar)

    monkeypatch.setattr(loop.Training, "epoch", stopping)
    with pytest.raises(KeyboardInterrupt):
        contrastive(tiny, MADE, QUICK, out=tmp_path / "killed")
    monkeypatch.setattr(loop.Training, "epoch", plain)
    resumed = contrastive(tiny, MADE, QUICK, out=tmp_path / "killed")
    assert resumed.encoder.fingerprint == whole.encoder.fingerprint
    assert resumed.result.tables["epochs"].equals(whole.result.tables["epochs"])
    assert load(tmp_path / "killed").fingerprint == load(tmp_path / "whole").fingerprint
    other = contrastive(tiny, MADE, replace(QUICK, seed=1))
    assert other.encoder.fingerprint != whole.encoder.fingerprint


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_with_a_task_of_scores_the_score_is_spearman(tiny, pool):
    from scipy.stats import spearmanr

    task = sts()
    trained = contrastive(tiny, MADE, replace(QUICK, epochs=1, pool=pool), sts=task)
    epochs = trained.result.tables["epochs"]
    assert {"retrieval", "alignment", "uniformity"} <= set(epochs.columns)
    found = sentence_vectors(
        trained.encoder, [*task.validation.text, *task.validation.pair], pools=[pool], layers=[3]
    )[0][0, 0]
    units = found / np.linalg.norm(found, axis=1, keepdims=True)
    cosines = (units[:40] * units[40:]).sum(1)
    assert epochs["score"].iloc[-1] == pytest.approx(spearmanr(cosines, task.validation.label).statistic, abs=1e-4)
    assert trained.result["after"].low < epochs["score"].iloc[-1] < trained.result["after"].high


def test_texts_that_are_cut_are_counted(tiny):
    task, long = sts(), " ".join(["river"] * 80)
    watched = replace(task, validation=replace(task.validation, pair=(long, *task.validation.pair[1:])))
    sets = Sets((task.train.text, task.train.pair))
    one, other = Contrastive(tiny, sets, sets, replace(QUICK, length=6), watched).notes
    assert one == "80 texts are longer than 6 tokens and were cut in training", "of five words one is lost"
    assert other == "toy sts: 1 text is longer than 64 tokens and was cut"
    assert not Contrastive(tiny, sets, sets, QUICK, task).notes


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"batch_size": 1}, "batch-size is 1; in a batch of one there is nothing to tell apart"),
        ({"temperature": 0.0}, "temperature is 0.0; it must be above 0 and finite"),
        ({"temperature": float("nan")}, "temperature is nan; it must be above 0 and finite"),
        ({"temperature": float("inf")}, "temperature is inf; it must be above 0 and finite"),
        ({"least_score": float("nan"), "pairs": "pairs"}, "least-score is nan; give a finite number"),
        ({"least_score": 4.0}, "least-score says which pairs mean the same; leave it out, or use --pairs pairs"),
        ({"learning_rate": float("inf")}, "learning-rate is inf; give a finite number"),
        ({"length": 2}, "length is 2; two tokens are special"),
        ({"pairs": "triple"}, "unknown pairs 'triple'; did you mean 'triples'"),
        ({"pool": "max"}, "unknown pool 'max'"),
        ({"positives": "wrong"}, "unknown positives 'wrong'"),
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, said):
    with pytest.raises(UserError, match=said):
        ContrastiveConfig(**settings)


def test_defaults_follow_what_is_trained():
    assert ContrastiveConfig().training(768).learning_rate == 3e-5
    assert ContrastiveConfig().training(192).epochs == 1
    assert ContrastiveConfig(pairs="triples").training(192).learning_rate == pytest.approx(5e-4)
    assert ContrastiveConfig(pairs="pairs").training(768).epochs == 3


def test_what_cannot_be_trained_is_refused(tiny):
    for module in tiny.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with pytest.raises(UserError, match="this encoder has no dropout: two views of a text would be the same"):
        contrastive(tiny, MADE, QUICK)
    labelled = replace(sts(), kind="classification", labels=("no", "yes"))
    with pytest.raises(UserError, match="toy sts has no pairs of texts with scores"):
        contrastive(tiny, MADE, QUICK, sts=labelled)
