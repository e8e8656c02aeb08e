"""Which texts belong together: sets from labels, scores and plain texts, and what is held out of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.positives import Sets, held_out, matched
from bertscope.data.read import read_task
from bertscope.data.task import Task
from shared_data import DATA, needs_data

NLI = ("entailment", "neutral", "contradiction")
ROWS = [
    ("a dog runs", "an animal runs", 0),
    ("a dog runs", "a dog sleeps", 2),
    ("a dog runs", "a dog runs fast", 1),
    ("a man eats", "a person eats", 0),
    ("a man eats", "someone eats", 0),
    ("a man eats", "nobody eats", 2),
    ("it rains", "water falls", 0),
    ("it snows", "it is hot", 2),
    ("two cats play", "cats play", 0),
    ("two cats play", "cats sleep", 2),
    ("two cats play", "there are no cats", 2),
]


def nli(labels=NLI) -> Task:
    """Train has the first six rows, validation the next two and test the last three, which nothing is made of."""
    ids = tuple(map(str, range(len(ROWS))))
    text, pair, label = zip(*ROWS, strict=True)
    whole = Examples(ids=ids, text=text, pair=pair, label=np.array(label))
    train, validation, test = (whole.take(range(*ends)) for ends in ((0, 6), (6, 8), (8, 11)))
    return Task("toy nli", "classification", labels, train, validation, test, "accuracy")


def everything(task: Task) -> Task:
    """The same task with all of its rows to train on."""
    text, pair, label = zip(*ROWS, strict=True)
    ids = tuple(map(str, range(len(ROWS))))
    return Task(
        task.name, task.kind, task.labels, Examples(ids=ids, text=text, pair=pair, label=np.array(label)),
        task.validation.take([]), task.test, task.metric,
    )  # fmt: skip


def test_triples_worked_out_by_hand():
    sets = matched(everything(nli()), "triples")
    assert list(zip(*sets.columns, strict=True)) == [
        ("a dog runs", "an animal runs", "a dog sleeps"),
        ("a man eats", "a person eats", "nobody eats"),
        ("a man eats", "someone eats", "nobody eats"),  # the one contradiction serves both
        ("two cats play", "cats play", "cats sleep"),
    ]


def test_contradictions_of_a_premise_are_taken_in_turn():
    rows = [
        ("p", "e1", 0),
        ("p", "e2", 0),
        ("p", "e3", 0),
        ("p", "c1", 2),
        ("p", "c2", 2),
        ("q", "e4", 0),
        ("q", "c3", 2),
    ]
    text, pair, label = zip(*rows, strict=True)
    train = Examples(ids=tuple(map(str, range(7))), text=text, pair=pair, label=np.array(label))
    sets = matched(Task("t", "classification", NLI, train, train.take([]), train, "accuracy"), "triples")
    assert sets.columns[2] == ("c1", "c2", "c1", "c3")


def test_pairs_are_the_entailed_ones():
    sets = matched(everything(nli()), "pairs")
    assert list(zip(*sets.columns, strict=True)) == [(a, b) for a, b, label in ROWS if label == 0]


def test_select_is_held_out_but_for_triples():
    """A premise's rows lie on both sides there."""
    with pytest.raises(UserError, match="toy nli has 3 pairs that belong together"):
        matched(nli(), "pairs")
    premises = [row for row in range(11) if row not in (5, 6, 7)]
    whole = everything(nli()).train
    task = Task("t", "classification", NLI, whole.take(premises), whole.take([5, 6, 7]), whole, "accuracy")
    assert matched(task, "triples") == matched(everything(nli()), "triples")


def toy(labels: tuple[str, ...], label: list[float]) -> Task:
    """Single letters: a and A, b and B ... with these labels, or scores if they have no names."""
    texts = tuple("abcdefghij")
    pairs = Examples(texts, texts, tuple(text.upper() for text in texts), np.array(label))
    kind, metric = ("classification", "accuracy") if labels else ("regression", "pearson")
    return Task("toy", kind, labels, pairs, pairs.take([]), pairs, metric)


@pytest.mark.parametrize("same", ["entailment", "equivalent", "duplicate", "same", "Equivalent"])
def test_known_labels_say_what_belongs_together(same):
    sets = matched(toy(("other", same), [0, 1, 1, 0, 1, 0, 1, 0, 0, 1]), "pairs")
    assert sets.columns == (tuple("bcegj"), tuple("BCEGJ"))


def test_scores_have_a_threshold():
    task = toy((), [1, 5, 4, 3.9, 4.5, 1, 5, 4.1, 5, 5])
    assert matched(task, "pairs").columns[0] == tuple("bceghij"), "four fifths of the highest"
    assert matched(task, "pairs", least_score=4.5).columns[0] == tuple("begij")
    assert matched(replace(task, kind="vectors"), "pairs").columns[0] == tuple("bceghij"), "for their vectors, too"


def test_the_demo_language_has_pairs():
    assert 990 < len(matched(read_task("demo/entailment"), "pairs")) <= 1000


def test_pairs_without_labels_all_belong_together():
    pairs = Examples(ids=tuple("abcd"), text=tuple("1234"), pair=tuple("5678"))
    assert matched(pairs, "pairs").columns == (tuple("1234"), tuple("5678"))


