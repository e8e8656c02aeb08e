"""Contrastive training: the loss, the views, what it learns, and that it goes on after a kill."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModel, BertConfig, BertModel

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.positives import Sets
from bertscope.data.task import Task
from bertscope.models.batches import pad, tokenise, tokenise_all
from bertscope.models.load import load
from bertscope.models.sentence_vectors import pooled, sentence_vectors
from bertscope.training import loop
from bertscope.training.contrast_objective import Contrastive, in_batch_loss
from bertscope.training.contrastive import ContrastiveConfig, contrastive
from conftest import DEVICE, SENTENCES, on_cpu

WORDS = (
    "the", "old", "house", "was", "by", "a", "long", "road", "and", "she", "said", "it", "to", "him", "no", "tree",
)  # fmt: skip
QUICK = ContrastiveConfig(epochs=3, learning_rate=1e-3, batch_size=16)


def vectors(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)


def by_hand(anchors: np.ndarray, candidates: np.ndarray, temperature: float) -> float:
    """The loss, one anchor after the other."""
    losses = []
    for place, one in enumerate(anchors.astype(np.float64)):
        cosines = [
            one @ other / np.linalg.norm(one) / np.linalg.norm(other) for other in candidates.astype(np.float64)
        ]
        scores = np.exp(np.array(cosines) / temperature)
        losses.append(-np.log(scores[place] / scores.sum()))
    return float(np.mean(losses))


@pytest.fixture(scope="module")
def texts() -> Examples:
    generator = np.random.default_rng(0)
    made = dict.fromkeys(" ".join(generator.choice(WORDS, generator.integers(2, 9))) for _ in range(160))
    return Examples(ids=tuple(map(str, range(len(made)))), text=tuple(made), name="made")


@pytest.mark.parametrize("hard", [0, 1, 2])
@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_the_loss_is_that_of_numpy(hard, temperature):
    anchors, candidates = vectors(6), vectors(6 * (1 + hard), 1)
    loss = in_batch_loss(torch.from_numpy(anchors), torch.from_numpy(candidates), temperature)
    assert loss.item() == pytest.approx(by_hand(anchors, candidates, temperature), rel=1e-5)


@pytest.mark.parametrize("hard", [0, 1])
def test_the_loss_is_that_of_sentence_transformers(hard):
    losses = pytest.importorskip("sentence_transformers.losses")
    columns = [torch.from_numpy(vectors(6, seed)) for seed in range(2 + hard)]
    theirs = losses.MultipleNegativesRankingLoss(torch.nn.Identity(), scale=20.0)
    expected = theirs([{"sentence_embedding": column} for column in columns], torch.empty(0))
    anchors, *others = columns
    assert in_batch_loss(anchors, torch.cat(others), 0.05).item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_loss_at_its_ends():
    alike = torch.ones(8, 5)
    assert in_batch_loss(alike, alike, 0.05).item() == pytest.approx(np.log(8)), "nothing can be told apart"
    apart = torch.eye(8)
    assert in_batch_loss(apart, apart, 0.05).item() == pytest.approx(np.log(1 + 7 * np.exp(-20)), abs=1e-6)


def test_in_a_training_in_half_precision_the_cosines_keep_theirs():
    anchors, candidates = (1 + torch.from_numpy(vectors(8, seed)) / 20 for seed in (0, 1))  # a narrow cone
    whole = in_batch_loss(anchors, candidates, 0.05)
    with torch.autocast("cpu", torch.bfloat16):
        assert in_batch_loss(anchors, candidates, 0.05).item() == pytest.approx(whole.item(), abs=1e-6)


def test_the_gradient_draws_the_positive_near_and_pushes_the_others_away():
    """In closed form: each anchor moves a candidate by (p - 1[it is its positive]) / (n T), p being the share that
    the softmax gives it, along the sphere."""
    units = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in (vectors(4), vectors(8, 1))]
    anchors, candidates = (torch.from_numpy(one).double() for one in units)
    candidates.requires_grad_()
    in_batch_loss(anchors, candidates, 0.5).backward()
    cosines = anchors @ candidates.detach().T
    pull = (torch.softmax(cosines / 0.5, 1) - torch.eye(4, 8)) / (4 * 0.5)
    assert (pull.diagonal() < 0).all() and (pull.masked_fill(torch.eye(4, 8, dtype=torch.bool), 1) > 0).all()
    along = anchors[:, None] - cosines[..., None] * candidates.detach()  # [anchor, candidate, d]
    assert torch.allclose(candidates.grad, (pull[..., None] * along).sum(0), atol=1e-7)


def test_texts_tokenised_in_windows_are_the_same(tiny, texts):
    whole = tokenise(tiny.tokenizer, texts, 6)
    parts = tokenise_all(tiny.tokenizer, texts, 6, window=32)
    assert whole.truncated.any()
    for name in ("special", "added", "words", "segments", "starts", "lengths", "truncated"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    assert all(np.array_equal(whole.fields[name], parts.fields[name]) for name in whole.fields)


def test_pooling(tiny):
    tokens = tokenise(tiny.tokenizer, Examples(ids=tuple("012345"), text=SENTENCES), 64)
    batch = pad(tokens, np.arange(6), pad_id=0, device=tiny.device)
    hidden = torch.randn(*batch.special.shape, 7, device=tiny.device)
    assert torch.equal(pooled(hidden, batch.special, "cls"), hidden[:, 0])
    for row, length in enumerate(batch.lengths.tolist()):
        inside = hidden[row, 1 : length - 1].mean(0)  # neither [CLS] nor [SEP] nor padding
        assert torch.allclose(pooled(hidden, batch.special, "mean")[row], inside, atol=1e-6)


def test_vectors_are_those_of_plain_transformers(tiny):
    found, _ = sentence_vectors(tiny, SENTENCES, layers=[0, 2, 3])  # [pool, layer, text, d]
    for row, text in enumerate(SENTENCES):
        inputs = tiny.tokenizer(text, return_tensors="pt").to(tiny.device)
        with torch.no_grad():
            states = tiny.model.base_model(**inputs, output_hidden_states=True).hidden_states
        for place, layer in enumerate((0, 2, 3)):
            plain = states[layer][0].cpu().numpy()
            assert np.allclose(found[0, place, row], plain[0], atol=1e-5)
            assert np.allclose(found[1, place, row], plain[1:-1].mean(0), atol=1e-5)


def _texts_of(columns: int) -> list[tuple[str, ...]]:
    """16 short texts a column, from row to row and from column to column of other lengths; those of a row have their
    ends in common."""
    ends = [(one, other) for one in WORDS[:4] for other in WORDS[4:8]]
    return [
        tuple(f"{one} {f'{WORDS[column]} ' * (1 + column + row % 3)}{other}" for row, (one, other) in enumerate(ends))
        for column in range(columns)
    ]


def objective(encoder, columns: int, config: ContrastiveConfig) -> Contrastive:
    sets = Sets(tuple(_texts_of(columns)))
    return Contrastive(encoder, sets, sets, config)


def first_batch(made: Contrastive, n: int = 8):
    return pad(made.tokens, np.arange(n), pad_id=0, device=made.encoder.device)


def test_dropout_makes_two_views_of_a_text(tiny):
    tiny.model = tiny.model.base_model
    made = objective(tiny, 1, replace(QUICK, projection=False))
    batch = first_batch(made)
    tiny.model.train()
    one, other = made._read([batch, batch]).detach().split(8)
    assert ((one - other).abs().amax(1) > 1e-3).all(), "every text has two different views"
    tiny.model.eval()
    one, other = made._read([batch, batch]).detach().split(8)
    assert torch.allclose(one, other, atol=1e-6), "without dropout there is one"
    scores = [made.score() for _ in range(2)]
    assert scores[0] == scores[1] and not tiny.model.training
    assert scores[0].secondary["alignment"] > 1e-3, "of two views"


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("pool", ["cls", "mean"])
@pytest.mark.parametrize("projection", [True, False])
def test_the_objectives_loss_is_that_of_its_columns_read_one_by_one(tiny, columns, pool, projection):
    tiny.model = tiny.model.base_model
    config = replace(QUICK, projection=projection, pairs="pairs", pool=pool, temperature=0.2)
    made = objective(tiny, columns, config)
    read = [sentence_vectors(tiny, one[:8], pools=[pool], layers=[3])[0][0, 0] for one in _texts_of(columns)]
    if projection:
        weight, bias = (one.detach().cpu().numpy() for one in tiny.model.projection.parameters())
        read = [np.tanh(one @ weight.T + bias) for one in read]
    anchors, *others = read
    rows = torch.arange(8, device=tiny.device)
    loss = made.loss(first_batch(made), rows).item()
    assert loss == pytest.approx(by_hand(anchors, np.concatenate(others), 0.2), rel=1e-4)


def test_texts_are_cut_to_the_length_that_is_asked_for(tiny, texts):
    made = objective(tiny, 3, replace(QUICK, pairs="triples", length=5))
    assert [tokens.lengths.max() for tokens in (made.tokens, *made._others, *made._select)] == [5] * 6
    notes = contrastive(tiny, texts, None, replace(QUICK, epochs=1, length=5)).result.notes
    assert any(note.endswith("texts are longer than 5 tokens and were cut in training") for note in notes)


@pytest.fixture
def narrow(tiny):
    """A tiny BERT whose vectors lie in a narrow cone: one large vector is added to all of the last layer's."""
    config = BertConfig(
        vocab_size=8192, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64, initializer_range=0.2, hidden_dropout_prob=0.05, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    torch.manual_seed(3)
    model = BertModel(config).eval().to(DEVICE)
    with torch.no_grad():
        model.encoder.layer[-1].output.LayerNorm.bias.copy_(3 * torch.randn(24))
    return load(model, tokenizer=tiny.tokenizer)


def test_the_cone_opens(narrow, texts):
    """Without a projection: one would take a part of what all vectors share off them."""
    trained = contrastive(narrow, texts, None, replace(QUICK, projection=False, learning_rate=5e-3))
    epochs = trained.result.tables["epochs"]
    assert epochs["uniformity"].iloc[-1] < epochs["uniformity"].iloc[0] - 0.3
    assert epochs["score"].iloc[-1] > epochs["score"].iloc[0]
    before, after = (
        sentence_vectors(one, texts.text, pools=["cls"], layers=[2])[0][0, 0] for one in (narrow, trained.encoder)
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
    anchors, *others = (sentence_vectors(tiny, one, pools=["cls"], layers=[3])[0][0, 0] for one in _texts_of(columns))
    assert score.secondary["uniformity"] == pytest.approx(_uniformity(anchors), abs=1e-4)
    anchors, *others = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (anchors, *others))
    assert score.secondary["alignment"] == pytest.approx(((anchors - others[0]) ** 2).sum(1).mean(), abs=1e-5)
    assert score.value == ((anchors @ np.concatenate(others).T).argmax(1) == np.arange(16)).mean()
    assert score.chance == 1 / (16 * (columns - 1))


def test_the_kept_model_is_a_plain_encoder(tiny, texts, tmp_path):
    trained = contrastive(tiny, texts, None, replace(QUICK, epochs=1), out=tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.head == "none" and again.fingerprint == trained.encoder.fingerprint
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
        positives: contrastive(narrow, data, None, replace(config, positives=positives)).result.tables["steps"][
            "loss"
        ]
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
        contrastive(tiny, data, None, replace(config, positives=positives)).result.tables["epochs"].iloc[0]
        for positives in ("true", "shuffled")
    ]
    assert first[0].drop("loss").to_dict() == first[1].drop("loss").to_dict()


@on_cpu
def test_a_killed_training_goes_on_and_ends_the_same(tiny, texts, tmp_path, monkeypatch):
    whole = contrastive(tiny, texts, None, QUICK, out=tmp_path / "whole")
    plain = loop.Training.epoch

    def stopping(self, epoch, bar):
        if epoch == 3:
            raise KeyboardInterrupt
        return plain(self, epoch, bar)

    monkeypatch.setattr(loop.Training, "epoch", stopping)
    with pytest.raises(KeyboardInterrupt):
        contrastive(tiny, texts, None, QUICK, out=tmp_path / "killed")
    monkeypatch.setattr(loop.Training, "epoch", plain)
    resumed = contrastive(tiny, texts, None, QUICK, out=tmp_path / "killed")
    assert resumed.encoder.fingerprint == whole.encoder.fingerprint
    assert resumed.result.tables["epochs"].equals(whole.result.tables["epochs"])
    assert load(tmp_path / "killed").fingerprint == load(tmp_path / "whole").fingerprint
    other = contrastive(tiny, texts, None, replace(QUICK, seed=1))
    assert other.encoder.fingerprint != whole.encoder.fingerprint


def sts(n: int = 40) -> Task:
    """The score is how many of five words two texts share."""
    generator = np.random.default_rng(2)

    def split(name: str) -> Examples:
        shared = np.arange(n) % 6
        ones = [generator.choice(WORDS[:8], 5) for _ in range(n)]
        others = [
            np.where(np.arange(5) < k, one, generator.choice(WORDS[8:], 5))
            for k, one in zip(shared, ones, strict=True)
        ]
        ids = tuple(f"{name} {row}" for row in range(n))
        return Examples(ids, tuple(map(" ".join, ones)), tuple(map(" ".join, others)), shared.astype(float))

    return Task("toy sts", "regression", (), split("fit"), split("select"), split("report"), "pearson")


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_with_a_task_of_scores_the_score_is_spearman(tiny, texts, pool):
    from scipy.stats import spearmanr

    task = sts()
    trained = contrastive(tiny, texts, task, replace(QUICK, epochs=1, pool=pool))
    epochs = trained.result.tables["epochs"]
    assert {"retrieval", "alignment", "uniformity"} <= set(epochs.columns)
    found = sentence_vectors(trained.encoder, [*task.select.text, *task.select.pair], pools=[pool], layers=[3])[0][
        0, 0
    ]
    units = found / np.linalg.norm(found, axis=1, keepdims=True)
    cosines = (units[:40] * units[40:]).sum(1)
    assert epochs["score"].iloc[-1] == pytest.approx(spearmanr(cosines, task.select.label).statistic, abs=1e-4)
    assert trained.result.number("after").low < epochs["score"].iloc[-1] < trained.result.number("after").high


def test_texts_that_are_cut_are_counted(tiny):
    task, long = sts(), " ".join(["river"] * 80)
    watched = replace(task, select=replace(task.select, pair=(long, *task.select.pair[1:])))
    sets = Sets((task.fit.text, task.fit.pair))
    one, other = Contrastive(tiny, sets, sets, replace(QUICK, length=6), watched).notes
    assert one == "80 texts are longer than 6 tokens and were cut in training", "of five words one is lost"
    assert other == "1 texts of toy sts are longer than 64 tokens and were cut"
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


def test_what_cannot_be_trained_is_refused(tiny, texts):
    for module in tiny.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with pytest.raises(UserError, match="this encoder has no dropout: two views of a text would be the same"):
        contrastive(tiny, texts, None, QUICK)
    labelled = replace(sts(), kind="classification", labels=("no", "yes"))
    with pytest.raises(UserError, match="toy sts has no pairs of texts with scores"):
        contrastive(tiny, texts, labelled, QUICK)
