"""One way to read texts, whatever holds them; their identity; and writing them again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT, Examples
from bertscope.data import demo
from bertscope.data.corpus import examples_root, is_task, read_examples
from bertscope.data.read import read_task
from bertscope.data.relations import read_relations
from bertscope.data.tagged import read_tagged
from bertscope.data.treebank import write_conllu
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
    [("a.conllu", 5, "governors"), ("a.txt", 2, "text"), ("links.jsonl", 1, "links"), ("task.jsonl", 4, "label")],
)
def test_the_path_says_what_it_is(folder, name, n, has):
    found = read_examples(folder / name)
    assert len(found) == n and getattr(found, has) is not None and found.name
    assert is_task(folder / name) == (name == "task.jsonl")


def test_a_task_gives_its_report_split_with_name_and_notes(folder):
    task = read_task(folder / "task.jsonl")
    found = read_examples(folder / "task.jsonl")
    assert found.ids == task.test.ids and found.notes == task.notes and found.name == task.name
    assert read_examples(folder / "task.jsonl", split="train").ids == task.train.ids


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
    assert examples_root("demo/qa", split="train").id != examples_root("demo/qa").id


def test_options_of_tasks_are_refused_elsewhere(folder):
    with pytest.raises(UserError, match="leave out --label"):
        read_examples(folder / "a.conllu", label="gold")
    with pytest.raises(UserError, match=r"no file .*missing\.txt"):
        read_examples(folder / "missing.txt")
    with pytest.raises(UserError, match=r"no file .*missing\.conllu"):
        examples_root(folder / "missing.conllu")


def labels_by_texts(labels, *splits: Examples) -> dict[tuple[str, str], str | float]:
    rows = [
        row for each in splits
        for row in zip(each.text, each.pair or each.choices or each.text, each.label.tolist(), strict=True)
    ]  # fmt: skip
    return {(text, other): labels_in_words(labels, label) for text, other, label in rows}


def labels_in_words(labels, label):
    if isinstance(label, list):
        return tuple(name for name, has in zip(labels, label, strict=True) if has)
    return labels[label] if labels else label


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_what_is_written_is_read_again(tmp_path, ending):
    task = read_task("demo/entailment", limit=30)
    again = read_task(write_examples(task.test, tmp_path / f"e.{ending}", task.labels))
    found = labels_by_texts(again.labels, again.train, again.validation, again.test)
    assert found == labels_by_texts(task.labels, task.test)


def test_csv_holds_whatever_a_text_has(tmp_path):
    odd = ("a\rb", "a\r\nb", "a\nb", 'say "so", then', "tab\there", "\x0b", "\x00nul", "\u2028")
    texts = tuple(f"{one} {row}" for row, one in enumerate(odd * 3))
    written = Examples(tuple(map(str, range(24))), texts, label=np.arange(24) % 2)
    task = read_task(write_examples(written, tmp_path / "odd.csv", ("no", "yes")), id="id")
    found = labels_by_texts(task.labels, task.train, task.validation, task.test)
    assert found == labels_by_texts(("no", "yes"), replace(written, text=tuple(text.strip() for text in texts)))


def test_labels_that_hold_the_sign_between_labels_cant_stand_in_a_cell(tmp_path):
    written = Examples(tuple("abc"), tuple("xyz"), label=np.eye(3, 2, dtype=np.int64))
    with pytest.raises(
        UserError, match=r"label 'r\|b' holds '\|', which stands between labels in \.csv and \.tsv; write \.jsonl"
    ):
        write_examples(written, tmp_path / "s.csv", ("r|b", "soul"))
    assert not (tmp_path / "s.csv").exists()


def same_annotation(one: Examples, other: Examples, *names: str) -> None:
    for name in names:
        assert getattr(one, name) == getattr(other, name), name
    said = [{kind: column for kind, column in each.marks.items() if any(map(any, column))} for each in (one, other)]
    assert said[0] == said[1]


UNLABELLED = ("demo/qa", "demo/corpus")
TAGGED = ("demo/entities", "demo/pos")
ANNOTATION = ("ids", "text", "pair", "words", "first_words", "governors", "links", "answers")


@pytest.mark.parametrize("source", [name for name in demo.NAMES if name not in UNLABELLED + TAGGED])
def test_every_demo_task_comes_back(tmp_path, source):
    task = read_task(source, limit=40)
    path = write_examples(task.test, tmp_path / "d.jsonl", task.labels)
    assert is_task(path)
    again = read_task(path, kind=task.kind)
    found = labels_by_texts(again.labels, again.train, again.validation, again.test)
    assert found == labels_by_texts(task.labels, task.test)
    same_annotation(read_relations(path), task.test, *ANNOTATION)
    comes_back_from_conllu(task.test, tmp_path / "d.conllu")


@pytest.mark.parametrize("source", UNLABELLED)
def test_every_other_demo_comes_back(tmp_path, source):
    wanted = read_examples(source, limit=40)
    path = write_examples(wanted, tmp_path / "d.jsonl")
    assert not is_task(path)
    same_annotation(read_examples(path), wanted, *ANNOTATION)
    comes_back_from_conllu(wanted, tmp_path / "d.conllu")


@pytest.mark.parametrize("source", TAGGED)
def test_demo_tags_come_back(tmp_path, source):
    wanted = read_examples(source, limit=40)
    path = write_examples(wanted, tmp_path / "d.jsonl")
    again = read_tagged(path)
    assert (again.ids, again.text, again.words) == (wanted.ids, wanted.text, wanted.words)
    assert again.marks["tag"] == wanted.marks["tag"]
    same_annotation(read_relations(path), wanted, *ANNOTATION)
    comes_back_from_conllu(wanted, tmp_path / "d.conllu")


def comes_back_from_conllu(wanted: Examples, path: Path) -> None:
    if any(row.count(ROOT) > 1 for row in wanted.governors or ()) and wanted.pair is None:
        with pytest.raises(UserError, match="its governors one tree"):  # texts of several sentences
            write_examples(wanted, path)
    elif wanted.pair is None:
        same_annotation(read_examples(write_examples(wanted, path)), wanted, "ids", "text", "words", "governors")
    else:
        with pytest.raises(UserError, match="CoNLL-U holds single texts"):
            write_examples(wanted, path)


def test_plain_texts_and_questions_come_back(tmp_path):
    texts = Examples(ids=("a", "b"), text=("One, two.", "Three."))
    back = read_examples(write_examples(texts, tmp_path / "t.jsonl"))
    assert (back.ids, back.text, back.words, back.links) == (texts.ids, texts.text, None, None)
    asked = Examples(ids=("q", "r"), text=("Who?", "Why?"), pair=("Anna did.", "It rains."), answers=(((0, 4),), ()))
    back = read_examples(write_examples(asked, tmp_path / "q.jsonl"))
    assert (back.pair, back.answers, back.words, back.first_words) == (asked.pair, asked.answers, None, None)


def test_files_that_exist_stay_as_they_are(tmp_path):
    corpus = read_examples("demo/corpus", limit=2)
    for name in ("c.csv", "c.tsv", "c.jsonl", "c.conllu"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(UserError, match=f"{name} exists; name another file or remove it"):
            write_examples(corpus, tmp_path / name)
        assert (tmp_path / name).read_text() == "mine"
    with pytest.raises(UserError, match="exists"):
        write_conllu(corpus, tmp_path / "c.conllu")
    with pytest.raises(UserError, match="ends with"):
        write_examples(corpus, tmp_path / "c.doc")


LONG = b'{"text": "' + b"a " * (1 << 20) + b'", "label": 1}'


@pytest.mark.parametrize(
    ("lines", "task"),
    [
        ([b'{"words": ["a"]}'], False),
        ([b'{"words": ["a"], "label": "x"}'], True),
        ([b'{"text": "a", "words": 1, "sentiment": "good"}'], True),
        ([b'{"text": "a b", "links": []}'], False),
        ([b'{"text": "a", "links": [], "label": "x"}'], True),
        ([b"", b'{"words": ["a"]}'], False),
        ([b"{broken", b'{"words": ["a"]}'], False),
        ([b"[" * 100_000, b'{"words": ["a"]}'], False),
        ([b"\xff"], True),
        ([LONG], True),
        ([], True),
    ],
)
def test_lines_of_json_are_told_apart(tmp_path, lines, task):
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert is_task(path) == task


def test_what_is_wrong_with_lines_of_json_their_reader_says(tmp_path):
    for name, raw, said in (
        ("long.jsonl", LONG, "long.jsonl, line 1: .*characters"),
        ("broken.jsonl", b"{", "broken.jsonl, line 1: not a JSON object"),
        ("damaged.jsonl.gz", b"{", "cannot read .*damaged"),
    ):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(UserError, match=said):
            read_examples(tmp_path / name)


def test_whoever_names_the_columns_has_a_task(tmp_path):
    rows = [{"text": f"text {i}", "words": ["text", str(i)], "stars": "good" if i % 2 else "bad"} for i in range(20)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert is_task(tmp_path / "t.jsonl", label="stars") and not is_task(tmp_path / "t.jsonl")
    assert len(read_examples(tmp_path / "t.jsonl", label="stars", text="text").label) == 4


def test_only_tasks_have_splits(folder):
    for read in (read_examples, examples_root):
        with pytest.raises(UserError, match=r"a\.txt has no splits; leave out --split train"):
            read(folder / "a.txt", split="train")


def test_ids_are_told_apart(tmp_path):
    names = ["1", "1", "1 (2)"]
    tree = "".join(f"# sent_id = {name}\n{TREE}" for name in names)
    for file in ("a.conllu", "b.conllu"):
        (tmp_path / file).write_text(tree)
    found = read_examples(tmp_path)
    assert found.ids == ("1", "1 (3)", "1 (2)", "1 (4)", "1 (5)", "1 (2) (2)")
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps({"id": name, "words": ["a"]}) + "\n" for name in names))
    assert read_examples(tmp_path / "mine.jsonl").ids == ("1", "1 (3)", "1 (2)")


def test_slices_carry_annotation():
    corpus = read_examples("demo/corpus", limit=20)
    some = corpus.take(np.array([3, 1]))
    assert some.words == (corpus.words[3], corpus.words[1]) and some.links[0] == corpus.links[3]
    assert some.marks["gender"][1] == corpus.marks["gender"][1] and some.name == corpus.name
