"""`bertscope data`: what a data set holds, before anything is computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from bertscope.data.options import DataOptions

if TYPE_CHECKING:
    from bertscope.core.console import Console
    from bertscope.core.examples import Examples
    from bertscope.data.task import Task

Split = Literal["train", "validation", "test"]


def data(
    source: str,
    /,
    *,
    show: int = 0,
    split: Split = "test",
    words: tuple[str, ...] = (),
    write: Path | None = None,
    json: bool = False,
    options: Annotated[DataOptions, Parameter(name="*")] = DataOptions(),  # noqa: B008 (frozen)
) -> None:
    """Describe a task or a corpus, show some of it, or write it to a file.

    Parameters
    ----------
    source
        What --on takes: demo/entailment, demo/corpus, glue/rte, a file, a folder, a treebank, FrameNet.
    show
        Print this many examples with their annotation.
    split
        The split to show and write, if the source has splits.
    words
        Count, show and write only the examples that mention one of these words (whole words, in either text).
    write
        Write the examples to this .csv, .tsv, .jsonl (with all annotation) or .conllu file, which mustn't exist.
    json
        Print the description as JSON; everything else goes to standard error.
    """
    from bertscope.cli.answer import print_json
    from bertscope.core.console import Console
    from bertscope.core.errors import UserError
    from bertscope.data.slices import divide
    from bertscope.data.write import check_target, write_examples

    if write is not None:
        check_target(write)
    task, examples, labels = _read(source, split, options)
    sliced, rest = divide(examples, words) if words else (examples, None)
    if not len(sliced):
        raise UserError(f"no example of {source} mentions {' or '.join(words)}")
    about = _describe(task, examples, labels, rest, words)
    console = Console(stderr=json)
    if json:
        print_json(about)
    else:
        _print(console, about)
    for row in range(min(show, len(sliced))):
        _show(console, sliced, row, labels)
    if write is not None:
        written = write_examples(sliced, write, labels)
        console.print(f"{len(sliced)} examples written to {written}", soft_wrap=True)


def _read(source: str, split: Split, options: DataOptions) -> tuple[Task | None, Examples, Sequence[str]]:
    """A task and one of its splits, or texts that are none; and the names of the classes."""
    from bertscope.data.corpus import is_task, read_examples
    from bertscope.data.read import declared_labels, read_task

    given = options.given()
    if is_task(source, **given):
        task = read_task(source, **given)
        return task, getattr(task, split), task.labels
    examples = read_examples(source, split=split, **given)
    return None, examples, () if examples.label is None else declared_labels(source, **given)


def _describe(
    task: Task | None, examples: Examples, labels: Sequence[str], rest: Examples | None, words: Sequence[str]
) -> dict[str, Any]:
    from bertscope.data.lengths import describe_lengths

    if task is None:
        split = describe_lengths(examples)
        if examples.label is not None and labels:
            places = examples.label if examples.label.ndim == 1 else np.nonzero(examples.label)[1]
            counts = np.bincount(places, minlength=len(labels)).tolist()
            split["labels"] = dict(zip(labels, counts, strict=True))
        about = {"name": examples.name, "splits": {"all": split}, "notes": list(examples.notes)}
    else:
        about = task.describe()
    if rest is not None:
        about["slice"] = {"words": list(words), "rows": len(examples) - len(rest), "rest": len(rest)}
    return about


def _print(console: Console, about: dict[str, Any]) -> None:
    from rich.table import Table

    chance = "" if about.get("chance") is None else f" (chance {about['chance']:.3f})"
    metric = f", scored by {about['metric']}{chance}" if "metric" in about else ""
    console.print(f"{about['name']}{metric}", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    labelled = any(split.get("labels") for split in about["splits"].values())
    told = {"spans": "answers", "trees": "trees", "tokens": "tags", "masked": "words", "choices": "choices"}
    gold = told.get(about.get("kind", ""), "labels")
    for column in ("split", "rows", *([gold] if labelled else []), "words: median", "longest"):
        table.add_column(column, justify="left" if column in ("split", gold) else "right")
    for name, split in about["splits"].items():
        labels = ", ".join(f"{label} {value:g}" for label, value in split.get("labels", {}).items())
        lengths = (f"{split['words'][size]:g}" for size in ("median", "max"))
        table.add_row(name, f"{split['rows']:,}", *([labels] if labelled else []), *lengths)
    console.print(table)
    if sliced := about.get("slice"):
        named = ", ".join(sliced["words"])
        console.print(f"{sliced['rows']:,} mention {named}; {sliced['rest']:,} don't", soft_wrap=True)
    for note in about["notes"]:
        console.print(f"note: {note}", soft_wrap=True)


def _show(console: Console, examples: Examples, row: int, labels: Sequence[str]) -> None:
    """One example: its texts, its label, its words with their marks, its relations."""
    from rich.table import Table
    from rich.text import Text

    from bertscope.data.write import label_of

    label = label_of(examples, row, labels)
    label = ", ".join(label) or "(no label)" if isinstance(label, list) else label
    beside = ("", "") if label is None else (f"  {label}", "bold cyan")
    console.print(Text.assemble("\n", (examples.ids[row], "bold"), beside), soft_wrap=True)
    texts = [examples.text[row], *([] if examples.pair is None else [examples.pair[row]])]
    for text in texts:
        console.print(text, soft_wrap=True)
    for place, text in enumerate(examples.choices[row] if examples.choices is not None else ()):
        console.print(f"{'->' if place == label else '  '} {text}", soft_wrap=True)
    if examples.answers is not None:
        answers = (texts[1][start:end] for start, end in examples.answers[row])
        console.print(f"answer: {' | '.join(answers) or 'none'}", soft_wrap=True)
    if examples.words is None:
        return
    kinds = [kind for kind, column in examples.marks.items() if any(column[row])]
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("", "word", *(["head"] if examples.governors is not None else []), *kinds):
        table.add_column(column, justify="right" if column == "" else "left")
    for place, word in enumerate(examples.words[row]):
        governor = []
        if examples.governors is not None:
            at = examples.governors[row][place]
            governor = [f"{at + 1} {examples.words[row][at]}" if at >= 0 else "0"]
        table.add_row(str(place + 1), word, *governor, *(examples.marks[kind][row][place] for kind in kinds))
    console.print(table)
    for link in examples.links[row] if examples.links is not None else ():
        source, target = (" ".join(examples.words[row][at] for at in side) for side in (link.source, link.target))
        frame = f"{link.frame}: " if link.frame else ""
        console.print(f"{frame}{link.name} = {source}  ->  {target}", soft_wrap=True)
