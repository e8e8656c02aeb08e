"""Files that are broken, or not what they seem: one line each; and with skip_bad the rest is read and counted."""

from __future__ import annotations

import gc
import json
import os
import time

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bertscope.core.errors import UserError
from bertscope.data.corpus import read_examples
from bertscope.data.read import read_task, task_root

GOOD = [{"text": f"some text {i}", "label": str(i % 2)} for i in range(30)]


def csv(rows):
    return "text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in rows)


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def parquet_bytes(rows):
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    return sink.getvalue().to_pybytes()


@pytest.fixture
def put(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refused(path, **options):
    with pytest.raises(UserError) as caught:
        read_task(path, **options)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 600
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", csv(GOOD)),
        ("r.tsv", csv(GOOD).replace(",", "\t")),
        ("r.jsonl", jsonl(GOOD)),
        ("r.parquet", parquet_bytes(GOOD)),
    ],
)
def test_the_same_rows_in_every_format_are_the_same_task(put, name, content):
    task = read_task(put(name, content))
    reference = read_task(put("reference.csv", csv(GOOD)))
    assert (task.train.text, task.test.text, task.labels) == (
        reference.train.text, reference.test.text, reference.labels)  # fmt: skip
    first = {"r.csv": 2, "r.tsv": 2, "r.jsonl": 1, "r.parquet": 1}[name]
    ids = sorted(int(row.split(":")[1]) for part in (task.train, task.validation, task.test) for row in part.ids)
    assert ids == list(range(first, first + 30))


def test_numbers_and_nothing_in_typed_files(put):
    rows = [
        {"text": f"t {i}", "label": i % 2, "flag": i % 2 == 0, "score": i / 4, "tokens": ["a"]} for i in range(30)
    ]
    for path in (put("r.jsonl", jsonl(rows)), put("r.parquet", parquet_bytes(rows))):
        assert read_task(path).labels == ("0", "1")
        assert read_task(path, label="flag").labels == ("false", "true")
        assert read_task(path, label="score").kind == "regression"
        assert "'tokens' holds no single value; name another column with --text" in refused(path, text="tokens")
        assert "has no column 'txet', only text, label" in refused(path, text="txet")
    rows[4]["text"] = rows[9]["label"] = None
    assert "r.jsonl, line 10: column 'label' is blank (1 row is)" in refused(put("r.jsonl", jsonl(rows)))
    assert "r.parquet, row 10: column 'label' is blank" in refused(put("r.parquet", parquet_bytes(rows)))


def test_json_lines_that_are_none(put):
    lines = jsonl(GOOD).splitlines()
    for broken in ('{"text": "a", "lab', "[1, 2]", "7" * 5000, "[" * 100_000, "nonsense"):
        path = put("r.jsonl", "\n".join([*lines[:4], broken, *lines[4:]]))
        assert "r.jsonl, line 5: not a JSON object; write one on each line" in refused(path)
        assert "1 row left out (broken JSON: 1)" in read_task(path, skip_bad=True).notes
    path = put("r.jsonl", "\n".join([*lines, '{"text": "a"}']))
    assert "r.jsonl, line 31: no 'label', which line 1 has; add it" in refused(path)
    assert "r.jsonl, line 2: column 'text' is not valid Unicode" in refused(
        put("r.jsonl", "\n".join([lines[0], '{"text": "\\ud83d", "label": "1"}', *lines]))
    )
    assert "r.jsonl is empty" in refused(put("r.jsonl", "\n \n"))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all", b"PAR1" * 9, parquet_bytes(GOOD)[:-9],
                                     parquet_bytes(GOOD)[:200]])  # fmt: skip
def test_parquet_that_is_none(put, content):
    assert "can't be read as Parquet" in refused(put("r.parquet", content))


