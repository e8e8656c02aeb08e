"""What can be probed for, the words and texts that are taken, and what stands beside a probe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.probe.question import TARGETS
from bertscope.analyses.probe.sample import (
    TEST,
    TRAIN,
    VALIDATION,
    Sample,
    control_labels,
    majority,
    text_parts,
    usual_label,
)
from bertscope.analyses.probe.targets import Limits, Target, choose_targets
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples, Link
from made_states import made_texts
from planted_probe import TEXTS, sampled

TWO = Examples(
    ids=("a", "b"),
    text=("She saw the man", "Rome fell"),
    words=(("She", "saw", "the", "man"), ("Rome", "fell")),
    marks={
        "pos": (("PRON", "VERB", "DET", "NOUN"), ("PROPN", "VERB")),
        "relation": (("nsubj:pass", "root", "det", "obj"), ("nsubj", "root")),
        "entity": (("", "", "", ""), ("LOC", "")),
        "gender": (("feminine", "", "", "masculine"), ("", "")),
    },
    governors=((1, ROOT, 3, 1), (1, ROOT)),
    links=(
        (Link("Perceiver", (0,), (1,), "Perception"), Link("Thing", (2, 3), (1,), "Perception")),
        (Link("Thing", (0,), (1,), "Motion"), Link("x", (0,), (1,))),
    ),
    label=np.array([1, 0]),
)


def items(target) -> set[tuple]:
    words = target.words.tolist()
    named = (target.classes[label] for label in target.label)
    return {(int(row), *at, name) for row, at, name in zip(target.example, words, named, strict=True)}


# Targets


def test_targets_are_what_the_corpus_says():
    found, notes = choose_targets(TWO, (), Limits(types=3, bins=2))
    by_name = {target.name: target for target in found}
    assert set(by_name) == set(TARGETS) - {"entity"} and "entity" in notes[0]  # one entity is no choice
    assert items(by_name["pos"]) >= {(0, 0, "PRON"), (1, 1, "VERB")} and len(by_name["pos"]) == 6
    assert items(by_name["relation"]) == {
        (0, 0, 1, "nsubj"),
        (0, 2, 3, "det"),
        (0, 3, 1, "obj"),
        (1, 0, 1, "nsubj"),
    }
    assert items(by_name["frame"]) == {(0, 1, "Perception"), (1, 1, "Motion")}
    assert items(by_name["gender"]) == {(0, 0, "feminine"), (0, 3, "masculine")}
    assert items(by_name["label"]) == {(0, "1"), (1, "0")}
    assert items(by_name["length"]) == {(0, "4 to 4 words"), (1, "2 to 2 words")}
    assert [by_name[name].unit for name in ("pos", "relation", "label")] == ["word", "pair", "text"]
    assert [by_name[name].has_control for name in ("pos", "relation", "word", "length")] == [True, True, False, False]


def test_the_most_frequent_words_are_told_apart_whatever_their_case():
    examples = replace(TWO, words=(("The", "the", "man", "a"), ("man", "the")), links=None)
    (target,), _ = choose_targets(examples, ["word"], Limits(types=2))
    assert target.classes == ("man", "the") and len(target) == 5


def test_a_target_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(UserError, match=r"don't tell entity .* they have: pos, relation, frame, gender, word, label"):
        choose_targets(TWO, ["pos", "entity"], Limits())
    scores = Examples(("a",), ("one text",), label=np.array([0.5]))
    with pytest.raises(UserError, match="nothing to probe for"):
        choose_targets(scores, (), Limits())


# Samples


def test_no_text_is_on_two_sides_and_equal_texts_are_on_one():
    sample = sampled(TEXTS)
    sides = [set(sample.target.example[sample.items(part)]) for part in (TRAIN, VALIDATION, TEST)]
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]
    assert 0.6 < len(sides[0]) / 150 < 0.8
    doubled = replace(TEXTS, text=TEXTS.text[:75] * 2)
    parts = text_parts(doubled, 0)
    assert (parts[:75] == parts[75:]).all() and len(set(parts)) == 3


def test_a_sample_depends_on_the_texts_alone():
    order = np.random.default_rng(1).permutation(len(TEXTS))
    one, other = sampled(TEXTS, words=100), sampled(TEXTS.take(order), words=100)
    collected = [
        {
            (examples.ids[row], *at)
            for row, at in zip(sample.target.example, sample.target.words.tolist(), strict=True)
        }
        for examples, sample in ((TEXTS, one), (TEXTS.take(order), other))
    ]
    assert collected[0] == collected[1]
    assert [len(one.items(part)) for part in (TRAIN, VALIDATION, TEST)] == [100, 13, 100]
    train = one.target.example[one.items(TRAIN)]
    assert len(set(train)) == 1 + (np.diff(train) != 0).sum()  # the words of a text come together


def test_balanced_samples_take_from_the_frequent_first():
    plain, balanced = (sampled(TEXTS, words=60, balanced=balanced) for balanced in (False, True))
    counts = [np.bincount(sample.target.label[sample.items(TRAIN)]) for sample in (plain, balanced)]
    assert counts[0].argmax() == 0 and counts[0].sum() == 60
    assert counts[1].tolist() == [20, 20, 20]


def test_too_few_texts_are_refused():
    with pytest.raises(UserError, match="too few texts to probe for pos"):
        sampled(TEXTS.take([0, 1]))


def test_a_control_task_gives_each_type_a_label_drawn_from_trains():
    sample = sampled(TEXTS)
    labels = control_labels(sample, 0)
    assert sample.target.type is not None
    by_type = {kind: set(labels[sample.target.type == kind]) for kind in range(40)}
    assert all(len(found) == 1 for found in by_type.values())
    assert (control_labels(sample, 1) != labels).any()
    shares = np.bincount([*map(min, by_type.values())], minlength=3) / 40
    assert np.abs(shares - [0.5, 0.3, 0.2]).max() < 0.2


def test_baselines_by_hand():
    words = np.array(["x", "x", "y", "z"] * 40)
    pos = np.array(["A", "A", "B", "B"] * 40)
    sample = sampled(made_texts(words, {"pos": pos}, per_text=4))
    test = sample.items(TEST)
    assert usual_label(sample).all()
    # A and B are equally frequent in train: the first is the majority.
    assert (majority(sample) == (sample.target.label[test] == 0)).all()
    unseen = replace(sample.target, type=sample.target.type.copy())
    unseen.type[test] = 0
    swapped = replace(sample, target=replace(unseen, types=("new", "x", "y", "z")))
    swapped.target.type[sample.items(TRAIN)] += 1
    assert usual_label(swapped).tolist() == (sample.target.label[test] == 0).tolist()  # a new word: the majority


def by_hand(part: list[int], types: list[int], labels: list[int]) -> Sample:
    """Words, one to a text, in these parts, of these types and with these labels."""
    n = len(part)
    target = Target(
        "pos", np.arange(n), np.zeros((n, 1), dtype=int), np.array(labels), tuple("ABC"),
        tuple(f"w{at}" for at in range(max(types) + 1)), np.array(types),
    )  # fmt: skip
    return Sample(target, np.array(part))


def test_what_stands_beside_a_probe_is_learned_from_train_alone():
    """Word 0 is mostly A in train and always B in test; A is the majority in train, B in test."""
    sample = by_hand([TRAIN] * 5 + [TEST] * 4, [0, 0, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 0, 1, 1, 1, 0])
    assert majority(sample).tolist() == [False, False, False, True]
    assert usual_label(sample).tolist() == [False, False, False, True]


def test_control_labels_are_as_frequent_as_trains():
    many = [*range(5000)] * 2
    sample = by_hand([TRAIN] * 5000 + [TEST] * 5000, many, [0] * 3500 + [1] * 1500 + [2] * 5000)
    labels = control_labels(sample, 0)
    assert (labels[:5000] == labels[5000:]).all()
    np.testing.assert_allclose(np.bincount(labels, minlength=3) / 1e4, [0.7, 0.3, 0], atol=0.02)
