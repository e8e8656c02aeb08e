"""A data set's own splits: three are taken as they are, of two one is held out of, one alone is split."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.data.corpus import examples_root, read_examples
from bertscope.data.read import read_task, task_root
from corpora import conllu, laid_out

SIZES = {"train": 20, "dev": 6, "test": 8}


def row(split, at):
    return f"{split} text {at}", ("no", "yes")[at % 2]


def rows(split, n, form, label=None):
    """A file of n rows; `label` is what all of them are labelled, '' for a file without the column."""
    pairs = [(text, gold if label is None else label) for text, gold in (row(split, at) for at in range(n))]
    if form == "jsonl":
        return "".join(json.dumps({"text": a} | ({} if b == "" else {"label": b})) + "\n" for a, b in pairs)
    mark = "," if form == "csv" else "\t"
    return "".join(mark.join(each if each[1] != "" else each[:1]) + "\n" for each in [(
        "text", "" if label == "" else "label"), *pairs])  # fmt: skip


def lengths(task):
    return len(task.train), len(task.validation), len(task.test)


def places(split):
    return {name.partition(":")[0] for name in split.ids}


def table_folder(where, form="csv", **names):
    """Train, dev and test files, or those that are named: `dev="validation"`, `test=None`."""
    named = {split: names.get(split, split) for split in SIZES}
    return laid_out(where, {f"{name}.{form}": rows(split, SIZES[split], form)
                            for split, name in named.items() if name})  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
@pytest.mark.parametrize(("dev", "test"), [("dev", "test"), ("validation", "test"), ("dev", "test-labeled")])
def test_three_files_are_the_three_splits(tmp_path, form, dev, test):
    folder = table_folder(tmp_path / "toy", form, dev=dev, test=test)
    task = read_task(folder)
    assert lengths(task) == (20, 6, 8) and task.labels == ("no", "yes")
    assert (places(task.train), places(task.validation), places(task.test)) == ({"train"}, {dev}, {test})
    assert task.train.text == tuple(f"train text {at}" for at in range(20))  # in the order of the file
    assert f"validation is {dev}.{form}, test is {test}.{form}" in task.notes
    assert read_task(folder, seed=1).train.ids == task.train.ids  # there is nothing to draw
    assert lengths(read_task(folder, limit=3)) == (3, 3, 3)
    assert read_examples(folder).ids == task.test.ids
    assert read_examples(folder, split="validation").ids == task.validation.ids


def test_three_parquet_files(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for split, n in SIZES.items():
        texts, labels = zip(*(row(split, at) for at in range(n)), strict=True)
        parquet.write_table(arrow.table({"text": texts, "label": labels}), tmp_path / f"{split}.parquet")
    assert lengths(read_task(tmp_path)) == (20, 6, 8)


def test_two_files_and_one(tmp_path):
    assert lengths(read_task(table_folder(tmp_path / "a", test=None))) == (18, 2, 6)
    assert lengths(read_task(table_folder(tmp_path / "b", dev=None))) == (18, 2, 8)
    assert lengths(read_task(tmp_path / "a" / "train.csv")) == (14, 2, 4)
    with pytest.raises(UserError, match=r"has no dev, validation, test-labeled, test or the like \(\.csv or \.tsv\)"):
        read_task(table_folder(tmp_path / "c", dev=None, test=None))


def test_few_rows_are_enough_where_nothing_is_split(tmp_path):
    files = {f"{split}.csv": rows(split, 4, "csv") for split in SIZES}
    assert lengths(read_task(laid_out(tmp_path, files))) == (4, 4, 4)


def test_the_identity_is_that_of_all_three(tmp_path):
    folder = table_folder(tmp_path / "toy")
    for split in SIZES:
        before = task_root(folder).id, examples_root(folder).id
        (folder / f"{split}.csv").write_text(rows(split, SIZES[split] + 1, "csv"))
        assert task_root(folder).id != before[0] and examples_root(folder).id != before[1]
    root = task_root(folder)
    assert lengths(read_task(root.source, **root.options)) == (21, 7, 9)


@pytest.mark.parametrize(
    ("label", "lack"),
    [
        ("", "no labels"),
        ("nan", "no labels"),
        ("-1", "none of the labels that train has"),
        ("?", "none of the labels that train has"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_test_file_without_labels_is_not_taken(tmp_path, form, label, lack):
    folder = table_folder(tmp_path / "toy", form)
    (folder / f"test.{form}").write_text(rows("test", 8, form, label))
    task = read_task(folder)
    assert lengths(task) == (18, 2, 6) and places(task.test) == {"dev"} and task.labels == ("no", "yes")
    assert f"test.{form} has {lack}: it isn't taken, and test is dev.{form}" in task.notes


def test_a_label_column_that_is_blank_everywhere_is_none(tmp_path):
    folder = table_folder(tmp_path / "toy")
    (folder / "test.csv").write_text("text,label\na,\nb,\n")
    assert read_task(folder).notes[0] == "test.csv has no labels: it isn't taken, and test is dev.csv"
    (folder / "test.csv").write_text("text,label\na,\nb,yes\n")
    with pytest.raises(UserError, match=r"test\.csv, line 2: column 'label' is blank"):  # some rows have labels
        read_task(folder)
    task = read_task(folder, skip_bad=True)
    assert len(task.test) == 1 and "1 row left out (blank label: 1)" in task.notes


def test_what_is_wrong_with_a_file_that_is_not_taken_is_not_counted(tmp_path):
    folder = table_folder(tmp_path / "toy")
    (folder / "test.csv").write_text("id,text\n1,a\n2,b,c\n")
    task = read_task(folder, skip_bad=True)
    assert not any("left out" in note for note in task.notes) and places(task.test) == {"dev"}


def test_scores(tmp_path):
    def scores(n, value=None):
        return "text,score\n" + "".join(f"text {at},{at / 7 if value is None else value}\n" for at in range(n))

    files = {"train.csv": scores(20), "dev.csv": scores(6), "test.csv": scores(8)}
    task = read_task(laid_out(tmp_path, files))
    assert task.kind == "regression" and lengths(task) == (20, 6, 8)
    laid_out(tmp_path, {"test.csv": scores(8, -1.0)})  # as the hub writes scores that it doesn't have
    task = read_task(tmp_path)
    assert lengths(task) == (18, 2, 6)
    assert "test.csv has no scores that differ: it isn't taken, and test is dev.csv" in task.notes


@pytest.mark.parametrize("split", ["dev", "test"])
def test_a_label_that_train_hasnt_is_refused_in_both(tmp_path, split):
    folder = table_folder(tmp_path / "toy")
    with (folder / f"{split}.csv").open("a") as file:
        file.write("new,perhaps\n")
    with pytest.raises(UserError, match=rf"label 'perhaps' \({split}, line \d+\) is to be scored, but no training"):
        read_task(folder)
    task = read_task(folder, skip_bad=True)
    assert lengths(task) == (20, 6, 8) and "perhaps" in task.labels


def glue(split, n):
    return "sentence\tlabel\n" + "".join(f"{split} text {at}\t{at % 2}\n" for at in range(n))


def test_a_task_known_by_name_with_three_labelled_files(tmp_path):
    files = {"SST-2/train.tsv": glue("train", 20), "SST-2/dev.tsv": glue("dev", 6)}
    task = read_task("glue/sst2", root=laid_out(tmp_path, files))
    two = task_root("glue/sst2", root=tmp_path)
    assert lengths(task) == (18, 2, 6) and task.notes == ("test is GLUE's dev",)
    laid_out(tmp_path, {"SST-2/test.tsv": "index\tsentence\n0\ta\n"})  # GLUE's own is never read
    assert task_root("glue/sst2", root=tmp_path) == two
    laid_out(tmp_path, {"SST-2/test-labeled.tsv": glue("test", 8)})
    task = read_task("glue/sst2", root=tmp_path)
    assert lengths(task) == (20, 6, 8) and task.notes == ("validation is dev.tsv, test is test-labeled.tsv",)
    assert task_root("glue/sst2", root=tmp_path).id != two.id
    published = {split: read_examples("glue/sst2", root=tmp_path, split=f"published-{split}") for split in SIZES}
    assert {split: len(found) for split, found in published.items()} == SIZES
    assert published["dev"].ids == task.validation.ids and published["test"].ids == task.test.ids


def test_stsb_with_its_labelled_test(tmp_path):
    def scored(split, n):
        return "".join(f"main\tsrc\t2012\t{at}\t{at % 6}.5\t{split} {at}\tother {at}\n" for at in range(n))

    files = {f"STS-B/sts-{split}.csv": scored(split, n) for split, n in SIZES.items()}
    task = read_task(laid_out(tmp_path, files) / "STS-B")
    assert lengths(task) == (20, 6, 8) and task.notes == ("validation is sts-dev.csv, test is sts-test.csv",)
    (tmp_path / "STS-B" / "sts-test.csv").unlink()
    assert read_task(tmp_path / "STS-B").notes == ("test is GLUE's dev",)


def test_mrpc_has_two_files_under_either_name(tmp_path):
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"

    def pairs(split, n):
        return header + "".join(f"{at % 2}\t1\t2\t{split} {at}\tother {at}\n" for at in range(n))

    published = laid_out(tmp_path / "a" / "MRPC", {
        "msr_paraphrase_train.txt": pairs("train", 20), "msr_paraphrase_test.txt": pairs("test", 8)})  # fmt: skip
    assert lengths(read_task(published)) == (18, 2, 8)
    assert read_task(published).notes == ("test is msr_paraphrase_test.txt",)
    glues = laid_out(tmp_path / "b" / "MRPC", {"train.tsv": pairs("train", 20), "dev.tsv": pairs("dev", 6)})
    assert lengths(read_task(glues)) == (18, 2, 6) and read_task(glues).notes == ("test is GLUE's dev",)


def test_samples_of_glue_are_not_glues_dev(tmp_path):
    def sample(split, n):
        pairs = [{"sentence1": f"{split} {at}", "sentence2": "b", "label": at % 2} for at in range(n)]
        return "".join(json.dumps(pair) + "\n" for pair in pairs)

    folder = laid_out(tmp_path / "QNLI", {"train.jsonl": sample("train", 20), "dev.jsonl": sample("dev", 6)})
    task = read_task(folder)
    assert (task.name, task.notes) == ("glue/qnli", ())


def squad(name, n, *, answered=True):
    def question(at):
        answers = {"answers": [{"text": str(at), "answer_start": len(name) + 5}]} if answered else {}
        return {"id": f"{name}{at}", "question": "Which?"} | answers

    paragraphs = [{"context": f"The {name} {at} is here.", "qas": [question(at)]} for at in range(n)]
    return json.dumps({"version": "1.1", "data": [{"title": name, "paragraphs": paragraphs}]})


def test_three_files_of_squad(tmp_path):
    files = {f"{split}-v1.1.json": squad(split, n) for split, n in SIZES.items()}
    task = read_task(laid_out(tmp_path / "mine", files))
    assert task.kind == "spans" and lengths(task) == (20, 6, 8)
    assert task.notes == ("validation is dev-v1.1.json, test is test-v1.1.json",)
    laid_out(tmp_path / "mine", {"test-v1.1.json": squad("test", 8, answered=False)})
    task = read_task(tmp_path / "mine")
    assert lengths(task) == (18, 2, 6)
    assert task.notes == ("test-v1.1.json has no answers: it isn't taken, and test is dev-v1.1.json",)
    laid_out(tmp_path / "mine", {"test-v1.1.json": "{"})
    with pytest.raises(UserError, match=r"test-v1\.1\.json is not SQuAD's JSON"):
        read_task(tmp_path / "mine")


def sentences(name, n, governor="2"):
    return "".join(
        conllu(f"{name}{at} NOUN {governor} nsubj", f"barks VERB {'0' if governor == '2' else '_'} root")
        for at in range(n)
    )


def test_three_files_of_a_treebank(tmp_path):
    files = {f"x-ud-{split}.conllu": sentences(split, n) for split, n in SIZES.items()}
    task = read_task(laid_out(tmp_path / "ud", files))
    before = task_root(tmp_path / "ud").id
    assert task.kind == "trees" and lengths(task) == (20, 6, 8)
    assert task.notes == ("validation is x-ud-dev.conllu, test is x-ud-test.conllu",)
    laid_out(tmp_path / "ud", {"x-ud-test.conllu": sentences("test", 8, governor="_")})
    task = read_task(tmp_path / "ud")
    assert lengths(task) == (18, 2, 6) and task_root(tmp_path / "ud").id != before
    assert task.notes == ("x-ud-test.conllu has no trees: it isn't taken, and test is x-ud-dev.conllu",)


def test_three_files_of_own_annotation(tmp_path):
    def trees(n, **more):
        rows = [{"words": ["a", f"b{at}"], "relation": ["root", "obj"]} | more for at in range(n)]
        return "".join(json.dumps(row) + "\n" for row in rows)

    files = {f"{split}.jsonl": trees(n, heads=[-1, 0]) for split, n in SIZES.items()}
    assert lengths(read_task(laid_out(tmp_path, files), kind="trees")) == (20, 6, 8)
    laid_out(tmp_path, {"test.jsonl": trees(8)})
    task = read_task(tmp_path, kind="trees")
    assert lengths(task) == (18, 2, 6) and task.notes[0].startswith("test.jsonl has no trees: it isn't taken")


def test_the_fingerprint_is_of_what_trains_and_decides(tmp_path):
    folder = table_folder(tmp_path / "toy")
    before = read_task(folder).fingerprint
    (folder / "test.csv").write_text(rows("other", 9, "csv"))
    assert read_task(folder).fingerprint == before
    (folder / "dev.csv").write_text(rows("other", 7, "csv"))
    task = read_task(folder)
    assert task.fingerprint != before and np.array_equal(np.unique(task.validation.label), [0, 1])
