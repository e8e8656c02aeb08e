"""What a probe is asked: a label for a word, for a word and its head, or for a whole text; and which of them it learns
from.

Texts go to *fit*, *select* or *report* by a hash of what they say, so that neither the words of one text nor two equal
texts are ever on two sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import ROOT, Examples
from bertscope.core.resampling import hashed, mixed, to_unit

NAMES = ("pos", "relation", "frame", "entity", "gender", "label", "length", "word")
FIT, SELECT, REPORT = range(3)
_SHARES = (0.7, 0.8)  # of the texts: fit ends here, select there
_SPLIT, _DRAW, _CONTROL = (np.uint64(2**32 + number) for number in (16, 17, 18))  # apart from resamples' numbers
_SAME_BY_TYPE = ("word",)
"""The targets that a word's type decides by itself: a control task by type would be the target under other names."""


@dataclass(frozen=True)
class Limits:
    """How much of a corpus a target takes."""

    words: int = 4000
    """To fit on, and as many to report; to select an eighth of that, which is looked at again and again."""
    balanced: bool = False
    types: int = 50
    bins: int = 5


@dataclass(frozen=True, eq=False)
class Target:
    """Items with a label each, in the order of the corpus."""

    name: str
    example: np.ndarray
    """The text each item is in."""
    words: np.ndarray
    """[item, 0, 1 or 2]: none for a whole text; a word; a word and its head. Counted within the text."""
    label: np.ndarray
    """Numbers of `classes`."""
    classes: tuple[str, ...]
    types: tuple[str, ...] = ()
    """The word types that items have; none for whole texts."""
    type: np.ndarray | None = None
    """Each item's (first) word as a number of `types`, case apart."""

    def __len__(self) -> int:
        return len(self.label)

    @property
    def unit(self) -> str:
        return ("text", "word", "pair")[self.words.shape[1]]

    @property
    def has_control(self) -> bool:
        """Whether the control task of Hewitt and Liang, a label for each word type, says anything here."""
        return self.type is not None and self.name not in _SAME_BY_TYPE

    def of_words(self, starts: np.ndarray, words: np.ndarray) -> Target:
        """The same label for single words: of a word and its head the word's, of a text that of each of its words,
        which are `words[starts[text]:starts[text + 1]]`."""
        if self.words.shape[1]:
            return replace(self, words=self.words[:, :1])
        counts = np.diff(starts)[self.example]
        example, label = np.repeat(self.example, counts), np.repeat(self.label, counts)
        first = np.repeat(starts[self.example] - (np.cumsum(counts) - counts), counts)
        return replace(self, example=example, words=words[first + np.arange(len(label))][:, None], label=label)

    def take(self, items: np.ndarray) -> Target:
        kind = None if self.type is None else self.type[items]
        return Target(
            self.name, self.example[items], self.words[items], self.label[items], self.classes, self.types, kind
        )


@dataclass(frozen=True, eq=False)
class Sample:
    """The items that are used of a target: fit's first, in a random order of texts, then select's, then report's."""

    target: Target
    part: np.ndarray
    """Where each item belongs: FIT, SELECT or REPORT."""

    def items(self, part: int) -> np.ndarray:
        return np.flatnonzero(self.part == part)


def choose_targets(examples: Examples, asked: Sequence[str], limits: Limits) -> tuple[list[Target], list[str]]:
    """The targets that were asked for, or all that the corpus has, and what to say of those it lacks."""
    for name in asked:
        if name not in NAMES:
            raise UserError(f"unknown target {name!r}; {did_you_mean(name, NAMES)}")
    found = {name: _COLLECTORS[name](examples, limits) for name in NAMES}
    usable = {name: target for name, target in found.items() if target is not None and len(target.classes) > 1}
    if missing := [name for name in asked if name not in usable]:
        raise UserError(
            f"these texts don't tell {' or '.join(missing)} of at least two kinds; they have: "
            f"{', '.join(usable) or 'nothing to probe for'}"
        )
    if not usable:
        raise UserError("these texts tell nothing to probe for; give a treebank, demo/corpus or a task")
    alike = [name for name, target in found.items() if target is not None and name not in usable and not asked]
    notes = [f"left out, since all have the same: {', '.join(alike)}"] if alike else []
    return [usable[name] for name in dict.fromkeys(asked or usable)], notes


