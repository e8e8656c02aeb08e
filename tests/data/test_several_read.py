"""Several labels a text, read: lists, a sign, a column for each; written and read again; what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.data.read import read_task, task_root
from bertscope.data.task import Task
from bertscope.data.write import write_examples
from shared_data import DATA, needs_data

SETS = (["joy"], ["joy", "love"], [], ["anger"])
LABELS = ("anger", "joy", "love")
ROWS = [{"text": f"text {row}", "label": SETS[row % 4]} for row in range(40)]


def pairs(task: Task) -> dict[str, list[str]]:
    """The labels of each text, whatever its split."""
    return {
        text: [task.labels[place] for place in np.flatnonzero(label)]
        for split in (task.train, task.validation, task.test)
        for text, label in zip(split.text, split.label, strict=True)
    }


def lines(path, rows) -> str:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return str(path)


def table(path, header: str, rows) -> str:
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def sources(folder):
    signs = [f"{row['text']},{' | '.join(row['label'])}" for row in ROWS]
    each = [f"{row['text']},{','.join(str(int(label in row['label'])) for label in LABELS)}" for row in ROWS]
    frame = pd.DataFrame(ROWS)
    frame.to_parquet(folder / "lists.parquet")
    return [
        (ROWS, {}),
        (frame, {}),
        (frame.assign(label=[np.array(one, dtype=object) for one in frame["label"]]), {}),
        (lines(folder / "lists.jsonl", ROWS), {}),
        (str(folder / "lists.parquet"), {}),
        (table(folder / "signs.csv", "text,label", signs), {"several": "|"}),
        (table(folder / "each.csv", "text,anger,joy,love", each), {"label": "anger, joy,love"}),
    ]


def test_lists_signs_and_columns_say_the_same(tmp_path):
    for source, options in sources(tmp_path):
        task = read_task(source, **options)
        assert (task.kind, task.labels, task.metric) == ("several", LABELS, "micro_f1"), source
        assert pairs(task) == {row["text"]: sorted(row["label"]) for row in ROWS}, source
        assert task.train.label.dtype == np.int64 and len(task.test) == 8


def test_what_is_written_is_read_again(tmp_path):
    task = read_task(ROWS)
    for name, options in (("a.jsonl", {}), ("a.csv", {"several": "|"}), ("a.tsv", {"several": "|"})):
        path = write_examples(task.train, tmp_path / name, task.labels)
        again = read_task(path, **options)
        mine = {text: sets for text, sets in pairs(task).items() if text in task.train.text}
        assert pairs(again) == mine


def test_a_hubs_lists_of_class_labels_have_their_names():
    datasets = pytest.importorskip("datasets")
    names = datasets.ClassLabel(names=["love", "joy", "anger"])
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.Sequence(names)})
    rows = [{**row, "label": [names.str2int(one) for one in row["label"]]} for row in ROWS]
    task = read_task(datasets.Dataset.from_list(rows, features=features))
    assert task.labels == ("love", "joy", "anger")
    assert {text: sorted(sets) for text, sets in pairs(task).items()} == pairs(read_task(ROWS))


def test_numbers_are_labels_too(tmp_path):
    rows = [f"text {row},{('2', '10,2', '0', '')[row % 4]}".replace(",", "\t", 1) for row in range(40)]
    task = read_task(table(tmp_path / "a.tsv", "text\tlabel", rows), several=",")
    assert task.labels == ("0", "2", "10") and not any("read as" in note for note in task.notes)


def test_the_options_are_part_of_the_identity(tmp_path):
    path = sources(tmp_path)[5][0]
    ids = {
        task_root(path, **options).id for options in ({}, {"several": "|"}, {"several": "|", "label_threshold": 0.5})
    }
    assert len(ids) == 3
    task = read_task(path, several="|", label_threshold=0.2)
    assert task.threshold == pytest.approx(np.log(0.25)) and task.is_decided
    held = {task_root(one).digest for one in (read_task(path, several="|"), task)}
    assert len(held) == 2


def test_rare_labels_are_in_train_and_a_limit_keeps_the_shares():
    rows = [{"text": f"text {row}", "label": ["all", *(["rare"] if row == 7 else [])]} for row in range(60)]
    rows += [{"text": f"more {row}", "label": []} for row in range(60)]
    for seed in range(5):
        task = read_task(rows, seed=seed)
        assert task.train.label[:, 1].sum() == 1
    assert read_task(rows, limit=10).test.label[:, 0].mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda rows: rows[3].update(label="joy"), {}, r"line 4: 'joy' instead of a list of labels; write \[\]"),
        (lambda rows: rows[3].update(label=[["joy"]]), {}, "line 4: .* can't be a label; write names"),
        (lambda rows: rows[3].update(label=[0.5]), {}, "line 4: '0.5' can't be a label"),
        (lambda rows: [row.update(label="joy") for row in rows], {"kind": "several"}, "has no lists of labels; say"),
        (
            lambda rows: [row.update(label="joy") for row in rows],
            {"several": "|"},
            "no row has '|' in column 'label'",
        ),
        (lambda rows: [row.update(label=["joy"]) for row in rows], {}, "says joy in every row"),
        (lambda rows: [row.update(label=[]) for row in rows], {"kind": "several"}, "says no label in every row"),
        (lambda rows: None, {"kind": "classification"}, "line 1: 'label' holds no single value"),
        (lambda rows: None, {"several": "a"}, "several is 'a'; give the sign"),
        (lambda rows: None, {"label_threshold": 1.0}, "label_threshold is 1; give a probability"),
        (lambda rows: None, {"metric": "accuracy"}, "metric accuracy isn't for several"),
    ],
)
def test_mistakes_are_refused_with_their_row(tmp_path, change, options, message):
    rows = [dict(row) for row in ROWS]
    change(rows)
    with pytest.raises(UserError, match=message):
        read_task(lines(tmp_path / "rows.jsonl", rows), **options)


def test_more_mistakes(tmp_path):
    path = table(tmp_path / "each.csv", "text,joy,love", [f"text {row},{row % 2},{row % 3}" for row in range(40)])
    with pytest.raises(UserError, match="line 4: column 'love' says '2'; write 1 or 0"):
        read_task(path, label="joy,love")
    left = read_task(path, label="joy,love", skip_bad=True)
    assert "13 rows left out (no list of labels: 13)" in left.notes
    with pytest.raises(UserError, match="each of joy,love is a label's own column; leave out --several"):
        read_task(path, label="joy,love", several="|")
    with pytest.raises(UserError, match="a threshold is for several labels a text, and demo/sentiment is"):
        read_task("demo/sentiment", label_threshold=0.5)
    with pytest.raises(UserError, match="demo/sentiment has its own columns; leave out --several"):
        read_task("demo/sentiment", several="|")


@pytest.mark.parametrize("one", [1, True])
def test_a_list_of_ones_and_zeros_isnt_one_of_labels(one):
    """Of three labels, without their names: they would be two labels, 0 and 1, that most texts have both of."""
    rows = [{"text": f"text {row}", "label": [one * (row % 2), 0 * one, one]} for row in range(40)]
    with pytest.raises(UserError, match="'label' says yes or no for each of 3 labels, and not what they are called"):
        read_task(rows)
    with pytest.raises(UserError, match="'label' says yes or no"):
        read_task(rows, skip_bad=True)
    ids = [{"text": f"text {row}", "label": [[0, 1], [1], [0]][row % 3]} for row in range(40)]
    assert read_task(ids).labels == ("0", "1")


def test_a_missing_cell_isnt_a_label(tmp_path):
    rows = [f"text {row},{('joy|love', 'NaN', 'joy')[row % 3]}" for row in range(40)]
    path = table(tmp_path / "signs.csv", "text,label", rows)
    with pytest.raises(
        UserError, match="line 3: 'NaN' stands for missing labels; leave it blank if the text has none"
    ):
        read_task(path, several="|")
    assert read_task(path, several="|", skip_bad=True).labels == ("joy", "love")


def test_a_label_that_no_training_row_has_is_refused(tmp_path):
    for name, rows in (("train", ROWS), ("test", [{"text": "odd", "label": ["new", "joy"]}, *ROWS[:8]])):
        lines(tmp_path / f"{name}.jsonl", rows)
    with pytest.raises(UserError, match=r"label 'new' \(test, line 1\) is to be scored, but no training row has it"):
        read_task(tmp_path)
    left = read_task(tmp_path, skip_bad=True)
    assert len(left.test) == 8


def test_a_test_file_without_labels_isnt_taken(tmp_path):
    for name, rows in (("train", ROWS), ("dev", ROWS), ("test", [{"text": "one"}])):
        lines(tmp_path / f"{name}.jsonl", rows)
    task = read_task(tmp_path)
    assert "test.jsonl has no labels: it isn't taken, and test is dev.jsonl" in task.notes and len(task.test) == 40


def write_emotions(folder, last: str = "27"):
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        rows = [f"text {row}\t{('27', '0,18', '3')[row % 3]}\tid{row}" for row in range(12)]
        (folder / f"{split}.tsv").write_text("\n".join([*rows, f"last\t{last}\tx"]) + "\n")
    return folder


def test_goemotions_is_known_by_its_folder_and_by_name(tmp_path):
    folder = write_emotions(tmp_path / "goemotions")
    for source, options in ((folder, {}), (folder, {"several": ","}), ("goemotions", {"root": tmp_path})):
        task = read_task(source, **options)
        assert task.name == "goemotions" and len(task.labels) == 28 and len(task.test) == 13
        assert [task.labels[at] for at in np.flatnonzero(task.test.label[1])] == ["admiration", "love"]
    with pytest.raises(UserError, match="goemotions has its own columns; leave out --several"):
        read_task(folder, several="|")
    with pytest.raises(UserError, match="line 13: label '28' is none of admiration, "):
        read_task(write_emotions(tmp_path / "other" / "goemotions", "28"))


@needs_data
def test_goemotions_itself():
    task = read_task(DATA / "goemotions")
    assert (len(task.train), len(task.validation), len(task.test)) == (43410, 5426, 5427)
    assert " ".join(task.labels).split() == (DATA / "goemotions" / "labels.txt").read_text().split()
    assert task.train.label.sum(1).mean() == pytest.approx(1.177, abs=0.001)
