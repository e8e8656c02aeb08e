"""Every mistake in the data is refused in one line that says what, where, and what to do."""

from __future__ import annotations

import pytest

from bertscope.core.errors import UserError
from bertscope.data.read import read_task, task_root

ROWS = "".join(f"some text {i},{i % 2}\n" for i in range(30))
GOOD = "text,label\n" + ROWS
SCORES = "text,score\n" + "".join(f"some text {i},{i / 7:.3f}\n" for i in range(30))


@pytest.fixture
def refused(tmp_path):
    """The message that reading this content, under this name and with these options, is refused with."""

    def ask(content, name="r.csv", **options):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return message(tmp_path / name.split("/")[0], **options)

    return ask


def message(path, **options):
    with pytest.raises(UserError) as caught:
        read_task(path, **options)
    said = str(caught.value)
    assert len(said.splitlines()) == 1 and said.count("--skip-bad") <= 1
    return said


def test_missing_file(tmp_path):
    for ask in (read_task, task_root):
        with pytest.raises(UserError, match=r"no file or folder .*gone\.csv; give a \.csv or \.tsv file"):
            ask(tmp_path / "gone.csv")


def test_folder_without_train(refused, tmp_path):
    assert "toy has no train file (.csv or .tsv)" in refused(GOOD, "toy/dev.csv")
    with pytest.raises(UserError, match="has no train file"):
        task_root(tmp_path / "toy")


def test_folder_without_report(refused):
    assert "toy has no dev, validation, test-labeled, test or the like" in refused(GOOD, "toy/train.csv")


def test_folder_with_two_train_files(refused, tmp_path):
    refused(GOOD, "toy/train.csv")
    assert "has both train.csv and train.tsv; remove one" in refused(GOOD, "toy/train.tsv")


def test_folder_with_two_validation_files(refused, tmp_path):
    for name in ("train.csv", "dev.csv"):
        (tmp_path / "toy").mkdir(exist_ok=True)
        (tmp_path / "toy" / name).write_text(GOOD)
    assert "has both dev.csv and validation.csv; remove one" in refused(GOOD, "toy/validation.csv")


def test_unknown_extension(refused):
    assert "give a .csv or .tsv file" in refused(GOOD, "r.xml")
    assert "is not SQuAD's JSON" in (said := refused(GOOD, "r.json")) and "give rows as .jsonl, .csv" in said


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["r.csv", "r.tsv"])
def test_empty_file(refused, content, name):
    assert f"{name} is empty; its first line should name the columns" in refused(content, name)


def test_header_only(refused):
    assert "r.csv has a header (text, label) but no rows" in refused("text,label\n")


def test_missing_column(refused):
    assert refused(GOOD, label="lable").endswith("has no column 'lable', only text, label; did you mean 'label'?")
    assert refused(GOOD, text="xyz").endswith("has no column 'xyz', only text, label; name one with --text")
    said = "r.csv: no column looks like the label; name it with --label, or call it label there; texts alone can be "
    said += "read with --kind masked"
    assert said in refused("text,foo\na,1\n")  # the second is the only way for erase's --task and contrast's --sts
    assert "(the first line gives the columns: foo, label)" in refused("foo,label\na,1\n")


def test_other_separators(refused):
    said = "no column looks like the text; if {!r} stands between columns, save it as .csv with commas or as .tsv"
    assert said.format(";") in refused(GOOD.replace(",", ";"))
    assert said.format(",") in refused(GOOD, "r.tsv")
    assert "name it with --text" in refused("foo\na\n")


def test_another_separator_where_texts_hold_commas_or_columns_are_named(refused):
    content = GOOD.replace(",", ";")
    said = "if ';' stands between columns, save it as .csv with commas or as .tsv with tabs"
    assert f"line 6: 2 fields, but the header has 1; {said}" in refused(content.replace("text 4", "text, 4"))
    assert f"no column 'label', only text;label; {said}" in refused(content, text="text", label="label")


def test_missing_column_in_the_report_file(refused):
    refused(GOOD, "toy/train.csv")
    assert "dev.csv has no column 'label', only text" in refused("text\nabc\n", "toy/dev.csv")


def test_two_columns_of_one_name(refused):
    said = refused("text,label,label\n" + ROWS.replace(",", ",0,"))
    assert "two columns are named 'label'; rename one" in said


def test_only_one_label(refused):
    assert "column 'label' says '1' in every row" in refused("text,label\n" + "a,1\n" * 30)


def test_too_many_classes(refused):
    content = "text,label\n" + "".join(f"a {i},name {i}\n" for i in range(30))
    assert "column 'label' has 30 different values ('name 0', ...), too many for classes" in refused(content)
    assert "30 different values ('1_0', ...), too many" in refused(content.replace("name ", "1_")), "no number 10"


