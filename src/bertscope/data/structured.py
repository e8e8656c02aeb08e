"""Tasks whose answers are no labels: spans of a text, and dependency trees. From files to train, validation and test.

squad.json, a folder of train and dev   SQuAD's JSON: spans
dev.iob2, a folder of such files        words with tags: tagged.py and tagged_source.py, which use what is found here
ewt.conllu, UD_English-EWT/             a treebank: trees
mine.jsonl                              own annotation (see relations.py), where `kind` says which is meant

A folder's train, dev and test files are its three splits. Of train and one other file the one gives train and
validation, the other test. What is alone is split.
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
from bertscope.data.json_files import holds_rows, parse_json
from bertscope.data.metrics import METRICS
from bertscope.data.options import TaskOptions
from bertscope.data.packed_files import stream
from bertscope.data.relations import read_relations
from bertscope.data.splits import Own, Splits, make_splits
from bertscope.data.squad import holds_answers, read_squad
from bertscope.data.table import EXTENSIONS, PACKINGS
from bertscope.data.task import Task
from bertscope.data.treebank import has_governors
from bertscope.data.trees import check_tree

StructuredKind = Literal["spans", "trees", "tokens"]
TREEBANK = (".conllu", ".conllu.gz", ".conllu.xz")
TAGGED = (".conll", ".iob", ".iob2", ".bio", ".bio2", ".bioes", ".bilou")
"""Files whose name says that they have a word and its tag on each line: see conll_columns.py."""
_TAGGED = (*TAGGED, ".txt", ".tsv", ".jsonl", ".json", ".conllu", ".train", ".testa", ".testb")
_ENDINGS = {
    "spans": (".json", ".jsonl"), "trees": (*TREEBANK, ".jsonl"),
    "tokens": tuple(f"{ending}{packing}" for ending in _TAGGED for packing in ("", *PACKINGS)),
}  # fmt: skip
VALIDATION, TEST = ("dev", "validation", "valid", "testa"), ("test", "testb")
_ANSWERS = {"spans": "answers", "trees": "heads"}
"""What own annotation calls what is learnt."""
_NAMES = {"spans": "answers", "trees": "trees"}
"""What notes call it."""
SAYS_ITSELF = ("text", "text_pair", "label", "several", "choices", "id")
"""What may not be said of such a file: it has no columns."""


def holds_squad(folder: Path) -> bool:
    """Whether its train file is JSON, and nothing else that could be read."""
    plain = any((folder / f"train{extension}").exists() for extension in EXTENSIONS if extension != ".json")
    training = [path for path in folder.glob("*.json") if _named("train").search(path.name)]
    return not plain and any(not holds_rows(path) for path in training)


def structured_files(path: Path, kind: StructuredKind) -> Own[Path]:
    """The one file or folder, or what a folder has: train, and dev or test, or both."""
    if not path.exists():
        raise UserError(f"no file or folder {path}; give SQuAD's .json or a treebank's .conllu, or the folder of one")
    if not path.is_dir():
        return Own(path)
    training, validation, test = (_of_role(path, roles, kind) for roles in (("train",), VALIDATION, TEST))
    if training is None and kind == "tokens" and (validation or test):
        return Own(validation, None, test) if validation else Own(test or path)
    if training is None:
        return Own(path)
    if validation is None and test is None:
        wanted = "dev" if kind == "spans" else "test"
        raise UserError(
            f"{path} has {training.name} but no {wanted} file to score; add it, or give {training.name} alone"
        )
    return Own(training, validation, test) if validation and test else Own(training, None, validation or test)


def read_structured(path: Path, kind: StructuredKind, options: TaskOptions) -> Task:
    """The task that a file or folder holds."""
    options.refuse(str(path), *SAYS_ITSELF)
    bad, notes = BadRows(skip=options.skip_bad, few=options.limit is not None), list[str]()
    files = structured_files(path, kind)
    how = []
    if files.validation and files.test:
        if _has_answers(files.test, kind):
            how = [f"validation is {files.validation.name}, test is {files.test.name}"]
        else:
            how = [f"{files.test.name} has no {_NAMES[kind]}: it isn't taken, and test is {files.validation.name}"]
            files = Own(files.train, None, files.validation)
    elif files.test:
        how = [f"test is {files.test.name}"]
    own = files.each(lambda file: _read(file, kind, bad, notes))
    name = path.absolute().name if path.is_dir() else path.name.partition(".")[0]
    return MAKERS[kind](name, own, options, bad, (*notes, *how))


def make_spans(
    name: str, own: Own[Examples], options: TaskOptions, bad: BadRows, notes: tuple[str, ...] = ()
) -> Task:
    """A task of questions. All questions about one text go to the same split, where train is split."""
    own = own.each(lambda examples: _answerable(name, examples, bad))
    groups = np.unique(np.array(own.train.pair, dtype=object), return_inverse=True)[1]
    splits = make_splits(own, groups, _shuffled(groups, options), name, name)
    return Task(name, "spans", (), *splits, METRICS["spans"][0], (*notes, *bad.notes()))


def make_trees(
    name: str, own: Own[Examples], options: TaskOptions, bad: BadRows, notes: tuple[str, ...] = ()
) -> Task:
    """A task of sentences with trees."""
    own = own.each(lambda examples: _with_trees(name, examples, bad))
    groups = np.arange(len(own.train))
    splits = make_splits(own, groups, _shuffled(groups, options), name, name)
    return trees_task(name, splits, (*notes, *bad.notes()))


def trees_task(name: str, splits: Splits, notes: tuple[str, ...] = ()) -> Task:
    relations = sorted({relation for row in splits[0].marks["relation"] for relation in row})
    return Task(name, "trees", tuple(relations), *splits, METRICS["trees"][0], notes)


MAKERS = {"spans": make_spans, "trees": make_trees}


def _named(role: str) -> re.Pattern[str]:
    return re.compile(rf"(^|[-_.]){role}([-_.]|$)", re.IGNORECASE)


def files_of_roles(folder: Path, roles: Sequence[str], kind: StructuredKind) -> list[Path]:
    """The folder's files that are called `train` or the like: train-v1.1.json, en_ewt-ud-train.conllu. Those of the
    first of these roles that it has."""
    files = [path for path in sorted(folder.iterdir()) if path.name.lower().endswith(_ENDINGS[kind])]
    found = ([path for path in files if _named(role).search(path.name)] for role in roles)
    return next((paths for paths in found if paths), [])


def _of_role(folder: Path, roles: Sequence[str], kind: StructuredKind) -> Path | None:
    found = files_of_roles(folder, roles, kind)
    if len(found) > 1:
        raise UserError(f"{folder} has both {found[0].name} and {found[1].name}; keep one in the folder")
    return found[0] if found else None


def _read(path: Path, kind: StructuredKind, bad: BadRows, notes: list[str]) -> Examples:
    if kind == "spans" and path.suffix.lower() == ".json":
        return read_squad(path, bad)
    if kind == "spans" and not path.name.lower().endswith(".jsonl"):
        raise UserError(f"{path} holds no questions with answers; give SQuAD's .json, or .jsonl with answers")
    return read_relations(path, skip_bad=bad.skip, few=bad.few, notes=notes)


def _has_answers(path: Path, kind: StructuredKind) -> bool:
    """Whether a test file has what it would be scored by: test files are often published without."""
    if path.suffix.lower() == ".json":
        return holds_answers(path)
    if path.name.lower().endswith(TREEBANK):
        return has_governors(path)
    lines = (parse_json(raw.decode(errors="replace")) for raw in stream(path))
    return any(isinstance(line, dict) and line.get(_ANSWERS[kind]) for line in lines)


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


def _shuffled(groups: np.ndarray, options: TaskOptions) -> np.ndarray:
    return np.random.default_rng(options.seed).permutation(int(groups.max(initial=-1)) + 1)
