"""`demo/minimal` and `demo/minimal-entailment`: pairs of texts that differ in one word, on which something hangs.

agreement      the verb is in the subject's number, or in the wrong one, with another noun between them
sentiment      what was good was bad: one adjective turns the review round, with or without a negation
always_never   it was always so, or never

once_never     of two sentences: it happened once, or never did, and the label goes with it
a_no           a boy did it, or no boy did
kind           it was a dog, or a flower

Of agreement the wrong text is the corrupted one. Elsewhere neither is wrong, and which is which is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bertscope.data.language import entailment, sentiment
from bertscope.data.language.acceptability import disagreeing, distant_agreement
from bertscope.data.language.sentence import Row, Sentence, respelled


@dataclass(frozen=True)
class Pair:
    """Two rows, and where the word stands that isn't the same."""

    clean: Row
    corrupted: Row
    at: int
    """Counted through both texts of a row."""
    phenomenon: str
    answers: tuple[str, str]
    """What is to be said of each."""


def pairs(name: str, split: str, n: int, random: Random, seen: set[str]) -> list[Pair]:
    """`n` different pairs without a sentence that is in `seen`, to which theirs are added; the phenomena in turn."""
    drawing = _FLIPS if name == "demo/minimal-entailment" else _SINGLE
    found, drawn = list[Pair](), set[str]()
    while len(found) < n:
        phenomenon = list(drawing)[len(found) % len(drawing)]
        pair = drawing[phenomenon](split, random)
        rows = (pair.clean, pair.corrupted)
        if any(row.text in drawn or not seen.isdisjoint(row.sentences) for row in rows):
            continue
        drawn.update(row.text for row in rows)
        found.append(pair)
    seen.update(sentence for pair in found for row in (pair.clean, pair.corrupted) for sentence in row.sentences)
    return found


def _agreement(split: str, random: Random) -> Pair:
    del split
    right, at = distant_agreement(random)
    return Pair(Row(right), Row(disagreeing(right, at)), at, "agreement", ("acceptable", "unacceptable"))


def _sentiment(split: str, random: Random) -> Pair:
    positive = random.random() < 0.5
    one, at, others = sentiment.one_clause(split, positive, random.random() < 0.5, random)
    return _reviews(one, at, random.choice(others), "sentiment", positive)


def _always_never(split: str, random: Random) -> Pair:
    positive, always = random.random() < 0.5, random.random() < 0.5
    word, other = ("always", "never") if always else ("never", "always")
    one, _, _ = sentiment.one_clause(split, positive, not always, random, word)
    return _reviews(one, one.words.index(word), other, "always_never", positive)


def _reviews(one: Sentence, at: int, word: str, phenomenon: str, positive: bool) -> Pair:
    answers = ("positive", "negative") if positive else ("negative", "positive")
    return Pair(Row(one), Row(respelled(one, at, word)), at, phenomenon, answers)


def _flip(phenomenon: entailment.Flip) -> Callable[[str, Random], Pair]:
    def draw(split: str, random: Random) -> Pair:
        del split
        clean, corrupted, at = entailment.flip(phenomenon, random)
        one, other = (entailment.LABELS[int(row.label)] for row in (clean, corrupted))
        return Pair(clean, corrupted, at, phenomenon, (one, other))

    return draw


_SINGLE: dict[str, Callable[[str, Random], Pair]]
_SINGLE = {"agreement": _agreement, "sentiment": _sentiment, "always_never": _always_never}
_FLIPS: dict[str, Callable[[str, Random], Pair]] = {phenomenon: _flip(phenomenon) for phenomenon in entailment.FLIPS}
