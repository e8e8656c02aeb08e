"""Pseudo-log-likelihoods: those of a plain loop over the definition, for every family and every kind of tokenizer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

import tokenizer_kinds
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.load import load
from bertscope.models.masked_words import guessed
from bertscope.models.pieces import read_pieces
from bertscope.models.state_map import GROUPS, StateSums
from bertscope.models.word_guesses import last_states, log_p
from device import DEVICE
from families import MARKED, tiny_model
from six_sentences import SENTENCES

HARD = (
    "Unbelievably, the antidisestablishmentarians' re-election wasn't so-so.",
    "naïve  cafés; 東京 and x1y2z3",
    "a",
)


def tokenizer_of(kind: str, pocket):
    return pocket.tokenizer if kind == "bert" else getattr(tokenizer_kinds, kind)()


def guesser(family: str, tokenizer, **changes):
    return load(tiny_model(family, AutoModelForMaskedLM, **changes).to(DEVICE), tokenizer=tokenizer)


def plain_loop(encoder, text: str, pair: str | None = None) -> float:
    """minicons' definition: each piece masked with the later pieces of its word, the log p's added up."""
    coded = encoder.tokenizer(text, pair, return_tensors="pt").to(encoder.device)
    words, texts, right = coded.word_ids(0), coded.sequence_ids(0), coded["input_ids"][0]
    total = 0.0
    for at, word in enumerate(words):
        if word is None:
            continue
        masked = right.clone()
        for later in range(at, len(words)):
            if (words[later], texts[later]) == (word, texts[at]):
                masked[later] = encoder.tokenizer.mask_token_id
        with torch.no_grad():
            said = guessed(encoder.model(**{**coded, "input_ids": masked[None]}))[0, at]
        total += float(said.double().log_softmax(-1)[right[at]])
    return total


def batched(encoder, examples: Examples, tokens: int = 500) -> np.ndarray:
    pieces = read_pieces(encoder, examples)
    values = np.zeros(len(pieces.texts))
    with torch.inference_mode():
        for batch in pieces.batches(tokens, encoder.device):
            states = last_states(encoder, batch.inputs, batch.at)
            values[batch.pieces] = log_p(encoder, states, batch.right)
    return pieces.sums(values)


def of(texts, pair=None) -> Examples:
    return Examples(tuple(map(str, range(len(texts)))), tuple(texts), pair)


@pytest.mark.parametrize("kind", tokenizer_kinds.KINDS)
def test_scores_are_those_of_a_plain_loop_for_every_tokenizer(kind, _pocket):
    tokenizer = tokenizer_of(kind, _pocket)
    encoder = guesser("bert", tokenizer, vocab_size=len(tokenizer), max_position_embeddings=128)
    found = batched(encoder, of((*SENTENCES, *HARD)))
    np.testing.assert_allclose(found, [plain_loop(encoder, text) for text in (*SENTENCES, *HARD)], rtol=1e-5)


@pytest.mark.parametrize("kind", tokenizer_kinds.KINDS)
def test_words_of_several_pieces_are_masked_to_their_end(kind, _pocket):
    """The tokenizers do cut words up, so that the loop above has something to say."""
    tokenizer = tokenizer_of(kind, _pocket)
    coded = tokenizer(list(HARD))
    assert any(len(set(row.word_ids)) < len(row.word_ids) - 1 for row in coded.encodings)
    encoder = guesser("bert", tokenizer, vocab_size=len(tokenizer), max_position_embeddings=128)
    pieces = read_pieces(encoder, of(HARD))
    for batch in pieces.batches(10**6, "cpu"):
        hidden = (batch.inputs["input_ids"] == tokenizer.mask_token_id).sum(1)
        assert hidden.max() > 1 and hidden.min() == 1


@pytest.mark.parametrize("family", MARKED)
def test_scores_are_those_of_a_plain_loop_in_every_family(family, _pocket):
    encoder = guesser(family, _pocket.tokenizer)
    found = batched(encoder, of(SENTENCES))
    np.testing.assert_allclose(found, [plain_loop(encoder, text) for text in SENTENCES], rtol=2e-5)
    assert "forward" not in vars(encoder.model.base_model)


def test_two_texts_are_scored_together(_pocket):
    encoder = guesser("bert", _pocket.tokenizer)
    found = batched(encoder, of(SENTENCES[:3], SENTENCES[3:]))
    both = zip(SENTENCES[:3], SENTENCES[3:], strict=True)
    np.testing.assert_allclose(found, [plain_loop(encoder, *texts) for texts in both], rtol=1e-5)


def test_marked_words_change_nothing(_pocket):
    """Words are the tokenizer's own, whatever a source marks."""
    encoder = guesser("bert", _pocket.tokenizer)
    marked = Examples(("1",), ("unbelievably so",), words=(("unbelievably so",),))
    assert batched(encoder, marked)[0] == pytest.approx(plain_loop(encoder, "unbelievably so"), rel=1e-5)


