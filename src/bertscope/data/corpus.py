"""Texts to look at, from whatever holds them.

demo/corpus               annotated sentences of the demo language
dev.conllu, a folder      a treebank
fndata-1.5.zip            FrameNet
mine.jsonl                own annotation (see relations.py); the rows of a task, if they have a `label`
sentences.txt             plain text, a line each
parts/*.txt.gz            all files of a pattern; a Parquet file of texts without labels: see streamed.py
anything else             what `read_task` reads: its test set
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.step import Root
from bertscope.data.held import HUB, HeldRows
from bertscope.data.options import TaskOptions, with_options
from bertscope.data.plain_files import named
from bertscope.data.row_files import ENDINGS
from bertscope.data.source import is_corpus, source_of
from bertscope.data.source_kinds import CORPUS_OPTIONS, Corpus, Part, TaskSource
from bertscope.data.streamed import StreamedTexts
from bertscope.data.streamed_hub import StreamedHub
from bertscope.data.table import unpacked_suffix
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


def open_streamed(source: Any, **options: Any) -> StreamedTexts:
    """A corpus to be read a window at a time, as `read_examples` would read it whole; nothing is read yet."""
    if not isinstance(source, str | Path):
        raise UserError("what is held in memory can't be read in shards; write it to a file, and name that")
    how = TaskOptions.of(options)
    if how.limit is not None:
        raise UserError("--limit draws from all texts, and shards are read one by one; leave out one of them")
    if str(source).startswith(HUB):
        return StreamedHub(source, how)
    found = source_of(source, how)
    if isinstance(found, StreamedTexts):
        return found
    if isinstance(found, Corpus) and unpacked_suffix(Path(source)) in ENDINGS:
        return StreamedTexts(source, how)
    raise UserError(
        f"{named(source)} can't be read in shards: it is no file of texts without labels ({', '.join(ENDINGS)}, also "
        f"with .gz or .xz), no pattern of such files, and no {HUB}owner/name"
    )


def streamed_root(source: Any, **options: Any) -> Root:
    """The identity of what `open_streamed` would read, by content."""
    return open_streamed(source, **options).examples_root("test")
