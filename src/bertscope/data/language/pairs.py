"""Pairs of sentences whose label the words alone don't give away."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence

from bertscope.data.language.sentence import Row, Sentence


def overlap(one: Sentence, other: Sentence) -> tuple[int, int, int]:
    """How many words each sentence has, and how many they share, each as often as both have it."""
    first, second = (Counter(word.lower() for word in each.words) for each in (one, other))
    return first.total(), second.total(), (first & second).total()


def matched(draw: Callable[[float], Row], labels: Sequence[float], n: int, seen: set[str]) -> list[Row]:
    """`n` different rows without a sentence that is in `seen`, to which theirs are added: for each there is one of
    every other label and the same kind that is as long and shares as many words, so that these numbers say nothing
    about the label."""
    waiting: defaultdict[tuple[str, int, int, int], dict[float, deque[Row]]]
    waiting = defaultdict(lambda: {label: deque() for label in labels})
    drawn: set[str] = set()
    found: list[Row] = []
    while len(found) < n:
        for label in labels:
            row = draw(label)
            if row.text in drawn or not seen.isdisjoint(row.sentences):
                continue
            drawn.add(row.text)
            assert row.second is not None
            alike = waiting[row.kind, *overlap(row.first, row.second)]
            alike[label].append(row)
            if all(alike.values()):
                found += [rows.popleft() for rows in alike.values()]
    del found[n:]
    seen.update(*(row.sentences for row in found))
    return found
