"""Examples written to a file that the readers read again: .csv and .tsv, .jsonl with all annotation, .conllu."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import check_writable, refuse_existing, write_text
from bertscope.data.table import shown
from bertscope.data.treebank import write_conllu

ENDINGS = (".csv", ".tsv", ".jsonl", ".conllu")


def write_examples(examples: Examples, path: str | Path, labels: Sequence[str] = ()) -> Path:
    """Write the examples as the file's ending says; `labels` are the names of the classes. A file that exists is
    never written over."""
    path = Path(path)
    check_target(path)
    ending = path.suffix.lower()
    if ending == ".conllu":
        write_conllu(examples, path)
    elif ending == ".jsonl":
        rows = (json.dumps(_object(examples, row, labels), ensure_ascii=False) for row in range(len(examples)))
        write_text(path, "".join(f"{row}\n" for row in rows))
    else:
        write_text(path, _delimited(examples, labels, tabs=ending == ".tsv"))
    return path


def check_target(path: Path) -> None:
    """Refuse what can't be written later, before anything is read."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f"cannot write {path}: give a name that ends with {', '.join(ENDINGS)}")
    refuse_existing(path)
    check_writable(path)


SIGN = "|"
"""What stands between the labels of a text that has several, where a file has no lists."""


def label_of(examples: Examples, row: int, labels: Sequence[str]) -> str | float | list[str] | None:
    """A row's label as a person writes it: the name of its class, its score, or the names of all its labels."""
    if examples.label is None:
        return None
    if examples.label.ndim > 1:
        return [labels[place] for place in np.flatnonzero(examples.label[row]).tolist()]
    value = examples.label[row].item()
    return labels[value] if labels else value


def _object(examples: Examples, row: int, labels: Sequence[str]) -> dict[str, Any]:
    """Everything that is known of one example."""
    row_object: dict[str, Any] = {"id": examples.ids[row], "text": examples.text[row]}
    if examples.pair is not None:
        row_object["text_pair"] = examples.pair[row]
    if examples.label is not None:
        row_object["label"] = label_of(examples, row, labels)
    if examples.choices is not None:
        row_object["choices"] = list(examples.choices[row])
    if examples.answers is not None:
        row_object["answers"] = [list(span) for span in examples.answers[row]]
    if examples.words is not None:
        row_object["words"] = list(examples.words[row])
    if examples.first_words is not None:
        row_object["first_words"] = examples.first_words[row]
    row_object |= {name: column[row] for name, column in examples.columns.items() if name not in row_object}
    row_object |= {kind: list(column[row]) for kind, column in examples.marks.items()}
    if examples.governors is not None:
        row_object["heads"] = list(examples.governors[row])
    if examples.links is not None:
        row_object["links"] = [asdict(link) for link in examples.links[row]]
    return row_object


def _delimited(examples: Examples, labels: Sequence[str], *, tabs: bool) -> str:
    columns: dict[str, Sequence[Any]] = {"id": examples.ids, "text": examples.text}
    if examples.pair is not None:
        columns["text_pair"] = examples.pair
    if examples.label is not None:
        if examples.label.ndim > 1 and (name := next((name for name in labels if SIGN in name), None)):
            raise UserError(
                f"label {shown(name)} holds {SIGN!r}, which stands between labels in .csv and .tsv; write .jsonl"
            )
        found = (label_of(examples, row, labels) for row in range(len(examples)))
        columns["label"] = [SIGN.join(one) if isinstance(one, list) else one for one in found]
    if examples.choices is not None:  # a row that has fewer is blank there
        most = max(map(len, examples.choices), default=0)
        columns |= {
            f"ending{at}": [texts[at] if at < len(texts) else "" for texts in examples.choices] for at in range(most)
        }
    columns |= {name: column for name, column in examples.columns.items() if name not in columns}
    out = io.StringIO()
    if tabs:  # as GLUE writes it: no quotes, so that a text can't hold a tab or a line break
        rows = (
            "\t".join(" ".join(str(value).split()) for value in row) for row in zip(*columns.values(), strict=True)
        )
        out.write("\n".join(["\t".join(columns), *rows, ""]))
    else:
        plain = csv.writer(out, lineterminator="\n")
        quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        plain.writerow(columns)
        for row in zip(*columns.values(), strict=True):  # a bare \r ends a line, too, and isn't quoted by itself
            (quoted if any("\r" in str(cell) for cell in row) else plain).writerow(row)
    return out.getvalue()
