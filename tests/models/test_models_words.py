"""Words and tokens: hard words, every kind of tokenizer, checked against character offsets."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import tokenizer_kinds
from bertscope.core.examples import Examples
from bertscope.models.batches import pad, tokenise
from tokenizer_kinds import HARD, KINDS, roberta
from word_texts import word_texts


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request, _pocket):
    return _pocket.tokenizer if request.param == "bert" else getattr(tokenizer_kinds, request.param)()


def marked(*sentences) -> Examples:
    ids = tuple(str(i) for i in range(len(sentences)))
    return Examples(ids=ids, text=tuple(" ".join(words) for words in sentences), words=tuple(sentences))


def plain(*texts, pair=None) -> Examples:
    return Examples(ids=tuple(str(i) for i in range(len(texts))), text=texts, pair=pair)


def split(tokens, i):
    """Example i's ids, words and special marks."""
    of = slice(tokens.starts[i], tokens.starts[i] + tokens.lengths[i])
    return tokens.fields["input_ids"][of], tokens.words[of], tokens.special[of]


def by_offsets(tokenizer, words):
    """The independent way: tokenise the words as one text and see which word each token's characters fall into."""
    text, owner = "", []
    for number, word in enumerate(words):
        owner += [-1] + [number] * len(word)
        text += " " + word
    coded = tokenizer(text, return_offsets_mapping=True)
    found = []
    for start, end in coded["offset_mapping"]:
        inside = {owner[at] for at in range(start, end) if not text[at].isspace()} - {-1}
        assert len(inside) <= 1
        found.append(inside.pop() if inside else -1)
    return coded["input_ids"], found


def test_marked_words_agree_with_character_offsets(tokenizer):
    tokens = tokenise(tokenizer, marked(*HARD), 10_000)
    for i, words in enumerate(HARD):
        ids, word, special = split(tokens, i)
        expected_ids, expected = by_offsets(tokenizer, words)
        assert ids.tolist() == expected_ids
        spaces = [bool(tokenizer.decode([at]).strip()) for at in ids]  # the space before a number belongs to it
        agree = [a == b or not shown for a, b, shown in zip(word, expected, spaces, strict=True)]
        assert all(agree)
        assert set(word[~special]) - {-1} == set(range(len(words)))
        assert (word[special] == -1).all() and special.sum() == 2
        kept = word[word >= 0]
        assert (np.diff(kept) >= 0).all()


def test_the_callers_tokenizer_is_not_changed(tokenizer):
    def state():
        tokenizer("a text")  # settings of the last call aside
        return tokenizer.backend_tokenizer.to_str(), copy.deepcopy(tokenizer.init_kwargs)

    before = state()
    tokenise(tokenizer, marked(*HARD), 64)
    assert state() == before


def test_roberta_reads_words_as_with_add_prefix_space():
    prefixing = roberta(add_prefix_space=True)
    tokens = tokenise(roberta(), marked(*HARD), 10_000)
    for i, words in enumerate(HARD):
        coded = prefixing(list(words), is_split_into_words=True)
        ids, word, _ = split(tokens, i)
        assert ids.tolist() == coded["input_ids"]
        assert word.tolist() == [-1 if at is None else at for at in coded.word_ids()]


@pytest.mark.parametrize("kind, nothing", [("bert", "\u200b"), ("bert", "\x07"), ("bert", "\ufe0f"), ("bert", ""),
                                           ("sentencepiece", "\u200b"), ("sentencepiece", "\x07"),
                                           ("cased", "\u200b"), ("cased", ""), ("albert", "\u0301"), ("albert", ""),
                                           ("roberta", ""), ("modernbert", ""), ("eurobert", ""),
                                           ("sentencepiece", "")])  # fmt: skip
def test_a_word_that_is_normalised_away_leaves_the_others_their_numbers(kind, nothing, _pocket):
    tokenizer = _pocket.tokenizer if kind == "bert" else getattr(tokenizer_kinds, kind)()
    tokens = tokenise(tokenizer, marked(("one", nothing, "three"), (nothing,), (), ("last",)), 64)
    assert sorted(set(split(tokens, 0)[1])) == [-1, 0, 2]
    assert set(split(tokens, 1)[1]) == {-1}
    assert set(split(tokens, 2)[1]) == {-1}
    assert set(split(tokens, 3)[1]) == {-1, 0}


