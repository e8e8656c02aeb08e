"""Reading files and folders: splits, guesses, kinds, identities."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bertscope.core.errors import UserError
from bertscope.data.read import read_task, task_root
from bertscope.data.splits import mixed_order, parts


def reviews(n=100, labels=("0", "1"), start=0):
    return "text,label\n" + "".join(f"review number {i},{labels[i % len(labels)]}\n" for i in range(start, start + n))


@pytest.fixture
def write(tmp_path):
    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


def all_ids(task):
    return [*task.train.ids, *task.validation.ids, *task.test.ids]


def test_one_file_is_split_stratified(write):
    path = write("r.csv", reviews(200, labels=("0", "0", "0", "1")))
    task = read_task(path)
    assert (len(task.train), len(task.validation), len(task.test)) == (144, 16, 40)
    assert sorted(all_ids(task)) == sorted(f"r:{line}" for line in range(2, 202))
    assert task.test.label.mean() == 0.25 and task.validation.label.mean() == 0.25
    assert (task.name, task.kind, task.labels, task.metric) == ("r", "classification", ("0", "1"), "accuracy")
    assert task.train.label.dtype == np.int64


def test_the_id_is_the_line_and_carries_its_text(write):
    task = read_task(write("r.csv", reviews()))
    for split in (task.train, task.validation, task.test):
        assert split.text == tuple(f"review number {int(row.split(':')[1]) - 2}" for row in split.ids)


def test_the_seed_decides_the_split(write):
    path = write("r.csv", reviews())
    assert all_ids(read_task(path)) == all_ids(read_task(path))
    assert read_task(path, seed=1).test.ids != read_task(path).test.ids


@pytest.mark.parametrize("name", ["dev", "validation", "test", "test-labeled"])
def test_of_two_files_one_is_test(write, name):
    folder = write("toy.v1/train.csv", reviews(50)).parent
    write(f"toy.v1/{name}.tsv", reviews(10, start=100).replace(",", "\t"))
    task = read_task(folder)
    assert task.test.ids == tuple(f"{name}:{line}" for line in range(2, 12))
    assert (task.name, len(task.train), len(task.validation)) == ("toy.v1", 45, 5)
    assert not set(task.train.ids) & set(task.validation.ids)


def test_limit_holds_for_each_split(write):
    task = read_task(write("r.csv", reviews(200)), limit=7)
    assert (len(task.train), len(task.validation), len(task.test)) == (7, 7, 7)
    assert {3, 4} >= {task.train.label.sum(), task.test.label.sum()}
    assert len(read_task(write("r.csv", reviews(200)), limit=1).train) == 1


def test_tsv_quotes_are_not_quotes(write):
    rows = "".join(f'"a {i}\t{i % 2}\r\n' for i in range(20))
    task = read_task(write("r.tsv", f"sentence\tlabel\r\n{rows}\n"))
    assert len(all_ids(task)) == 20 and task.train.text[0].startswith('"a ') and task.labels == ("0", "1")


def test_csv_quotes_hold_commas_and_lines_and_a_bom_is_tolerated(write):
    rows = "".join(f'"one, two\nand ""{i}""",{i % 2}\n' for i in range(20))
    task = read_task(write("r.csv", b"\xef\xbb\xbf" + f"text,label\n{rows}".encode()))
    assert task.train.text[0].startswith('one, two\nand "')
    assert sorted(int(row.split(":")[1]) for row in all_ids(task)) == list(range(2, 42, 2))


def test_guessed_columns_are_said(write):
    rows = "".join(f"{i}\ta {i}\tb {i}\t{'yes' if i % 2 else 'no'}\n" for i in range(20))
    path = write("r.tsv", f"index\tSentence1\tsentence2\tlabel\n{rows}")
    task = read_task(path)
    assert task.notes == (
        "columns guessed: text='Sentence1', text_pair='sentence2', label='label'; "
        "name them with --text, --text-pair and --label",
    )
    assert task.train.pair is not None and task.train.pair[0].startswith("b ")
    assert task.labels == ("no", "yes")


def test_named_columns_are_not_guessed(write):
    rows = "".join(f"{i}\ta {i}\tb {i}\t{i % 2}\n" for i in range(20))
    path = write("r.tsv", f"index\tsentence1\tsentence2\tlabel\n{rows}")
    task = read_task(path, text="sentence2", label="label")
    assert task.notes == () and task.train.pair is None and task.train.text[0].startswith("b ")
    task = read_task(path, text_pair="sentence1", text="sentence2")
    assert task.notes == ("columns guessed: label='label'; name them with --label",)
    assert read_task(path, text_pair="sentence2").train.text[0].startswith("a ")


def test_a_guess_leaves_alone_what_the_user_named(write):
    rows = "".join(f"{i % 2},a review {i}\n" for i in range(20))
    task = read_task(write("r.csv", f"text,review\n{rows}"), label="text")
    assert task.labels == ("0", "1") and task.train.text[0].startswith("a review")


@pytest.mark.parametrize(
    ("values", "kind", "labels"),
    [
        (["10", "9", "2"], "classification", ("2", "9", "10")),
        (["b", "10", "a"], "classification", ("10", "a", "b")),
        (["0.5", "1.0", "3.5"], "regression", ()),
        ([str(i) for i in range(21)], "classification", tuple(str(i) for i in range(21))),  # ids, each 20 times
        ([str(i) for i in range(20)], "classification", tuple(str(i) for i in range(20))),
    ],
)
def test_the_kind_follows_from_the_labels(write, values, kind, labels):
    task = read_task(write("r.csv", reviews(20 * len(values), labels=values)))
    assert (task.kind, task.labels) == (kind, labels)
    assert task.train.label.dtype == (np.int64 if labels else np.float64)


