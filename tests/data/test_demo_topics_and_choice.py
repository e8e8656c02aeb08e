"""`demo/topics` and `demo/choice`: the labels are what the sentences say, and pocket learns them, not to the end."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bertscope.data.baselines import baselines
from bertscope.data.language.topics import TOPICS
from bertscope.data.read import read_task
from bertscope.training.finetune.question import FinetuneConfig, finetune

VERBS = {
    "food": {"ate", "drank", "offered"},
    "reading": {"read", "wrote"},
    "trade": {"bought", "sold"},
    "travel": {"walked", "ran", "travelled"},
}


def test_what_happened_is_what_the_verbs_say_that_arent_denied():
    task = read_task("demo/topics")
    assert task.labels == tuple(TOPICS) == tuple(VERBS) and task.kind == "several"
    for split in (task.train, task.validation, task.test):
        for text, label in zip(split.text, split.label, strict=True):
            affirmed = [set(one.split()) for one in re.split(r"[.] ?", text) if "never" not in one]
            said = [any(verbs & words for words in affirmed) for verbs in VERBS.values()]
            assert said == label.astype(bool).tolist(), text
    assert 0.2 < (task.test.label.sum(1) == 0).mean() < 0.5
    words = task.score(baselines(task)["bag_of_words"]).value
    assert task.chance() < 0.45 < words < 0.85


def test_candidates_are_three_different_sentences_and_the_right_one_stands_anywhere():
    task = read_task("demo/choice")
    assert task.chance() == pytest.approx(1 / 3) and task.kind == "choices"
    for split in (task.train, task.validation, task.test):
        assert all(len({text, *choices}) == 4 for text, choices in zip(split.text, split.choices, strict=True))
        assert np.bincount(split.label, minlength=3).min() > 0.25 * len(split)
    again = read_task("demo/choice", seed=1)
    assert again.train.text != task.train.text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo/topics", "demo/choice"])
def test_pocket_learns_it_and_still_errs(pocket, name):
    found = finetune(pocket, read_task(name), FinetuneConfig(recipe="pocket")).result
    scores = {number.key: number.value for number in found.headline}
    assert scores["chance"] + 0.2 < scores["after"] < 0.99
