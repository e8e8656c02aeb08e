"""Multiple choice: how it is scored, how it is read and written, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import NO_CANDIDATE, Examples
from bertscope.data.baselines import baselines
from bertscope.data.read import read_task, task_root
from bertscope.data.task import Task
from bertscope.data.write import write_examples

COUNTS = [2, 3, 4, 2, 3, 4]


def examples(counts=COUNTS, right=(0, 2, 1, 1, 0, 3)) -> Examples:
    choices = tuple(tuple(f"row {row} choice {at}" for at in range(k)) for row, k in enumerate(counts))
    ids = tuple(map(str, range(len(counts))))
    return Examples(ids, tuple(f"text {row}" for row in ids), label=np.array(right), choices=choices)


def task() -> Task:
    return Task("made", "choices", (), examples(), examples(), examples(), "accuracy")


def scores(seed: int = 0) -> np.ndarray:
    found = np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)
    for row, count in enumerate(COUNTS):
        found[row, count:] = NO_CANDIDATE
    return found


def test_scores_losses_and_divergence_are_those_of_plain_loops():
    made, one, other = task(), scores(1), scores(2)
    hits, losses, apart = [], [], []
    for row, (count, right) in enumerate(zip(COUNTS, made.test.label, strict=True)):
        p, q = (np.exp(each[row, :count].astype(float)) for each in (one, other))
        p, q = p / p.sum(), q / q.sum()
        hits.append(max(range(count), key=lambda at, p=p: p[at]) == right)
        losses.append(-np.log(p[right]))
        apart.append(sum(a * np.log(a / b) for a, b in zip(p, q, strict=True)))
    assert made.score(one).value == np.mean(hits) and made.score(one).secondary == {}
    np.testing.assert_allclose(made.losses(one), losses)
    np.testing.assert_allclose(made.divergence(one, other), apart)
    np.testing.assert_array_equal(made.flips(one, other), one.argmax(1) != other.argmax(1))
    np.testing.assert_array_equal(made.moments(np.stack([one, other]))[1], made.moments(other))


def test_chance_is_one_of_k_whatever_is_right():
    made = task()
    assert made.chance() == pytest.approx(np.mean([1 / count for count in COUNTS]))
    assert made.score(baselines(made)["chance"]).value == pytest.approx(made.chance())
    about = made.describe()["splits"]["test"]
    assert about["labels"] == {"candidates": 18, "candidates per text": 3.0}


def test_choices_are_part_of_what_examples_are():
    one = examples()
    other = examples(right=(0, 2, 1, 1, 0, 3))
    assert one.fingerprint == other.fingerprint and one.take([4, 1]).choices == (one.choices[4], one.choices[1])
    changed = Examples(one.ids, one.text, label=one.label, choices=(("a", "b"), *one.choices[1:]))
    assert changed.fingerprint != one.fingerprint
    tasks = [Task("made", "choices", (), each, each, each, "accuracy") for each in (one, changed)]
    assert tasks[0].fingerprint != tasks[1].fingerprint


ROWS = [
    {
        "text": f"text {row}",
        "choices": [f"{row} one", f"{row} two", *([f"{row} three"] * (row % 2))],
        "label": row % 2,
    }
    for row in range(30)
]


def found(task: Task) -> dict[str, tuple[tuple[str, ...], int]]:
    return {
        text: (choices, int(label))
        for split in (task.train, task.validation, task.test)
        for text, choices, label in zip(split.text, split.choices, split.label, strict=True)
    }


WANTED = {row["text"]: (tuple(row["choices"]), row["label"]) for row in ROWS}


def as_lines(path, rows) -> str:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return str(path)


def sources(folder):
    arc = [
        {"question": row["text"], "answerKey": "AB"[row["label"]],
         "choices": {"text": row["choices"], "label": list("ABC"[: len(row["choices"])])}}
        for row in ROWS
    ]  # fmt: skip
    swag = [
        {"startphrase": row["text"], "label": row["label"],
         **{f"ending{at}": row["choices"][at] if at < len(row["choices"]) else "" for at in range(3)}}
        for row in ROWS
    ]  # fmt: skip
    pd.DataFrame(swag).to_csv(folder / "swag.csv", index=False)
    pd.DataFrame(ROWS).to_parquet(folder / "lists.parquet")
    named = [{**row, "label": row["choices"][row["label"]]} for row in ROWS]
    other = pd.DataFrame(swag).rename(columns={"ending0": "x", "ending1": "y", "ending2": "z"})
    return [
        (ROWS, {}),
        (named, {}),
        (as_lines(folder / "lists.jsonl", ROWS), {}),
        (as_lines(folder / "arc.jsonl", arc), {}),
        (str(folder / "lists.parquet"), {}),
        (str(folder / "swag.csv"), {}),
        (pd.DataFrame(swag), {"kind": "choices"}),
        (other, {"choices": "x, y,z"}),
    ]


def test_lists_columns_letters_and_words_say_the_same(tmp_path):
    for source, options in sources(tmp_path):
        task = read_task(source, **options)
        assert (task.kind, task.labels, task.metric) == ("choices", (), "accuracy"), source
        assert found(task) == WANTED, source


def test_a_hubs_lists_are_choices():
    datasets = pytest.importorskip("datasets")
    assert found(read_task(datasets.Dataset.from_list(ROWS))) == WANTED


def test_what_is_written_is_read_again(tmp_path):
    task = read_task(ROWS)
    for name in ("a.jsonl", "a.csv", "a.tsv"):
        again = read_task(write_examples(task.train, tmp_path / name))
        assert found(again).items() <= WANTED.items() and len(found(again)) == len(task.train)
        assert again.kind == "choices"


def test_places_from_1_are_told_and_a_second_text_begins_each_candidate():
    rows = [{**row, "label": row["label"] + 1} for row in ROWS]
    assert "no label says 0, though candidates are counted from 0" in read_task(rows).notes
    task = read_task([{**rows[0], "label": 2}, *rows[1:]])
    assert found(task) == WANTED | {"text 0": (("0 one", "0 two"), 1)}
    assert "labels count candidates from 1: none says 0" in task.notes
    rows = [{**row, "sent2": "she"} for row in ROWS]
    begun = found(read_task(rows, text="text", text_pair="sent2"))
    assert begun["text 0"] == (("she 0 one", "she 0 two"), 0)


def test_the_option_is_part_of_the_identity(tmp_path):
    path = sources(tmp_path)[5][0]
    assert task_root(path).id != task_root(path, choices="ending0,ending1").id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"choices": ["only"]}, "line 4: 1 candidate; a choice needs two texts or more"),
        ({"choices": []}, "line 4: 0 candidates; a choice needs"),
        ({"choices": ["one", " "]}, "line 4: a blank one; a choice needs"),
        ({"choices": "text"}, "line 4: 0 candidates"),
        ({"label": 3}, "line 4: label '3' is none of 3 candidates; give 0 to 2, a letter"),
        ({"label": -1}, "line 4: label '-1' is none of 3 candidates"),
        ({"label": "E"}, "line 4: label 'E' is none of 3 candidates"),
        ({"label": "neither"}, "line 4: label 'neither' is none of 3"),
        ({"label": ""}, "line 4: column 'label' is blank"),
        ({"text": ""}, "line 4: column 'text' is blank"),
    ],
)
def test_mistakes_are_refused_with_their_row(tmp_path, change, message):
    rows = [*ROWS[:3], {**ROWS[3], **change}, *ROWS[4:]]
    path = as_lines(tmp_path / "rows.jsonl", rows)
    with pytest.raises(UserError, match=message):
        read_task(path)
    left = read_task(path, skip_bad=True)
    assert sum(map(len, (left.train, left.validation, left.test))) == 29


def test_more_mistakes(tmp_path):
    plain = [{"text": f"text {row}", "label": row % 2} for row in range(30)]
    with pytest.raises(UserError, match="no column has candidate texts to choose from; name the one with a list"):
        read_task(as_lines(tmp_path / "plain.jsonl", plain), kind="choices")
    with pytest.raises(UserError, match="has no column 'ends'"):
        read_task(as_lines(tmp_path / "rows.jsonl", ROWS), choices="ends")
    with pytest.raises(UserError, match="demo/sentiment has its own columns; leave out --choices"):
        read_task("demo/sentiment", choices="a")
    with pytest.raises(UserError, match="metric f1 isn't for choices"):
        read_task(ROWS, metric="f1")
    labels = Examples(("a",), ("text",), label=np.array([0]))
    with pytest.raises(UserError, match="no candidate texts to choose from, as made needs them"):
        Task("made", "choices", (), labels, labels, labels, "accuracy").chance()
