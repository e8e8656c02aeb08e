"""Tasks whose answers are no labels: spans of a text, and dependency trees. From files to train, validation and test.

squad.json, a folder of train and dev   SQuAD's JSON: spans
ewt.conllu, UD_English-EWT/             a treebank: trees
mine.jsonl                              own annotation (see relations.py), where `kind` says which is meant

A folder's train file gives train and validation, its test file (of a treebank; otherwise dev) test. What is alone
is split.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.bad_rows import BadRows
from bertscope.data.metrics import METRICS
from bertscope.data.options import TaskOptions
from bertscope.data.relations import read_relations
from bertscope.data.span_task import SpanTask
from bertscope.data.splits import LEAST_ROWS, TEST_SHARE, VALIDATION_SHARE, parts
from bertscope.data.squad import read_squad
from bertscope.data.table import EXTENSIONS
from bertscope.data.task import Task
from bertscope.data.tree_task import TreeTask
from bertscope.data.trees import check_tree

StructuredKind = Literal["spans", "trees"]
Splits = tuple[Examples, Examples, Examples]
"""Train, validation, test."""
TREEBANK = (".conllu", ".conllu.gz", ".conllu.xz")
_ENDINGS = {"spans": (".json", ".jsonl"), "trees": (*TREEBANK, ".jsonl")}
_TEST = {"spans": ("dev", "validation", "test"), "trees": ("test", "dev", "validation")}
_SAYS_ITSELF = ("text", "text_pair", "label")
"""What may not be said of such a file: it has no columns."""


def holds_squad(folder: Path) -> bool:
    """Whether its train file is JSON, and nothing else that could be read."""
    plain = any((folder / f"train{extension}").exists() for extension in EXTENSIONS)
    return not plain and any(_named("train").search(path.name) for path in folder.glob("*.json"))


def structured_files(path: Path, kind: StructuredKind) -> tuple[Path, Path | None]:
    """What is trained on and what is scored; None where the one has to do for both."""
    if not path.exists():
        raise UserError(f"no file or folder {path}; give SQuAD's .json or a treebank's .conllu, or the folder of one")
    training = _of_role(path, "train", kind) if path.is_dir() else None
    if training is None:
        return path, None
    for role in _TEST[kind]:
        if found := _of_role(path, role, kind):
            return training, found
    raise UserError(
        f"{path} has {training.name} but no {_TEST[kind][0]} file to score; add it, or give {training.name} alone"
    )


def read_structured(path: Path, kind: StructuredKind, options: TaskOptions) -> Task:
    """The task that a file or folder holds."""
    options.refuse(str(path), *_SAYS_ITSELF)
    bad, notes = BadRows(skip=options.skip_bad), list[str]()
    training, test = structured_files(path, kind)
    read = [_read(file, kind, bad, notes) for file in (training, test) if file is not None]
    if test is not None:
        notes.append(f"test is {test.name}")
    name = path.absolute().name if path.is_dir() else path.name.partition(".")[0]
    return MAKERS[kind](name, read, options, bad, tuple(notes))


def make_spans(
    name: str, read: Sequence[Examples], options: TaskOptions, bad: BadRows, notes: tuple[str, ...] = ()
) -> Task:
    """A task of the questions in one split, or in what is to be trained on and what is to be scored. All questions
    about one text go to the same split."""
    read = [_answerable(name, examples, bad) for examples in read]
    groups = np.unique(np.array(read[0].pair), return_inverse=True)[1]
    splits = _split(name, read, groups, options.seed)
    return SpanTask(name, "spans", (), *splits, METRICS["spans"][0], (*notes, *bad.notes()))


def make_trees(
    name: str, read: Sequence[Examples], options: TaskOptions, bad: BadRows, notes: tuple[str, ...] = ()
) -> Task:
    """The same of sentences with trees."""
    read = [_with_trees(name, examples, bad) for examples in read]
    splits = _split(name, read, np.arange(len(read[0])), options.seed)
    return trees_task(name, splits, (*notes, *bad.notes()))


def trees_task(name: str, splits: Splits, notes: tuple[str, ...] = ()) -> Task:
    relations = sorted({relation for row in splits[0].marks["relation"] for relation in row})
    return TreeTask(name, "trees", tuple(relations), *splits, METRICS["trees"][0], notes)


MAKERS = {"spans": make_spans, "trees": make_trees}


def _named(role: str) -> re.Pattern[str]:
    return re.compile(rf"(^|[-_.]){role}([-_.]|$)", re.IGNORECASE)


def _of_role(folder: Path, role: str, kind: StructuredKind) -> Path | None:
    """The folder's file that is called `train` or the like: train-v1.1.json, en_ewt-ud-train.conllu."""
    files = (path for path in sorted(folder.iterdir()) if path.name.lower().endswith(_ENDINGS[kind]))
    found = [path for path in files if _named(role).search(path.name)]
    if len(found) > 1:
        raise UserError(f"{folder} has both {found[0].name} and {found[1].name}; keep one in the folder")
    return found[0] if found else None


def _read(path: Path, kind: StructuredKind, bad: BadRows, notes: list[str]) -> Examples:
    if kind == "spans" and path.suffix.lower() == ".json":
        return read_squad(path, bad)
    if kind == "spans" and not path.name.lower().endswith(".jsonl"):
        raise UserError(f"{path} holds no questions with answers; give SQuAD's .json, or .jsonl with answers")
    return read_relations(path, skip_bad=bad.skip, notes=notes)


def _answerable(name: str, examples: Examples, bad: BadRows) -> Examples:
    """The questions that have an answer: a span head points at one whatever it is asked."""
    if examples.answers is None or examples.pair is None:
        raise UserError(f"{name} has no questions with answers (text, text_pair and answers); give SQuAD's .json")
    has = [bool(answers) and all(start < end for start, end in answers) for answers in examples.answers]
    if not all(has):
        bad.refuse(
            "question without an answer",
            f"{name}: question {examples.ids[has.index(False)]} has no answer in its text, as in SQuAD 2.0, which a "
            "span can't say; give SQuAD 1.1",
            has.count(False),
        )
    return examples.take(np.flatnonzero(has))


def _with_trees(name: str, examples: Examples, bad: BadRows) -> Examples:
    """The sentences whose words make one tree."""
    if examples.governors is None or "relation" not in examples.marks or examples.pair is not None:
        raise UserError(
            f"{name} has no sentences with governors and relations; give a treebank, such as a .conllu file"
        )
    wrong = [check_tree(governors) for governors in examples.governors]
    for row, why in enumerate(wrong):
        if why is not None:
            bad.refuse("no tree", f"{name}, {examples.ids[row]}: {why}; mend it")
    return examples.take([row for row, why in enumerate(wrong) if why is None])


def _split(name: str, read: Sequence[Examples], groups: np.ndarray, seed: int) -> Splits:
    """By whole groups of the rows that are trained on; each in the order of its file."""
    count = int(groups.max(initial=-1)) + 1
    if count < LEAST_ROWS:
        what = "rows" if count == len(groups) else "different texts"
        raise UserError(f"{name} has {count} {what}; at least {LEAST_ROWS} are needed to split it")
    order = np.random.default_rng(seed).permutation(count)
    training, *scored = read
    *cut, rest = parts(order, *([VALIDATION_SHARE] if scored else [TEST_SHARE, VALIDATION_SHARE]))
    found = [training.take(np.flatnonzero(np.isin(groups, part))) for part in (rest, *reversed(cut))]
    if scored and not len(scored[0]):
        raise UserError(f"{name}: no row can be scored; mend the test file")
    train, validation, test = (*found, *scored)
    return train, validation, test
