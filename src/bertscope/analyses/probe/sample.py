"""The items of a target that are used, and what can be said of them without a probe.

Texts go to *train*, *validation* or *test* by a hash of what they say: neither the words of one text nor two equal
texts are ever on two sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bertscope.analyses.probe.targets import Limits, Target
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed, mixed, to_unit

PARTS = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
_SHARES = (0.7, 0.8)  # of the texts: train ends here, validation there
_SPLIT, _DRAW, _CONTROL = (np.uint64(2**32 + number) for number in (16, 17, 18))  # apart from resamples' numbers


@dataclass(frozen=True, eq=False)
class Sample:
    """The items that are used of a target: train's first, in a random order of texts, then validation's, then
    test's."""

    target: Target
    part: np.ndarray
    """Where each item belongs: FIT, SELECT or REPORT."""

    def items(self, part: int) -> np.ndarray:
        return np.flatnonzero(self.part == part)


def draw_sample(target: Target, examples: Examples, limits: Limits, seed: int, has_vector: np.ndarray) -> Sample:
    """Split a target's items by their texts, and keep of each part what the limits allow.

    has_vector   [item]: whether every checkpoint has a vector for it; others are left out
    """
    target = target.take(np.flatnonzero(has_vector))
    by_text, part = text_hashes(examples, seed)[target.example], text_parts(examples, seed)[target.example]
    place = target.words[:, 0] if target.words.shape[1] else np.zeros(len(target), dtype=np.int64)
    luck = word_luck(by_text, place)
    most = {TRAIN: limits.words, VALIDATION: -(-limits.words // 8), TEST: limits.words}
    chosen = [
        _drawn(np.flatnonzero(part == which), target.label, luck, count, balanced=limits.balanced)
        for which, count in most.items()
    ]
    for items, name in zip(chosen, PARTS, strict=True):
        if not len(items) or (name == "train" and len(np.unique(target.label[items])) < 2):
            raise UserError(
                f"too few texts to probe for {target.name}: {len(np.unique(target.example))} leave "
                f"{len(items)} items to {name}; give more"
            )
    # Texts in a random order, each text's words together: an online code meets them so.
    kept = np.concatenate([items[np.lexsort((place[items], by_text[items]))] for items in chosen])
    return Sample(target.take(kept), part[kept])


def control_labels(sample: Sample, seed: int) -> np.ndarray:
    """A label for each item that its word's type alone decides, drawn from train's labels (Hewitt & Liang 2019)."""
    target = sample.target
    assert target.type is not None
    shares = np.bincount(target.label[sample.items(TRAIN)], minlength=len(target.classes)).cumsum()
    luck = to_unit(mixed(hashed(target.types, seed), _CONTROL))
    of_type = np.searchsorted(shares / shares[-1], luck, side="right").clip(max=len(target.classes) - 1)
    return of_type[target.type]


def majority(sample: Sample) -> np.ndarray:
    """Whether train's most frequent label is that of each item of test."""
    label = sample.target.label
    return np.bincount(label[sample.items(TRAIN)]).argmax() == label[sample.items(TEST)]


def usual_label(sample: Sample) -> np.ndarray:
    """Whether the most frequent label that its word has in train is that of each item of test; a word that train
    lacks gets the most frequent label of all."""
    target, train, test = sample.target, sample.items(TRAIN), sample.items(TEST)
    assert target.type is not None
    counts = np.zeros((len(target.types), len(target.classes)), dtype=np.int64)
    np.add.at(counts, (target.type[train], target.label[train]), 1)
    usual = np.where(counts.any(1), counts.argmax(1), counts.sum(0).argmax())
    return usual[target.type[test]] == target.label[test]


def word_luck(by_text: np.ndarray, place: np.ndarray) -> np.ndarray:
    """A number for each word, of its text's hash and its place: those with the lowest are drawn."""
    return mixed(mixed(by_text, _DRAW), place.astype(np.uint64))


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