def test_the_budget_changes_nothing_and_equal_texts_are_exactly_equal(_pocket):
    encoder = guesser("bert", _pocket.tokenizer)
    texts = of((*SENTENCES, SENTENCES[0].upper(), SENTENCES[0]))
    small, large = (batched(encoder, texts, tokens) for tokens in (40, 10**6))
    np.testing.assert_allclose(small, large, rtol=1e-6)
    assert small[0] == small[-1] == small[-2]  # pocket reads no capitals
    pieces = read_pieces(encoder, texts)
    assert len(pieces.lengths) == len(set(SENTENCES)) and len(pieces.which) == len(texts)
    some = pieces.take(np.array([7, 2, 0]))
    assert len(some.lengths) == 2 and some.sums(np.ones(len(some.texts))).tolist() == [
        pieces.sums(np.ones(len(pieces.texts)))[row] for row in (7, 2, 0)
    ]  # fmt: skip


def test_what_cannot_be_read_is_one_line(_pocket):
    encoder = guesser("bert", _pocket.tokenizer)
    with pytest.raises(UserError, match=r"text 1 has no piece that .* could read; remove the pair"):
        read_pieces(encoder, of(("a", "\u200b\x00")))


def states(n: int, d: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_an_affine_change_is_found_exactly_on_texts_that_were_not_fitted():
    one, turned = states(400, 6), states(6, 6, 1)
    other = one @ turned + 3
    groups = np.arange(400) % GROUPS
    sums = StateSums(6)
    for rows in (slice(0, 150), slice(150, 400)):
        sums.add(one[rows], other[rows], groups[rows])
    for affine in sums.maps() or []:
        np.testing.assert_allclose(affine(one), other, atol=1e-5)
        assert affine.explained == pytest.approx(1)


def test_a_map_is_ridge_on_the_other_groups():
    one, other = states(200, 4), states(200, 3, 2)
    other = torch.cat([other, one[:, :1]], 1)
    groups = np.arange(200) % GROUPS
    sums = StateSums(4)
    sums.add(one, other, groups)
    for group, affine in enumerate(sums.maps() or []):
        x, y = (each[torch.from_numpy(groups != group)].numpy() for each in (one, other))
        middle, to = x.mean(0), y.mean(0)
        covariance = (x - middle).T @ (x - middle) / len(x)
        least = affine.penalty * np.trace(covariance) / 4
        weight = np.linalg.solve(covariance + least * np.eye(4), (x - middle).T @ (y - to) / len(x))
        np.testing.assert_allclose(affine.weight, weight, atol=1e-9)
        np.testing.assert_allclose(affine.bias, to - middle @ weight, atol=1e-9)
        held_x, held_y = (each[torch.from_numpy(groups == group)].numpy() for each in (one, other))
        left = ((held_y - held_x @ weight - affine.bias) ** 2).sum() / ((held_y - held_y.mean(0)) ** 2).sum()
        assert affine.explained == pytest.approx(1 - left)
        assert affine.explained < 0.5, "nothing but one of four directions can be told"


@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_a_group_of_fewer_than_two_pieces_leaves_no_map(pieces):
    """With none or one in a group its variance is 0, and no penalty would be better than another."""
    groups = np.append(np.arange(100) % (GROUPS - 1), np.full(pieces, GROUPS - 1))
    sums = StateSums(4)
    sums.add(states(len(groups), 4), states(len(groups), 4), groups)
    maps = sums.maps()
    assert (maps is None) == (pieces < 2)
    if maps is not None:
        assert np.isfinite([affine.explained for affine in maps]).all()


def test_of_a_group_whose_states_are_all_alike_no_variance_is_explained_and_the_penalty_is_chosen():
    """Of the other groups' states nothing can be told, so that the largest penalty serves best."""
    one, other, groups = states(50, 20), states(50, 20, 1), np.arange(50) % GROUPS
    other[groups == 3] = 0.3
    sums = StateSums(20)
    sums.add(one, other, groups)
    maps = sums.maps()
    assert maps is not None and [np.isnan(affine.explained) for affine in maps] == [False] * 3 + [True, False]
    assert {affine.penalty for affine in maps} == {10.0}
