"""Training data without the rows that mention some words, or without as many at random."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import planted_outputs
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.corpus import read_examples
from bertscope.data.read import read_task, task_root
from bertscope.data.slices import mentions
from bertscope.data.subsets import labels_of_rows, without_words
from bertscope.data.task import Task
from shared_data import DATA, needs_data

WOMEN = ("women", "woman", "girl", "girls", "mother", "wife", "female")


def task(*train: tuple[str, int], validation=(("a cat", 0), ("a dog", 1)), kind="classification") -> Task:
    def split(name, rows):
        texts, labels = zip(*rows, strict=True)
        return Examples(tuple(f"{name}:{row}" for row in range(len(rows))), texts, label=np.array(labels))

    labels = ("no", "yes") if kind == "classification" else ()
    metric = "accuracy" if labels else "pearson"
    return Task(
        "toy", kind, labels, split("train", train), split("validation", validation), split("test", train), metric
    )


ROWS = (("A Woman ran", 0), ("a man ran", 1), ("the girl", 1), ("womanly", 0), ("the girls' hat", 1), ("dogs", 0),
        ("a cat", 1), ("rain", 0))  # fmt: skip


def test_rows_with_a_word_leave_fit_and_select_and_no_other_does():
    whole = task(*ROWS, validation=(("a wife", 0), ("a dog", 1)))
    left = without_words(whole, WOMEN)
    assert left.train.text == ("a man ran", "womanly", "dogs", "a cat", "rain") and left.validation.text == ("a dog",)
    assert left.train.label.tolist() == [1, 0, 0, 1, 0]
    assert left.test is whole.test and left.name == "toy without women, woman or 5 other words"
    assert left.notes == (
        "3 of 8 training rows and 1 of 2 validation rows mention women, woman or 5 other words and are left out",
    )


def test_a_random_cut_has_the_same_size_and_labels():
    whole = task(*ROWS * 20, validation=ROWS * 3)
    biased = without_words(whole, WOMEN)
    drawn = [without_words(whole, WOMEN, at_random=seed) for seed in range(20)]
    for one in drawn:
        for split in ("train", "validation"):
            assert np.array_equal(np.bincount(getattr(one, split).label), np.bincount(getattr(biased, split).label))
        assert set(one.train.ids) < set(whole.train.ids) and len(set(one.train.ids)) == len(one.train)
        assert one.test is whole.test
    assert without_words(whole, WOMEN, at_random=3).train.ids == drawn[3].train.ids
    assert len({one.train.ids for one in drawn}) == 20
    # It is drawn from all rows, those with the words included: 2 of the 4 rows with label 1 leave, so each stays in
    # about half of the draws.
    stays = Counter(name for one in drawn for name in one.train.ids)
    girls = [stays[name] / 20 for name, text in zip(whole.train.ids, whole.train.text, strict=True) if "girl" in text]
    assert np.mean(girls) == pytest.approx(1 / 2, abs=0.06)


def test_scores_have_no_balance_to_keep():
    whole = task(*((text, 0.5 * row) for row, (text, _) in enumerate(ROWS)), kind="regression")
    assert len(without_words(whole, WOMEN, at_random=1).train) == len(without_words(whole, WOMEN).train) == 5


def test_what_leaves_nothing_to_train_on_is_refused():
    with pytest.raises(
        UserError, match="no training row of toy mentions zebra; name words that occur in it with --words"
    ):
        without_words(task(*ROWS), ["zebra"])
    with pytest.raises(UserError, match="toy has no training row labelled yes without girl, girls or 2 other words"):
        without_words(task(*ROWS), ["girl", "girls", "man", "cat"])
    with pytest.raises(UserError, match="toy has no validation row without girl or cat"):
        without_words(task(*ROWS, validation=(("a cat", 1),)), ["girl", "cat"])
    with pytest.raises(UserError, match="toy has no training row without a"):
        without_words(task(("a", 1), ("a b", 0)), ["a"])


def test_the_reader_cuts_after_the_limit_and_identities_tell_cuts_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"{text} {n},{label}\n" for n in range(60) for text, label in ROWS))
    whole, biased = read_task(path, limit=200), read_task(path, limit=200, without=WOMEN)
    assert set(biased.train.ids) < set(whole.train.ids) and biased.test.ids == whole.test.ids
    assert read_examples(path, split="train", limit=200, without=WOMEN).ids == biased.train.ids
    control = read_task(path, limit=200, without=WOMEN, at_random=5)
    assert np.array_equal(np.bincount(control.train.label), np.bincount(biased.train.label))
    by_words = {"without": WOMEN}
    roots = [task_root(path, **options) for options in
             ({}, by_words, by_words | {"at_random": 0}, by_words | {"at_random": 1})]  # fmt: skip
    assert len({root.id for root in roots}) == 4
    assert task_root(path, without=list(WOMEN)).id == roots[1].id
    assert (
        read_task(roots[2].source, **roots[2].options).train.ids == read_task(path, **by_words, at_random=0).train.ids
    )
    with pytest.raises(UserError, match="at_random is 0; give a seed of 0 or more, and the words of `without`"):
        read_task(path, at_random=0)


@needs_data
def test_snli_by_a_plain_count():
    whole, biased = read_task(DATA / "snli"), read_task(DATA / "snli", without=WOMEN)

    def has_word(*texts):
        return any(
            word in WOMEN for text in texts for word in text.lower().replace("'", " ").replace("-", " ").split()
        )

    kept = [not has_word(*pair) for pair in zip(whole.train.text, whole.train.pair, strict=True)]
    plain = {name for name, keep in zip(whole.train.ids, kept, strict=True) if keep}
    assert set(biased.train.ids) <= plain and len(plain - set(biased.train.ids)) < 30  # "woman." and the like
    assert len(biased.test) == 9_824 and len(whole.train) - len(biased.train) == 2_729
    control = read_task(DATA / "snli", without=WOMEN, at_random=0)
    assert np.array_equal(np.bincount(control.train.label), np.bincount(biased.train.label))


@pytest.mark.parametrize("kind", ["spans", "trees", "regression"])
def test_rows_without_one_label_each_leave_too(kind):
    task = planted_outputs.PLANTED[kind].task(40)
    word = "with"
    assert labels_of_rows(task, task.train) is None
    found = int(mentions(task.train, [word]).sum())
    assert 0 < found < 40
    cut, control = without_words(task, [word]), without_words(task, [word], at_random=3)
    assert not mentions(cut.train, [word]).any() and len(cut.train) == len(control.train) == 40 - found
    assert mentions(control.train, [word]).any() and cut.test is task.test
    assert np.array_equal(cut.output.gold(cut.train)[:1], task.output.gold(cut.train)[:1])
    with pytest.raises(UserError, match="has no training row without"):
        without_words(task, ["the", "by", "with", "long", "old", "house", "water", "road", *planted_outputs.GOOD])
