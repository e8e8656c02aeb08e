"""Which word a row of hidden states is, and which rows of two encoders are the same word."""

from __future__ import annotations

import numpy as np
import pytest
from transformers import BertConfig, BertModel

import tokenizer_kinds
from bertscope.analyses.occurrences import common_words, owners, word_forms
from bertscope.core.examples import Examples
from bertscope.models.load import load
from bertscope.models.states import hidden_states
from pocket_facts import PIECES
from word_texts import word_texts

TEXTS = ("I don't know,  she said.", "Anna's mother-in-law paid $1,000.5", "", "naïve straße – ok!")
PAIR = ("Yes.", "no no", "only here", "(end)")


def encoder(kind, pocket):
    """A tiny BERT with any family's kind of tokenizer."""
    tokenizer = pocket.tokenizer if kind == "bert" else getattr(tokenizer_kinds, kind)()
    config = BertConfig(
        vocab_size=PIECES, hidden_size=12, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=128,
    )  # fmt: skip
    return load(BertModel(config).eval(), tokenizer=tokenizer)


def named(texts, pair=None):
    return Examples(ids=tuple(f"id{i}" for i in range(len(texts))), text=tuple(texts), pair=pair)


@pytest.mark.parametrize("pair", [None, PAIR])
@pytest.mark.parametrize("kind", tokenizer_kinds.KINDS)
def test_forms_are_the_tokenizers_words(kind, pair, pocket):
    examples, model = named(TEXTS, pair), encoder(kind, pocket)
    store = hidden_states(model, examples)
    expected = word_texts(model.tokenizer, examples)
    assert word_forms(store, examples) == [word for sentence in expected for word in sentence]


def test_forms_of_marked_words_are_the_marked_ones(tiny):
    words = (("Don't", "​", "Go"), (), ("mother-in-law",))  # the second is nothing to BERT
    examples = Examples(ids=("a", "b", "c"), text=("", "", ""), words=words)
    store = hidden_states(tiny, examples)
    assert word_forms(store, examples) == ["Don't", "Go", "mother-in-law"]
    assert owners(store).tolist() == [0, 0, 2]


@pytest.mark.parametrize("pair", [None, PAIR])
@pytest.mark.parametrize("kind", ["sentencepiece", "roberta", "cased"])
def test_common_words_are_those_with_the_same_characters(kind, pair, pocket):
    examples = named(TEXTS, pair)
    stores = {one: hidden_states(encoder(one, pocket), examples) for one in ("bert", kind)}
    places = []
    for store in stores.values():
        what = (owners(store), store.segments, store.spans[:, 1], word_forms(store, examples))
        places.append(set(zip(*map(list, what), strict=True)))
    rows = common_words(stores, examples)
    for store, of in zip(stores.values(), rows, strict=True):
        assert len(set(of.tolist())) == len(of) == len(places[0] & places[1])
        assert len(of) < len(store) or kind == "cased"
    one, other = (np.array(word_forms(store, examples))[of] for store, of in zip(stores.values(), rows, strict=True))
    assert one.tolist() == other.tolist() and len(one) > 5


def test_the_sample_depends_on_ids_and_seed_not_on_order(tiny, texts):
    def first(examples, seed):
        store = hidden_states(tiny, examples)
        row = common_words({"one": store}, examples, seed)[0, :9]
        return {(examples.ids[owners(store)[at]], int(store.words[at])) for at in row}

    plain = first(texts, 0)
    assert first(texts.take([3, 1, 5, 0, 2, 4]), 0) == plain
    assert first(texts, 1) != plain


def test_texts_that_share_an_id_keep_their_words_apart(tiny):
    twice = Examples(ids=("a", "a"), text=("the food was good", "the food was good"))
    store = hidden_states(tiny, twice)
    assert sorted(common_words({"one": store, "other": store}, twice)[0].tolist()) == list(range(8))
