"""Reading a task: from the demo language, a task known by name, a file, or a folder of files.

demo/sentiment          generated; demo/corpus with `kind="trees"`
glue/rte, snli ...      from the hub, or from the folder that `root` names; data/tasks.py lists them
RTE/                    a folder that is one of those is recognised
reviews.csv             one file: 20% becomes test, 10% of the rest validation, the rest train
reviews/                train, dev and test files are taken as they are; of train and one other, train gives train and
                        validation (10%), the other is test
squad.json, x.conllu    questions with spans for answers, a treebank, or a folder of either: see structured.py
"""

from __future__ import annotations

from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.step import Root
from bertscope.data.options import TaskOptions, with_options
from bertscope.data.source import task_source
from bertscope.data.task import Task


@with_options
def read_task(source: Any, **options: Any) -> Task:
    """Read a task from `demo/NAME`, a name such as `glue/rte`, a file, a folder with train and dev files, or from
    rows in memory: a DataFrame, a list of dicts, a Dataset or a DatasetDict.

    Columns that aren't named are guessed, and the guess is said in the task's notes. `kind` is told from the labels
    unless it is given; `trees` makes a task of sentences with trees, `spans` one of questions with answers,
    `masked` one of guessing masked words (as which texts alone are read), `vectors` one of scored pairs for embedding
    models. `limit` keeps that many rows of each split; `seed` decides the splits, or the demo's sentences. `root` is
    the folder in which a task known by name lies. `skip_bad` leaves out rows that can't be used, and the notes say
    how many. `without` leaves rows that mention certain words out of train and validation, or with `at_random` as
    many others. An example's id is its file's name and the line it begins on.
    """
    return task_source(source, TaskOptions.of(options)).task()


@with_options
def task_root(source: Any, **options: Any) -> Root:
    """The identity of what `read_task` would read, by content; `read_task(root.given, **root.options)` reads it."""
    return task_source(source, TaskOptions.of(options)).task_root()


def refuse_unlabelled(task: Root) -> None:
    """Refuse a task of spans, trees or masked words, before anything is trained on it."""
    if not task_source(task.given, TaskOptions.of(task.options)).labelled:
        raise UserError(
            f"{task.source} asks for spans of a text, for trees, or for masked words; this question needs labels or "
            "scores of texts"
        )


def needs_model(task: Root) -> bool:
    """Whether only a model's tokenizer can say what is right in it."""
    return task_source(task.given, TaskOptions.of(task.options)).needs_model


def declared_labels(source: Any, **options: Any) -> tuple[str, ...]:
    """The names of the classes of a task that is known by name, or in memory; none where they must be read."""
    return task_source(source, TaskOptions.of(options)).labels
