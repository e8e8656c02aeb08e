"""Examples that are there twice: in training and in the test set, or with two labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.core.examples import Examples

if TYPE_CHECKING:
    from bertscope.data.task import Task


def contents(examples: Examples) -> list[tuple[Any, ...]]:
    """What is read of each example: by this it is known again."""
    return list(zip(examples.text, examples.choices or examples.pair or examples.text, strict=True))


def seen_in_training(task: Task) -> np.ndarray:
    """[test example]: whether training has the same."""
    seen = set(contents(task.train))
    return np.array([content in seen for content in contents(task.test)], dtype=bool)


def contradicted(task: Task) -> tuple[int, int]:
    """Of how many rows, of all splits, the text occurs with another label, too, and how many rows there are. Only of
    one label a text: scores and sets of labels differ by degrees."""
    splits = (task.train, task.validation, task.test)
    labels: dict[tuple[Any, ...], set[int]] = {}
    rows = []
    for split in splits:
        if split.label is None or split.label.ndim != 1 or split.label.dtype.kind not in "iu":
            return 0, 0
        for content, label in zip(contents(split), split.label.tolist(), strict=True):
            labels.setdefault(content, set()).add(label)
            rows.append(content)
    return sum(len(labels[content]) > 1 for content in rows), len(rows)
