"""Reading a task: from the demo language, a .csv or .tsv file, or a folder of them.

demo/sentiment          made on the spot
reviews.csv             one file: 20% becomes report, 10% of the rest select, the rest fit
SST-2/                  train.tsv gives fit and select (10%); dev, validation, test-labeled or test gives report
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples
from bertscope.core.files import digest_files
from bertscope.core.step import Root
from bertscope.data import demo
from bertscope.data.columns import Columns, find_columns
from bertscope.data.labels import class_names, find_kind, to_classes, to_scores
from bertscope.data.metrics import PRIMARY
from bertscope.data.splits import LEAST_ROWS, REPORT_SHARE, SELECT_SHARE, mixed_order, parts
from bertscope.data.table import EXTENSIONS, Table, read_table, shown
from bertscope.data.task import Kind, Task

_REPORT_FILES = ("dev", "validation", "test-labeled", "test")


def read_task(
    source: str | Path,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    kind: Kind | None = None,
) -> Task:
    """Read a task from `demo/NAME`, a .csv or .tsv file, or a folder with train and dev files.

    Columns that aren't named are guessed, and the guess is said in the task's notes. `kind` is told from the labels
    unless it is given. `limit` keeps that many rows of each split; `seed` decides the splits, or the demo's
    sentences. An example's id is its file's name and the line it begins on.
    """
    options = _Options(text, text_pair, label, limit, seed, kind)
    task = _read_demo(str(source), options) if _is_demo(source) else _read_files(Path(source), options)
    return _noting_repeats(_limited(task, limit, seed))


def task_root(
    source: str | Path,
    *,
    text: str | None = None,
    text_pair: str | None = None,
    label: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    kind: Kind | None = None,
) -> Root:
    """The identity of what `read_task` would read, by content; `read_task(root.source, **root.options)` reads it."""
    options = _Options(text, text_pair, label, limit, seed, kind).given()
    if _is_demo(source):
        return Root("task", str(source), demo.identity(str(source)), options)
    path = Path(source).absolute()
    try:
        return Root("task", str(path), digest_files(_files(path)), options)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


@dataclass(frozen=True)
class _Options:
    text: str | None = None
    text_pair: str | None = None
    label: str | None = None
    limit: int | None = None
    seed: int = 0
    kind: Kind | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise UserError(f"limit is {self.limit}; give 1 or more rows per split, or leave it out to have all")
        if self.seed < 0:
            raise UserError(f"seed is {self.seed}; give 0 or more")
        if self.kind is not None and self.kind not in get_args(Kind):
            raise UserError(f"kind is {self.kind!r}; {did_you_mean(self.kind, get_args(Kind))}")

    def given(self) -> dict[str, Any]:
        """Those that differ from their defaults: what they leave unsaid is no part of an identity."""
        defaults = asdict(_Options())
        return {name: value for name, value in asdict(self).items() if value != defaults[name]}


def _is_demo(source: str | Path) -> bool:
    return str(source).startswith("demo/")  # a folder of that name is ./demo/...


def _read_demo(source: str, options: _Options) -> Task:
    for name in options.given().keys() - {"limit", "seed"}:
        raise UserError(f"{source} has its own columns; leave out --{name.replace('_', '-')}")
    return demo.make(source, options.seed)


def _files(path: Path) -> list[Path]:
    """The one file, or the folder's train and report files."""
    if path.is_dir():
        return [_named(path, ("train",)), _named(path, _REPORT_FILES)]
    if not path.exists():
        raise UserError(
            f"no file or folder {path}; give a .csv or .tsv file, a folder with train and dev, or demo/sentiment"
        )
    return [path]


def _named(folder: Path, stems: tuple[str, ...]) -> Path:
    """The folder's file of the first of these names that it has."""
    for stem in stems:
        found = [path for extension in EXTENSIONS if (path := folder / f"{stem}{extension}").is_file()]
        if len(found) > 1:
            raise UserError(f"{folder} has both {found[0].name} and {found[1].name}; remove one")
        if found:
            return found[0]
    wanted = ", ".join(stems) + (" file" if len(stems) == 1 else " or the like")
    raise UserError(f"{folder} has no {wanted} (.csv or .tsv); add it, or give one file's path to have it split")


