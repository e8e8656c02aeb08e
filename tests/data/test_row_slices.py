"""Slices of rows, worked out by hand; and columns of the user's, from the file to the slice."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.outputs import output_of
from bertscope.data.read import read_task, task_root
from bertscope.data.row_slices import RowSlices, of_column, quarters, row_slices
from bertscope.data.write import write_examples


def _held(slices: RowSlices, kind: str) -> dict[str, list[int]]:
    kinds = dict(zip(slices.name, slices.kind, strict=True))
    return {name: rows.tolist() for name, rows in slices.rows() if kinds[name] == kind}


def _file(folder: Path, rows: int = 60) -> Path:
    frame = pd.DataFrame(
        {
            "text": [f"film {row} is {('bad', 'good')[row % 2]}" for row in range(rows)],
            "label": [("no", "yes")[row % 2] for row in range(rows)],
            "site": [("uk", "us", "")[row % 3] for row in range(rows)],
            "year": [1900 + row for row in range(rows)],
        }
    )
    frame.to_csv(folder / "films.csv", index=False)
    return folder / "films.csv"


def test_slices_by_hand() -> None:
    texts = ("The cat sat", "the CAT'S mat", "a dog", "one two three four five", "a cat’s", "dogs")
    examples = Examples(
        tuple("abcdef"), texts, label=np.array([0, 0, 1, 1, 1, 0]), columns={"site": ("uk", "", "uk", "us", "us", "")}
    )
    output = output_of("classification", "hand", ("no", "yes"), "accuracy")
    flags = {"unknown": np.array([1, 0, 1, 0, 0, 0], bool), "truncated": np.zeros(6, bool)}
    slices = row_slices(examples, output, flags=flags)
    assert _held(slices, "label") == {"no": [0, 1, 5]}  # of two labels the one says what the other does
    assert _held(slices, "unknown") == {"unknown pieces": [0, 2]}
    assert _held(slices, "truncated") == {}  # nothing is
    assert _held(slices, "column") == {"site: uk": [0, 2], "site: us": [3, 4], "site: (blank)": [1, 5]}
    assert _held(slices, "word") == {"“a”": [2, 4], "“cat's”": [1, 4], "“the”": [0, 1]}
    assert slices.member.shape == (len(slices), 6) and slices.member.sum() == 3 + 2 + 6 + 6 + sum(
        len(rows) for rows in _held(slices, "length").values()
    )
    assert "“a”" not in row_slices(examples, output, words=False).name
    assert slices.take([1, 0]).name == (slices.name[1], slices.name[0])


def test_words_of_too_few_and_too_many_rows() -> None:
    texts = tuple(f"all {'half' if row % 2 else 'other'} {'some' if row < 3 else ''} w{row}" for row in range(100))
    examples = Examples(tuple(map(str, range(100))), texts, label=np.arange(100) % 2)
    slices = row_slices(examples, output_of("classification", "hand", ("no", "yes"), "accuracy"))
    assert list(_held(slices, "word")) == ["“half”", "“other”", "“some”"]  # 2% to 50%


def test_quarters_keep_equal_values_together() -> None:
    found = dict(quarters(np.array([1.0, 1, 1, 1, 1, 2, 3, 4]), "words"))
    assert {name: rows.tolist() for name, rows in found.items()} == {
        "lowest quarter (1 words)": [0, 1, 2, 3, 4],
        "third quarter (2 words)": [5],
        "highest quarter (3 to 4 words)": [6, 7],
    }
    whole = np.concatenate(list(dict(quarters(np.random.default_rng(0).normal(size=101))).values()))
    assert sorted(whole.tolist()) == list(range(101))
    assert list(quarters(np.full(3, np.nan))) == []


def test_columns_of_many_numbers_are_cut_and_others_are_not() -> None:
    assert [name for name, _ in of_column([str(at) for at in range(40)] + [""])] == [
        "lowest quarter (0 to 9)", "second quarter (10 to 19)", "third quarter (20 to 29)",
        "highest quarter (30 to 39)", "(blank)",
    ]  # fmt: skip
    assert [name for name, _ in of_column(["3", "1", "3"])] == ["1", "3"]
    assert len(list(of_column([f"name {at}" for at in range(40)]))) == 40
    tracemalloc.start()
    assert len(list(of_column(["a long comment" * 20_000, *map(str, range(200))]))) == 201
    assert tracemalloc.get_traced_memory()[1] < 2**24  # 200 MB, were all as long
    tracemalloc.stop()


@pytest.mark.parametrize("kind", ["regression", "several", "tokens", "choices"])
def test_labels_of_other_kinds(kind: str) -> None:
    ids, text = tuple("abcd"), ("x y", "y z", "z", "x")
    given = {
        "regression": (Examples(ids, text, label=np.array([0.0, 1, 2, 3])), (), "pearson"),
        "several": (Examples(ids, text, label=np.array([[1, 0], [1, 1], [0, 1], [0, 0]])), ("p", "q"), "micro_f1"),
        "tokens": (
            Examples(
                ids, text, words=(("x", "y"), ("y", "z"), ("z",), ("x",)),
                marks={"tag": (("O", "B-PER"), ("B-PER", "I-PER"), ("O",), ("B-LOC",))},
            ), ("O", "B-PER", "I-PER", "B-LOC"), "entity_f1",
        ),
        "choices": (Examples(ids, text, label=np.array([0, 0, 1, 1]), choices=(("k", "l"),) * 4), (), "accuracy"),
    }[kind]  # fmt: skip
    examples, labels, metric = given
    found = _held(row_slices(examples, output_of(kind, "hand", labels, metric), words=False), "label")
    assert (
        found
        == {
            "regression": {},  # quarters of one row each
            "several": {"p": [0, 1], "q": [1, 2]},
            "tokens": {"PER": [0, 1]},
            "choices": {"candidate 1 is right": [0, 1]},
        }[kind]
    )


def test_columns_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    path = _file(tmp_path)
    plain, task = read_task(path), read_task(path, slice=("site", "year"))
    assert plain.test.columns == {} and task.fingerprint == plain.fingerprint
    assert plain.test.fingerprint != task.test.fingerprint
    assert task_root(path).options == {} and task_root(path).id != task_root(path, slice=("site",)).id
    for split in (task.train, task.validation, task.test):
        rows = [int(text.split()[1]) for text in split.text]
        assert split.columns["year"] == tuple(str(1900 + row) for row in rows)
        assert split.columns["site"] == tuple(("uk", "us", "")[row % 3] for row in rows)
    few = read_task(path, slice=("year",), limit=4).test
    assert few.columns["year"] == tuple(str(1900 + int(text.split()[1])) for text in few.text)
    held = read_task(pd.read_csv(path), slice=("year",)).test
    assert held.columns["year"] == tuple(str(1900 + int(text.split()[1])) for text in held.text)
    masked = read_task(path, kind="masked", slice=("site",)).test
    assert set(masked.columns["site"]) == {"uk", "us", ""}


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_columns_are_written_and_read_again(tmp_path: Path, ending: str) -> None:
    task = read_task(_file(tmp_path), slice=("site", "year"))
    written = write_examples(task.train, tmp_path / f"again.{ending}", task.labels)
    again = read_task(written, slice=("site", "year"))
    years = {
        id: year
        for split in (again.train, again.test)
        for id, year in zip(split.text, split.columns["year"], strict=True)
    }
    assert all(
        years.get(text, year) == year for text, year in zip(task.train.text, task.train.columns["year"], strict=True)
    )
    assert set(again.train.columns["site"]) == {"uk", "us", ""}


def test_columns_that_cant_be_read(tmp_path: Path) -> None:
    path = _file(tmp_path)
    with pytest.raises(UserError, match="no column 'sites', only text, label, site, year; did you mean 'site'"):
        read_task(path, slice=("sites",))
    with pytest.raises(UserError, match="demo/sentiment has no column 'site' beside its texts; leave out --slice"):
        read_task("demo/sentiment", slice=("site",))
    (tmp_path / "lists.jsonl").write_text(
        "".join(f'{{"text": "t {row}", "label": "{row % 2}", "site": [1]}}\n' for row in range(40))
    )
    with pytest.raises(UserError, match="'site' holds no single value; name another column with --slice"):
        read_task(tmp_path / "lists.jsonl", slice=("site",))
