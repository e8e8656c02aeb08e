"""Words exchanged in texts: whole words, both ways, with their case; and her, which is two words."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.swaps import GENDER, Swap, swapped
from bertscope.experiments.bias.question import WORDS
from shared_data import DATA, needs_data


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("A woman and two men.", "A man and two women."),
        ("WOMEN! Women, women", "MEN! Men, men"),
        ("The man's wife", "The woman's husband"),
        ("a manly human from Oman", "a manly human from Oman"),
        ("She's her own mother", "He's his own father"),
        ("her mother-in-law", "his father-in-law"),
        ("He gave her the book.", "She gave him the book."),
        ("He saw her.", "She saw him."),
        ("next to her and her dog", "next to him and his dog"),
        ("her in-laws", "his in-laws"),
        ('he told her "no"', 'she told him "no"'),
        ("his dog is his", "her dog is hers"),
        ("the dog is hers, not him", "the dog is his, not her"),
        ("her", "him"),
        ("Mr. Smith and his mum", "Mrs. Smith and her dad"),
        ("Dad calls Mom", "Mom calls Dad"),
        ("nothing here", "nothing here"),
        (
            "His daughter, two sons, a niece, her sisters and aunts, the groom, a queen and her grandmother",
            "Her son, two daughters, a nephew, his brothers and uncles, the bride, a king and his grandfather",
        ),
        (
            "Policemen, a waitress, the actors, boyfriends, LADIES, a cowboy, Madam, lads, a female",
            "Policewomen, a waiter, the actresses, girlfriends, GENTLEMEN, a cowgirl, Sir, lasses, a male",
        ),
    ],
)
def test_gender(text, other):
    assert Swap()(text) == other


def test_there_is_one_number_to_a_pair_and_the_slides_words_are_among_them():
    for pair in GENDER.split():
        one, other = (re.sub("men$", "mans", side.removesuffix("ss")).endswith("s") for side in pair.split("/"))
        assert one == other or pair in ("mrs/mr", "ms/mr"), pair
    assert all(Swap()(word) != word for word in WORDS)


def test_words_of_ones_own():
    swap = Swap(["Good/bad", "c++/rust"])
    assert swap("Good food, BAD c++, badly goodly her") == "Bad food, GOOD rust, badly goodly her"
    for wrong in ("good", "good/", "a/b/c", "same/Same", "two words/one", ""):
        with pytest.raises(UserError, match="give pairs of two different words, such as she/he"):
            Swap([wrong])
    assert Swap(["mom/dad", "mum/dad"])("dad mom mum") == "mom dad dad"


def test_only_examples_that_change_are_given_and_both_texts_change_alike():
    examples = Examples(
        tuple("abc"), ("A man", "a dog", "for her"), ("his hat", "a cat", "dog girl"), np.array([0, 1, 2]),
        words=(("A", "man", "his", "hat"), ("a", "dog", "a", "cat"), ("for", "her", "dog", "girl")),
        first_words=(2, 2, 2),
        marks={"gender": (("", "masculine", "", ""), ("",) * 4, ("", "", "", "feminine"))},
    )  # fmt: skip
    at, other = swapped(examples)
    assert at.tolist() == [0, 2] and other.ids == ("a", "c") and other.label.tolist() == [0, 2]
    assert other.text == ("A woman", "for him") and other.pair == ("her hat", "dog boy")
    assert other.words == (("A", "woman", "her", "hat"), ("for", "him", "dog", "boy")) and not other.marks
    assert len(swapped(examples, ["zebra/lion"])[0]) == 0


@needs_data
def test_her_is_read_as_a_treebank_reads_it():
    """UD says whether each her is a possessive: the rule agrees in 19 of 20 of EWT's."""
    swap, right = Swap(), []
    gold = {("her", "PRP$"): "his", ("her", "PRP"): "him", ("his", "PRP$"): "her", ("his", "PRP"): "hers"}
    for part in ("dev", "test", "train"):
        text = (DATA / "UD_English-EWT" / f"en_ewt-ud-{part}.conllu").read_text(encoding="utf-8")
        for block in text.split("\n\n"):
            rows = [line.split("\t") for line in block.splitlines() if re.match(r"\d+\t", line)]
            new = swap.words(tuple(row[1] for row in rows))
            right += [new[place].lower() == gold[row[1].lower(), row[4]] for place, row in enumerate(rows)
                      if (row[1].lower(), row[4]) in gold]  # fmt: skip
    assert len(right) > 700 and np.mean(right) > 0.95


def test_what_a_source_says_of_words_stays_with_them_but_for_their_gender():
    examples = Examples(
        tuple("ab"), ("the man sleeps", "a dog barks"), words=(("the", "man", "sleeps"), ("a", "dog", "barks")),
        governors=((1, 2, -1), (1, 2, -1)),
        marks={"pos": (("DET", "NOUN", "VERB"),) * 2, "gender": (("", "masculine", ""), ("",) * 3)},
    )  # fmt: skip
    at, other = swapped(examples)
    assert at.tolist() == [0] and other.words == (("the", "woman", "sleeps"),)
    assert other.governors == ((1, 2, -1),) and other.marks == {"pos": (("DET", "NOUN", "VERB"),)}


def test_places_in_a_text_keep_their_meaning_since_only_questions_change():
    examples = Examples(
        tuple("abc"), ("where is he", "where is he", "where is it"), ("the man sat here", "a dog sat here", "a man"),
        answers=(((12, 16),), ((10, 14),), ((0, 1),)),
    )  # fmt: skip
    at, other = swapped(examples)
    assert at.tolist() == [1] and other.text == ("where is she",) and other.pair == ("a dog sat here",)
    (((start, end),),) = other.answers
    assert other.pair[0][start:end] == "here"
