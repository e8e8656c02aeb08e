"""Reading a task: from the demo language, a task known by name, a file, or a folder of files.

demo/sentiment          made on the spot; demo/corpus with `kind="trees"`
glue/rte, snli ...      from the hub, or from the folder that `root` names; data/tasks.py lists them
RTE/                    a folder that is one of those is recognised
reviews.csv             one file: 20% becomes test, 10% of the rest validation, the rest train
reviews/                train.tsv gives train and validation (10%); dev, validation, test-labeled or test gives test
squad.json, x.conllu    questions with spans for answers, a treebank, or a folder of either: see structured.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.core.files import digest_files
from bertscope.core.step import Root
from bertscope.data import demo
from bertscope.data.assemble import Material, few, make_task, noting_repeats, with_metric
from bertscope.data.bad_rows import BadRows
from bertscope.data.columns import find_columns
from bertscope.data.hub import on_hub
from bertscope.data.known import Known
from bertscope.data.locate import find_in, plain_files, recognise
from bertscope.data.options import COLUMNS, TaskOptions, with_options
from bertscope.data.structured import make_spans, read_structured, structured_files, structured_kind
from bertscope.data.subsets import without_words
from bertscope.data.table import shown
from bertscope.data.table_files import read_table
from bertscope.data.task import NEEDS_LABELS, Kind, Task
from bertscope.data.tasks import TASKS, SplitName, declared, refuse_unknown

Part = Literal["train", "validation", "test", "published-train", "published-dev", "published-test"]
_PUBLISHED: Mapping[Part, SplitName] = {
    "published-train": "train", "published-dev": "dev", "published-test": "test",
}  # fmt: skip


@with_options
def read_task(source: str | Path, **options: Any) -> Task:
    """Read a task from `demo/NAME`, a name such as `glue/rte`, a file, or a folder with train and dev files.

    Columns that aren't named are guessed, and the guess is said in the task's notes. `kind` is told from the labels
    unless it is given; `trees` makes a task of sentences with trees, `spans` one of questions with answers. `limit`
    keeps that many rows of each split; `seed` decides the splits, or the demo's sentences. `root` is the folder in
    which a task known by name lies. `skip_bad` leaves out rows that can't be used, and the notes say how many.
    `without` leaves rows that mention certain words out of train and validation, or with `at_random` as many others.
    An example's id is its file's name and the line it begins on.
    """
    if not isinstance(source, (str, Path)):
        kind = type(source).__name__
        raise UserError(
            f"can't read {kind} as a task; give a name or a path: write tables to a .csv or .parquet file"
        )
    asked = TaskOptions.of(options)
    if _is_demo(source):
        _refuse_columns(source, asked)
        task = demo.make(str(source), asked.seed, asked.kind)
    else:
        task = _read(source, asked)
    task = with_metric(task, asked)
    train, validation, test = (few(part, task.kind, asked) for part in (task.train, task.validation, task.test))
    task = replace(task, train=train, validation=validation, test=test)
    return noting_repeats(without_words(task, asked.without, asked.at_random) if asked.without else task)


@with_options
def task_root(source: str | Path, **options: Any) -> Root:
    """The identity of what `read_task` would read, by content; `read_task(root.source, **root.options)` reads it."""
    return _root("task", source, TaskOptions.of(options))


def refuse_unlabelled(task: Root) -> None:
    """Refuse a task of spans or trees, before anything is trained on it."""
    source, asked = task.source, TaskOptions.of(task.options)
    if _is_demo(source):
        labelled = demo.is_labelled(source)
    elif known := _known(source, asked):
        labelled = known.task.kind != "answers"
    else:
        labelled = structured_kind(source, asked) is None
    if not labelled:
        raise UserError(f"{source} asks for spans of a text, or for trees: {NEEDS_LABELS}")


@with_options
def split_root(source: str | Path, *, split: Part = "test", **options: Any) -> Root:
    """The identity of what `read_split` would read."""
    root = _root("examples", source, TaskOptions.of(options))
    return root if split == "test" else replace(root, options={**root.options, "split": split})


def _root(kind: Literal["task", "examples"], source: str | Path, asked: TaskOptions) -> Root:
    if _is_demo(source):
        _refuse_columns(source, asked)
        return Root(kind, str(source), demo.identity(str(source)), asked.given())
    given = replace(asked, root=None).given()  # a place is no identity
    with _explained(source):
        if known := _known(source, asked):
            if kind == "task":
                known.refuse_untrainable()
            return Root(kind, known.source, known.identity(), given)
        path = Path(source).absolute()
        if structure := structured_kind(path, asked):
            files = filter(None, structured_files(path, structure))
            # Located outright, so that whoever looks at the texts reads the same splits.
            return Root(kind, str(path), digest_files(files), given | {"kind": structure})
        return Root(kind, str(path), digest_files(plain_files(path)), given)


@with_options
def read_split(source: str | Path, *, split: Part = "test", **options: Any) -> Examples:
    """One split alone, also of what is no task to train on: HANS, which is for evaluation, and of SQuAD also the
    questions that have no answer.

    `train`, `validation` and `test` are those of `read_task`; `published-train`, `published-dev` and
    `published-test` are the splits of a task that is known by name, as its authors publish them.
    """
    if split not in get_args(Part):
        raise UserError(f"no split {split!r}; {did_you_mean(split, get_args(Part))}")
    asked = TaskOptions.of(options)
    with _explained(source):
        known = None if _is_demo(source) else _known(source, asked)
    published = _PUBLISHED.get(split)
    if known and (known.task.evaluation_only or known.task.kind == "answers") and split == "test":
        published = known.scored
    if _is_demo(source) and not demo.can_train(str(source), asked.kind):
        asked.refuse(str(source), *COLUMNS, "root", "metric")
        return replace(few(demo.examples(str(source), split, asked.seed), "regression", asked), name=str(source))
    if published is None:
        task = read_task(source, **options)
        return replace(getattr(task, split), name=task.name, notes=task.notes)
    if known is None:
        raise UserError(f"{source} has no published {published} split; ask for train, validation or test")
    bad = BadRows(skip=asked.skip_bad, expected=known.task.drops)
    kind: Kind = "regression" if known.task.kind == "regression" else "classification"
    found = few(known.examples(published, bad), kind, asked)
    return replace(found, name=known.task.name, notes=bad.notes())


def can_train(source: str | Path, **options: Any) -> bool:
    """Whether `read_task` takes this source; otherwise `read_split` alone does."""
    asked = TaskOptions.of(options)
    if _is_demo(source):
        return demo.can_train(str(source), asked.kind)
    with _explained(source):
        known = _known(source, asked)
    return known is None or not known.task.evaluation_only


def declared_labels(source: str | Path, **options: Any) -> tuple[str, ...]:
    """The names of the classes of a task known by name; none where the source is anything else."""
    if _is_demo(source):
        return ()
    with _explained(source):
        known = _known(source, TaskOptions.of(options))
    return known.task.labels if known else ()


@contextmanager
def _explained(source: str | Path) -> Iterator[None]:
    """Turn the operating system's refusals into one clear line."""
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot read {shown(str(source))}: {error.strerror or error}") from error


