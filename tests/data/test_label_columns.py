"""What a label column is taken for: classes, scores, several labels in one; and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from bertscope import read_task
from bertscope.core.errors import UserError
from bertscope.data.label_notes import several_mark, several_note


def made(folder: Path, values: list[str], column: str = "label") -> Path:
    path = folder / "rows.csv"
    quoted = "".join(f'text number {row},"{value}"\n' for row, value in enumerate(values))
    path.write_text(f"text,{column}\n{quoted}", encoding="utf-8")
    return path


def ids(n: int, rows: int, first: int = 0) -> list[str]:
    return [str(first + row % n) for row in range(rows)]


def said(task: object, words: str) -> list[str]:
    return [note for note in task.notes if words in note]  # type: ignore[attr-defined]


def test_topic_ids_are_classes_and_a_note_says_so(tmp_path: Path) -> None:
    """77 ids over 10,000 rows were once a regression, without a word."""
    task = read_task(made(tmp_path, ids(77, 10_000)))
    assert task.kind == "classification" and task.labels == tuple(map(str, range(77)))
    assert said(task, "0 to 76 are read as 77 classes; if they are scores: --kind regression")


@pytest.mark.parametrize(
    ("values", "column", "kind"),
    [
        (ids(5, 100, first=1), "rating", "classification"),  # stars, as ever
        (ids(20, 40), "label", "classification"),
        (ids(21, 210), "label", "classification"),  # ten rows each
        (ids(21, 209), "label", "regression"),  # not quite
        (ids(101, 2000), "score", "regression"),  # called a score
        (ids(101, 2000), "Similarity", "regression"),
        (ids(101, 2000), "label", "classification"),
        (ids(30, 600, first=-1), "label", "classification"),  # -1: no topic
        (ids(30, 600, first=-2), "label", "regression"),
        ([f"{value}.5" for value in ids(30, 600)], "label", "regression"),
        ([*ids(30, 600), "0.5"], "label", "regression"),
    ],
)
def test_the_edges_of_the_rule(tmp_path: Path, values: list[str], column: str, kind: str) -> None:
    assert read_task(made(tmp_path, values, column)).kind == kind


def test_whole_numbers_that_are_read_as_scores_are_told(tmp_path: Path) -> None:
    task = read_task(made(tmp_path, ids(50, 100)))
    assert task.kind == "regression"
    assert said(task, "50 different whole numbers are read as scores; if they are classes: --kind classification")
    assert not said(read_task(made(tmp_path, [f"{row}.5" for row in range(100)])), "read as scores")


@pytest.mark.parametrize("n", [5, 77])
def test_the_user_is_obeyed(tmp_path: Path, n: int) -> None:
    path = made(tmp_path, ids(n, 20 * n))
    for options, kind in (
        ({"kind": "regression"}, "regression"),
        ({"kind": "classification"}, "classification"),
        ({"metric": "pearson"}, "regression"),
        ({"metric": "macro_f1"}, "classification"),
    ):
        task = read_task(path, **options)
        assert task.kind == kind and not said(task, "read as")
    few = made(tmp_path, ids(50, 100))
    assert read_task(few, metric="accuracy", skip_bad=True).kind == "classification"
    with pytest.raises(UserError, match="metric accuracy isn't for regression"):
        read_task(made(tmp_path, [f"{row}.5" for row in range(100)]), metric="accuracy")


def test_whole_numbers_with_a_point_are_the_same_classes(tmp_path: Path) -> None:
    """pandas writes 0.0 and 1.0 where a label was missing once."""
    assert read_task(made(tmp_path, ["0.0", "1.0"] * 20)).labels == ("0", "1")
    assert read_task(made(tmp_path, ["0", "1", "1.0"] * 10)).labels == ("0", "1")
    assert read_task(made(tmp_path, ["0.0", "1.0"] * 20), kind="classification").labels == ("0", "1")
    assert read_task(made(tmp_path, ["0.0", "1.0"] * 20), kind="regression").labels == ()
    assert read_task(made(tmp_path, ["01", "1"] * 20)).labels == ("01", "1"), "codes are as they are written"
    assert read_task(made(tmp_path, ["1.0", "1.0.1"] * 20)).labels == ("1.0", "1.0.1")
    frame = pd.DataFrame({"text": [f"t {i}" for i in range(40)], "label": [0.0, 1.0] * 20})
    assert read_task(frame).labels == ("0", "1")


def test_with_a_point_in_one_file_and_without_in_another(tmp_path: Path) -> None:
    for split, values in (("train", ["0", "1"] * 10), ("dev", ["0.0", "1.0"]), ("test", ["0.0", "1.0"])):
        made(tmp_path, values).rename(tmp_path / f"{split}.csv")
    task = read_task(tmp_path)
    assert task.labels == ("0", "1") and (len(task.validation), len(task.test)) == (2, 2)


FEELINGS = ["joy|love", "joy", "love", "anger|joy", "anger"]


@pytest.mark.parametrize("mark", ["|", ";", ","])
def test_several_labels_in_one_get_a_note(tmp_path: Path, mark: str) -> None:
    """`joy|love` was once one more class, without a word."""
    task = read_task(made(tmp_path, [value.replace("|", mark) for value in FEELINGS] * 8))
    first = "joy|love".replace("|", mark)
    assert said(task, f"16 labels hold {mark!r} ({first!r}), and each is one of 5 classes") == said(task, "--several")
    assert said(task, f'several labels of a row: --several "{mark}"')


def test_names_with_commas_are_names(tmp_path: Path) -> None:
    for values in (["food, drink", "arts, crafts"], ["yes", "no, never"], ["a|b", "c"]):
        assert not said(read_task(made(tmp_path, values * 20)), "--several")
    assert several_mark(["joy|love", "love|joy", *["joy", "love"] * 200]) == "", "two rows of four hundred"


def test_very_many_combinations_are_told_from_a_wrong_column(tmp_path: Path) -> None:
    """GoEmotions gives ids with commas: most rows are numbers, so it was no score that was missed."""
    pairs = [f"{a},{b}" for a in range(8) for b in range(a)]
    with pytest.raises(
        UserError, match=r"36 different values .* too many for classes; if ',' stands between several"
    ):
        read_task(made(tmp_path, (pairs + [str(a) for a in range(8)] * 9) * 2))


def test_labels_that_differ_in_case_or_spaces_only(tmp_path: Path) -> None:
    task = read_task(made(tmp_path, ["Good", "good", "bad", "very bad", "very  bad"] * 8))
    assert len(task.labels) == 5
    [note] = said(task, "differ in case or spaces only, and are different classes; if they are one, write them alike")
    assert note.startswith("labels 'Good' and 'good' (and 1 more like them)")
    assert not said(read_task(made(tmp_path, ["Good", "bad"] * 20)), "differ in case")


def test_spaces_around_labels_are_left_out_and_told(tmp_path: Path) -> None:
    task = read_task(made(tmp_path, ["good", " good", "bad "] * 12))
    assert task.labels == ("bad", "good")
    assert said(task, "spaces around labels, such as ' good', are left out")
    assert not said(read_task(made(tmp_path, [" good", " bad"] * 20)), "spaces around"), "all are written alike"


def test_a_model_of_the_data_set_keeps_its_own_names() -> None:
    """What declares its classes isn't judged: the names of a ClassLabel may be numbers."""
    import datasets

    rows = {"text": [f"t {i}" for i in range(40)], "label": [0, 1] * 20}
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["1.0", "2.0"])}
    )
    assert read_task(datasets.Dataset.from_dict(rows, features=features)).labels == ("1.0", "2.0")


def test_lines_of_json_too(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps({"text": f"t {i}", "label": i % 30}) + "\n" for i in range(900)))
    assert read_task(path).kind == "classification"


def test_a_label_beside_one_that_holds_it_gets_the_note():
    values = ["joy|love", "joy", "anger"] * 9
    assert several_mark(values) == "|" and several_mark(["a|b", "c", "d"] * 9) == ""
    (note,) = several_note(values, 3)
    assert note.startswith("9 labels hold '|' ('joy|love')") and '--several "|"' in note
