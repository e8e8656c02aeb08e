"""Texts that belong together, for contrastive training: what is to be near, and what is to be far.

unsupervised   each text is its own positive; the model's dropout makes the two views
pairs          two texts that mean the same, or of which the second follows from the first
triples        a premise, what follows from it, and what contradicts it
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.hashing import hashed_texts
from bertscope.data.splits import VALIDATION_SHARE
from bertscope.data.task import Task

Pairing = Literal["unsupervised", "pairs", "triples"]
SAME = ("entailment", "equivalent", "duplicate", "same")
"""Labels of pairs that belong together: NLI's, MRPC's, QQP's, demo/paraphrase's."""
_FOLLOWS, _CONTRADICTS = "entailment", "contradiction"
_SCORE = 0.8  # of the highest score: 4 of 5 in STS-B
_HELD_OUT = 1000  # sets at most: all of them are compared with each other
_FEWEST = 4
_ALIKE = 64  # texts of like length among which they are shuffled
_END = re.compile(r"""(?:(?<=\w\w[.!?])|(?<=\w\w[.!?]["')]))\s+(?=["'(]*[A-Z0-9])""")


@dataclass(frozen=True)
class Sets:
    """Texts that belong together stand in one row: an anchor, its positive, its hard negative. Where there are
    anchors alone, each is its own positive."""

    columns: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def fingerprint(self) -> str:
        return digest_text(canonical_json(self.columns))

    def take(self, rows: np.ndarray) -> Sets:
        return Sets(tuple(tuple(column[row] for row in rows.tolist()) for column in self.columns))

    def shuffled(self, seed: int) -> Sets:
        """The same anchors, each beside another row's texts, about as long as its own: nothing belongs together any
        more, and a step takes as long as before."""
        generator = np.random.default_rng(seed)
        anchors, *others = self.columns if len(self.columns) > 1 else self.columns * 2
        return Sets((anchors, *(_moved(column, generator) for column in others)))


def _moved(column: tuple[str, ...], generator: np.random.Generator) -> tuple[str, ...]:
    """The texts in another order, none in its own place: around a ring of those of like length."""
    lengths = np.array([len(text) for text in column])
    by_length = np.lexsort((generator.permutation(len(column)), lengths))
    taken = np.empty(len(column), np.int64)
    for some in np.array_split(by_length, max(1, len(column) // _ALIKE)):
        ring = generator.permutation(some)
        taken[ring] = np.roll(ring, 1)
    return tuple(column[row] for row in taken.tolist())


def matched(
    data: Task | Examples, how: Pairing, *, least_score: float | None = None, sentences: bool = False
) -> Sets:
    """The sets that the data has, each once. Of a task, its training rows; for triples also its validation rows, as
    those of one premise lie in both.

    least_score   pairs of a task with scores: the least score of two texts that mean the same
    sentences     unsupervised: split texts into sentences
    """
    if how == "unsupervised":
        part = _rows(data)
        texts = chain(part.text, part.pair or ())
        found: list[tuple[str, ...]] = [(text,) for text in _split(texts, sentences)]
    else:
        if sentences:
            raise UserError(f"--sentences splits texts that stand alone; leave it out with --pairs {how}")
        if isinstance(data, Task) and data.kind in ("several", "choices", "spans", "trees", "tokens"):
            raise UserError(f"{data.name} doesn't say which texts belong together; use --pairs unsupervised")
        found = list(_pairs(data, least_score) if how == "pairs" else _triples(data))
    found = list(dict.fromkeys(found))
    if len(found) < _FEWEST:
        raise UserError(
            f"{data.name or 'the data'} has {len(found)} {_WORDS[how]}; contrastive training needs at least {_FEWEST}"
        )
    return Sets(tuple(zip(*found, strict=True)))


_WORDS = {
    "unsupervised": "different texts",
    "pairs": "pairs that belong together",
    "triples": "premises with both an entailed and a contradicted sentence",
}


def held_out(sets: Sets) -> tuple[Sets, Sets]:
    """What is trained on, and a tenth (at most 1,000) that isn't. Sets with the same anchor stay on one side."""
    keys = hashed_texts(sets.columns[0], 0)
    size = max(2, min(_HELD_OUT, round(VALIDATION_SHARE * len(sets))))
    outside = keys <= np.sort(keys)[size - 1]
    if len(sets) - outside.sum() < 2:
        raise UserError("nearly all sets have the same first text; contrastive training needs different ones")
    return sets.take(np.flatnonzero(~outside)), sets.take(np.flatnonzero(outside))


def _is_unlabelled(data: Task | Examples) -> bool:
    """Whether it is a task made of texts that were given without labels."""
    return isinstance(data, Task) and data.kind == "masked"


def _rows(data: Task | Examples) -> Examples:
    return data.train if isinstance(data, Task) else data


def _split(texts: Iterable[str], sentences: bool) -> Iterator[str]:
    """The texts, or their sentences. One ends where . ! or ? and space come between a word of two letters or more
    and a capital or a number: initials don't end it, other abbreviations do."""
    for text in texts:
        yield from (part for part in _END.split(text) if part) if sentences else (text,)


def _pairs(data: Task | Examples, least_score: float | None) -> Iterator[tuple[str, ...]]:
    first, second = _rows(data).text, _second(data, _rows(data))
    return ((first[row], second[row]) for row in _matching(data, least_score).tolist())


def _matching(data: Task | Examples, least_score: float | None) -> np.ndarray:
    """Which rows hold two texts that belong together."""
    label = _rows(data).label
    if _is_unlabelled(data):
        label, data = None, _rows(data)
    scored = isinstance(data, Task) and data.kind in ("regression", "vectors")
    if least_score is not None and not scored:
        raise UserError(f"--least-score is for pairs with scores; {data.name or 'the data'} has none")
    if not isinstance(data, Task):
        if label is not None:
            raise UserError(f"{data.name or 'the data'} doesn't say which of its pairs belong together; give a task")
        return np.arange(len(data))
    assert label is not None
    if scored:
        return np.flatnonzero(label >= (_SCORE * label.max() if least_score is None else least_score))
    return np.flatnonzero(label == _place(data, SAME))


def _triples(data: Task | Examples) -> Iterator[tuple[str, ...]]:
    """Each entailed sentence with its premise and one that contradicts it; where a premise has several of those, they
    are taken in turn."""
    if not isinstance(data, Task) or _is_unlabelled(data):
        raise UserError(f"{data.name or 'the data'} has no labels; triples are made of a task such as snli")
    follows, contradicts = _place(data, (_FOLLOWS,)), _place(data, (_CONTRADICTS,))
    by_premise: dict[str, tuple[list[str], list[str]]] = {}
    for part in (data.train, data.validation):
        assert part.label is not None
        for premise, other, label in zip(part.text, _second(data, part), part.label.tolist(), strict=True):
            if label in (follows, contradicts):
                by_premise.setdefault(premise, ([], []))[label == contradicts].append(other)
    for premise, (entailed, contradicted) in by_premise.items():
        for place, other in enumerate(entailed if contradicted else ()):
            yield premise, other, contradicted[place % len(contradicted)]


def _place(task: Task, wanted: Sequence[str]) -> int:
    """The number of the label that has one of these names."""
    names = [label.strip().casefold() for label in task.labels]
    for name in wanted:
        if name in names:
            return names.index(name)
    labels = ", ".join(task.labels) or "scores"
    raise UserError(f"{task.name} is labelled {labels}; this needs the label {' or '.join(wanted)}")


def _second(data: Task | Examples, part: Examples) -> tuple[str, ...]:
    if part.pair is None:
        raise UserError(
            f"{data.name or 'the data'} has single texts, not pairs; use --pairs unsupervised, or give pairs"
        )
    return part.pair