def _read_files(path: Path, options: _Options) -> Task:
    tables = [read_table(file) for file in _files(path)]
    columns = find_columns(tables[0], options.text, options.text_pair, options.label)
    values = [table.texts(columns.label, "--label") for table in tables]
    if len(set(values[0])) == 1:
        raise UserError(
            f"{tables[0].path}: column {columns.label!r} says {shown(values[0][0])} in every row; "
            "a task needs at least two labels: name the right column with --label"
        )
    kind = options.kind or find_kind(tables[0], columns.label, values[0])
    labels = class_names(value for column in values for value in column) if kind == "classification" else ()
    sheets = [
        _examples(table, columns, to_classes(said, labels) if labels else to_scores(table, columns.label, said))
        for table, said in zip(tables, values, strict=True)
    ]
    fit, select, report = _split(tables, sheets, kind, options.seed)
    if labels:
        _refuse_unseen(path, fit, report, labels)
    notes: tuple[str, ...] = () if columns.note is None else (columns.note,)
    if options.kind is None and labels and len(labels) > 2 and all(label.isdigit() for label in labels):
        notes += (
            f"{labels[0]} to {labels[-1]} are read as {len(labels)} classes; if they are scores: --kind regression",
        )
    name = path.absolute().name if path.is_dir() else path.stem
    return Task(name, kind, labels, fit, select, report, PRIMARY[kind], notes)


def _examples(table: Table, columns: Columns, label: np.ndarray) -> Examples:
    return Examples(
        ids=tuple(f"{table.path.stem}:{line}" for line in table.lines),
        text=table.texts(columns.text, "--text"),
        pair=None if columns.pair is None else table.texts(columns.pair, "--text-pair"),
        label=label,
    )


def _split(tables: list[Table], sheets: list[Examples], kind: Kind, seed: int) -> list[Examples]:
    """Fit, select, report; each in the order of its file."""
    train, label = sheets[0], sheets[0].label
    assert label is not None
    if len(train) < LEAST_ROWS:
        raise UserError(f"{tables[0].path} has {len(train)} rows; at least {LEAST_ROWS} are needed to split it")
    order = mixed_order(label, kind, seed)
    if len(sheets) == 2:
        select, fit = parts(order, SELECT_SHARE)
        return [train.take(np.sort(fit)), train.take(np.sort(select)), sheets[1]]
    report, select, fit = parts(order, REPORT_SHARE, SELECT_SHARE)
    return [train.take(np.sort(part)) for part in (fit, select, report)]


def _refuse_unseen(path: Path, fit: Examples, report: Examples, labels: tuple[str, ...]) -> None:
    """A label that no training example has can't be predicted; better to say so than to score it wrong."""
    assert fit.label is not None and report.label is not None
    unseen = np.flatnonzero(~np.isin(report.label, fit.label))
    if len(unseen):
        stem, _, line = report.ids[unseen[0]].rpartition(":")
        raise UserError(
            f"{path}: label {shown(labels[report.label[unseen[0]]])} ({stem}, line {line}) is to be scored, but no "
            "training row has it; remove such rows or add some to train on"
        )


def _limited(task: Task, limit: int | None, seed: int) -> Task:
    """The task with at most that many rows in each split, the labels in about the same shares."""

    def few(examples: Examples) -> Examples:
        assert examples.label is not None
        if limit is None or limit >= len(examples):
            return examples
        return examples.take(np.sort(mixed_order(examples.label, task.kind, seed)[:limit]))

    return replace(task, fit=few(task.fit), select=few(task.select), report=few(task.report))


def _noting_repeats(task: Task) -> Task:
    """The task with a note on report examples that were seen in training: they flatter every score."""

    def contents(examples: Examples) -> list[tuple[str, ...]]:
        return list(zip(examples.text, examples.pair or examples.text, strict=True))

    seen = set(contents(task.fit))
    repeats = sum(content in seen for content in contents(task.report))
    if not repeats:
        return task
    note = f"{repeats} of {len(task.report)} report texts also occur in fit"
    return replace(task, notes=(*task.notes, note))
