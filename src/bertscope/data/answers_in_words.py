"""What is right, and what a model says instead, as people read it: a line for each example, whatever the output."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bertscope.core.examples import NOTHING, ROOT, Examples
from bertscope.core.output import Output

NONE = "(none)"
"""No label, no answer, no entity."""


def gold_in_words(output: Output, examples: Examples) -> list[str]:
    """What is right of each example."""
    if output.kind == "spans":
        texts = zip(examples.pair or (), examples.answers or (), strict=True)
        return [text[slice(*spans[0])] if spans else NONE for text, spans in texts]
    gold = output.gold(examples)
    if output.kind == "choices":
        gold = gold[:, 0]
    if output.kind == "trees":
        gold = gold[..., :2]
    if output.kind == "masked":
        return [f"{count} pieces" for count in (gold != NOTHING).sum(1)]
    return predicted_in_words(output, examples, gold)


def predicted_in_words(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    """What is predicted of each example, of one model's predictions [n, ...]."""
    return _SAID[output.kind](output, examples, predicted)


def _label(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    return [output.labels[place] for place in predicted.tolist()]


def _labels(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    names = np.array(output.labels, dtype=object)
    return [", ".join(names[row.astype(bool)]) or NONE for row in predicted]


def _score(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    return [f"{value:.3g}" for value in predicted.tolist()]


def _candidate(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    rows = zip(examples.choices or (), predicted.tolist(), strict=True)
    return [texts[place] if place >= 0 else NONE for texts, place in rows]


def _span(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    rows = zip(examples.pair or (), predicted.tolist(), strict=True)
    return [text[max(start, 0) : max(end, 0)] or NONE for text, (start, end) in rows]


def _tags(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    """Words with their tags; where tags speak of entities, those alone that are in one."""
    quiet = "O" if "O" in output.labels else None
    names = dict(enumerate(output.labels))

    def told(words: tuple[str, ...], row: np.ndarray) -> str:
        tags = [names.get(place, "?") if place >= 0 else None for place in row.tolist()]
        pairs = zip(words, tags, strict=False)  # the tags' row is as long as the longest sentence
        return " ".join(f"{word}/{tag}" for word, tag in pairs if tag not in (quiet, None)) or NONE

    return [told(*row) for row in zip(examples.words or (), predicted, strict=True)]


def _tree(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    """Words with their relation and the place of their governor, from 1; 0 is the root."""
    names = dict(enumerate(output.labels))

    def told(words: tuple[str, ...], row: np.ndarray) -> str:
        places = zip(words, row.tolist(), strict=False)
        return " ".join(
            f"{word}/{names.get(relation, '?')}:{0 if governor == ROOT else governor + 1}"
            for word, (governor, relation) in places if governor != NOTHING
        )  # fmt: skip

    return [told(*row) for row in zip(examples.words or (), predicted, strict=True)]


def _pieces(output: Output, examples: Examples, predicted: np.ndarray) -> list[str]:
    """Pieces are the tokenizer's: how many are guessed is all that can be said without it."""
    gold = output.gold(examples)
    right, there = output.moments(predicted, gold).T
    return [f"{hits:.0f} of {count:.0f} pieces right" for hits, count in zip(right, there, strict=True)]


_SAID: dict[str, Callable[[Output, Examples, np.ndarray], list[str]]] = {
    "classification": _label,
    "one_logit": _label,
    "several": _labels,
    "regression": _score,
    "vectors": _score,
    "choices": _candidate,
    "spans": _span,
    "tokens": _tags,
    "trees": _tree,
    "masked": _pieces,
}