@pytest.mark.parametrize("columns", [["text", "label", "label"], ["text", "text", "label"], ["text", "text"]])
def test_parquet_with_a_column_twice(put, columns):
    sink = pa.BufferOutputStream()
    arrays = [pa.array([row[name] for row in GOOD]) for name in columns]
    parquet.write_table(pa.Table.from_arrays(arrays, names=columns), sink)
    with pytest.raises(UserError, match=r"two columns are named '(text|label)'; rename one"):
        read_examples(put("r.parquet", sink.getvalue().to_pybytes()))


def test_parquet_without_rows(put):
    assert "r.parquet has no rows" in refused(put("r.parquet", parquet_bytes([])))


@pytest.mark.parametrize(
    ("name", "filler"), [("r.csv", b","), ("r.csv", b'"'), ("r.tsv", b"\t"), ("r.tsv", b"x"), ("r.jsonl", b"[")]
)
def test_a_single_line_of_a_hundred_megabytes(put, name, filler):
    path = put(name, filler * 100_000_000)
    started = time.perf_counter()
    gc.disable()  # hypothesis counts collections in Python, which fails where a parser is as deep as it can be
    try:
        refused(path)
    finally:
        gc.enable()
    assert time.perf_counter() - started < 60  # no measurement: it doesn't hang
    path.unlink()


def test_one_text_that_is_too_long(put):
    path = put("r.csv", csv([*GOOD, {"text": "x" * 120_000, "label": "1"}]))
    assert len(read_task(path).train)
    path = put("r.tsv", csv([*GOOD, {"text": "x" * 2_000_000, "label": "1"}]).replace(",", "\t"))
    assert "r.tsv, line 32: column 'text' has 2,000,000 characters, over 1,000,000; shorten it" in refused(path)
    assert "1 row left out (text too long: 1)" in read_task(path, skip_bad=True).notes


def test_what_is_no_plain_file(put, tmp_path):
    (tmp_path / "folder.csv").mkdir()
    assert "folder.csv has no train file" in refused(tmp_path / "folder.csv")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    assert "pipe.csv is not a plain file" in refused(pipe)
    for ask in (read_task, task_root, read_examples):
        with pytest.raises(UserError, match=r"cannot read .*: File name too long"):
            ask("x" * 5000 + ".csv")
        with pytest.raises(UserError, match="no file or folder"):
            ask("nul\0.csv")


def test_a_file_that_may_not_be_read(put, monkeypatch):
    path = put("r.csv", csv(GOOD))

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", denied)
    assert f"cannot read {path}: Permission denied" in refused(path)


def test_bad_rows_are_left_out_and_counted_for_each_reason(put):
    rows = csv(GOOD).splitlines()
    rows[3:3] = ["a, b,1", "   ,0", ","]  # the last is blank twice and counted once
    content = "\n".join(rows).encode() + b'\ncaf\xe9,1\n"open,1\n'
    path = put("r.csv", content)
    assert "r.csv, line 35: not valid UTF-8" in refused(path)
    task = read_task(path, skip_bad=True)
    assert len(task.train) + len(task.validation) + len(task.test) == 30
    [note] = [note for note in task.notes if "left out" in note]
    assert note.startswith("5 rows left out (") and all(
        f"{reason}: 1" in note
        for reason in ("wrong number of fields", "blank text", "blank label", "not valid UTF-8", "broken quotes")
    )
    ids = {row for part in (task.train, task.validation, task.test) for row in part.ids}
    assert ids == {f"r:{line}" for line in range(2, 35)} - {"r:4", "r:5", "r:6"}


def test_a_quote_that_is_never_closed_costs_its_row_alone(put):
    rows = csv(GOOD).splitlines()
    rows[5] = '"' + rows[5]
    path = put("r.csv", "\n".join(rows) + "\n")
    task = read_task(path, skip_bad=True)
    assert len(task.train) + len(task.validation) + len(task.test) == 29
    assert "1 row left out (broken quotes: 1)" in task.notes
    hopeless = put("r.csv", "text,label\n" + '"a\n' * 200_000)
    assert "the quotes of 100 rows are broken" in refused(hopeless, skip_bad=True)


