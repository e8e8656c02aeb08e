"""Masked words as a task: what is read as one, what is right, and the unigram model beside it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.data.corpus import read_data, read_examples
from bertscope.data.held import task_digest
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.data.read import read_task, task_root
from bertscope.data.task import Task

OUTPUT = MaskedWords("own", "accuracy")
LINES = [f"The {number} th house stands by the water." for number in range(40)]


def marked(*pieces: list[int]) -> Examples:
    most = max(map(len, pieces))
    label = np.array([row + [NOTHING] * (most - len(row)) for row in pieces])
    texts = tuple(f"text {row}" for row in range(len(pieces)))
    return Examples(texts, texts, label=label)


def test_accuracy_is_the_share_of_all_pieces_and_bits_are_their_mean():
    test = marked([5, 6, 7], [5])
    outputs = np.full((2, 3, 2), float(NOTHING))
    outputs[0] = [[5, 1.0], [9, 4.0], [7, 0.5]]
    outputs[1, 0] = [8, 6.5]
    gold = OUTPUT.gold(test)
    moments = OUTPUT.moments(OUTPUT.predictions(outputs), gold)
    assert moments.tolist() == [[2, 3], [0, 1]] and OUTPUT.value(moments.mean(0)) == 0.5
    assert OUTPUT.secondary(outputs, gold) == {"bits_per_piece": 3.0}
    np.testing.assert_allclose(OUTPUT.losses(outputs, gold), np.log(2) * np.array([5.5 / 3, 6.5]))
    other = outputs.copy()
    other[0, 1, 0], other[1, 0, 1] = 6, 1.0  # another guess; the same guess at another price
    assert OUTPUT.flips(outputs, np.stack([outputs, other])).tolist() == [[0, 0], [1, 0]]
    task = Task("own", "masked", (), marked([5, 5]), test, test, "accuracy")
    assert task.score(outputs).value == 0.5 and task.chance() == 0.5


def test_the_unigram_model_is_counted_by_hand():
    train, test = marked([5, 5, 6], [5]), marked([5, 7], [6])
    blind = OUTPUT.blind(train, test)
    assert blind[..., 0].tolist() == [[5, 5], [5, NOTHING]]
    # 4 pieces of 2 kinds, and 6 numbers up to 7 that were never met: (3 + 1) / 7, (1 + 1) / 7 and 1 / 7 together.
    np.testing.assert_allclose(blind[[0, 0, 1], [0, 1, 0], 1], -np.log2([4 / 7, 1 / 42, 2 / 7]))
    every = OUTPUT.blind(train, marked(list(range(8))))[0, :, 1]
    assert (2.0**-every).sum() == pytest.approx(1)  # probabilities, whatever was met
    bits = np.mean(-np.log2([4 / 7, 1 / 42, 2 / 7]))
    assert OUTPUT.notes_on(train, test) == (
        "15% of each text's words are masked, 3 pieces in 2 test texts; the unigram model takes "
        f"{bits:.2f} bits ({bits * np.log(2):.3f} nats) a piece",
    )
    unread = marked([5], [])
    assert OUTPUT.notes_on(train, unread)[1] == "1 test text has no masked word that the model reads"


def test_texts_alone_are_tasks_of_masked_words(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES))
    task = read_task(path)
    assert (task.kind, task.name, task.metric, task.needs_model) == ("masked", "lines", "accuracy", True)
    assert [len(part) for part in (task.train, task.validation, task.test)] == [29, 3, 8]
    assert sorted(task.train.text + task.validation.text + task.test.text) == sorted(LINES)
    assert [len(read_task(path, limit=2).train), len(read_task(LINES).train)] == [2, 29]
    assert isinstance(read_data(path), Examples) and read_examples(path).text == tuple(LINES), "to look at, as before"
    root = task_root(path)
    assert task_digest(read_task(root.given, **root.options)) == task_digest(task)
    assert read_examples(root.given, **root.options).text == task.test.text


def test_the_demo_corpus_guesses_words_or_learns_trees():
    task = read_task("demo/corpus", limit=20)
    assert task.kind == "masked" and task.test.words and task.describe()["chance"] is None
    assert task.describe()["splits"]["test"]["labels"]["masked words"] >= 20
    assert read_task("demo/corpus", limit=20, kind="trees").kind == "trees"
    assert isinstance(read_data("demo/corpus"), Examples), "to look at, it is what it was"
    other = read_task("demo/sentiment", limit=20, kind="masked")
    assert other.kind == "masked" and other.test.label is None and other.labels == ()
    assert other.fingerprint != read_task("demo/sentiment", limit=20).fingerprint


def test_a_table_is_one_only_where_that_is_said(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["text,other", *(f"{line},x" for line in LINES)]))
    with pytest.raises(UserError, match="no column looks like the label"):
        read_task(path)
    with pytest.raises(UserError, match="has no column 'othr', only text, other"):
        read_task(path, label="othr")
    task = read_task(path, kind="masked")
    assert task.kind == "masked" and len(task.test) == 8
    with pytest.raises(UserError, match="is read for masked words, which have no label; leave out --label"):
        read_task(path, kind="masked", label="other")
    rows = [{"text": line, "other": "x"} for line in LINES]
    with pytest.raises(UserError, match="no column looks like the label"):
        read_task(rows)
    assert len(read_task(rows, kind="masked").test) == 8


@pytest.mark.parametrize(("option", "message"), [
    ({"label": "x"}, "is texts alone; leave out --label"),
    ({"text": "x"}, "is no task with columns and labels; leave out --text"),
    ({"metric": "f1"}, "metric f1 isn't for masked"),
])  # fmt: skip
def test_what_texts_alone_do_not_have(tmp_path, option, message):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES))
    with pytest.raises(UserError, match=message):
        read_task(path, **option)


def test_a_text_without_a_word_is_refused_or_counted():
    texts = Examples(tuple(map(str, range(40))), (*LINES[:39], " "))
    with pytest.raises(UserError, match="39: there is no word to mask; remove it"):
        read_task(texts)
    task = read_task(texts, skip_bad=True)
    assert "1 row left out (text without a word: 1)" in task.notes
    assert len(task.train) + len(task.validation) + len(task.test) == 39


def test_what_is_right_is_asked_of_a_model():
    task = read_task(LINES)
    with pytest.raises(UserError, match=r"depends on a model's tokenizer; score what task.asked_of\(model\) gives"):
        task.chance()
    known = replace(task, **{split: marked([1]) for split in ("train", "validation", "test")})
    assert not known.needs_model and known.describe()["chance"] == 1.0
