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
from pathlib import Path
from typing import Any

from bertscope.core.examples import Examples
from bertscope.core.step import Root
from bertscope.data.options import TaskOptions, with_options
from bertscope.data.source import is_corpus, source_of
from bertscope.data.source_kinds import CORPUS_OPTIONS, Part, TaskSource
from bertscope.data.task import Task


@with_options
def read_examples(source: str | Path, *, split: Part = "test", **options: Any) -> Examples:
    """Read texts, with labels and annotation where the source has them. `limit` draws that many at random.

    `split` is which part of a task: `train`, `validation` and `test` are those of `read_task`; `published-train`,
    `published-dev` and `published-test` are the splits of a task known by name, as its authors publish them. What is
    no task to train on can be read here too: HANS, which is for evaluation, and SQuAD's questions without an answer.
    """
    return source_of(source, TaskOptions.of(options)).examples(split)


@with_options
def examples_root(source: str | Path, *, split: Part = "test", **options: Any) -> Root:
    """The identity of what `read_examples` would read, by content."""
    return source_of(source, TaskOptions.of(options)).examples_root(split)


def second_root(source: str | Path, **options: Any) -> Root:
    """The identity of a corpus beside another: of the options that were given for both, those that it can have."""
    if is_corpus(source, TaskOptions()):
        options = {name: value for name, value in options.items() if name in CORPUS_OPTIONS}
    return examples_root(source, **options)


def read_data(source: str | Path, **options: Any) -> Task | Examples:
    """A task where the source is one, otherwise its texts."""
    found = source_of(source, TaskOptions.of(options))
    return found.task() if isinstance(found, TaskSource) and found.can_train else found.examples("test")


def data_root(source: str | Path, **options: Any) -> Root:
    """The identity of what `read_data` would read."""
    found = source_of(source, TaskOptions.of(options))
    return found.task_root() if isinstance(found, TaskSource) and found.can_train else found.examples_root("test")


def is_task(source: str | Path, **options: Any) -> bool:
    """Whether the source is a task to train on, with splits, by itself or because `kind` says so."""
    found = source_of(source, TaskOptions.of(options))
    return isinstance(found, TaskSource) and found.can_train


def open_examples(given: Task | Examples | Sequence[str] | str) -> Examples:
    """The texts that a question reads, by name or as they are: a task's test set, or a list."""
    return read_examples(given) if isinstance(given, str) else Examples.of(given)


def open_data(given: Task | Examples | Sequence[str] | str) -> Task | Examples:
    """What a question reads, by name or as it is: a task, or texts."""
    if isinstance(given, str):
        return read_data(given)
    return given if isinstance(given, Task) else Examples.of(given)
