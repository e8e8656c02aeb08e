"""Tasks known by name: their declarations, and their files as published."""

from __future__ import annotations

import json

import pytest

from bertscope.core.errors import UserError
from bertscope.data import hub
from bertscope.data.corpus import read_examples
from bertscope.data.read import read_task, task_root
from bertscope.data.tasks import TASKS, declared

NLI = ("entailment", "neutral", "contradiction")


@pytest.fixture
def folder(tmp_path):
    """Writes files given as lists of rows (tab-separated) or as text, and returns the folder they lie in."""

    def make(name, **files):
        where = tmp_path / name
        where.mkdir(parents=True, exist_ok=True)
        for file, rows in files.items():
            text = rows if isinstance(rows, str) else "".join("\t".join(row) + "\n" for row in rows)
            (where / file.replace("__", "-").replace("_dot_", ".")).write_text(text, encoding="utf-8")
        return where

    return make


def rows(n, *columns, start=0):
    """n rows of the columns; a function makes a field from the row's number."""
    return [[column(i) if callable(column) else column for column in columns] for i in range(start, start + n)]


def said(i):
    return f"text {i}"


def other(i):
    return f"other {i}"


def test_declarations_are_those_of_the_hub():
    """GLUE's integer order and metrics, written down a second time from the hub's own cards."""
    order = {
        "glue/cola": "unacceptable acceptable", "glue/sst2": "negative positive",
        "glue/mrpc": "not_equivalent equivalent", "glue/stsb": "", "glue/qqp": "not_duplicate duplicate",
        "glue/mnli": "entailment neutral contradiction", "glue/mnli-mm": "entailment neutral contradiction",
        "glue/qnli": "entailment not_entailment", "glue/rte": "entailment not_entailment",
        "glue/wnli": "not_entailment entailment", "snli": "entailment neutral contradiction",
        "webmd": "1 2 3 4 5", "hans": "entailment non-entailment", "squad": "",
        "goemotions": "admiration amusement anger annoyance approval caring confusion curiosity desire "
        "disappointment disapproval disgust embarrassment excitement fear gratitude grief joy love "
        "nervousness optimism pride realization relief remorse sadness surprise neutral",
    }  # fmt: skip
    assert {name: " ".join(task.labels) for name, task in TASKS.items()} == order
    metrics = {name: task.metric for name, task in TASKS.items() if task.metric != "accuracy"}
    assert metrics == {"glue/cola": "matthews", "glue/stsb": "pearson", "squad": "token_f1", "goemotions": "micro_f1"}
    alone = ["glue/cola", "glue/sst2", "goemotions", "webmd"]
    assert sorted(name for name, task in TASKS.items() if not task.pair) == alone
    assert all(task.cite and task.layouts and task.folders for task in TASKS.values())
    assert declared("GLUE/STS-B") is declared("glue/stsb") and declared("glue/MNLI-mm") is TASKS["glue/mnli-mm"]
    assert declared("rte") is None


def test_a_folder_in_glues_layout_by_name_by_folder_and_by_root(folder):
    head = [["index", "sentence1", "sentence2", "label"]]
    labels = ("not_entailment", "entailment", "entailment")
    train = rows(30, str, said, other, lambda i: labels[i % 3])
    where = folder("g/RTE", train_dot_tsv=head + train, dev_dot_tsv=head + rows(6, str, said, other, "entailment"),
                   test_dot_tsv=[head[0][:3], *rows(5, str, said, other)])  # fmt: skip
    task = read_task("glue/rte", root=where.parent)
    assert (task.name, task.labels, len(task.train), len(task.validation), len(task.test)) == (
        "glue/rte", ("entailment", "not_entailment"), 27, 3, 6)  # fmt: skip
    assert task.test.label.tolist() == [0] * 6 and task.test.ids[0] == "dev:2"
    assert task.notes[0] == "test is GLUE's dev"  # no guess is said: nothing was guessed
    assert len(task.notes) == 2 and task.notes[1].endswith("test texts also occur in train")
    roots = [
        task_root(*ask)
        if len(ask) == 1
        else task_root(ask[0], root=ask[1])
        for ask in ((where,), ("glue/rte", where.parent), ("glue/rte", where), ("GLUE/RTE", str(where)))
    ]  # fmt: skip
    assert len({root.id for root in roots}) == 1 and all(root.options == {} for root in roots)
    assert all(read_task(root.source).test.text == task.test.text for root in roots)
    with pytest.raises(UserError, match="doesn't hold glue/wnli"):  # whose files look the same
        read_task("glue/wnli", root=where)
    with pytest.raises(UserError, match=r"glue/rte has its own columns; leave out --label"):
        read_task("glue/rte", root=where.parent, label="x")
    assert read_task(where, label="label", text="sentence1").name == "RTE"  # named columns: a file of one's own


