"""Texts to look at, from whatever holds them.

demo/corpus               annotated sentences of the demo language
dev.conllu, a folder      a treebank
fndata-1.5.zip            FrameNet
mine.jsonl                own annotation (see relations.py); the rows of a task, if they have a `label`
sentences.txt             plain text, a line each
anything else             what `read_task` reads: its test set
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertscope.core.examples import Examples
from bertscope.core.step import Root
from bertscope.data.held import HeldRows
from bertscope.data.options import TaskOptions, with_options
from bertscope.data.source import is_corpus, source_of
from bertscope.data.source_kinds import CORPUS_OPTIONS, Part, TaskSource
from bertscope.data.task import Task


@with_options
def read_examples(source: Any, *, split: Part = "test", **options: Any) -> Examples:
    """Read texts, with labels and annotation where the source has them; a list of texts, a Series or a Column is one
    too, and whatever `read_task` takes. `limit` draws that many at random.

    `split` is which part of a task: `train`, `validation` and `test` are those of `read_task`; `published-train`,
    `published-dev` and `published-test` are the splits of a task known by name, as its authors publish them. What is
    no task to train on can be read here too: HANS, which is for evaluation, and SQuAD's questions without an answer.
    """
    return source_of(source, TaskOptions.of(options)).examples(split)


@with_options
def examples_root(source: Any, *, split: Part = "test", **options: Any) -> Root:
    """The identity of what `read_examples` would read, by content."""
    return source_of(source, TaskOptions.of(options)).examples_root(split)


def options_of_second(source: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """How a corpus beside another is read: of the options that were given for both, those that it can have."""
    named = isinstance(source, str | Path)
    has_columns = (
        not is_corpus(source, TaskOptions()) if named else isinstance(source_of(source, TaskOptions()), HeldRows)
    )
    return {name: value for name, value in options.items() if has_columns or name in CORPUS_OPTIONS}


def read_data(source: Any, **options: Any) -> Task | Examples:
    """A task where the source is one, otherwise its texts."""
    found = source_of(source, TaskOptions.of(options))
    return found.task() if isinstance(found, TaskSource) and found.can_train else found.examples("test")


def data_root(source: Any, **options: Any) -> Root:
    """The identity of what `read_data` would read."""
    found = source_of(source, TaskOptions.of(options))
    return found.task_root() if isinstance(found, TaskSource) and found.can_train else found.examples_root("test")


def is_task(source: Any, **options: Any) -> bool:
    """Whether the source is a task to train on, with splits, by itself or because `kind` says so."""
    found = source_of(source, TaskOptions.of(options))
    return isinstance(found, TaskSource) and found.can_train