def test_scores_and_labels_that_are_none_are_left_out_too(put):
    scores = csv([{"text": f"t {i}", "label": "nan" if i == 3 else str(i / 4)} for i in range(30)])
    assert "1 row left out (no score: 1)" in read_task(put("r.csv", scores), skip_bad=True).notes
    put("toy/train.csv", csv(GOOD))
    folder = put("toy/dev.csv", "text,label\na,1\nb,maybe\n").parent
    task = read_task(folder, skip_bad=True)
    assert task.test.text == ("a",) and "1 row left out (label that no training row has: 1)" in task.notes
    put("toy/dev.csv", "text,label\nb,maybe\n")
    assert "label 'maybe' (dev, line 2) is to be scored" in refused(folder, skip_bad=True)
    put("toy/dev.csv", "text,label\n ,1\n")
    assert "no row can be scored" in refused(folder, skip_bad=True)
    assert "has no row that can be used" in refused(put("r.csv", "text,label\n ,1\n ,0\n"), skip_bad=True)


def mutated(valid: bytes) -> st.SearchStrategy[bytes]:
    """The file with some bytes changed, cut out or put in."""
    change = st.tuples(st.integers(0, len(valid)), st.integers(0, 3), st.binary(max_size=3))

    def apply(changes):
        content = bytearray(valid)
        for at, cut, new in changes:
            content[at : at + cut] = new
        return bytes(content)

    return st.lists(change, min_size=1, max_size=6).map(apply)


ASKED = [{"id": str(i), "question": "Who?", "answers": [{"text": "cat", "answer_start": 4}]} for i in range(4)]
SQUAD = json.dumps({"data": [{"paragraphs": [{"context": "The cat sat.", "qas": ASKED}]}]})
VALID = {
    "r.csv": csv(GOOD).encode(),
    "r.tsv": csv(GOOD).replace(",", "\t").encode(),
    "r.jsonl": jsonl(GOOD).encode(),
    "r.parquet": parquet_bytes(GOOD),
    "CoLA/train.tsv": "".join(f"s\t{i % 2}\t\ttext {i}\n" for i in range(30)).encode(),
    "STS-B/sts-train.csv": "".join(f"a\tb\tc\td\t{i / 7}\tone {i}\ttwo\n" for i in range(30)).encode(),
    "snli/labels.dev": b"neutral\nentailment\ncontradiction\n" * 10,
    "hans/hans_ketm.txt": "".join(f"a {i}\tb\t{i % 2}\n" for i in range(30)).encode(),
    "squad/dev-v1.1.json": SQUAD.encode(),
}


@pytest.mark.parametrize("name", VALID)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), skip_bad=st.booleans())
def test_whatever_the_bytes_one_line_or_examples(put, name, data, skip_bad):
    content = data.draw(st.one_of(mutated(VALID[name]), st.binary(max_size=300)))
    path = put(name, content)
    if name.startswith("snli"):
        for side in ("s1", "s2"):
            put(f"snli/{side}.dev", "a text\n" * 30)
    source = path if "/" not in name else path.parent
    ask = read_examples if name.startswith(("hans", "squad")) else read_task
    try:
        read = ask(source, skip_bad=skip_bad)
    except UserError as error:
        assert len(str(error).splitlines()) == 1
    else:
        found = [read] if ask is read_examples else [read.train, read.validation, read.test]
        for part in found:
            assert len(part) and all(text.strip() for text in part.text)
            "".join(part.text + (part.pair or ())).encode()


def test_where_every_row_is_bad_there_is_nothing_to_read(put):
    path = put("hans/hans_ketm.txt", b"\t\t")
    with pytest.raises(UserError, match="has no row to read in test: all were left out"):
        read_examples(path.parent, skip_bad=True)
