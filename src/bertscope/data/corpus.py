"""Texts to look at, from whatever holds them.

demo/corpus               annotated sentences of the demo language
dev.conllu, a folder      a treebank
fndata-1.5.zip            FrameNet
mine.jsonl                own annotation (see relations.py); the rows of a task, if they have a `label`
sentences.txt             plain text, a line each
anything else             what `read_task` reads: its test set
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import digest_files
from bertscope.core.step import Root
from bertscope.data.locate import recognise
from bertscope.data.options import COLUMNS, TaskOptions, with_options
from bertscope.data.read import Part, can_train, read_split, read_task, split_root, task_root
from bertscope.data.relations import read_relations
from bertscope.data.sources import Collection, is_collection, stream
from bertscope.data.table_files import parse_json
from bertscope.data.task import Task
from bertscope.data.text import read_text

_OWN_OPTIONS = ("limit", "seed", "skip_bad")
"""What may be said of texts that have their own annotation; the rest is about a task's columns and labels."""
_PLAIN = {"id", "text", "text_pair"}
"""What lines of JSON have at most whose texts are neither labelled nor annotated."""
_LOOKED_AT = 100
"""Lines of a .jsonl file among which one must be JSON for the file to be told."""


@with_options
def read_examples(source: str | Path, *, split: Part = "test", **options: Any) -> Examples:
    """Read texts, with labels and annotation where the source has them. `limit` draws that many at random.

    `split` is which part of a task: train, validation or test; or, of a task known by name, published-train,
    published-dev or published-test, as its authors publish them. What is no task to train on (HANS, SQuAD) can be
    read here too.
    """
    asked = TaskOptions.of(options)
    if not _is_annotated(source, asked):
        return read_split(source, split=split, **options)
    _refuse_others(source, split, asked)
    path, notes = Path(source), list[str]()
    if _is_text(path):
        found = read_text(path, notes=notes)
    else:
        found = read_relations(path, skip_bad=asked.skip_bad, notes=notes)
    if asked.limit is not None and asked.limit < len(found):
        found = found.take(np.sort(np.random.default_rng(asked.seed).permutation(len(found))[: asked.limit]))
    return replace(found, name=path.name, notes=tuple(notes))


@with_options
def examples_root(source: str | Path, *, split: Part = "test", **options: Any) -> Root:
    """The identity of what `read_examples` would read, by content."""
    asked = TaskOptions.of(options)
    if not _is_annotated(source, asked):
        return split_root(source, split=split, **options)
    _refuse_others(source, split, asked)
    path = Path(source).absolute()
    if not path.exists():
        raise UserError(f"no file {source}; check the path")
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    return Root("examples", str(path), digest_files(files), asked.given())


def second_root(source: str | Path, **options: Any) -> Root:
    """The identity of a corpus beside another: of the options that were given for both, those that it can have."""
    if _is_annotated(source, TaskOptions()):
        options = {name: value for name, value in options.items() if name in _OWN_OPTIONS}
    return examples_root(source, **options)


def read_data(source: str | Path, **options: Any) -> Task | Examples:
    """A task where the source is one, otherwise its texts."""
    return read_task(source, **options) if is_task(source, **options) else read_examples(source, **options)


def open_examples(given: Task | Examples | Sequence[str] | str) -> Examples:
    """The texts that a question reads, by name or as they are: a task's test set, or a list."""
    return read_examples(given) if isinstance(given, str) else Examples.of(given)


def open_data(given: Task | Examples | Sequence[str] | str) -> Task | Examples:
    """What a question reads, by name or as it is: a task, or texts."""
    if isinstance(given, str):
        return read_data(given)
    return given if isinstance(given, Task) else Examples.of(given)


def data_root(source: str | Path, **options: Any) -> Root:
    """The identity of what `read_data` would read."""
    return task_root(source, **options) if is_task(source, **options) else examples_root(source, **options)


def is_task(source: str | Path, **options: Any) -> bool:
    """Whether the source is a task to train on, with splits, by itself or because `kind` says so."""
    return not _is_annotated(source, TaskOptions.of(options)) and can_train(source, **options)


def _is_text(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").removesuffix(".xz").endswith(".txt")


def _is_annotated(source: str | Path, asked: TaskOptions) -> bool:
    """Whether the source is a treebank, frames, own annotation or plain text: anything but a task."""
    if asked.kind in ("spans", "trees"):
        return False
    path = Path(source)
    name = path.name.lower().removesuffix(".gz").removesuffix(".xz")
    if name.endswith(".conllu"):
        return True
    try:
        if name.endswith(".txt"):
            return not path.exists() or recognise(path) is None  # some tasks are published as .txt files
        if path.is_file() and name.endswith(".jsonl"):
            return not any(name in COLUMNS for name in asked.given()) and _has_annotation(path)
        if path.exists() and is_collection(path):
            with Collection(path) as files:
                return any(files.ending(ending) for ending in (".conllu", ".dp", ".xml"))
    except OSError:  # a name that can't be one, a folder that can't be entered: the task's reader says so
        pass
    return False


def _has_annotation(path: Path) -> bool:
    """Whether a .jsonl file has texts of its own rather than a task's rows, by its first line that is an object.
    Whatever is wrong with the file, its reader will say."""
    try:
        for raw in islice(stream(path), _LOOKED_AT):
            said = parse_json(raw.decode(errors="replace"))
            if isinstance(said, dict):
                marked = any(isinstance(said.get(key), list) for key in ("words", "links", "answers"))
                return "label" not in said and (marked or {"text"} <= said.keys() <= _PLAIN)
    except UserError:
        pass
    return path.suffix.lower() != ".jsonl"  # the rows of a task can't be packed


def _refuse_others(source: str | Path, split: Part, asked: TaskOptions) -> None:
    if split != "test":
        raise UserError(f"{source} has no splits; leave out --split {split}")
    for name in asked.given():
        if name not in _OWN_OPTIONS:
            raise UserError(f"{source} is no task with columns and labels; leave out --{name.replace('_', '-')}")