def test_a_table_of_pairs_without_labels_is_read_by_kind(tmp_path):
    rows = tmp_path / "pairs.csv"
    rows.write_text("one,other\n" + "\n".join(f"text {at},its pair {at}" for at in range(40)) + "\n")
    task = read_task(rows, kind="masked", text="one", text_pair="other")
    anchors, positives = matched(task, "pairs").columns
    assert len(anchors) == len(task.train)
    assert [each.split()[-1] for each in anchors] == [each.split()[-1] for each in positives]
    with pytest.raises(UserError, match="pairs has no labels; triples are made of a task"):
        matched(task, "triples")


def test_unsupervised_takes_every_different_text_once():
    sets = matched(nli(), "unsupervised")
    assert len(sets.columns) == 1
    assert set(sets.columns[0]) == {text for row in ROWS[:6] for text in row[:2]}
    assert len(set(sets.columns[0])) == len(sets)


def test_texts_are_split_into_sentences():
    text = (
        'He was born in 1893. T.D. Richardson said "Stop!" Then he left. It cost 3.5 million. 8 of them stayed.',
        "one without end",
    )
    sets = matched(Examples(ids=("1", "2"), text=text), "unsupervised", sentences=True)
    assert sets.columns[0] == (
        "He was born in 1893.", 'T.D. Richardson said "Stop!"', "Then he left.", "It cost 3.5 million.",
        "8 of them stayed.", "one without end",
    )  # fmt: skip


def test_held_out_sets_share_no_anchor_with_the_others():
    anchors = tuple(f"text {row // 3}" for row in range(900))
    sets = Sets((anchors, tuple(map(str, range(900)))))
    train, validation = held_out(sets)
    assert not set(train.columns[0]) & set(validation.columns[0])
    assert len(train) + len(validation) == 900 and 85 <= len(validation) <= 95
    assert held_out(sets)[1] == validation
    assert len(held_out(Sets((tuple(map(str, range(50_000))),)))[1]) == 1000, "at most so many"


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_shuffled_sets_have_the_same_texts_in_other_rows(columns):
    lengths = np.random.default_rng(0).permutation(400) % 40
    sets = Sets(
        tuple(tuple(f"{column} {row} {'a' * n}" for row, n in enumerate(lengths)) for column in range(columns))
    )
    moved = sets.shuffled(3)
    anchors, *others = moved.columns
    assert anchors == sets.columns[0] and len(others) == max(1, columns - 1)
    for column, was in zip(others, sets.columns[1:] or sets.columns, strict=True):
        assert sorted(column) == sorted(was)
        assert all(one != other for one, other in zip(column, was, strict=True))
        apart = [abs(len(one) - len(other)) for one, other in zip(column, was, strict=True)]
        assert np.mean(apart) < 5, "of like length; by chance it would be 13"
    assert moved == sets.shuffled(3) != sets.shuffled(4)
    rows = [[int(text.split()[1]) for text in column] for column in others]
    assert all(one != other for one, other in pairwise(rows)), "each column by itself"


@needs_data
def test_snli_dev_has_2943_premises_with_both_labels():
    task = read_task(DATA / "snli")
    sets = matched(task, "triples")
    assert len(set(sets.columns[0])) == 2943
    assert len(sets) >= 2943


@pytest.mark.parametrize(
    ("labels", "how", "options", "said"),
    [
        (("no", "yes"), "pairs", {}, "toy is labelled no, yes; this needs the label entailment or equivalent or"),
        ((), "triples", {}, "toy is labelled scores; this needs the label entailment"),
        (("entailment", "not_entailment"), "triples", {}, "not_entailment; this needs the label contradiction"),
        (("no", "same"), "pairs", {"least_score": 3.0}, "--least-score is for pairs with scores; toy has none"),
        (("no", "same"), "pairs", {"sentences": True}, "leave it out with --pairs pairs"),
        ((), "pairs", {"least_score": 9.0}, "toy has 0 pairs that belong together; contrastive training needs at"),
    ],
)
def test_what_cannot_work_is_refused(labels, how, options, said):
    with pytest.raises(UserError, match=said) as caught:
        matched(toy(labels, [0, 1] * 5), how, **options)
    assert "\n" not in str(caught.value)


def test_texts_that_have_no_pairs_or_labels_are_refused():
    single = Examples(ids=tuple("abcd"), text=tuple("1234"))
    with pytest.raises(UserError, match="has single texts, not pairs; use --pairs unsupervised"):
        matched(single, "pairs")
    with pytest.raises(UserError, match="has no labels; triples are made of a task"):
        matched(single, "triples")
    labelled = Examples(ids=tuple("abcd"), text=tuple("1234"), pair=tuple("5678"), label=np.arange(4))
    with pytest.raises(UserError, match="doesn't say which of its pairs belong together"):
        matched(labelled, "pairs")
    with pytest.raises(UserError, match="has 1 different texts"):
        matched(Examples(ids=tuple("abcd"), text=("same",) * 4), "unsupervised")
    with pytest.raises(UserError, match="nearly all sets have the same first text"):
        held_out(Sets((("same",) * 20, tuple(map(str, range(20))))))