def test_a_folder_of_that_name_with_other_columns_is_a_folder_like_any(folder):
    head = [["text", "label"]]
    where = folder(
        "RTE", train_dot_tsv=head + rows(20, said, lambda i: str(i % 2)), dev_dot_tsv=head + rows(4, other, "1")
    )
    assert read_task(where).name == "RTE"


def test_numbers_are_the_hubs_integers_and_other_labels_are_refused(folder):
    head = [["index", "sentence1", "sentence2", "label"]]
    train = head + rows(30, str, said, other, lambda i: str(i % 2))
    where = folder("WNLI", train_dot_tsv=train, dev_dot_tsv=head + rows(4, str, said, other, "1"))
    assert read_task(where).test.label.tolist() == [1] * 4
    folder("WNLI", dev_dot_tsv=head + rows(4, str, said, other, "2"))
    with pytest.raises(UserError, match=r"dev\.tsv, line 2: label '2' is none of not_entailment, entailment"):
        read_task(where)
    folder("WNLI", dev_dot_tsv=head + rows(4, str, said, other, "2") + rows(3, str, said, other, "0"))
    task = read_task(where, skip_bad=True)
    folder("b/WNLI", train_dot_tsv=head + rows(30, str, said, other, lambda i: str(1 + i % 2)),
           dev_dot_tsv=head + rows(3, str, said, other, "1"))  # fmt: skip
    with pytest.raises(UserError, match="column 'label' says 'entailment' in every row"):
        read_task(where.parent / "b/WNLI", skip_bad=True)  # what is left of train has one label
    assert len(task.test) == 3 and "4 rows left out (unknown label: 4)" in task.notes


def test_colas_files_have_no_header_under_either_name(folder):
    train = rows(20, "gj04", lambda i: str(i % 2), "", said)
    where = folder("CoLA", train_dot_tsv=train, dev_dot_tsv=rows(5, "gj04", "0", "*", other))
    task = read_task(where)
    assert len(task.train) + len(task.validation) == 20 and task.test.ids[0] == "dev:1"
    assert (task.metric, task.test.pair, task.test.label.sum()) == ("matthews", None, 0)
    where = folder("b/CoLA", in_domain_train_dot_tsv=train, in_domain_dev_dot_tsv=rows(5, "g", "0", "*", other),
                   out_of_domain_dev_dot_tsv=rows(2, "h", "1", "", lambda i: f"far {i}"))  # fmt: skip
    task = read_task(where)
    assert task.test.ids[-3:] == ("in_domain_dev:5", "out_of_domain_dev:1", "out_of_domain_dev:2")
    assert task.test.label.tolist() == [0] * 5 + [1] * 2
    assert task.notes == ("test is in_domain_dev.tsv + out_of_domain_dev.tsv",)


def test_stsb_has_quotes_that_are_none_and_more_columns_in_some_rows(folder):
    def row(i):
        return ["main", "src", "2012", str(i), f"{i % 6}.5", f'"quoted {i}', f'say "{i}'] + ["CC", "x"] * (i % 2)

    where = folder("STS-B", **{"sts__train_dot_csv": [row(i) for i in range(20)],
                               "sts__dev_dot_csv": [row(i) for i in range(20, 26)]})  # fmt: skip
    task = read_task(where)
    assert (task.kind, task.metric, task.labels) == ("regression", "pearson", ())
    assert task.test.text[1] == '"quoted 21' and task.test.pair[1] == 'say "21'
    assert task.test.label.tolist() == [2.5, 3.5, 4.5, 5.5, 0.5, 1.5]


