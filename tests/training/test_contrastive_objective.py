"""The contrastive loss and what it is taken of: against NumPy, sentence-transformers and columns read one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.core.examples import Examples
from bertscope.models.batches import pad, tokenise, tokenise_all
from bertscope.models.sentence_vectors import pooled, sentence_vectors
from bertscope.training.contrastive.question import contrastive
from bertscope.training.contrastive_objective import Contrastive, in_batch_loss
from contrast_sets import MADE, QUICK, objective, texts_of
from six_sentences import SENTENCES


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


def test_texts_tokenised_in_windows_are_the_same(tiny):
    whole = tokenise(tiny.tokenizer, MADE, 6)
    parts = tokenise_all(tiny.tokenizer, MADE, 6, window=32)
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
    read = [sentence_vectors(tiny, one[:8], pools=[pool], layers=[3])[0][0, 0] for one in texts_of(columns)]
    if projection:
        weight, bias = (one.detach().cpu().numpy() for one in tiny.model.projection.parameters())
        read = [np.tanh(one @ weight.T + bias) for one in read]
    anchors, *others = read
    loss = made.loss(made.batch(np.arange(8))).item()
    assert loss == pytest.approx(by_hand(anchors, np.concatenate(others), 0.2), rel=1e-4)


def test_texts_are_cut_to_the_length_that_is_asked_for(tiny):
    made = objective(tiny, 3, replace(QUICK, pairs="triples", length=5))
    assert [tokens.lengths.max() for tokens in (made.tokens, *made._others, *made._validation)] == [5] * 6
    notes = contrastive(tiny, MADE, replace(QUICK, epochs=1, length=5)).result.notes
    assert any(note.endswith("texts are longer than 5 tokens and were cut in training") for note in notes)