def test_the_user_decides_the_kind(write):
    path = write("r.csv", reviews(labels=("1", "2", "3", "4")))
    task = read_task(path, kind="regression")
    assert (task.kind, task.metric, task.labels) == ("regression", "pearson", ())
    assert set(task.train.label) == {1.0, 2.0, 3.0, 4.0}
    fractions = write("f.csv", reviews(labels=("0.5", "1.5")))
    assert read_task(fractions, kind="classification").labels == ("0.5", "1.5")


def test_texts_seen_in_training_are_counted(write):
    write("toy.v1/train.csv", reviews(50))
    folder = write("toy.v1/dev.csv", "text,label\nreview number 0,0\nreview number 0,0\nnew,1\n").parent
    seen = "review number 0" in read_task(folder).train.text
    assert ("2 of 3 test texts also occur in train" in read_task(folder).notes) == seen
    assert any("of 3 test texts" in note for seed in range(3) for note in read_task(folder, seed=seed).notes)


def test_root_reopens_what_was_read(write):
    path = write("r.csv", reviews())
    options = {"limit": 5, "seed": 2, "label": "label"}
    root = task_root(path, **options)
    assert root.kind == "task" and root.source == str(path) and root.options == options
    again = read_task(root.source, **root.options)
    assert all_ids(again) == all_ids(read_task(path, **options))
    assert task_root(path).options == {}


def test_root_follows_content_not_place(write):
    root = task_root(write("r.csv", reviews()))
    assert task_root(write("elsewhere/r.csv", reviews())).id == root.id
    assert task_root(write("r.csv", reviews(101))).id != root.id


def test_root_of_a_folder_holds_both_files(write):
    folder = write("toy.v1/train.csv", reviews()).parent
    write("toy.v1/dev.csv", reviews(20))
    before = task_root(folder).id
    write("toy.v1/dev.csv", reviews(21))
    assert task_root(folder).id != before
    now = task_root(folder).id
    write("toy.v1/notes.txt", "not read")
    assert task_root(folder).id == now


def loaded_after(code):
    """The modules that some lines of Python load."""
    probe = f"import sys\n{code}\nprint(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True).stdout.split()
    )


def test_planning_loads_nothing_heavy(write):
    path = write("r.csv", reviews())
    loaded = loaded_after(
        "from bertscope.data.read import read_task, task_root; import bertscope.data.baselines\n"
        f"task_root({str(path)!r}); task_root('demo/sentiment'); read_task({str(path)!r})"
    )
    assert not loaded & {"torch", "pandas", "sklearn", "scipy", "pyarrow", "datasets", "huggingface_hub"}


def test_the_demo_language_is_loaded_when_it_is_generated(write):
    path, reading = write("r.csv", reviews()), "from bertscope.data.read import read_task, task_root; "
    grammars = "bertscope.data.language."
    loaded = loaded_after(f"{reading}read_task({str(path)!r}); task_root('demo/corpus', kind='trees')")
    assert not [name for name in loaded if name.startswith(grammars)]
    loaded = loaded_after(f"{reading}read_task('demo/sentiment')")
    assert grammars + "sentiment" in loaded and grammars + "grammar" not in loaded


@settings(max_examples=100, deadline=None)
@given(sizes=st.lists(st.integers(1, 40), min_size=2, max_size=4).filter(lambda sizes: sum(sizes) >= 10),
       seed=st.integers(0, 99))  # fmt: skip
def test_splits_are_disjoint_complete_and_stratified(sizes, seed):
    label = np.repeat(np.arange(len(sizes)), sizes)
    test, validation, train = parts(mixed_order(label, "classification", seed), 0.2, 0.1)
    assert sorted([*test, *validation, *train]) == list(range(len(label)))
    assert len(test) == max(1, round(0.2 * len(label))) and len(validation) >= 1
    for name, size in enumerate(sizes):
        assert abs((label[test] == name).sum() - 0.2 * size) < len(sizes)
        assert (label[train] == name).any()


# Random bytes rarely look like a table: most cases are made of a table's own pieces, or of rows that are half right.
PIECES = st.sampled_from([b"text", b"label", b",", b"\t", b"\n", b"\r\n", b"\"", b"0", b"1", b"0.5", b"nan", b"a b",
                          b"\xff", b"\x00", b" "])  # fmt: skip
ROWS = st.tuples(st.sampled_from(["a", "b c", '"d"', " ", "é"]), st.sampled_from(["0", "1", "2.5", "x", "inf", ""]))
GOOD_ROWS = st.tuples(st.sampled_from(["a", "b c", '"d, e"', "é"]), st.sampled_from(["0", "1", "2"]))


def table(rows):
    return "\n".join(["text,label", *map(",".join, rows)]).encode()


FILES = st.one_of(
    st.binary(max_size=200),
    st.lists(PIECES, max_size=120).map(b"".join),
    st.lists(ROWS, max_size=30).map(table),
    st.lists(GOOD_ROWS, min_size=8, max_size=30).map(table),
)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=FILES, extension=st.sampled_from(["csv", "tsv"]))
def test_any_bytes_give_a_task_or_one_clear_line(tmp_path, content, extension):
    path = tmp_path / f"r.{extension}"
    path.write_bytes(content if extension == "csv" else content.replace(b",", b"\t"))
    try:
        task = read_task(path)
    except UserError as error:
        assert str(error).isprintable()  # and so on one line
    else:
        assert len(task.train) and len(task.validation) and len(task.test) and task.chance() <= 1
