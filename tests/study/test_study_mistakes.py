"""Mistakes in a study file, or in what is set: one clear line with its place for each, before anything runs."""

from __future__ import annotations

import pytest

from bertscope.core.errors import UserError
from bertscope.study.file import read_study

BASE = "model: pocket\ntasks: demo/sentiment\n"
LIST = BASE + "questions: "
ASK = BASE + "questions:\n  - "
ASKED = "questions: [ablate]"
ABLATE = BASE + ASKED

# Text, its sets, where, and what is said.
MISTAKES = {
    "unknown key": ("modle: pocket\n" + ASKED, (), "line 1", "did you mean 'model'?"),
    "unknown question": (ASK + "ablate\n  - ablat", (), "line 5", "did you mean 'ablate'?"),
    "a step, no question": (LIST + "[ticket]", (), "line 3", "no question 'ticket'"),
    "unknown setting": (ASK + "ablate:\n      mod: zero", (), "line 5", "did you mean 'mode'?"),
    "not a choice": (ASK + "ablate:\n      mode: zeor", (), "line 5", "did you mean 'zero'?"),
    "not a number": (LIST + "[{ablate: {repeats: many}}]", (), "line 3", "a whole number"),
    "not a whole number": (LIST + "[{ablate: {repeats: 2.5}}]", (), "line 3", "a whole number"),
    "true is no number": (LIST + "[{ablate: {repeats: true}}]", (), "line 3", "repeats is true"),
    "text is wanted": (LIST + "[{project: {example: true}}]", (), "line 3", "it must be text"),
    "out of range": (ASK + "lottery:\n      seeds: [0]\n      threshold: 3", (), "line 6", "threshold"),
    "infinite": (BASE + "training: {learning_rate: 1e999}\n" + ASKED, (), "line 3", "learning_rate"),
    "seeds twice": (BASE + "seeds: [1, 1]\nquestions: [scratch]", (), "line 3", "different numbers"),
    "seeds of text": (BASE + "seeds: all\nquestions: [scratch]", (), "line 3", "a whole number"),
    "training's keys": (BASE + "training: {batch_size: 3}\n" + ASKED, (), "line 3", "unknown key 'batch_size'"),
    "missing file": ("model: pocket\ntasks:\n  - demo/sentiment\n  - no.csv\n" + ASKED, (), "line 4", "no.csv"),
    "missing model": ("model: ./none\ntasks: demo/sentiment\n" + ASKED, (), "line 1", "no model folder"),
    "unknown demo": ("model: pocket\ntasks: demo/sentimnt\n" + ASKED, (), "line 2", "demo/sentiment"),
    "unknown column": ("model: pocket\ntasks: {source: a.csv, txt: b}\n" + ASKED, (), "line 2", "'text'?"),
    "no source": ("model: pocket\ntasks: {text: b}\n" + ASKED, (), "line 2", "source"),
    "unknown model": (ASK + "ablate: {of: tunde}", (), "line 4", "did you mean 'tuned'?"),
    "unknown data": (ASK + "ablate: {on: task}", (), "line 4", "did you mean 'tasks'?"),
    "no data at all": ("model: pocket\nquestions:\n  - patterns", (), "line 3", "add some: tasks: demo/sentiment"),
    "one model for two": (ASK + "change: {of: model}", (), "line 4", "before, after"),
    "of nothing": (ASK + "ablate: {of: []}", (), "line 4", "asked of nothing"),
    "on nothing": (ASK + "ablate: {on: []}", (), "line 4", "asked on nothing"),
    "a base below": (BASE + "models:\n  a: {base: b}\n  b: pocket\n" + ASKED, (), "line 4", "'b' is named above a"),
    "two bases": (BASE + "models:\n  a: {base: [model, b]}\n" + ASKED, (), "line 4", "name of model must be text"),
    "a circle": (BASE + "models:\n  a: {base: b}\n  b: {base: a}\n" + ASKED, (), "line 4", "no model 'b'"),
    "a taken name": (BASE + "models:\n  model: pocket\n" + ASKED, (), "line 4", "is a key of the file"),
    "an odd name": (BASE + "models:\n  a.b: pocket\n" + ASKED, (), "line 4", "letters"),
    "of no question": (ASK + "overlap: {of: lottery}", (), "line 4", "question asked above 'lottery'"),
    "say of which": (ASK + "overlap", (), "line 4", "of which question"),
    "sweep of one": (ASK + "ablate: {sweep: {mode: zero}}", (), "line 4", "must be a list"),
    "sweep of none": (ASK + "ablate:\n      sweep: {mood: [1]}", (), "line 5", "'mode'?"),
    "limit of a task": (ASK + "ablate: {limit: 5}", (), "line 4", "unknown key 'limit'"),
    "two in one": (ASK + "ablate: {}\n    change: {}", (), "line 4", "a question is its name"),
    "no list": (BASE + "questions: ablate", (), "line 3", "must be a list"),
    "no questions": (BASE, (), "line 1", "asks nothing"),
    "empty": ("", (), "line 1", "the file is empty; say at least a model"),
    "comments alone": ("# nothing\n", (), "line 1", "the file is empty"),
    "nothing left": (ASK + "ablate: false", (), "line 3", "every question is left out"),
    "nothing to compare": (
        ASK + "lottery: false\n  - overlap: {of: lottery}", (), "line 5", "question asked above 'lottery'",
    ),
    "settings in a list": (ASK + "ablate: [zero]", (), "line 4", "the settings of ablate must be a mapping"),
    "no model": ("tasks: demo/sentiment\n" + ASKED, (), "line 2", "add both, such as model: pocket"),
    "no base": ("corpus: demo/corpus\nquestions: [patterns]", (), "line 2", "no model 'model' in this study; add"),
    "no tasks": ("model: pocket\n" + ASKED, (), "line 2", "it is model fine-tuned on tasks"),
    "a model for data": (ASK + "patterns: {on: model}", (), "line 4", "no data 'model' in this study; known: tasks"),
    "data for a model": (ASK + "ablate: {of: tasks}", (), "line 4", "no model 'tasks' in this study; known: mod"),
    "a model for answers": (ASK + "lottery\n  - overlap: {of: tuned}", (), "line 5", "'tuned' in this study; known:"),
    "no rows": (BASE + "limit: 0\n" + ASKED, (), "line 3", "limit is 0"),
    "no texts": (ASK + "change:\n      limit: 0", (), "line 5", "limit is 0"),
    "no seed": (BASE + "data_seed: -1\n" + ASKED, (), "line 3", "seed is -1"),
    "no folder": ("model: pocket\ntasks: glue/rte\nroot: nowhere\n" + ASKED, (), "line 3", "no folder nowhere"),
    "a list": ("- ablate", (), "line 1", "a study must be a mapping"),
    "twice": (BASE + "model: pocket\n" + ASKED, (), "line 3", "there twice; leave one"),
    "not YAML": (LIST + "[ablate\ntitle: x", (), "line 3", "isn't closed with ']'"),
    "a tab": ("model: pocket\n\ttasks: x", (), "line 2", "a tab; indent with spaces"),
    "indented too far": ("model: pocket\n tasks: x", (), "line 2", "check the indentation"),
    "a colon is missing": ("model pocket\ntasks: x", (), "line 2", "the line above"),
    "out of line": (ASK + "ablate\n - change", (), "line 5", "doesn't go on with what was begun"),
    "a quote": ('title: "Ours\nmodel: pocket\n' + ASKED, (), "line 1", "never closed"),
    "an odd sign": ("model: @pocket\n" + ASKED, (), "line 1", "begin with @; put it into quotes"),
    "two documents": (BASE + "---\n" + ASKED, (), "line 3", "a second document"),
    "code": ("model: !!python/name:os.system x", (), "line 1", "tag"),
    "an alias": ("model: &a pocket\ntasks: *a", (), "line 2", "write the value out"),
    "a control character": ("model: pocket\ntasks: \x07", (), "line 2", "can't have"),
    "title of a list": (BASE + "title: [a]\n" + ASKED, (), "line 3", "title must be text"),
    "set: no value": (ABLATE, ("model",), "--set model", "write key=value"),
    "set: unknown key": (ABLATE, ("modle=pocket",), "--set modle", "did you mean 'model'?"),
    "set: unknown below": (ABLATE, ("training.epoch=1",), "--set training.epoch", "'epochs'?"),
    "set: not asked": (ABLATE, ("questions.change.seed=1",), "--set questions", "'change'"),
    "set: beside no name": (LIST + "[[ablate], change]", ("questions.change.seed=1",), "line 3", "is its name"),
    "set: two in one": (LIST + "[{ablate: , change: }]", ("questions.change.seed=1",), "line 3", "is its name"),
    "set: unknown setting": (ABLATE, ("questions.ablate.mod=1",), "questions.ablate.mod", "'mode'?"),
    "set: no settings": (ABLATE, ("questions.ablate=7",), "--set questions.ablate", "must be a mapping"),
    "set: wrong type": (ABLATE, ("seeds=[a]",), "--set seeds", "a whole number"),
    "set: not YAML": (ABLATE, ("tasks=[a",), "--set tasks", "isn't closed with ']'"),
    "set: too deep": (ABLATE, ("model.name=a",), "--set model.name", "nothing to set inside"),
    "set: missing file": (ABLATE, ("tasks=no.csv",), "--set tasks", "no.csv"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_its_place(tmp_path, monkeypatch, name):
    text, sets, where, said = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_study("mine.yaml", sets)
    message = str(caught.value)
    assert "\n" not in message and said in message
    assert message.startswith(f"mine.yaml, {where}: " if where.startswith("line") else "--set "), message
    assert where in message


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.yaml").write_bytes("title: é".encode("latin-1"))
    for source, said in (
        ("dmeo", "did you mean 'demo'?"),
        (tmp_path / "demo", "no file of that name"),
        ("demo.yaml", "did you mean 'demo'?"),
        (tmp_path / "latin.yaml", "UTF-8"),
    ):
        with pytest.raises(UserError, match=said.replace("?", r"\?")):
            read_study(source)
