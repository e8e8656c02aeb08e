"""Tasks of spans and trees from files: which file gives which split, what is left out, what is refused."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.bad_rows import BadRows
from bertscope.data.corpus import examples_root, is_task, read_examples
from bertscope.data.options import TaskOptions
from bertscope.data.read import read_task, task_root
from bertscope.data.splits import Own
from bertscope.data.structured import make_spans
from bertscope.data.write import write_examples
from corpora import EWT, conllu, laid_out, with_shared


def squad(texts: int, *, per_text: int = 2, name: str = "q", unanswerable: int = 0, shift: int = 0) -> str:
    """Texts with questions about them, each answered by its number; the last few have no answer."""
    paragraphs, asked = [], 0
    for at in range(texts):
        context, qas = f"The {name} number {at} is here.", []
        for _ in range(per_text):
            left = texts * per_text - asked
            answer = {"text": str(at), "answer_start": context.index(str(at)) + shift}
            qas.append({"id": f"{name}{asked}", "question": "Which number?", "answers": [answer]})
            if left <= unanswerable:
                qas[-1] |= {"answers": [], "is_impossible": True}
            asked += 1
        paragraphs.append({"context": context, "qas": qas})
    return json.dumps({"version": "1.1", "data": [{"title": name, "paragraphs": paragraphs}]})


def sentences(n: int, name: str = "s") -> str:
    return "".join(
        conllu(f"Dog{at} NOUN 2 nsubj", "barks VERB 0 root", ". PUNCT 2 punct", comments=f"# sent_id = {name}{at}\n")
        for at in range(n)
    )


def test_one_file_is_split_by_text(tmp_path):
    laid_out(tmp_path, {"mine.json": squad(30)})
    task = read_task(tmp_path / "mine.json")
    assert task.kind == "spans" and (task.kind, task.metric, task.name) == ("spans", "token_f1", "mine")
    assert [len(split) for split in (task.train, task.validation, task.test)] == [44, 4, 12]
    texts = [set(split.pair) for split in (task.train, task.validation, task.test)]
    assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]
    other = read_task(tmp_path / "mine.json", seed=1)
    assert other.train.ids != task.train.ids and len(read_task(tmp_path / "mine.json", limit=3).train) == 3
    assert task_root(tmp_path / "mine.json").id == task_root(tmp_path / "mine.json").id


def test_one_long_text_doesnt_make_all_texts_long():
    """An array of texts of one width would have 160 MB."""
    rows = [str(row) for row in range(200)]
    texts = tuple("a long text" * 20_000 if row == "7" else f"text {row}" for row in rows)
    asked = Examples(tuple(rows), ("which?",) * 200, texts, answers=(((0, 4),),) * 200)
    tracemalloc.start()
    task = make_spans("long", Own(asked), TaskOptions(), BadRows())
    assert tracemalloc.get_traced_memory()[1] < 2**24 and len(task.test) == 40
    tracemalloc.stop()


def test_train_and_dev_of_squad_wherever_they_lie(tmp_path):
    files = {"train-v1.1.json": squad(20), "dev-v1.1.json": squad(5, name="d")}
    for place in ("squad", "elsewhere"):
        task = read_task(laid_out(tmp_path / place, files))
        assert task.kind == "spans" and len(task.test) == 10 and set(task.test.ids) == {f"d{i}" for i in range(10)}
        assert len(task.train) + len(task.validation) == 40 and len(task.validation) == 4
    assert read_task("squad", root=tmp_path).fingerprint == task.fingerprint
    assert read_task(tmp_path / "elsewhere", metric="exact_match").metric == "exact_match"


def test_questions_without_an_answer_are_refused_or_counted(tmp_path):
    laid_out(tmp_path, {"v2.json": squad(20, unanswerable=3)})
    with pytest.raises(UserError, match=r"question q37 has no answer .* SQuAD 2\.0") as caught:
        read_task(tmp_path / "v2.json")
    assert str(caught.value).count("--skip-bad") == 1
    task = read_task(tmp_path / "v2.json", skip_bad=True)
    assert sum(len(split) for split in (task.train, task.validation, task.test)) == 37
    assert task.notes == ("3 rows left out (question without an answer: 3)",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (squad(20, shift=1), r"article 1: a question can't be read \(no '0' at character"),
        ("", "is not SQuAD's JSON"),
        ("{}", "there is no list 'data'"),
        ('{"data": []}', "holds no questions"),
        ('{"data": [{"title": "x"}]}', r"article 1 is not as SQuAD writes it \(KeyError\('paragraphs'\)\)"),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [{"id": 1, "question": "b"}]}]}]}', "'answers'"),
        (squad(4), "mine has 4 different texts; at least 10 are needed"),
    ],
)
def test_broken_squad(tmp_path, content, said):
    laid_out(tmp_path, {"mine.json": content})
    with pytest.raises(UserError, match=said):
        read_task(tmp_path / "mine.json")


def test_a_treebank_is_a_task_of_trees(tmp_path):
    ud = {"x-train.conllu": sentences(30), "x-ud-test.conllu": sentences(5, "t"), "x-dev.conllu": sentences(6, "d")}
    laid_out(tmp_path, {"one.conllu": sentences(40)} | {f"ud/{name}": text for name, text in ud.items()})
    alone = read_task(tmp_path / "one.conllu")
    assert alone.kind == "trees" and alone.labels == ("nsubj", "punct", "root") and alone.metric == "las"
    assert [len(split) for split in (alone.train, alone.validation, alone.test)] == [29, 3, 8]
    folder = read_task(tmp_path / "ud")
    assert folder.test.ids == tuple(f"t{i}" for i in range(5)) and folder.notes[0] == (
        "validation is x-dev.conllu, test is x-ud-test.conllu"
    )
    assert (len(folder.train), folder.validation.ids) == (30, tuple(f"d{i}" for i in range(6)))
    (tmp_path / "ud" / "x-ud-test.conllu").unlink()
    two = read_task(tmp_path / "ud")
    assert (len(two.train), len(two.validation), len(two.test)) == (27, 3, 6)
    assert two.notes[0] == "test is x-dev.conllu"
    (tmp_path / "ud" / "x-dev.conllu").unlink()
    with pytest.raises(UserError, match=r"has x-train\.conllu but no test file to score"):
        read_task(tmp_path / "ud")
    # A plan says the kind, so that whoever looks at the texts of a task reads its test set.
    root = task_root(tmp_path / "one.conllu")
    assert root.options == {"kind": "trees"}
    assert read_examples(root.source, **root.options).ids == alone.test.ids
    assert examples_root(root.source, **root.options).id != examples_root(root.source).id
    # It is still texts to look at, where no task is asked for.
    assert not is_task(tmp_path / "one.conllu") and is_task(tmp_path / "one.conllu", kind="trees")
    assert len(read_examples(tmp_path / "one.conllu")) == 40


def test_trees_that_are_none(tmp_path):
    twice = conllu("a X 0 root", "b X 0 root", comments="# sent_id = bad\n")
    laid_out(tmp_path, {"one.conllu": sentences(20) + twice, "few.conllu": sentences(5), "no.txt": "x"})
    with pytest.raises(UserError, match=r"sentence 'bad' at line .*: words 1 and 2 are both roots"):
        read_task(tmp_path / "one.conllu")
    task = read_task(tmp_path / "one.conllu", skip_bad=True)
    assert len(task.train) == 14 and "1 of 21 sentences are malformed" in task.notes[0]
    with pytest.raises(UserError, match="few has 5 rows; at least 10"):
        read_task(tmp_path / "few.conllu")
    with pytest.raises(UserError, match=r"no file or folder .*gone\.conllu"):
        read_task(tmp_path / "gone.conllu")


def test_own_annotation_where_the_kind_is_said(tmp_path):
    for source, kind in (("demo/qa", "spans"), ("demo/corpus", "trees")):
        wanted = read_examples(source, limit=40)
        path = write_examples(wanted, tmp_path / f"{kind}.jsonl")
        task = read_task(path, kind=kind)
        assert task.kind == kind and {*task.train.ids, *task.validation.ids, *task.test.ids} == set(wanted.ids)
        assert is_task(path, kind=kind) and not is_task(path)
        assert task_root(path, kind=kind).options == {"kind": kind}
    with pytest.raises(UserError, match="has no questions with answers"):
        read_task(tmp_path / "trees.jsonl", kind="spans")
    with pytest.raises(UserError, match="has no sentences with governors and relations"):
        read_task(tmp_path / "spans.jsonl", kind="trees")
    rows = [{"words": ["a", "b"], "heads": [-1, -1], "relation": ["root", "root"]} for _ in range(20)]
    (tmp_path / "roots.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UserError, match=r"roots, roots\.jsonl:1: words 1 and 2 are both roots"):
        read_task(tmp_path / "roots.jsonl", kind="trees")
    (tmp_path / "t.csv").write_text("text,label\na,b\n")
    with pytest.raises(UserError, match=r"t\.csv holds no questions with answers"):
        read_task(tmp_path / "t.csv", kind="spans")


def test_the_demo_has_both():
    qa, corpus = read_task("demo/qa"), read_task("demo/corpus", kind="trees")
    assert (qa.kind, corpus.kind) == ("spans", "trees")
    for task in (qa, corpus):
        about = task.describe()
        assert about["kind"] == task.kind and about["splits"]["train"]["rows"] == 2000
    assert qa.describe()["splits"]["test"]["labels"]["answers"] == 600
    assert read_task("demo/corpus").kind == "masked"
    with pytest.raises(UserError, match="demo/sentiment has a task of its own; leave out --kind"):
        read_task("demo/sentiment", kind="trees")
    for wrong, source, kind in (
        ("las", "demo/qa", None),
        ("accuracy", "demo/corpus", "trees"),
        ("uas", "demo/sentiment", None),
    ):
        with pytest.raises(UserError, match=f"metric {wrong} isn't for"):
            read_task(source, metric=wrong, kind=kind)


@pytest.mark.slow
@with_shared
def test_ewt():
    task = read_task(EWT)
    assert task.name == "UD_English-EWT" and task.score(task.output.gold(task.test)[..., :2]).value == 1.0
    assert (len(task.train), len(task.validation), len(task.test)) == (12544, 2001, 2077)
    # methods.md: either chain's links are about .43 of the tree's, directions aside; one direction has most of them.
    chain = task.score(task.blind_outputs(task.test)).secondary
    assert 0.25 < chain["uas_no_punct"] < 0.43
