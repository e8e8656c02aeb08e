"""Training data without the rows that mention some words, or without as many at random."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.subsets import cut
from bertscope.data.read import read_split, read_task, task_root
from bertscope.data.task import Task
from shared_data import DATA, needs_data

WOMEN = ("women", "woman", "girl", "girls", "mother", "wife", "female")


def task(*fit: tuple[str, int], select=(("a cat", 0), ("a dog", 1)), kind="classification") -> Task:
    def split(name, rows):
        texts, labels = zip(*rows, strict=True)
        return Examples(tuple(f"{name}:{row}" for row in range(len(rows))), texts, label=np.array(labels))

    labels = ("no", "yes") if kind == "classification" else ()
    metric = "accuracy" if labels else "pearson"
    return Task("toy", kind, labels, split("fit", fit), split("select", select), split("report", fit), metric)


ROWS = (("A Woman ran", 0), ("a man ran", 1), ("the girl", 1), ("womanly", 0), ("the girls' hat", 1), ("dogs", 0),
        ("a cat", 1), ("rain", 0))  # fmt: skip


def test_rows_with_a_word_leave_fit_and_select_and_no_other_does():
    whole = task(*ROWS, select=(("a wife", 0), ("a dog", 1)))
    left = cut(whole, WOMEN)
    assert left.fit.text == ("a man ran", "womanly", "dogs", "a cat", "rain") and left.select.text == ("a dog",)
    assert left.fit.label.tolist() == [1, 0, 0, 1, 0]
    assert left.report is whole.report and left.name == "toy without women, woman or 5 other words"
    assert left.notes == (
        "3 of 8 fit rows and 1 of 2 select rows mention women, woman or 5 other words and are left out",
    )


def test_a_random_cut_has_the_same_size_and_labels():
    whole = task(*ROWS * 20, select=ROWS * 3)
    biased = cut(whole, WOMEN)
    drawn = [cut(whole, WOMEN, at_random=seed) for seed in range(20)]
    for one in drawn:
        for split in ("fit", "select"):
            assert np.array_equal(np.bincount(getattr(one, split).label), np.bincount(getattr(biased, split).label))
        assert set(one.fit.ids) < set(whole.fit.ids) and len(set(one.fit.ids)) == len(one.fit)
        assert one.report is whole.report
    assert cut(whole, WOMEN, at_random=3).fit.ids == drawn[3].fit.ids
    assert len({one.fit.ids for one in drawn}) == 20
    # It is drawn from all rows, those with the words included: 2 of the 4 rows with label 1 leave, so each stays in
    # about half of the draws.
    stays = Counter(name for one in drawn for name in one.fit.ids)
    girls = [stays[name] / 20 for name, text in zip(whole.fit.ids, whole.fit.text, strict=True) if "girl" in text]
    assert np.mean(girls) == pytest.approx(1 / 2, abs=0.06)


def test_scores_have_no_balance_to_keep():
    whole = task(*((text, 0.5 * row) for row, (text, _) in enumerate(ROWS)), kind="regression")
    assert len(cut(whole, WOMEN, at_random=1).fit) == len(cut(whole, WOMEN).fit) == 5


def test_what_leaves_nothing_to_train_on_is_refused():
    with pytest.raises(UserError, match="no fit row of toy mentions zebra; name words that occur in it with --words"):
        cut(task(*ROWS), ["zebra"])
    with pytest.raises(UserError, match="toy has no fit row labelled yes without girl, girls or 2 other words"):
        cut(task(*ROWS), ["girl", "girls", "man", "cat"])
    with pytest.raises(UserError, match="toy has no select row without girl or cat"):
        cut(task(*ROWS, select=(("a cat", 1),)), ["girl", "cat"])
    with pytest.raises(UserError, match="toy has no fit row without a"):
        cut(task(("a", 1), ("a b", 0)), ["a"])


def test_the_reader_cuts_after_the_limit_and_identities_tell_cuts_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "".join(f"{text} {n},{label}\n" for n in range(60) for text, label in ROWS))
    whole, biased = read_task(path, limit=200), read_task(path, limit=200, without=WOMEN)
    assert set(biased.fit.ids) < set(whole.fit.ids) and biased.report.ids == whole.report.ids
    assert read_split(path, split="fit", limit=200, without=WOMEN).ids == biased.fit.ids
    control = read_task(path, limit=200, without=WOMEN, at_random=5)
    assert np.array_equal(np.bincount(control.fit.label), np.bincount(biased.fit.label))
    by_words = {"without": WOMEN}
    roots = [task_root(path, **options) for options in
             ({}, by_words, by_words | {"at_random": 0}, by_words | {"at_random": 1})]  # fmt: skip
    assert len({root.id for root in roots}) == 4
    assert task_root(path, without=list(WOMEN)).id == roots[1].id
    assert read_task(roots[2].source, **roots[2].options).fit.ids == read_task(path, **by_words, at_random=0).fit.ids
    with pytest.raises(UserError, match="at_random is 0; give a seed of 0 or more, and the words of `without`"):
        read_task(path, at_random=0)


@needs_data
def test_snli_by_a_plain_count():
    whole, biased = read_task(DATA / "snli"), read_task(DATA / "snli", without=WOMEN)

    def has_word(*texts):
        return any(
            word in WOMEN for text in texts for word in text.lower().replace("'", " ").replace("-", " ").split()
        )

    kept = [not has_word(*pair) for pair in zip(whole.fit.text, whole.fit.pair, strict=True)]
    plain = {name for name, keep in zip(whole.fit.ids, kept, strict=True) if keep}
    assert set(biased.fit.ids) <= plain and len(plain - set(biased.fit.ids)) < 30  # "woman." and the like
    assert len(biased.report) == 9_824 and len(whole.fit) - len(biased.fit) == 2_729
    control = read_task(DATA / "snli", without=WOMEN, at_random=0)
    assert np.array_equal(np.bincount(control.fit.label), np.bincount(biased.fit.label))
