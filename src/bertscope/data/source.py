"""What a source is, told once from its name or path and from how it is to be read.

Demo        demo/sentiment           generated; demo/corpus is a task where `kind="trees"` says so
Named       glue/rte, snli, RTE/     a task known by name: from the hub, from the folder that `root` names, or
                                     recognised in a folder; tasks.py lists them
Structured  squad.json, x.conllu     questions with spans for answers, sentences with trees, a folder of either
Tagged      dev.iob2, conll2003/     words with tags: entities, parts of speech; see tagged.py
Tables      reviews.csv, reviews/    rows with labels in one file, or in a folder's train, dev and test files
Corpus      dev.conllu, fndata.zip,  texts to look at: a treebank, FrameNet, own annotation, plain text
            mine.jsonl, lines.txt
Streamed    parts/*.jsonl.gz         all files of a pattern: see streamed.py
HubRows     hub:owner/name:config    any data set of the hub
Held...     a DataFrame, a list      what Python users hold: see held.py

The first five, and rows of the hub, are tasks to train on. A treebank is both: texts to whoever looks at them, a task
to whoever trains. What is texts alone is a task of masked words to whoever trains: see recast.py.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.data.columns import looks_labelled
from bertscope.data.held import HUB, HeldRows, HubRows, held_rows, held_source, held_task, holds_texts
from bertscope.data.hub import on_hub
from bertscope.data.json_files import first_object, holds_rows
from bertscope.data.known import Known
from bertscope.data.locate import find_in, recognise
from bertscope.data.options import COLUMNS, TaskOptions
from bertscope.data.packed_files import Collection, is_collection
from bertscope.data.parquet_file import parquet_header
from bertscope.data.plain_files import explained
from bertscope.data.recast import MaskedTexts, PairVectors, plainly
from bertscope.data.source_kinds import Corpus, Demo, Named, Source, Structured, Tables, TaskSource
from bertscope.data.streamed import StreamedTexts, is_pattern
from bertscope.data.structured import TREEBANK, StructuredKind, holds_squad
from bertscope.data.tagged import is_tagged
from bertscope.data.tagged_source import TaggedFiles
from bertscope.data.task import Task
from bertscope.data.tasks import TASKS, declared, refuse_unknown

_PLAIN = {"id", "text", "text_pair"}
"""What lines of JSON have at most whose texts are neither labelled nor annotated."""
_RECAST = ("masked", "vectors")
"""Kinds of tasks that are made of what a source holds."""


def source_of(name: Any, options: TaskOptions) -> Source:
    """What a name, a path or an object stands for, to whoever looks at its texts."""
    if options.kind in _RECAST:
        return task_source(name, options)
    if not isinstance(name, str | Path):
        return held_source(name, options)
    if _is_demo(name):
        return Demo(name, options)
    with explained(name):
        streamed = is_pattern(name) or _is_parquet_of_texts(Path(name), options)
    if streamed:
        return StreamedTexts(name, options)
    if is_corpus(name, options):
        return _corpus(name, options)
    return task_source(name, options)


def task_source(name: Any, options: TaskOptions) -> TaskSource:
    """What it stands for to whoever trains on it: a treebank is then a task of trees, and texts alone are one of
    masked words."""
    if options.kind == "masked":
        return MaskedTexts(_name(name), options, _as_it_is(name, plainly(options)))
    if options.kind == "vectors":
        return PairVectors(_name(name), options, _scored(name, replace(plainly(options), label=options.label)))
    if not isinstance(name, str | Path):
        if not holds_texts(name):
            return held_task(name, options)
        return MaskedTexts(_name(name), options, held_source(name, plainly(options)))
    if _is_demo(name):
        found = Demo(name, options)
        alone = options.kind is None and not found.can_train
        return MaskedTexts(name, options, Demo(name, plainly(options))) if alone else found
    if str(name).startswith(HUB):
        return HubRows(name, options)
    with explained(name):
        if known := _known(name, options):
            return Named(name, options, known)
        if kind := _structured_kind(Path(name), options):
            return TaggedFiles(name, options) if kind == "tokens" else Structured(name, options, kind)
    if options.kind is None and is_corpus(name, options):
        return MaskedTexts(name, options, _corpus(name, plainly(options)))
    return Tables(name, options)


def _as_it_is(name: Any, options: TaskOptions) -> Source:
    """What is there to mask words of."""
    if not isinstance(name, str | Path | Task):
        return held_source(name, options) if holds_texts(name) else held_rows(name, options)
    found = task_source(name, options)
    return found.inner if isinstance(found, MaskedTexts) else found


def _scored(name: Any, options: TaskOptions) -> TaskSource:
    """What is read for scores of pairs; numbers in a table are then no classes."""
    found = task_source(name, options)
    guessed = isinstance(found, Tables | HeldRows | HubRows)
    return task_source(name, replace(options, kind="regression")) if guessed else found


def _is_demo(name: str | Path) -> bool:
    return str(name).startswith("demo/")  # a folder of that name is ./demo/...


def _corpus(name: str | Path, options: TaskOptions) -> Corpus:
    return Corpus(name, options, plain=_unpacked_name(Path(name)).endswith(".txt"))


def _name(given: Any) -> str | Path:
    return given if isinstance(given, str | Path) else held_source(given, TaskOptions()).name


def _known(name: str | Path, options: TaskOptions) -> Known | None:
    """The task known by name that is named, or that a folder holds; None where it is any other file or folder."""
    wanted, _, place = str(name).partition("@")
    root = options.root if options.root is not None else place or None
    path = Path(name)
    task = declared(wanted)
    if task and (root is not None or not path.exists()):
        options.refuse(task.name, *COLUMNS)
        return find_in(task, Path(root)) if root is not None else on_hub(task)
    if options.root is not None:
        raise UserError(f"--root is for tasks known by name, and {name} is none; {did_you_mean(wanted, TASKS)}")
    if not path.exists():
        refuse_unknown(wanted)
        return None
    # Whoever names the columns has a file of their own, whatever its folder is called.
    return None if _names_columns(options) else recognise(path)


def _structured_kind(path: Path, options: TaskOptions) -> StructuredKind | None:
    """Whether a file or folder has spans or trees, or is said to; None where it is a table of labels."""
    if options.kind == "spans" or options.kind == "trees" or options.kind == "tokens":
        return options.kind
    if is_tagged(path, options):
        return "tokens"
    if _names_columns(options):
        return None
    if path.is_dir() and holds_squad(path):
        return "spans"
    if path.suffix.lower() == ".json" and path.is_file():
        return None if holds_rows(path) else "spans"
    if path.name.lower().endswith(TREEBANK):
        return "trees"
    if path.exists() and is_collection(path):
        with Collection(path) as files:
            return "trees" if any(files.ending(ending) for ending in (".conllu", ".dp")) else None
    return None


def is_corpus(name: str | Path, options: TaskOptions) -> bool:
    """Whether it is a treebank, frames, own annotation or plain text: anything but a task."""
    path = Path(name)
    if options.kind in ("spans", "trees", "tokens"):
        return False
    unpacked = _unpacked_name(path)
    if unpacked.endswith(".conllu"):
        return True
    try:
        if unpacked.endswith(".txt"):
            # Some tasks are published as .txt files.
            return not path.exists() or (recognise(path) is None and not is_tagged(path, options))
        if path.is_file() and unpacked.endswith(".jsonl"):
            return not _names_columns(options) and not is_tagged(path, options) and _has_annotation(path)
        if path.exists() and is_collection(path):
            with Collection(path) as files:
                return any(files.ending(ending) for ending in (".conllu", ".dp", ".xml"))
    except OSError:  # a name that can't be one, a folder that can't be entered: the task's reader says so
        pass
    return False


def _is_parquet_of_texts(path: Path, options: TaskOptions) -> bool:
    """Whether a Parquet file has no column that could be a label or tags, and none is named."""
    if path.suffix.lower() != ".parquet" or not path.is_file() or options.label or options.kind or options.choices:
        return False
    return not looks_labelled(parquet_header(path)) and not is_tagged(path, options)


def _has_annotation(path: Path) -> bool:
    """Whether a .jsonl file has texts of its own rather than a task's rows, by its first line that is an object."""
    line = first_object(path)
    if line is None:
        return False
    marked = any(isinstance(line.get(key), list) for key in ("words", "links", "answers"))
    return "label" not in line and (marked or {"text"} <= line.keys() <= _PLAIN)


def _names_columns(options: TaskOptions) -> bool:
    return any(name in COLUMNS for name in options.given())


def _unpacked_name(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").removesuffix(".xz")
