"""Which examples mention a word."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.read import read_task
from bertscope.data.slices import divide, mentions
from shared_data import DATA, needs_data

FORBIDDEN = ("women", "woman", "girl", "girls", "mother", "wife", "female")


def examples(*texts, pair=None):
    return Examples(tuple(map(str, range(len(texts)))), texts, pair, np.arange(len(texts)))


@pytest.mark.parametrize(
    ("word", "text", "there"),
    [
        ("man", "A man.", True),
        ("man", "a woman", False),
        ("man", "manly", False),
        ("man", "the man's hat", True),
        ("man", "man_1", False),
        ("MAN", "a man", True),
        ("man", "MAN!", True),
        ("don't", "I DON’T know", True),
        ("don’t", "I don't know", True),
        ("don't", "don t", False),
        ("new york", "in New\n York today", True),
        ("new york", "newyork", False),
        ("café", "cafe\u0301s", False),
        ("café", "the CAFE\u0301 there", True),
        ("straße", "STRASSE 1", True),
        ("c++", "in c++ now", True),
        ("a.b", "axb", False),
        ("女", "彼女", False),
    ],
)
def test_whole_words_whatever_their_case(word, text, there):
    assert mentions(examples(text), [word]).tolist() == [there]


def test_either_text_counts_and_the_rest_is_the_rest():
    both = examples("a girl runs", "a dog runs", "a dog", pair=("x", "the wife", "y"))
    assert mentions(both, FORBIDDEN).tolist() == [True, True, False]
    found, rest = divide(both, FORBIDDEN)
    assert found.ids == ("0", "1") and rest.ids == ("2",) and rest.label.tolist() == [2] and rest.pair == ("y",)


@given(st.lists(st.text("ab '-", max_size=8), min_size=1, max_size=8), st.lists(st.text("ab", min_size=1, max_size=3),
       min_size=1, max_size=3))  # fmt: skip
def test_as_a_set_of_words_would_have_it(texts, words):
    expected = [bool(set(re.findall(r"\w+", text)) & set(words)) for text in texts]
    assert mentions(examples(*texts), words).tolist() == expected


def test_mistakes():
    for words in ([], ["a", " "]):
        with pytest.raises(UserError, match="at least one word, and none may be blank"):
            mentions(examples("a"), words)
    with pytest.raises(UserError, match="give a list of words"):
        mentions(examples("a"), "woman")


@needs_data
def test_snlis_slice_has_the_rows_that_the_methods_state():
    assert mentions(read_task(DATA / "snli").test, FORBIDDEN).sum() == 2_866
