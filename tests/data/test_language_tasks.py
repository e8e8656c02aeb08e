"""The demo tasks, all alike: their splits and balance, their annotation, their bytes, and a bag of words' chance."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT
from bertscope.data import demo
from bertscope.data.baselines import bag_of_words
from demo_rows import TRAINED, made, splits, texts
from pocket_facts import pieces


@pytest.mark.parametrize("name", demo.NAMES)
def test_no_row_twice_in_any_split(name):
    rows = [pair for split in splits(name) for pair in texts(split)]
    assert len(set(rows)) == len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", demo.NAMES)
def test_no_sentence_of_any_text_in_two_splits(name, seed):
    found = Counter()
    for split in splits(name, seed):
        every = " ".join(part for row in texts(split) for part in row if part)
        found.update(set(re.split(r"(?<=[.?]) ", every)))
    assert [sentence for sentence, count in found.items() if count > 1] == []


@pytest.mark.parametrize("name", TRAINED)
def test_labels_are_balanced_in_every_split(name):
    for split in splits(name):
        counts = np.unique(split.label, return_counts=True)[1]
        assert counts.max() - counts.min() <= 1
        assert len(counts) == (len(made(name).labels) or 6)


@pytest.mark.parametrize("name", demo.NAMES)
def test_words_are_those_of_the_texts_and_their_trees_are_whole(name):
    for split in splits(name):
        tagged = {"tag"} if name in ("demo/entities", "demo/pos") else set()
        assert set(split.marks) == {"pos", "relation", "entity", "gender"} | tagged and split.links is not None
        for row, (text, pair) in enumerate(texts(split)):
            words, heads = split.words[row], split.governors[row]
            n = split.first_words[row] if split.first_words else len(words)
            assert re.findall(r"\w+|[^\w\s]", text) == list(words[:n])
            assert re.findall(r"\w+|[^\w\s]", pair) == list(words[n:])
            assert 5 <= n <= 40 and (pair == "" or 5 <= len(words) - n <= 50)
            assert all(len(column[row]) == len(words) for column in split.marks.values())
            for at in range(len(words)):
                up, steps = at, 0
                while heads[up] != ROOT and steps <= len(words):
                    up, steps = heads[up], steps + 1
                assert heads[up] == ROOT and (up < n) == (at < n), "a head in the other text, or a cycle"
            assert sum(head == ROOT for head in heads[:n]) == sum(word in ".?" for word in words[:n])
            ends = sum(word == "." for word in words[n:])
            assert sum(head == ROOT for head in heads[n:]) == ends
            for link in split.links[row]:
                assert len({at < n for at in (*link.source, *link.target)}) == 1
                assert max(*link.source, *link.target) < len(words)


@pytest.mark.parametrize("name", demo.NAMES)
def test_words_are_pockets(name):
    known = pieces()
    words = Counter(word.lower() for split in splits(name) for row in split.words for word in row)
    assert sum(count for word, count in words.items() if word in known) / words.total() > 0.98


@pytest.mark.parametrize(
    ("name", "most"),
    [("demo/entailment", 0.42), ("demo/paraphrase", 0.56), ("demo/similarity", 0.18), ("demo/acceptability", 0.18)],
)
def test_a_bag_of_words_is_near_chance(name, most):
    task = made(name)
    assert task.score(bag_of_words(task)).value <= most


PRINT_DIGESTS = """
import hashlib
from bertscope.data import demo
for name in demo.NAMES:
    drawn = demo.examples(name, "test", seed=1)
    label = None if drawn.label is None else drawn.label.tolist()
    every = (drawn.text, drawn.pair, label, drawn.governors, drawn.links, drawn.answers, sorted(drawn.marks.items()))
    print(name, hashlib.sha256(repr(every).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_any_process():
    def digests(hash_seed: str) -> list[str]:
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(bertscope.__file__).parents[1])}
        command = [sys.executable, "-c", PRINT_DIGESTS]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split("\n")

    assert digests("1") == digests("2") and len(digests("1")) == len(demo.NAMES) + 1


@pytest.mark.parametrize("name", demo.NAMES)
def test_the_sentences_are_those_of_this_version(name):
    rows = [pair for split in splits(name) for pair in texts(split)]
    # If this changes, the sentences have changed: raise the recipe's version, so that stored results aren't mistaken.
    assert hashlib.sha256(repr(rows).encode()).hexdigest()[:16] == DIGESTS[demo.identity(name)]


DIGESTS = {
    "demo/sentiment-1": "bb4314ba0223d599",
    "demo/entailment-2": "da0a40faf6bdf315",
    "demo/paraphrase-2": "fda18979ffd73ab2",
    "demo/similarity-2": "43579f3deaee8430",
    "demo/acceptability-1": "5aca75d31704bc45",
    "demo/topics-1": "0aaa1ac652f74f4e",
    "demo/choice-1": "c47c3c8cea7ca9c3",
    "demo/qa-2": "1cf9870d0eb0280b",
    "demo/entities-1": "189b4a41dda21e05",
    "demo/pos-1": "07be295098dda604",
    "demo/corpus-1": "108a81323a2e3c80",
}


@pytest.mark.parametrize("name", demo.NAMES)
def test_seeds_differ(name):
    one, other = (set(texts(demo.examples(name, "validation", seed=seed))) for seed in (0, 1))
    assert len(one & other) < 0.2 * len(one)


def test_what_cannot_be_trained_on_says_so():
    with pytest.raises(
        UserError, match="demo/corpus has no labels: to train a parser on its trees, say --kind trees"
    ):
        demo.make("demo/corpus", 0)
    with pytest.raises(UserError, match="demo/qa has no split 'tests'; did you mean 'test'"):
        demo.examples("demo/qa", "tests")
    with pytest.raises(UserError, match="no demo task 'demo/entails'; did you mean 'demo/entailment'"):
        demo.examples("demo/entails", "train")


def test_the_documentation_names_every_task_and_its_sizes():
    page = (Path(__file__).parents[2] / "docs/language.md").read_text(encoding="utf-8")
    for name in demo.NAMES:
        [row] = [line for line in page.split("\n") if line.startswith(f"| `{name}` |") and ", " in line]
        assert ", ".join(str(len(split)) for split in splits(name)) in row