def test_mnli_has_two_test_sets(folder):
    head = [["index", "sentence1", "sentence2", "gold_label"]]
    files = {f"{name}_dot_tsv": head + rows(n, str, said, other, lambda i: NLI[i % 3])
             for name, n in (("train", 30), ("dev_matched", 6), ("dev_mismatched", 9))}  # fmt: skip
    root = folder("MNLI", **files).parent
    assert len(read_task("glue/mnli", root=root).test) == 6 and len(read_task(root / "MNLI").test) == 6
    task = read_task("glue/mnli-mm", root=root)
    assert (len(task.test), task.name) == (9, "glue/mnli-mm")
    opened = task_root("glue/mnli-mm", root=root)
    assert len(read_task(opened.source, **opened.options).test) == 9
    assert opened.id != task_root("glue/mnli", root=root).id


def test_qqps_cut_rows_are_left_out_and_counted(folder):
    head = [["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]]
    good = rows(20, str, str, str, said, other, lambda i: str(i % 2))
    where = folder("QQP", train_dot_tsv=[*head, *good, ["9", "9", "9", "cut"]], dev_dot_tsv=head + good[:4])
    assert "1 row left out (wrong number of fields: 1)" in read_task(where).notes


@pytest.mark.parametrize("form", ["jsonl", "txt"])
def test_snli_as_published(folder, form):
    def split(n):
        found = [{"gold_label": (*NLI, "-")[i % 4], "annotator_labels": ["neutral"], "sentence1": said(i),
                  "sentence2": other(i)} for i in range(n)]  # fmt: skip
        if form == "jsonl":
            return "".join(json.dumps(row) + "\n" for row in found)
        names = ("gold_label", "sentence1", "sentence2")
        return [names, *([row[name] for name in names] for row in found)]

    files = {f"snli_1.0_{name}_dot_{form}": split(n) for name, n in (("train", 40), ("dev", 8), ("test", 12))}
    task = read_task("snli", root=folder("snli_1.0", **files))
    assert (len(task.train), len(task.validation), len(task.test)) == (30, 6, 9)
    how = f"validation is snli_1.0_dev.{form}, test is snli_1.0_test.{form}"
    assert task.notes[:2] == (how, "15 rows left out (no label agreed on: 15)")
    assert len(read_examples("snli", split="published-dev", root=folder("snli_1.0"))) == 6


def test_aligned_files_must_have_as_many_lines_as_each_other(folder):
    lines = {f"{file}.{split}": "".join(f"{file} {i}\n" for i in range(12))
             for split in ("dev", "test") for file in ("s1", "s2")}  # fmt: skip
    gold = "".join(f"{NLI[i % 3]}\n" for i in range(12))
    where = folder("snli", **lines, **{"labels.dev": gold, "labels.test": gold})
    task = read_task(where)
    assert "no train file: dev gives train and validation, test is test" in task.notes
    assert (task.test.ids[0], task.test.text[0], task.test.pair[0]) == ("test:1", "s1 0", "s2 0")
    folder("snli", **{"labels.test": gold + "neutral\n"})
    with pytest.raises(UserError, match=r"as many lines as each other: s1\.test 12, s2\.test 12, labels\.test 13"):
        read_task(where)


def test_hans_is_read_but_never_trained_on(folder):
    names = ["gold_label", "sentence1_parse", "sentence1", "sentence2", "heuristic"]
    where = folder("hans", heuristics_evaluation_set_dot_txt=[
        names, *rows(6, lambda i: ("entailment", "non-entailment")[i % 2], "(S)", said, other, "lexical_overlap")
    ])  # fmt: skip
    assert read_examples("hans", root=where).label.tolist() == [0, 1] * 3
    for ask in (read_task, task_root):
        with pytest.raises(
            UserError, match="hans has nothing to train: it measures what a model trained on other data"
        ):
            ask("hans", root=where)
    with pytest.raises(UserError, match="nothing to train"):
        read_examples("hans", root=where, split="train")
    with pytest.raises(UserError, match="hans has no train split with labels here, only dev"):
        read_examples("hans", root=where, split="published-train")


def squad(questions):
    return json.dumps({"version": "v2.0", "data": [{"title": "x", "paragraphs": [{"context": " The cat sat. ",
                       "qas": questions}]}]})  # fmt: skip


def test_squad_gives_spans_of_the_context(folder):
    asked = [
        {"id": "a", "question": "Who sat? ", "answers": [{"text": "cat", "answer_start": 5},
                                                         {"text": "The cat", "answer_start": 1},
                                                         {"text": "cat", "answer_start": 5}]},
        {"id": "b", "question": "Who ran?", "answers": [], "is_impossible": True},
    ]  # fmt: skip
    where = folder("squad", dev__v2_dot_0_dot_json=squad(asked))
    found = read_examples("squad", root=where)
    assert found.answers == (((5, 8), (1, 8)), ()) and found.ids == ("a", "b") and found.label is None
    assert [found.pair[0][a:b] for a, b in found.answers[0]] == ["cat", "The cat"]
    assert found.text == ("Who sat?", "Who ran?")
    assert len(read_examples("squad", root=where, limit=1)) == 1
    with pytest.raises(UserError, match=r"squad: question b has no answer in its text, as in SQuAD 2\.0"):
        read_task("squad", root=where)
    asked[0]["answers"][0]["answer_start"] = 6
    folder("squad", dev__v2_dot_0_dot_json=squad(asked))
    with pytest.raises(UserError, match=r"article 1: a question can't be read \(no 'cat' at character 6\)"):
        read_examples("squad", root=where)
    assert read_examples("squad", root=where, skip_bad=True).ids == ("b",)
    for broken in ("{", "[]", '{"data": 3}', "[" * 100_000):
        folder("squad", dev__v2_dot_0_dot_json=broken)
        with pytest.raises(UserError, match="is not SQuAD's JSON"):
            read_examples("squad", root=where)


def test_where_a_task_isnt(tmp_path):
    with pytest.raises(UserError, match=r"no folder .*gone; --root is the folder that holds RTE"):
        read_task("glue/rte", root=tmp_path / "gone")
    with pytest.raises(UserError, match=r"doesn't hold glue/rte; --root .* RTE with train\.tsv and dev\.tsv"):
        read_task("glue/rte", root=tmp_path)
    with pytest.raises(UserError, match="no task 'glue/rtee'; did you mean 'glue/rte'"):
        read_task("glue/rtee")
    with pytest.raises(UserError, match="--root is for tasks known by name"):
        read_task("reviews.csv", root=tmp_path)
    with pytest.raises(UserError, match="webmd isn't on the hub; say with --root"):
        task_root("webmd")


def test_the_hub_that_cant_be_reached_is_said_in_one_line(monkeypatch, tmp_path):
    def fail(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", fail)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for ask in (read_task, task_root):
        with pytest.raises(UserError, match=r"glue/rte can't be had from the hub \(ConnectionError\).*--root"):
            ask("glue/rte")
    refs = tmp_path / "datasets--nyu-mll--glue" / "refs"
    refs.mkdir(parents=True)
    (refs / "main").write_text("abc\n")
    assert task_root("glue/rte").digest == "glue/rte-1@abc"  # what was downloaded before can be planned with


def test_the_hubs_rows_are_read_as_files_are(monkeypatch, tmp_path):
    datasets = pytest.importorskip("datasets")

    def load(name, config, split):
        assert (name, config) == ("stanfordnlp/snli", None)
        n = {"train": 24, "validation": 8, "test": 12}[split]
        return datasets.Dataset.from_dict({"premise": [f"{split} {i}" for i in range(n)], "hypothesis": ["h"] * n,
                                           "label": [(0, 1, 2, -1)[i % 4] for i in range(n)]})  # fmt: skip

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(hub.OnHub, "identity", lambda self: "x")
    task = read_task("snli")
    assert (len(task.train), len(task.validation), len(task.test)) == (18, 6, 9)
    assert task.test.ids[:4] == ("test:1", "test:2", "test:3", "test:5") and task.validation.ids[0] == "dev:1"
    how = "validation is the hub's validation, test is the hub's test"
    assert task.notes == (how, "11 rows left out (no label agreed on: 11)")
    assert read_examples("snli", split="published-dev").ids == task.validation.ids
