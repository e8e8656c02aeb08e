"""Columns about rows (split, row number, id), and further forms of files: packed ones, arrays of objects."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import pandas as pd
import pytest

from bertscope import read_examples, read_task
from bertscope.core.errors import UserError
from bertscope.data.read import task_root

SPLITS = ["train"] * 24 + ["dev"] * 6 + ["test"] * 10


def table(**columns: list[object]) -> pd.DataFrame:
    n = len(next(iter(columns.values()), SPLITS))
    texts = {"text": [f"text number {row}" for row in range(n)], "label": ["good", "bad"] * (n // 2)}
    return pd.DataFrame(texts | columns)


def saved(folder: Path, frame: pd.DataFrame, name: str = "rows.csv") -> Path:
    frame.to_csv(folder / name, index=False)
    return folder / name


def sizes(task: object) -> tuple[int, ...]:
    return tuple(len(getattr(task, split)) for split in ("train", "validation", "test"))


def test_a_split_column_says_which_rows_are_which(tmp_path: Path) -> None:
    frame = table(split=SPLITS)
    for source in (saved(tmp_path, frame), frame, frame.to_dict("records")):
        task = read_task(source)
        assert sizes(task) == (24, 6, 10)
        assert "column 'split' says which rows are which: train 24, validation 6, test 10" in task.notes
    assert read_task(saved(tmp_path, frame)).test.ids[0] == "rows:32", "the line in the file"
    assert task.test.text[0] == "text number 30"


@pytest.mark.parametrize(
    ("values", "wanted", "said"),
    [
        (["Train"] * 30 + ["TEST "] * 10, (27, 3, 10), "says which rows are which: train 30, test 10"),
        (["training"] * 30 + ["val"] * 10, (27, 3, 10), "says which rows are which: train 30, validation 10"),
        (["train"] * 40, (29, 3, 8), "isn't taken for the splits: it has only train 40"),
        (["dev"] * 20 + ["test"] * 20, (29, 3, 8), "isn't taken for the splits: it has only validation 20, test 20"),
        (["train"] * 39 + ["fold 3"], (29, 3, 8), "isn't taken for the splits: it has 'fold 3'"),
    ],
)
def test_what_a_split_column_may_say(
    tmp_path: Path, values: list[object], wanted: tuple[int, ...], said: str
) -> None:
    task = read_task(saved(tmp_path, table(split=values)))
    assert sizes(task) == wanted
    assert [note for note in task.notes if "'split'" in note] == [f"column 'split' {said}"]


def test_a_split_column_is_for_every_kind_of_task(tmp_path: Path) -> None:
    frame = table(split=SPLITS, name=[f"row {row}" for row in range(40)])
    about = frame[["name", "split"]].to_dict("records")
    rows = {
        "masked": frame.drop(columns="label").to_dict("records"),
        "tokens": [one | {"tokens": ["Anna", "left"], "ner_tags": ["B-PER", "O"]} for one in about],
        "choices": [one | {"text": "why?", "choices": ["a", "b"], "label": row % 2} for row, one in enumerate(about)],
    }
    for kind, held in rows.items():
        path = tmp_path / f"{kind}.jsonl"
        path.write_text("\n".join(map(json.dumps, held)))
        for source in (held, path):
            task = read_task(source, kind=kind, id="name")
            assert sizes(task) == (24, 6, 10), kind
            assert (task.train.ids[0], task.test.ids[0]) == ("row 0", "row 30"), kind
            assert "column 'split' says which rows are which: train 24, validation 6, test 10" in task.notes
            if kind != "choices":
                with pytest.raises(UserError, match="has its own columns; leave out --several"):
                    read_task(source, kind=kind, several="|")


def test_files_of_a_folder_and_the_users_columns_come_first(tmp_path: Path) -> None:
    for name in ("train.csv", "dev.csv", "test.csv"):
        saved(tmp_path, table(split=SPLITS), name)
    assert sizes(read_task(tmp_path)) == (40, 40, 40)
    task = read_task(tmp_path / "dev.csv", label="split")
    assert task.labels == ("dev", "test", "train") and not [note for note in task.notes if "which rows" in note]


def test_a_column_that_repeats_the_row_number_is_no_label(tmp_path: Path) -> None:
    for first in (0, 1):
        numbered = table(target=list(range(first, first + 40)))
        both = read_task(saved(tmp_path, numbered.rename(columns={"label": "sentiment", "target": "label"})))
        assert both.labels == ("bad", "good")
        assert "column 'label' repeats the row number, and isn't taken for the label" in both.notes
    alone = saved(tmp_path, numbered.drop(columns="label"))
    with pytest.raises(UserError, match=r"no column looks like the label; .*'target' repeats the row number"):
        read_task(alone)
    named = read_task(alone, label="target")
    assert "column 'target' repeats the row number; is it the label?" in named.notes
    shuffled = table(target=[*range(1, 40), 0]).drop(columns="label")
    assert read_task(saved(tmp_path, shuffled)).kind == "regression"
    texts = table(body=[f"a review {row}" for row in range(40)]).assign(text=range(40))
    assert read_task(saved(tmp_path, texts)).train.text[0].startswith("a review")


def test_ids_from_a_column(tmp_path: Path) -> None:
    names = [f"case-{row}" for row in range(40)]
    path = saved(tmp_path, table(case=names))
    task = read_task(path, id="case")
    assert sorted((*task.train.ids, *task.validation.ids, *task.test.ids)) == sorted(names)
    assert all(id.removeprefix("case-") == text.split()[-1] for id, text in zip(*_ids(task), strict=True))
    assert task_root(path, id="case").options["id"] == "case"
    assert read_examples(table(case=names).drop(columns="label"), id="case").ids[3] == "case-3"


def _ids(task: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return task.test.ids, task.test.text  # type: ignore[attr-defined]


def test_ids_that_arent_ids_are_refused(tmp_path: Path) -> None:
    twice = saved(tmp_path, table(case=[f"case-{row % 39}" for row in range(40)]))
    with pytest.raises(UserError, match=r"rows\.csv, line 41: id 'case-0', but line 2 has it too"):
        read_task(twice, id="case")
    assert "1 row left out (repeated id: 1)" in read_task(twice, id="case", skip_bad=True).notes
    blank = saved(tmp_path, table(case=["", *[f"case-{row}" for row in range(39)]]))
    with pytest.raises(UserError, match=r"line 2: column 'case' is blank .* name another column with --id"):
        read_task(blank, id="case")
    for options, said in (
        ({"id": "cases"}, "no column 'cases'.*did you mean 'case'"),
        ({"id": "text", "text": "text"}, "text and id are both 'text'"),
    ):
        with pytest.raises(UserError, match=said):
            read_task(twice, **options)
    with pytest.raises(UserError, match="leave out --id"):
        read_task("demo/sentiment", id="case")


@pytest.mark.parametrize("packing", ["gz", "xz"])
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "json"])
def test_packed_files_are_as_they_were(tmp_path: Path, form: str, packing: str) -> None:
    frame = table()
    content = {
        "csv": frame.to_csv(index=False), "tsv": frame.to_csv(index=False, sep="\t"),
        "jsonl": frame.to_json(orient="records", lines=True), "json": frame.to_json(orient="records", indent=1),
    }[form]  # fmt: skip
    plain, packed = tmp_path / f"rows.{form}", tmp_path / f"rows.{form}.{packing}"
    plain.write_text(content)
    packed.write_bytes((gzip if packing == "gz" else lzma).compress(content.encode()))
    one, other = read_task(plain), read_task(packed)
    assert one.fingerprint == other.fingerprint and one.test.ids == other.test.ids and one.name == other.name
    folder = tmp_path / "folder"
    folder.mkdir()
    for split in ("train", "dev"):
        (folder / f"{split}.{form}.{packing}").write_bytes(packed.read_bytes())
    assert sizes(read_task(folder)) == (36, 4, 40)
    packed.write_bytes(packed.read_bytes()[:60])
    with pytest.raises(UserError, match="the packed data is damaged"):
        read_task(packed)


def test_what_unpacks_to_far_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bertscope.core import limits

    monkeypatch.setattr(limits, "UNPACKED_FREELY", 10_000)
    monkeypatch.setattr(limits, "MOST_TIMES_UNPACKED", 10)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"text,label\n" + b"a,b\n" * 100_000))
    with pytest.raises(UserError, match="unpacks to over"):
        read_task(tmp_path / "t.csv.gz")


def test_an_array_of_objects_and_lines_in_a_json_file(tmp_path: Path) -> None:
    frame = table()
    array, lines = tmp_path / "array.json", tmp_path / "lines.json"
    array.write_text(frame.to_json(orient="records"))
    lines.write_text(frame.to_json(orient="records", lines=True))
    one, other = read_task(array), read_task(lines)
    assert one.fingerprint == other.fingerprint
    assert one.test.ids[0].startswith("array:")
    folder = tmp_path / "folder"
    folder.mkdir()
    for split in ("train", "test"):
        (folder / f"{split}.json").write_text(array.read_text())
    assert sizes(read_task(folder)) == (36, 4, 40)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "is empty; each row should hold a JSON object"),
        ('[{"text": "a", "label": "b"}', "line 1: not JSON"),
        ('[{"text": "a", "label": "b"}, 3]', "row 2: not a JSON object"),
        ('[{"text": "a", "label": "b"}, {"text": "c"}]', "row 2: no 'label', which row 1 has"),
        ('[\n{"text": "a",\n "label": }]', "line 3: not JSON"),
    ],
)
def test_what_is_wrong_with_an_array(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "t.json").write_text(content)
    with pytest.raises(UserError, match=said):
        read_task(tmp_path / "t.json")


def test_squad_is_still_squad(tmp_path: Path) -> None:
    answer = {"text": "Anna", "answer_start": 0}
    paragraphs = [
        {"context": f"Anna left town {n}.", "qas": [{"id": str(n), "question": "Who?", "answers": [answer]}]}
        for n in range(12)
    ]
    (tmp_path / "q.json").write_text(
        json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]})
    )
    assert read_task(tmp_path / "q.json").kind == "spans"
