"""A model's names for its outputs, and a task's: which is which."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples

NUMBERED = re.compile(r"(label_)?\d+")
"""What models call outputs that nobody named."""


def match_names(names: Sequence[str], labels: Sequence[str], task: str) -> tuple[list[int], list[str]]:
    """Where a model that calls its outputs `names` has each of the task's labels, and what to say about that.

    Labels are matched by name; upper and lower case don't matter. Where one side has only numbers for names,
    the order decides, and that is said.
    """
    theirs, mine = ([name.strip().casefold() for name in side] for side in (names, labels))
    if theirs == mine:
        return list(range(len(names))), []
    if sorted(theirs) == sorted(mine):
        return [theirs.index(label) for label in mine], []
    bare = [all(name.isdecimal() for name in side) for side in (theirs, mine)]
    numbered = any(all(NUMBERED.fullmatch(name) for name in side) for side in (theirs, mine))
    if len(theirs) != len(mine) or all(bare) or not numbered:
        raise UserError(
            f"the model answers {', '.join(names)}, but {task} is labelled {', '.join(labels)}; "
            "rename the labels in the data, or id2label in the model's config.json, or fine-tune it on this task"
        )
    pairs = ", ".join(f"{one} is {other}" for one, other in zip(names, labels, strict=True))
    return list(range(len(names))), [f"labels matched by their order: {pairs}"]


def labels_of(examples: Examples, task: str) -> np.ndarray:
    """The examples' labels; refused where they have none."""
    if examples.label is None:
        raise UserError(f"the examples have no labels, so that nothing on {task} can be scored")
    return examples.label


def ordered(outputs: np.ndarray, order: list[int], notes: list[str]) -> tuple[np.ndarray, list[str]]:
    """Outputs [..., c] in another order, and what is said about it; as they are where that is the same, as it mostly
    is: outputs can be large."""
    return outputs if order == list(range(len(order))) else outputs[..., order], notes
