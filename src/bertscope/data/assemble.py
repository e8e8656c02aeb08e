"""From tables to a task: labels, splits, and what has to be said about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.statement import number_of
from bertscope.data.bad_rows import BadRows
from bertscope.data.candidates import CandidateColumns
from bertscope.data.columns import Columns
from bertscope.data.label_lists import LabelLists, names_in, to_several
from bertscope.data.label_notes import alike_note, padding_note, several_note
from bertscope.data.labels import (
    all_whole,
    as_read_note,
    class_names,
    find_kind,
    lacks_labels,
    refuse_missing,
    to_classes,
    to_scores,
    without_points,
)
from bertscope.data.metrics import METRICS
from bertscope.data.options import TaskOptions
from bertscope.data.repeats import seen_in_training
from bertscope.data.sheet import Sheet, clean
from bertscope.data.splits import Own, Splits, make_splits, mixed_order
from bertscope.data.table import Table, shown, unpacked_suffix
from bertscope.data.table_files import read_table
from bertscope.data.task import Kind, Task
from bertscope.data.tasks import Declared


@dataclass(frozen=True)
class Material:
    """What a task is made of."""

    name: str
    source: str
    """For messages."""
    columns: Columns
    own: Own[list[Table]]
    declared: Declared | None = None
    notes: tuple[str, ...] = ()
    third: Path | Table | None = None
    """The test file beside one for validation: taken if it has labels."""
    labels: tuple[str, ...] = ()
    """The classes in their order, where the data declares them though no task of that name is known."""


def make_task(material: Material, options: TaskOptions, bad: BadRows) -> Task:
    """Read the labels, make the splits, and say what a reader must know."""
    material = replace(material, columns=replace(material.columns, further=options.slice))
    declared, columns = material.declared, material.columns
    material, lists = _with_lists(material, options)
    sheets = material.own.each(lambda tables: [clean(table, columns, bad) for table in tables])
    wanted = options.kind == "choices"
    open_to = wanted or options.choices or (options.kind is None and not declared and not lists)
    chosen = CandidateColumns.of(material.own.train[0], options.choices, wanted=wanted) if open_to else None
    kind: Kind = "choices" if chosen else "several" if lists else _kind(material, options, sheets.train[0])
    notes = material.notes
    if material.third is not None:
        sheets, note = _with_third(material.third, columns, sheets, kind, bad, lists)
        notes += (note,)
    if kind == "classification" and not (declared or options.kind or material.labels):
        sheets = sheets.each(lambda part: [refuse_missing(sheet, bad) for sheet in part])
    if kind == "classification" and not (declared or material.labels):
        whole = all_whole(value for part in sheets.there for sheet in part for value in sheet.values)
        sheets = sheets.each(lambda part: [without_points(sheet, whole) for sheet in part])
    every = [sheet for part in sheets.there for sheet in part]
    labels = _labels(material, kind, every)
    if chosen:
        chosen, told = chosen.counted(every)
        notes += told
    examples = sheets.each(
        lambda part: joined([labelled(sheet, kind, labels, bad, declared, chosen) for sheet in part])
    )
    _refuse_constant(material, examples.train, labels)
    train, validation, test = _split(material.own.train[0].path, examples, kind, options.seed)
    if labels:
        if examples.validation is not None:
            validation = _without_unseen(material.source, train, validation, labels, bad)
        test = _without_unseen(material.source, train, test, labels, bad)
    notes += bad.notes() + ((material.columns.note,) if material.columns.note else ()) + material.columns.numbers
    notes += _on_quotes(material, examples.there)
    if not (material.declared or material.labels):
        notes += _on_labels(material, sheets, kind, labels, options)
    metric = material.declared.metric if material.declared else METRICS[kind][0]
    return Task(material.name, kind, labels, train, validation, test, metric, notes)


def labelled(
    sheet: Sheet,
    kind: Kind,
    labels: tuple[str, ...],
    bad: BadRows,
    declared: Declared | None = None,
    chosen: CandidateColumns | None = None,
) -> Examples:
    """The sheet's rows with their labels as numbers, and the candidates to choose from."""
    if chosen:
        return chosen.examples(sheet, bad)
    if kind == "regression":
        sheet, label = to_scores(sheet, bad)
    elif kind == "several":
        sheet, label = to_several(sheet, labels, bad, numbered=declared is not None)
    else:
        unlabelled = declared.unlabelled if declared else ()
        sheet, label = to_classes(sheet, labels, bad, numbered=declared is not None, unlabelled=unlabelled)
    return sheet.examples(label)