def draw_sample(target: Target, examples: Examples, limits: Limits, seed: int, has_vector: np.ndarray) -> Sample:
    """Split a target's items by their texts, and keep of each part what the limits allow.

    has_vector   [item]: whether every checkpoint has a vector for it; others are left out
    """
    target = target.take(np.flatnonzero(has_vector))
    by_text, part = text_hashes(examples, seed)[target.example], text_parts(examples, seed)[target.example]
    place = target.words[:, 0] if target.words.shape[1] else np.zeros(len(target), dtype=np.int64)
    luck = mixed(mixed(by_text, _DRAW), place.astype(np.uint64))
    most = {FIT: limits.words, SELECT: -(-limits.words // 8), REPORT: limits.words}
    chosen = [
        _drawn(np.flatnonzero(part == which), target.label, luck, count, balanced=limits.balanced)
        for which, count in most.items()
    ]
    for items, name in zip(chosen, ("fit", "select", "report"), strict=True):
        if not len(items) or (name == "fit" and len(np.unique(target.label[items])) < 2):
            raise UserError(
                f"too few texts to probe for {target.name}: {len(np.unique(target.example))} leave "
                f"{len(items)} items to {name}; give more"
            )
    # Texts in a random order, each text's words together: an online code meets them so.
    kept = np.concatenate([items[np.lexsort((place[items], by_text[items]))] for items in chosen])
    return Sample(target.take(kept), part[kept])


def control_labels(sample: Sample, seed: int) -> np.ndarray:
    """A label for each item that its word's type alone decides, drawn from the labels of fit (Hewitt & Liang 2019)."""
    target = sample.target
    assert target.type is not None
    shares = np.bincount(target.label[sample.items(FIT)], minlength=len(target.classes)).cumsum()
    luck = to_unit(mixed(hashed(target.types, seed), _CONTROL))
    of_type = np.searchsorted(shares / shares[-1], luck, side="right").clip(max=len(target.classes) - 1)
    return of_type[target.type]


def majority(sample: Sample) -> np.ndarray:
    """Whether fit's most frequent label is that of each item of report."""
    label = sample.target.label
    return np.bincount(label[sample.items(FIT)]).argmax() == label[sample.items(REPORT)]


def usual_label(sample: Sample) -> np.ndarray:
    """Whether the most frequent label that its word has in fit is that of each item of report; a word that fit lacks
    gets the most frequent label of all."""
    target, fit, report = sample.target, sample.items(FIT), sample.items(REPORT)
    assert target.type is not None
    counts = np.zeros((len(target.types), len(target.classes)), dtype=np.int64)
    np.add.at(counts, (target.type[fit], target.label[fit]), 1)
    usual = np.where(counts.any(1), counts.argmax(1), counts.sum(0).argmax())
    return usual[target.type[report]] == target.label[report]


def text_parts(examples: Examples, seed: int) -> np.ndarray:
    """Where each text belongs: FIT, SELECT or REPORT."""
    return np.digitize(to_unit(mixed(text_hashes(examples, seed), _SPLIT)), _SHARES)


def text_hashes(examples: Examples, seed: int) -> np.ndarray:
    """A number for each text that equal texts share."""
    both = examples.text if examples.pair is None else tuple(zip(examples.text, examples.pair, strict=True))
    places = {said: at for at, said in enumerate(dict.fromkeys(both))}
    return hashed([str(said) for said in places], seed)[[places[said] for said in both]]


def _drawn(items: np.ndarray, label: np.ndarray, luck: np.ndarray, most: int, *, balanced: bool) -> np.ndarray:
    """At most so many of the items, by their luck. Balanced: what is too much is taken from the frequent labels."""
    if len(items) <= most:
        return items
    ordered = items[np.argsort(luck[items], kind="stable")]
    if not balanced:
        return ordered[:most]
    counts = np.bincount(label[items])
    totals = np.minimum.outer(counts, np.arange(1, most + 1)).sum(0)
    level = max(1, np.searchsorted(totals, most, side="right"))  # the most that every label may have
    by_label = ordered[np.argsort(label[ordered], kind="stable")]
    rank = np.arange(len(by_label)) - (np.cumsum(counts) - counts)[label[by_label]]
    return by_label[rank < level]


def _numbered(said: Sequence[str]) -> tuple[tuple[str, ...], np.ndarray]:
    """The different values in alphabetical order, and each entry's number among them."""
    values, numbers = np.unique(np.array(said, dtype=object).astype(str), return_inverse=True)
    return tuple(map(str, values)), numbers.astype(np.int64)


def _of_words(
    name: str, examples: Examples, entries: Sequence[tuple[int, tuple[int, ...], str]]
) -> Target | None:
    """A target of entries (text, words in it, label)."""
    if not entries or examples.words is None:
        return None
    example, words, said = (list(column) for column in zip(*entries, strict=True))
    classes, label = _numbered(said)
    types, kind = _numbered([examples.words[row][at[0]].casefold() for row, at in zip(example, words, strict=True)])
    return Target(name, np.array(example), np.array(words), label, classes, types, kind)


def _of_texts(name: str, rows: Sequence[int], label: np.ndarray, classes: Sequence[str]) -> Target:
    return Target(name, np.array(rows), np.zeros((len(rows), 0), dtype=np.int64), label, tuple(classes))


def _mark(kind: str) -> Callable[[Examples, Limits], Target | None]:
    """What the source says of single words; the words of which it says nothing are left out."""

    def collect(examples: Examples, limits: Limits) -> Target | None:
        rows = enumerate(examples.marks.get(kind, ()))
        said = [(row, (at,), value) for row, values in rows for at, value in enumerate(values) if value]
        return _of_words(kind, examples, said)

    return collect


def _relation(examples: Examples, limits: Limits) -> Target | None:
    """The relation of a word to its head, without subtypes; the root has none."""
    if examples.heads is None or "relation" not in examples.marks:
        return None
    rows = enumerate(zip(examples.heads, examples.marks["relation"], strict=True))
    said = [
        (row, (at, head), value.partition(":")[0])
        for row, both in rows
        for at, (head, value) in enumerate(zip(*both, strict=True))
        if head != ROOT and value
    ]
    return _of_words("relation", examples, said)


def _frame(examples: Examples, limits: Limits) -> Target | None:
    """The frame that a word evokes; of a target of several words, the first."""
    rows = enumerate(examples.links or ())
    said = {(row, link.target[:1]): link.frame for row, links in rows for link in reversed(links) if link.frame}
    return _of_words("frame", examples, [(row, word, frame) for (row, word), frame in sorted(said.items()) if word])


def _word(examples: Examples, limits: Limits) -> Target | None:
    """Which word it is, of the most frequent ones."""
    words = [[word.casefold() for word in row] for row in examples.words or ()]
    frequent = {word for word, _ in Counter(chain.from_iterable(words)).most_common(limits.types)}
    said = [(row, (at,), word) for row, of in enumerate(words) for at, word in enumerate(of) if word in frequent]
    return _of_words("word", examples, said)


def _label(examples: Examples, limits: Limits) -> Target | None:
    """The task's label of the whole text; scores are no classes."""
    label: Any = examples.label
    if label is None or not np.issubdtype(label.dtype, np.integer):
        return None
    values, numbers = np.unique(label, return_inverse=True)
    return _of_texts("label", range(len(label)), numbers.astype(np.int64), [str(value) for value in values])


def _length(examples: Examples, limits: Limits) -> Target | None:
    """How many words the text has, in groups of about equal size."""
    pairs = examples.pair or ("",) * len(examples)
    plain = (f"{one} {other}".split() for one, other in zip(examples.text, pairs, strict=True))
    lengths = np.array([len(words) for words in examples.words or plain])
    edges = np.unique(np.quantile(lengths, np.arange(1, limits.bins) / limits.bins, method="higher"))
    values, numbers = np.unique(np.digitize(lengths, edges), return_inverse=True)
    ends = [lengths[numbers == at] for at in range(len(values))]
    classes = [f"{of.min()} to {of.max()} words" for of in ends]
    return _of_texts("length", range(len(lengths)), numbers.astype(np.int64), classes)


_COLLECTORS: dict[str, Callable[[Examples, Limits], Target | None]] = {
    "pos": _mark("pos"), "relation": _relation, "frame": _frame, "entity": _mark("entity"),
    "gender": _mark("gender"), "label": _label, "length": _length, "word": _word,
}  # fmt: skip