def test_plain_texts_are_numbered_without_gaps_and_named(tokenizer):
    texts = plain("I  don't know \n naïve straße", "", "   ", "pay 1,000.5 !")
    tokens = tokenise(tokenizer, texts, 10_000)
    named = word_texts(tokenizer, texts)
    for i, text in enumerate(texts.text):
        ids, word, special = split(tokens, i)
        assert set(word) - {-1} == set(range(len(named[i])))
        assert all(named[i])
        assert "".join(named[i]) == "".join(text.split())
        expected = tokenizer(text)
        units = [None if mark else unit for unit, mark in zip(expected.word_ids(), special, strict=True)]
        shown = [bool(tokenizer.decode([at]).strip()) for at in ids]
        pairs = {(a, b) for a, b, real in zip(units, word.tolist(), shown, strict=True) if real and a is not None}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})  # one to one


def test_pairs_number_the_second_text_after_the_first(tokenizer):
    texts = plain("one two", "", "mother pays", pair=("three .", "four", ""))
    tokens = tokenise(tokenizer, texts, 64)
    named = word_texts(tokenizer, texts)
    first = [tokenise(tokenizer, plain(text), 64).words.max() + 1 for text in texts.text]
    second = [tokenise(tokenizer, plain(text), 64).words.max() + 1 for text in texts.pair]
    for i in range(3):
        of = slice(tokens.starts[i], tokens.starts[i] + tokens.lengths[i])
        word, segment = tokens.words[of], tokens.segments[of]
        assert set(word) - {-1} == set(range(first[i] + second[i]))
        assert ((word >= first[i]) == (segment == 1))[word >= 0].all()
        assert "".join(named[i]) == (texts.text[i] + texts.pair[i]).replace(" ", "")


def test_special_tokens_typed_in_a_text_are_no_words(tokenizer):
    mask, sep = tokenizer.mask_token, tokenizer.sep_token
    tokens = tokenise(tokenizer, marked(("one", mask, "three", sep, "five")), 64)
    assert sorted(set(tokens.words)) == [-1, 0, 2, 4]
    assert tokens.special.sum() == 4


def test_unknown_words_are_words(_pocket):
    tokens = tokenise(_pocket.tokenizer, marked(("one", "x" * 500, "three")), 64)
    ids, word, _ = split(tokens, 0)
    assert ids[word == 1].tolist() == [_pocket.tokenizer.unk_token_id]


def test_chinese_characters_are_words_of_their_own_unless_marked(_pocket):
    assert word_texts(_pocket.tokenizer, plain("你好 ok")) == [["你", "好", "ok"]]
    tokens = tokenise(_pocket.tokenizer, marked(("你好", "ok")), 64)
    assert split(tokens, 0)[1].tolist()[:3] == [-1, 0, 0]


def test_padding_belongs_to_no_word(_pocket):
    tokens = tokenise(_pocket.tokenizer, marked(("one",), ("one", "two", "three")), 64)
    batch = pad(tokens, np.array([1, 0]), pad_id=0)
    assert batch.words[1].tolist()[-2:] == [-1, -1]
    assert (batch.words[batch.special] == -1).all()


def test_marked_words_of_a_pair_are_counted_through_both_texts(tokenizer):
    first, second = ("I", "do", "n't", "know"), ("Anna", "'s", "mother-in-law")
    examples = Examples(
        ids=("0", "1"), text=("", ""), pair=("", ""), words=(first + second, second + first), first_words=(4, 3)
    )
    coded = tokenise(tokenizer, examples, 64)
    for row, count in enumerate(examples.first_words):
        at = slice(coded.starts[row], coded.starts[row] + coded.lengths[row])
        words, segments = coded.words[at], coded.segments[at]
        assert sorted(set(words[words >= 0])) == list(range(7))
        assert set(words[(segments == 0) & (words >= 0)]) == set(range(count))
        for part, wanted in ((0, examples.words[row][:count]), (1, examples.words[row][count:])):
            alone = tokenise(tokenizer, Examples(ids=("0",), text=("",), words=(wanted,)), 64)
            ids = coded.fields["input_ids"][at][(segments == part) & (words >= 0)]
            assert ids.tolist() == alone.fields["input_ids"][alone.words >= 0].tolist()


def test_pairs_must_say_where_the_second_text_begins():
    with pytest.raises(ValueError, match="first text"):
        Examples(ids=("0",), text=("a b",), pair=("c",), words=(("a", "b", "c"),))