def joined(parts: Sequence[Examples]) -> Examples:
    """The examples of several files, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Examples(
        ids=tuple(each for part in parts for each in part.ids),
        text=tuple(each for part in parts for each in part.text),
        pair=None if parts[0].pair is None else tuple(each for part in parts for each in part.pair or ()),
        label=None if parts[0].label is None else np.concatenate([part.label for part in parts]),
        choices=None if parts[0].choices is None else tuple(each for part in parts for each in part.choices or ()),
        columns={name: tuple(each for part in parts for each in part.columns[name]) for name in parts[0].columns},
    )


class _Repeats(str):
    """The note on repeats: known by what it is, not by what it says."""


def noting_repeats(task: Task) -> Task:
    """The task with a note on test examples that were seen in training: they flatter every score."""
    repeats = int(seen_in_training(task).sum())
    notes = tuple(note for note in task.notes if not isinstance(note, _Repeats))  # of all rows, where these are fewer
    if not repeats:
        return replace(task, notes=notes)
    occur = "also occurs" if repeats == 1 else "also occur"
    return replace(task, notes=(*notes, _Repeats(f"{repeats} of {len(task.test)} test texts {occur} in train")))


def _on_labels(
    material: Material, sheets: Own[list[Sheet]], kind: Kind, labels: tuple[str, ...], options: TaskOptions
) -> tuple[str, ...]:
    """Notes on labels that could be read otherwise."""
    training = sheets.train[0]
    notes = as_read_note(training, kind, labels) if options.kind is None and options.metric is None else ()
    if kind == "classification":
        notes += several_note(training.values, len(labels)) + alike_note(labels)
        notes += padding_note([sheet.table for sheet in sheets.train], material.columns.label)
    return notes


def _on_quotes(material: Material, examples: Sequence[Examples]) -> tuple[str, ...]:
    """A note on texts that a program quoted as CSV has it: a .tsv file is read without quotes."""
    if material.declared or unpacked_suffix(material.own.train[0].path) != ".tsv":
        return ()
    quoted = sum(text.startswith('"') and '""' in text[1:] for part in examples for text in part.text)
    note = "quotes as in .csv, without which .tsv is read; if they don't belong there, save the file as .csv"
    return (f"{number_of(quoted, 'text has', 'texts have')} {note}",) if quoted else ()


def _with_lists(material: Material, options: TaskOptions) -> tuple[Material, LabelLists | None]:
    """What a task is made of with each row's labels as a list, and how they became one, where a text can have
    several."""
    declared, first = material.declared, material.own.train[0]
    if declared and declared.kind != "several":
        return material, None
    if (options.kind not in (None, "several") or options.choices) and not options.several:
        return material, None
    sign = declared.several if declared else options.several
    wanted = options.kind == "several" or declared is not None
    lists = LabelLists.of(first, material.columns.label, sign, wanted=wanted)
    if lists is None:
        return material, None
    if not declared:
        lists.need_sign(material.own.train)
    return replace(material, own=material.own.each(lambda tables: [lists.table(one) for one in tables])), lists


def _kind(material: Material, options: TaskOptions, training: Sheet) -> Kind:
    """The kind of task, as declared, as the user says, or as the labels show."""
    if declared := material.declared:
        assert declared.kind != "answers"
        return declared.kind
    return options.kind or ("classification" if material.labels else find_kind(training, options.metric))


def _labels(material: Material, kind: Kind, sheets: Sequence[Sheet]) -> tuple[str, ...]:
    """The classes, as declared or as the rows have them; scores have none."""
    if material.declared:
        return material.declared.labels
    if kind == "classification" and material.labels:
        return material.labels
    if kind == "several":
        return material.labels or names_in(sheets)
    return (
        () if kind in ("regression", "choices") else class_names(value for sheet in sheets for value in sheet.values)
    )


def _refuse_constant(material: Material, training: Examples, labels: tuple[str, ...]) -> None:
    """There is nothing to learn where every row says the same, or none says anything."""
    assert training.label is not None
    values = np.unique(training.label, axis=0)
    if not len(values):
        raise UserError(f"{material.source} has no row that can be used; mend it or give another")
    if len(values) == 1 and training.choices is None:
        if training.label.ndim > 1:
            only = ", ".join(label for label, has in zip(labels, values[0], strict=True) if has) or "no label"
        else:
            only = shown(labels[values[0]] if labels else f"{values[0]:g}")
        raise UserError(
            f"{material.own.train[0].path}: column {material.columns.label!r} says {only} in every row; "
            "a task needs at least two labels: name the right column with --label"
        )


def _split(first: Path, examples: Own[Examples], kind: Kind, seed: int) -> Splits:
    label = examples.train.label
    assert label is not None
    order = mixed_order(label, kind, seed)
    return make_splits(examples, np.arange(len(label)), order, str(first), str(first.parent))


def _with_third(
    third: Path | Table,
    columns: Columns,
    sheets: Own[list[Sheet]],
    kind: Kind,
    bad: BadRows,
    lists: LabelLists | None,
) -> tuple[Own[list[Sheet]], str]:
    """The sheets with the third file's as test, if it has labels, otherwise with validation's; and a note on it."""
    assert sheets.validation
    validation = sheets.validation[0].table.path.name
    left_out = BadRows(skip=bad.skip, few=bad.few)
    table = third if isinstance(third, Table) else read_table(third, left_out)
    known = {value for sheet in (*sheets.train, *sheets.validation) for value in sheet.values}
    table = lists.table(table) if lists and lists.is_in(table) else table
    if lack := lacks_labels(table, columns.label, kind, known):
        note = f"{table.path.name} has {lack}: it isn't taken, and test is {validation}"
        return Own(sheets.train, None, sheets.validation), note
    bad.counts += left_out.counts
    bad.not_held += left_out.not_held
    test = [clean(table, columns, bad)]
    return Own(sheets.train, sheets.validation, test), f"validation is {validation}, test is {table.path.name}"


def _without_unseen(source: str, train: Examples, test: Examples, labels: tuple[str, ...], bad: BadRows) -> Examples:
    """A label that no training example has can't be predicted; better to say so than to score it wrong."""
    assert train.label is not None and test.label is not None
    several = test.label.ndim > 1
    unseen = test.label * ~train.label.any(0) if several else None
    seen = np.isin(test.label, train.label) if unseen is None else ~unseen.any(1)
    if seen.all():
        return test
    first = int(np.flatnonzero(~seen)[0])
    which = test.label[first] if unseen is None else unseen[first].argmax()
    stem, _, line = test.ids[first].rpartition(":")
    place = f"{stem}, line {line}" if stem else test.ids[first]
    message = (
        f"{source}: label {shown(labels[which])} ({place}) is to be scored, but no "
        "training row has it; remove such rows or add some to train on"
    )
    bad.refuse("label that no training row has", message, int((~seen).sum()))
    if not seen.any():
        raise UserError(message)
    return test.take(np.flatnonzero(seen))