def test_label_that_no_training_row_has(refused):
    refused(GOOD, "toy/train.csv")
    said = refused("text,label\na,1\nb,maybe\n", "toy/dev.csv")
    assert "label 'maybe' (dev, line 3) is to be scored, but no training row has it" in said


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "high", "1e999"])
def test_score_that_is_no_number(refused, bad):
    said = refused(SCORES.replace("0.714", bad))
    assert f"r.csv, line 7: '{bad}' in column 'score' is no score; write a finite number" in said
    assert "line 7" in refused(GOOD.replace("text 5,1", f"text 5,{bad}"), kind="regression")


@pytest.mark.parametrize("bad", ["nan", "NaN", "NAN"])
def test_class_that_is_missing(refused, tmp_path, bad):
    content = GOOD.replace("text 5,1", f"text 5,{bad}")
    said = refused(content)
    assert f"r.csv, line 7: label '{bad}' stands for a missing one; give the row a label" in said
    left = read_task(tmp_path / "r.csv", skip_bad=True)
    assert left.labels == ("0", "1") and "1 row left out (label is NaN: 1)" in left.notes
    assert bad in read_task(tmp_path / "r.csv", kind="classification").labels


def test_text_that_is_too_long(refused, tmp_path):
    long = "text,label\n" + ROWS.replace("some text 4,", f"{'w' * 1_000_001},")
    assert "line 6: the row that begins here can't be read (a field of more than 1,000,000 characters)" in refused(
        long
    )
    (tmp_path / "r.csv").write_text("text,label\n" + ROWS.replace("some text 4,", f"{'w' * 200_000},"))
    task = read_task(tmp_path / "r.csv")
    assert max(len(text) for part in (task.train, task.validation, task.test) for text in part.text) == 200_000


def test_blank_text(refused):
    content = GOOD.replace("some text 4", "  ").replace("some text 9,", ",")
    assert "r.csv, line 6: column 'text' is blank (2 rows are)" in refused(content)
    said = refused(GOOD.replace("some text 4", ""))
    assert "line 6: column 'text' is blank (1 row is)" in said and "--skip-bad leaves such rows out" in said


def test_blank_pair_and_label(refused):
    pairs = "sentence1,sentence2,label\n" + "".join(f"a {i},b {i},{i % 2}\n" for i in range(30))
    assert "line 3: column 'sentence2' is blank (1 row is); remove" in refused(pairs.replace("b 1,", ","))
    assert "line 4: column 'label' is blank" in refused(GOOD.replace("text 2,0", "text 2,"))


def test_too_many_or_few_fields(refused):
    said = refused(GOOD.replace("some text 4", "some, text"))
    assert "r.csv, line 6: 3 fields, but the header has 2; put texts that hold commas in double quotes" in said
    assert "line 6: 1 field, but the header has 2" in refused(GOOD.replace("some text 4,", "some text 4"))
    tabs = GOOD.replace(",", "\t").replace("some text 4", "some\ttext")
    assert "r.tsv, line 6: 3 fields, but the header has 2; texts must not hold tabs" in refused(tabs, "r.tsv")


def test_quotes_that_a_tsv_file_would_not_have_are_noted(tmp_path):
    path = tmp_path / "r.tsv"
    for quoted, notes in (('"a ""good"" text"', 1), ('"a good" text', 0)):
        path.write_text(GOOD.replace(",", "\t").replace("some text 4\t", f"{quoted}\t"))
        found = [note for note in read_task(path).notes if note.startswith("1 text has quotes as in .csv")]
        assert len(found) == notes


def test_broken_quotes(refused):
    assert "line 6: the row that begins here can't be read" in refused(GOOD.replace("some text 4", '"some text'))


def test_invalid_utf8(refused):
    assert "r.csv, line 6: not valid UTF-8; save the file as UTF-8" in refused(
        GOOD.encode().replace(b"text 4", b"caf\xe9"), "r.csv"
    )
    assert "line 1: not valid UTF-8 (it seems to be UTF-16); save" in refused(GOOD.encode("utf-16"))


def test_too_few_rows(refused):
    assert "r.csv has 9 rows; at least 10 are needed to split it" in refused("text,label\n" + "a,0\nb,1\nc,0\n" * 3)


def test_one_column_for_two_things(refused):
    said = refused(GOOD, text="text", label="text")
    assert "text and label are both 'text'; name two columns of text, label" in said
    assert "text and text_pair are both 'text'" in refused(GOOD, text="text", text_pair="text")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"limit": 0}, "limit is 0; give 1 or more"),
        ({"limit": -3}, "limit is -3"),
        ({"seed": -1}, "seed is -1; give 0 or more"),
        ({"kind": "regresion"}, "kind is 'regresion'; did you mean 'regression'?"),
    ],
)
def test_options_that_make_no_sense(refused, tmp_path, options, said):
    assert said in refused(GOOD, **options)
    with pytest.raises(UserError):
        task_root(tmp_path / "r.csv", **options)


def test_long_and_odd_values_stay_on_one_short_line(refused):
    content = "text,label\n" + "".join(f'a {i},"line\n{"x" * 500} {i}"\n' for i in range(30))
    assert len(refused(content)) < 400
    assert "line one" in refused('"line\none",x\na,b\n')
