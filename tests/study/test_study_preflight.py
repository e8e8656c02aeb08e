"""A study's data is read before its first step: what is wrong is one line with its place, and nothing has started."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("cyclopts")  # not on the bare GPU machine

from bertscope.analyses.structure import trees
from bertscope.core import inputs
from bertscope.core.step import graph
from bertscope.core.store import Store
from bertscope.data import positives
from bertscope.study.file import read_study
from bertscope.study.preflight import preflight

ROWS = "\n".join(f"it was {'good' if row % 2 else 'bad'} {row},{row % 2}" for row in range(40))
TREE = "1\tdogs\tdog\tNOUN\t_\t_\t{head}\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n"
FILES = {
    "good.csv": f"text,label\n{ROWS}\n", "empty.csv": "", "bare.csv": "text,label\n",
    "nan.csv": f"text,label\nso so,NaN\n{ROWS}\n", "bad.conllu": TREE.format(head=7),
    "good.conllu": TREE.format(head=2) * 20,
}  # fmt: skip
ASK = "\nquestions:\n  - ablate\n"

# What the file says after `model: pocket`, the line that is blamed, and what is said.
MISTAKES = {
    "empty": ("tasks: empty.csv" + ASK, 2, "empty.csv is empty"),
    "no rows": ("tasks: bare.csv" + ASK, 2, "bare.csv"),
    "a label is missing": ("tasks: nan.csv" + ASK, 2, "nan.csv, line 2: label 'NaN' stands for a missing one"),
    "no such column": ("tasks: {source: good.csv, text: txt}" + ASK, 2, "no column 'txt', only text, label; did"),
    "the second of two": (
        "tasks:\n  - {source: good.csv, label: label}\n  - {source: good.csv, label: stars}" + ASK, 4,
        "no column 'stars'",
    ),
    "a corpus": ("corpus: bad.conllu\nquestions: [patterns]", 2, "bad.conllu, sentence at line 1"),
    "of one question": (
        "tasks: good.csv\ndata:\n  other: bad.conllu\nquestions:\n  - ablate\n  - patterns: {on: other}", 4,
        "bad.conllu, sentence at line 1",
    ),
    "no trees": (
        "tasks: good.csv\nquestions:\n  - ablate\n  - structure: {on: tasks}", 5, "good has no dependency trees",
    ),
    "not told": (
        "corpus: good.conllu\nquestions:\n  - probe: {on: corpus, targets: [entity]}", 4, "don't tell entity",
    ),
    "no such words": (
        "tasks: good.csv\nquestions:\n  - ablate\n  - bias:\n      words: [zebra]", 5,
        "no training row of good mentions",
    ),
    "no scores": ("tasks: good.csv\nquestions: [sentences]", 3, "good has no pairs of texts with scores"),
    "no relations": ("tasks: good.csv\nquestions: [relations]", 3, "no relations between words; give a treebank"),
    "no such text": ("tasks: good.csv\nquestions:\n  - project: {example: 99}", 4, "there is no text '99'"),
    "of its trainings": (
        "tasks: good.csv\nquestions:\n  - ablate\n  - contrast: {pairs: pairs}", 5, "good has single texts",
    ),
    "beside it": (
        "tasks: good.csv\nquestions:\n  - ablate\n  - contrast: {sts: empty.csv}", 5, "empty.csv is empty",
    ),
    "set": ("tasks: good.csv" + ASK, "--set tasks", "empty.csv is empty"),
}  # fmt: skip


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def write(text: str) -> None:
        (tmp_path / "mine.yaml").write_text(f"model: pocket\n{text}\n")

    return write


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_wrong_with_data_is_told_first(written, command, tmp_path, name, dry):
    text, place, said = MISTAKES[name]
    written(text)
    by_set = isinstance(place, str)
    code, out, err = command(
        "study", "run", "mine.yaml", *(["--dry-run"] * dry), *(["--set", "tasks=empty.csv"] * by_set)
    )
    assert code == 2 and not out and len(err.splitlines()) == 1 and said in err, err
    assert err.startswith(f"bertscope: {place}: " if by_set else f"bertscope: mine.yaml, line {place}: "), err
    assert not (tmp_path / "bertscope-store").exists() and not (tmp_path / "mine-report.html").exists()


def test_data_is_opened_once_however_many_ask(written, tmp_path, monkeypatch):
    """A task, its texts and some of its texts are one file; so are four tasks that many questions go through."""
    for place in range(5):
        (tmp_path / f"{place}.csv").write_text(FILES["good.csv"].replace("it was", f"{place} was"))
    tasks = "".join(f"  - {place}.csv\n" for place in range(5))
    written(
        f"tasks:\n{tasks}questions: [ablate, importance, patterns, {{patterns: {{limit: 5}}}}, redundancy, change]"
    )
    opened, opening = [], inputs.Inputs._opening

    def counted(self, kind, value):
        opened.append(value.source)
        return opening(self, kind, value)

    monkeypatch.setattr(inputs.Inputs, "_opening", counted)
    kept = preflight(read_study("mine.yaml"), Store(tmp_path / "store"))
    assert len(opened) == len(set(opened)) == 5
    assert len(kept._open) == inputs.KEPT, "the last ones stay open"


def test_trainings_that_differ_in_their_seed_look_at_the_data_once(written, tmp_path, monkeypatch):
    """With true and with shuffled positives, not for each of five seeds; trees once, whatever models are asked."""
    written(
        "seeds: [0, 1, 2, 3, 4]\ntasks: good.csv\ncorpus: good.conllu\ndata: {lines: good.csv}\n"
        "questions: [{contrast: {of: model, on: lines}}, {structure: {of: [model, tuned], on: corpus}}]"
    )
    made, paired, grown = [], positives.matched, trees.Trees.of
    monkeypatch.setattr(positives, "matched", lambda *given, **how: made.append("sets") or paired(*given, **how))
    monkeypatch.setattr(trees.Trees, "of", lambda *given: made.append("trees") or grown(*given))
    study = read_study("mine.yaml")
    assert sum(step.name == "contrastive" for step in graph(study.steps).values()) == 10
    preflight(study, Store(tmp_path / "store"))
    assert made.count("sets") == 2 and made.count("trees") == 1


def test_reading_ahead_loads_no_torch(written):
    written(
        "tasks: good.csv\ncorpus: good.conllu\nquestions: [ablate, {structure: {on: corpus}}, {erase: {on: corpus}}]"
    )
    code = (
        "import sys\n"
        "from bertscope.core.store import Store\nfrom bertscope.study.preflight import preflight\n"
        "from bertscope.study.file import read_study\n"
        "preflight(read_study('mine.yaml'), Store('store'))\n"
        "print(sorted({'torch', 'transformers'} & {*sys.modules}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "[]"
