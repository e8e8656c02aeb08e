"""Data in memory: what holds rows or texts is read like a file, and what is wrong with it is told as of a file."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.corpus import data_root, examples_root, read_data, read_examples
from bertscope.data.read import read_task, task_root
from bertscope.data.task import Task
from bertscope.data.write import write_examples

ROWS = [{"text": f"it was {('bad', 'good')[row % 2]} {row}", "label": row % 2} for row in range(40)]
FRAME = pd.DataFrame(ROWS)
PAIRS = [{"premise": f"a {row}", "hypothesis": f"b {row}", "label": float(row) / 7} for row in range(30)]


@pytest.fixture
def datasets():
    return pytest.importorskip("datasets")  # not on the bare GPU machine


def contents(task: Task) -> list:
    """The rows of each split, wherever they come from."""
    return [
        [split.text, split.pair, None if split.label is None else split.label.tolist()]
        for split in (task.train, task.validation, task.test)
    ]


def test_rows_in_memory_are_what_the_same_rows_in_a_file_are(tmp_path, datasets):
    for rows in (ROWS, PAIRS):
        frame = pd.DataFrame(rows)
        frame.to_csv(tmp_path / "rows.csv", index=False)
        file = read_task(tmp_path / "rows.csv")
        for given in (rows, tuple(rows), frame, datasets.Dataset.from_list(rows)):
            task = read_task(given)
            assert contents(task) == contents(file) and (task.kind, task.labels) == (file.kind, file.labels)
            assert task.notes == file.notes and task_root(given).digest == task_root(rows).digest
    assert read_task(FRAME).name == "DataFrame" and read_task(FRAME).test.ids[0].startswith("row:")
    assert contents(read_task(FRAME.set_index("label", drop=False))) == contents(read_task(FRAME)), "an index is none"


def test_options_are_those_of_a_file(tmp_path):
    odd = FRAME.rename(columns={"text": "words", "label": 3}).assign(text="no text")
    task = read_task(odd, text="words", label="3", limit=5, seed=1)
    odd.to_csv(tmp_path / "odd.csv", index=False)
    assert contents(task) == contents(read_task(tmp_path / "odd.csv", text="words", label="3", limit=5, seed=1))
    assert read_task(FRAME, kind="regression").kind == "regression"
    assert read_task(FRAME, metric="f1").metric == "f1"


def test_a_dataset_dict_keeps_its_splits(datasets):
    def part(first: int, last: int, **label: object):
        return datasets.Dataset.from_list([{**row, **label} for row in ROWS[first:last]])

    own = datasets.DatasetDict(train=part(0, 20), validation=part(20, 30), test=part(30, 40))
    task = read_task(own)
    assert [len(split) for split in (task.train, task.validation, task.test)] == [20, 10, 10]
    assert task.test.text == tuple(row["text"] for row in ROWS[30:]) and task.test.ids[0] == "test:1"
    assert "validation is validation, test is test" in task.notes
    two = read_task(datasets.DatasetDict(train=own["train"], test=own["test"]))
    assert two.test.text == task.test.text and len(two.train) + len(two.validation) == 20
    two = read_task(datasets.DatasetDict(train=own["train"], dev=own["validation"]))
    assert two.test.text == task.validation.text
    assert "no split test: test is the split validation, and train gives validation" in two.notes
    hidden = datasets.DatasetDict(own | {"test": part(30, 40, label=None)})
    assert read_task(hidden).test.text == task.validation.text
    assert "test has no labels: it isn't taken, and test is validation" in read_task(hidden).notes
    with pytest.raises(
        UserError, match=r"the DatasetDict has no split train \(it has: test\); give one of its splits"
    ):
        read_task(datasets.DatasetDict(test=own["test"]))


def test_class_labels_give_the_names_in_their_order(datasets):
    features = datasets.Features(
        text=datasets.Value("string"), label=datasets.ClassLabel(names=["pos", "neg", "mid"])
    )
    dataset = datasets.Dataset.from_list(ROWS, features=features)
    task = read_task(dataset)
    assert task.labels == ("pos", "neg", "mid") and task.kind == "classification"
    first = dict(zip(task.train.text, task.train.label.tolist(), strict=True))
    assert all(first[row["text"]] == row["label"] for row in ROWS if row["text"] in first)
    assert contents(read_task(dataset.with_format("torch"))) == contents(task), "a format for training is none for us"
    unlabelled = datasets.Dataset.from_list([*ROWS, {"text": "unknown", "label": -1}], features=features)
    with pytest.raises(UserError, match="the Dataset, row 41: column 'label' is blank"):
        read_task(unlabelled)
    assert "1 row left out (blank label: 1)" in read_task(unlabelled, skip_bad=True).notes


def test_missing_cells_are_blank_and_whole_numbers_stay_whole():
    gone = FRAME.assign(label=FRAME["label"].where(FRAME.index > 1))
    assert gone["label"].dtype == float
    with pytest.raises(UserError, match=r"the DataFrame, row 1: column 'label' is blank \(2 rows are\); remove such"):
        read_task(gone)
    assert read_task(gone, skip_bad=True).labels == ("0", "1")
    mixed = pd.DataFrame({"text": FRAME["text"], "label": [np.int64(row["label"]) for row in ROWS]}, dtype=object)
    assert contents(read_task(mixed)) == contents(read_task(FRAME))
    assert read_task(FRAME.astype({"label": "category"})).labels == ("0", "1")
    with pytest.raises(UserError, match=r"the DataFrame, row 3: column 'text' is blank \(1 row is\)"):
        read_task(FRAME.assign(text=FRAME["text"].where(FRAME.index != 2)))


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT])
def test_what_is_missing_in_dicts_is_blank(missing):
    gone = [{**row, "region": "north"} for row in ROWS]
    for column in ("text", "label", "region"):
        gone[3] = {**ROWS[3], "region": "north", column: missing}
        if column == "region":
            task = read_task(gone, slice=("region",))
            splits = (task.train, task.validation, task.test)
            assert {value for split in splits for value in split.columns["region"]} == {"", "north"}
        else:
            with pytest.raises(UserError, match=rf"the list, row 4: column '{column}' is blank \(1 row is\)"):
                read_task(gone)


def test_nan_in_lines_of_json_is_blank(tmp_path):
    lines = [json.dumps({**row, "text": float("nan")} if at == 3 else row) for at, row in enumerate(ROWS)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    with pytest.raises(UserError, match=r"rows\.jsonl, line 4: column 'text' is blank \(1 row is\)"):
        read_task(tmp_path / "rows.jsonl")


def test_texts(datasets):
    texts = [row["text"] for row in ROWS]
    for given in (texts, tuple(texts), FRAME["text"], datasets.Dataset.from_list(ROWS)["text"]):
        found = read_examples(given)
        assert found.text == tuple(texts) and found.ids[0] == "1" and found.label is None
        assert examples_root(given).digest == examples_root(texts).digest and read_data(given).text == found.text
    assert read_examples(texts, limit=3).text == read_examples(FRAME["text"], limit=3).text
    alone = read_examples(FRAME[["text"]])
    assert (
        alone.text == tuple(texts) and alone.notes[0] == "no column looks like the label: 40 rows are read as texts"
    )
    assert read_examples(pd.DataFrame({"phrase": texts, "n": 1}), text="phrase").text == tuple(texts)
    assert len(read_examples(FRAME)) == len(read_task(FRAME).test) == 8, "of a task, its test set"
    assert isinstance(read_data(FRAME), Task) and isinstance(read_data(FRAME[["text"]]), Examples)
    assert data_root(FRAME).kind == "task" and data_root(texts).kind == "examples"


def test_a_task_and_examples_are_what_they_are(texts, toy_task):
    assert read_task(toy_task) is toy_task and read_data(toy_task) is toy_task and read_examples(texts) is texts
    few = read_task(toy_task, limit=8)
    assert len(few.train) == len(few.test) == 8 and few.labels == toy_task.labels
    assert read_examples(toy_task).text == toy_task.test.text
    without = read_task(toy_task, without=("river",))
    assert not any("river" in text for text in without.train.text) and without.test.text == toy_task.test.text
    seen = read_task(replace(toy_task, test=toy_task.train), limit=9)
    assert seen.notes == ("9 of 9 test texts also occur in train",)
    assert read_task(seen, limit=4).notes == ("4 of 4 test texts also occur in train",), "said anew of fewer rows"
    for options, said in (({"text": "a"}, "toy is read already; leave out text"), ({"root": "."}, "leave out root")):
        with pytest.raises(UserError, match=said):
            read_task(toy_task, **options)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            3,
            "can't read int as data; give a name or a path, a list of texts or of dicts, a pandas DataFrame",
        ),
        (None, "can't read NoneType as data"),
        ({"text": ["a"]}, "can't read dict as data"),
        (np.zeros(3), "can't read ndarray as data"),
        ([], "the list is empty; give some texts"),
        (["a", "b"], "list has 2 rows; at least 10 are needed to split it"),
        (FRAME[:0], "the DataFrame has no rows; add some"),
        (FRAME[["label"]], "the DataFrame: no column looks like the text; name it with --text"),
        (FRAME[["text"]], "the DataFrame: no column looks like the label; name it with --label"),
        (FRAME[:5], "the DataFrame has 5 rows; at least 10 are needed to split it"),
        (FRAME.assign(label=1), "the DataFrame: column 'label' says '1' in every row"),
        (FRAME.assign(text=[["a"]] * 40), "the DataFrame, row 1: 'text' holds no single value"),
        (pd.concat([FRAME, FRAME["text"]], axis=1), "the DataFrame: two columns are named 'text'; rename one"),
        ([*ROWS, {"text": "a"}], "the list, row 41: no 'label', which row 1 has; add it"),
        ([*ROWS, "a"], "the list, row 41: str instead of a dict; give a dict for each row"),
    ],
)
def test_what_is_no_task_is_refused(given, said):
    with pytest.raises(UserError) as caught:
        read_task(given)
    assert str(caught.value).startswith(said)


def test_what_is_no_text_is_refused(datasets):
    for given, said in (
        ([], "the list is empty; give some texts"),
        (["a", 3], "the list, row 2: int instead of a text; give texts alone"),
        (["a", None], "the list, row 2: nothing instead of a text"),
        (FRAME["label"], "the Series, row 1: int instead of a text"),
        (pd.Series(["a", None]), "the Series, row 2: nothing instead of a text"),
        (3, "can't read int as data"),
        (
            datasets.Dataset.from_list(ROWS).to_iterable_dataset(),
            r"can't read IterableDataset as data \(it is read as",
        ),
    ):
        with pytest.raises(UserError, match=said):
            read_examples(given)
    with pytest.raises(UserError, match="texts has no splits; leave out split='train'"):
        read_examples(Examples(("1",), ("a",)), split="train")
    with pytest.raises(UserError, match="trees are read from files"):
        read_task(FRAME, kind="trees")


def test_a_data_set_of_the_hub_by_its_id(datasets, monkeypatch):
    asked = []

    def load(id, config, split=None):
        asked.append((id, config))
        return datasets.DatasetDict(train=datasets.Dataset.from_list(ROWS))

    monkeypatch.setattr("datasets.load_dataset", load)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: type("Info", (), {"sha": "abc"}))
    task = read_task("hub:owner/reviews:english", limit=5)
    assert task.name == "owner/reviews/english" and len(task.train) == 5 and asked == [("owner/reviews", "english")]
    assert contents(read_task("hub:reviews")) == contents(read_task(FRAME)) and asked[-1] == ("reviews", None)
    root = task_root("hub:owner/reviews:english", limit=5)
    assert root.source == "hub:owner/reviews:english" and root.options == {"limit": 5} and root.held is None
    assert root.digest != task_root("hub:owner/reviews:german").digest
    with pytest.raises(UserError, match="hub: names no data set; write hub:owner/name, or hub:owner/name:config"):
        read_task("hub:")
    monkeypatch.setattr("datasets.load_dataset", lambda *_, **__: [][1])
    with pytest.raises(
        UserError, match=r"hub:a/b can't be had from the hub \(IndexError: .*\): is there a network, and"
    ):
        read_task("hub:a/b")


def test_what_annotation_holds_is_part_of_an_identity(tmp_path):
    corpus = read_examples("demo/corpus", limit=6)
    write_examples(corpus, tmp_path / "corpus.jsonl")
    assert corpus.fingerprint == read_examples("demo/corpus", limit=6).fingerprint
    turned = replace(corpus, governors=tuple(row[::-1] for row in corpus.governors))
    unlinked = replace(corpus, links=tuple(() for _ in corpus.ids))
    assert len({one.fingerprint for one in (corpus, turned, unlinked, corpus.take([0, 1]))}) == 4
    assert replace(corpus, name="other", notes=("a note",)).fingerprint == corpus.fingerprint
