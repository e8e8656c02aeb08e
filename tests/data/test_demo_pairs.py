"""The demo language's minimal pairs: one word differs, as many pieces, no sentence in two splits."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import bertscope
from bertscope.data import demo
from bertscope.data.language.entailment import LABELS
from bertscope.data.minimal import read_pairs
from pocket_facts import pieces

DEMOS = ["demo/minimal", "demo/minimal-entailment"]


@pytest.mark.parametrize("name", DEMOS)
def test_demo_pairs_differ_in_one_marked_word_of_one_piece(name):
    known = pieces()
    for split, n in (("train", 600), ("validation", 150), ("test", 600)):
        pairs = read_pairs(name, split=split)
        assert len(pairs) == n and len(set(Counter(pairs.phenomenon).values())) == 1
        sides = zip(pairs.clean.words, pairs.corrupted.words, strict=True)
        for row, (one, other) in enumerate(sides):
            [place] = [at for at, (word, new) in enumerate(zip(one, other, strict=True)) if word != new]
            for side in (pairs.clean, pairs.corrupted):
                assert [at for at, mark in enumerate(side.marks["changed"][row]) if mark] == [place]
                assert side.words[row][place].lower() in known  # so both texts have as many pieces
                texts = side.text[row] + " " + (side.pair[row] if side.pair else "")
                assert re.findall(r"\w+|[^\w\s]", texts) == list(side.words[row])


@pytest.mark.parametrize("name", DEMOS)
def test_demo_pairs_have_as_many_pieces_for_pocket(name):
    tokenizer = bertscope.load("pocket").tokenizer
    pairs = read_pairs(name)
    lengths = []
    for side in (pairs.clean, pairs.corrupted):
        seconds = [] if side.pair is None else [list(side.pair)]
        lengths.append([len(row) for row in tokenizer(list(side.text), *seconds)["input_ids"]])
    assert lengths[0] == lengths[1]


@pytest.mark.parametrize("name", DEMOS)
def test_no_demo_sentence_in_two_splits_and_no_pair_twice(name):
    found = Counter()
    for split in ("train", "validation", "test"):
        pairs = read_pairs(name, split=split)
        rows = [
            (text, second)
            for side in (pairs.clean, pairs.corrupted)
            for text, second in zip(side.text, side.pair or side.text, strict=True)
        ]
        assert len(set(rows)) == len(rows)
        found.update({text for row in rows for text in row})
    assert [text for text, count in found.items() if count > 1] == []


def test_the_answers_of_demo_pairs_follow_from_the_changed_word():
    pairs = read_pairs("demo/minimal")
    answers = list(zip(pairs.clean.columns["answer"], pairs.corrupted.columns["answer"], strict=True))
    changed = [
        tuple(side.words[row][side.marks["changed"][row].index("changed")] for side in (pairs.clean, pairs.corrupted))
        for row in range(len(pairs))
    ]
    for (one, other), words, phenomenon in zip(answers, changed, pairs.phenomenon, strict=True):
        assert one != other
        if phenomenon == "agreement":
            numbers = ({"is", "are"}, {"was", "were"}, {"has", "have"})
            assert (one, other) == ("acceptable", "unacceptable") and {*words} in numbers
        if phenomenon == "always_never":
            assert {*words} == {"always", "never"}
    # Where neither text is wrong, which is clean was drawn: about half of them are positive.
    for phenomenon in ("sentiment", "always_never"):
        clean = [one for (one, _), name in zip(answers, pairs.phenomenon, strict=True) if name == phenomenon]
        assert 0.35 < np.mean([one == "positive" for one in clean]) < 0.65


def test_entailment_flips_have_the_labels_of_the_task_and_change_one():
    pairs = read_pairs("demo/minimal-entailment")
    assert pairs.clean.label is not None and pairs.corrupted.label is not None
    assert (pairs.clean.label != pairs.corrupted.label).all()
    for side in (pairs.clean, pairs.corrupted):
        assert [LABELS[label] for label in side.label] == list(side.columns["answer"])
    assert pairs.phenomena == ("once_never", "a_no", "kind")
    # Either of the two texts is the one that changes.
    first = [one == other for one, other in zip(pairs.clean.text, pairs.corrupted.text, strict=True)]
    assert 0.3 < np.mean(first) < 0.7


def test_the_demo_pairs_are_those_of_this_version():
    # If this changes, the pairs have changed: raise the version in demo.PAIRED.
    digests = {name: read_pairs(name, seed=0).fingerprint for name in DEMOS}
    assert {demo.pairs_identity(name): digest for name, digest in digests.items()} == DIGESTS
    assert read_pairs(DEMOS[0], seed=1).fingerprint != digests[DEMOS[0]]


DIGESTS = {"demo/minimal-1": "8ff3882a30f8bdfd", "demo/minimal-entailment-1": "12e865a0da313985"}