def _refuse_columns(source: str | Path, asked: TaskOptions) -> None:
    """A demo has no columns to name; that trees are meant may be said of those that have any."""
    asked.refuse(str(source), *(name for name in COLUMNS if (name, asked.kind) != ("kind", "trees")), "root")


def _is_demo(source: str | Path) -> bool:
    return str(source).startswith("demo/")  # a folder of that name is ./demo/...


def _known(source: str | Path, asked: TaskOptions) -> Known | None:
    """The task known by name that the source names or holds; None where it is any other file or folder."""
    name, _, place = str(source).partition("@")
    root = asked.root if asked.root is not None else place or None
    path = Path(source)
    task = declared(name)
    if task and (root is not None or not path.exists()):
        asked.refuse(task.name, *COLUMNS)
        return find_in(task, Path(root)) if root is not None else on_hub(task)
    if asked.root is not None:
        raise UserError(f"--root is for tasks known by name, and {source} is none; {did_you_mean(name, TASKS)}")
    if not path.exists():
        refuse_unknown(name)
        return None
    # Whoever names the columns has a file of their own, whatever its folder is called.
    return None if any(option in asked.given() for option in COLUMNS) else recognise(path)


def _read(source: str | Path, asked: TaskOptions) -> Task:
    with _explained(source):
        if known := _known(source, asked):
            bad = BadRows(skip=asked.skip_bad, expected=known.task.drops)
            if known.task.kind == "answers":
                read = [known.answers(split, bad) for split in known.roles() if split]
                return make_spans(known.task.name, read, asked, bad, tuple(known.notes()))
            material = known.material(bad)
        elif kind := structured_kind(source, asked):
            return read_structured(Path(source), kind, asked)
        else:
            bad = BadRows(skip=asked.skip_bad)
            material = _plain(Path(source), asked, bad)
    return make_task(material, asked, bad)


def _plain(path: Path, asked: TaskOptions, bad: BadRows) -> Material:
    """A file, or a folder's train and test files, of which nothing is known beforehand."""
    first, *rest = (read_table(file, bad) for file in plain_files(path))
    columns = find_columns(first, asked.text, asked.text_pair, asked.label)
    name = path.absolute().name if path.is_dir() else path.stem
    return Material(name, str(path), [first], rest, columns)
