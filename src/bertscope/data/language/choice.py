"""`demo/choice`: which of three sentences says the same as the first?

The right one says it with other words, or the other way round. The others mean something else: somebody else did it,
or something else was done, or the two have changed places. They are put in other words as often as the right one is.
"""

from __future__ import annotations

from random import Random

from bertscope.data.language.paraphrase import acting, in_another_way, other_meaning
from bertscope.data.language.realise import realise
from bertscope.data.language.sentence import Row, Sentence

_CANDIDATES = 3


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` choices without a sentence that is in `seen`, to which theirs are added."""
    del split
    found = list[Row]()
    while len(found) < n:
        row = _row(random)
        texts = [row.first.text, *row.choices]
        if len(set(texts)) == len(texts) and seen.isdisjoint(texts):
            seen.update(texts)
            found.append(row)
    return found


def _row(random: Random) -> Row:
    event = acting(random)
    first = realise(event.arranged(random, time_first=0.5))
    right = random.randrange(_CANDIDATES)
    meant = [event if place == right else other_meaning(event, random) for place in range(_CANDIDATES)]
    candidates: list[Sentence] = [in_another_way(each, random) for each in meant]
    return Row(first, label=right, choices=tuple(each.text for each in candidates))
