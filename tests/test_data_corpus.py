"""One way to read texts, whatever holds them; their identity; and writing them again."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.data.corpus import examples_root, is_task, read_examples
from bertscope.data.read import read_task
from bertscope.data.write import write_examples

TREE = "1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.conllu").write_text(TREE * 5)
    (tmp_path / "a.txt").write_text("One line.\n\nAnother line.\n")
    link = {"words": ["Anna", "gave"], "links": [{"name": "Donor", "source": [0], "target": [1]}]}
    (tmp_path / "links.jsonl").write_text(json.dumps(link) + "\n")
    rows = [{"text": f"text {i}", "label": "yes" if i % 2 else "no"} for i in range(20)]
    (tmp_path / "task.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "n", "has"),
    [("a.conllu", 5, "heads"), ("a.txt", 2, "text"), ("links.jsonl", 1, "links"), ("task.jsonl", 4, "label")],
)
def test_the_path_says_what_it_is(folder, name, n, has):
    found = read_examples(folder / name)
    assert len(found) == n and getattr(found, has) is not None and found.name
    assert is_task(folder / name) == (name == "task.jsonl")


def test_a_task_gives_its_report_split_with_name_and_notes(folder):
    task = read_task(folder / "task.jsonl")
    found = read_examples(folder / "task.jsonl")
    assert found.ids == task.report.ids and found.notes == task.notes and found.name == task.name
    assert read_examples(folder / "task.jsonl", split="fit").ids == task.fit.ids


def test_a_limit_draws_at_random_and_the_seed_decides(folder):
    found = [read_examples("demo/corpus", limit=30, seed=seed).text for seed in (0, 0, 1)]
    assert len(found[0]) == 30 and found[0] == found[1] != found[2]
    (folder / "many.txt").write_text("".join(f"line {i}\n" for i in range(50)))
    drawn = [read_examples(folder / "many.txt", limit=10, seed=seed).text for seed in (0, 1)]
    assert len(drawn[0]) == 10 and drawn[0] != drawn[1]


def test_identity_is_by_content_and_options(folder):
    root = examples_root(folder / "a.conllu")
    assert root.kind == "examples" and root.id == examples_root(folder / "a.conllu").id
    assert root.id != examples_root(folder / "a.conllu", limit=2).id
    moved = folder / "elsewhere" / "a.conllu"
    moved.parent.mkdir()
    moved.write_text(TREE * 5)
    assert root.id == examples_root(moved).id
    moved.write_text(TREE * 4)
    assert root.id != examples_root(moved).id
    assert examples_root("demo/corpus").id != examples_root("demo/qa").id
    assert examples_root("demo/qa", split="fit").id != examples_root("demo/qa").id


def test_options_of_tasks_are_refused_elsewhere(folder):
    with pytest.raises(UserError, match="leave out --label"):
        read_examples(folder / "a.conllu", label="gold")
    with pytest.raises(UserError, match=r"no file .*missing\.txt"):
        read_examples(folder / "missing.txt")
    with pytest.raises(UserError, match=r"no file .*missing\.conllu"):
        examples_root(folder / "missing.conllu")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_what_is_written_is_read_again(tmp_path, ending):
    task = read_task("demo/entailment", limit=30)
    path = write_examples(task.report, tmp_path / f"e.{ending}", task.labels)
    again = read_task(path)
    rows = {(text, pair): again.labels[label] for split in (again.fit, again.select, again.report)
            for text, pair, label in zip(split.text, split.pair, split.label, strict=True)}  # fmt: skip
    wanted = zip(task.report.text, task.report.pair, task.report.label, strict=True)
    assert rows == {(text, pair): task.labels[label] for text, pair, label in wanted}


def test_all_annotation_is_written(tmp_path):
    corpus = read_examples("demo/corpus", limit=5)
    back = read_examples(write_examples(corpus, tmp_path / "c.conllu"))
    assert back.words == corpus.words and back.heads == corpus.heads and back.marks["pos"] == corpus.marks["pos"]
    said = [json.loads(line) for line in write_examples(corpus, tmp_path / "c.jsonl").read_text().splitlines()]
    assert [tuple(row["words"]) for row in said] == list(corpus.words)
    assert [len(row["links"]) for row in said] == [len(links) for links in corpus.links]
    with pytest.raises(UserError, match="ends with"):
        write_examples(corpus, tmp_path / "c.doc")


def test_slices_carry_annotation():
    corpus = read_examples("demo/corpus", limit=20)
    some = corpus.take(np.array([3, 1]))
    assert some.words == (corpus.words[3], corpus.words[1]) and some.links[0] == corpus.links[3]
    assert some.marks["gender"][1] == corpus.marks["gender"][1] and some.name == corpus.name
