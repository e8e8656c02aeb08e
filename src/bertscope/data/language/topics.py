"""`demo/topics`: two or three sentences, and what all happened in them: any number of labels.

Each sentence tells of an event. Half of the events are denied, and what didn't happen doesn't count: which sentence
the denial stands in decides, and a bag of words can't see that.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from bertscope.data.language.grammar import Speaker
from bertscope.data.language.realise import realise
from bertscope.data.language.senses import SENSES, Sense
from bertscope.data.language.sentence import Row, Sentence, joined

TOPICS = {
    "food": ("Ingestion", "Offering"),
    "reading": ("Reading_activity", "Text_creation"),
    "trade": ("Commerce_buy", "Commerce_sell"),
    "travel": ("Self_motion", "Motion"),
}
"""The labels, and the frames of the events that they stand for."""
_DENIED, _OTHER = 0.5, 0.25
_EVENTS = tuple(tuple(sense for sense in SENSES if sense.frame in frames) for frames in TOPICS.values())
_PLAIN = tuple(sense for sense in SENSES if sense.frame in {"Perception_experience", "Closure", "Waiting", "Placing"})


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` texts without a sentence that is in `seen`, to which theirs are added."""
    del split
    found = list[Row]()
    while len(found) < n:
        row = _row(random)
        if seen.isdisjoint(row.sentences):
            seen.update(row.sentences)
            found.append(row)
    return found


def _row(random: Random) -> Row:
    speaker = Speaker(random)
    topics = random.sample(range(len(_EVENTS)), random.choice((2, 2, 3)))
    sentences, happened = list[Sentence](), list[int]()
    for topic in topics:
        if random.random() < _OTHER:
            sentences.append(_told(speaker, _PLAIN, random.random() < _DENIED))
            continue
        denied = random.random() < _DENIED
        sentences.append(_told(speaker, _EVENTS[topic], denied))
        happened += [] if denied else [topic]
    return Row(joined(sentences), labels=tuple(sorted(happened)))


def _told(speaker: Speaker, senses: tuple[Sense, ...], denied: bool) -> Sentence:
    clause = speaker.clause(senses, rich=False)
    # After "did not" the verb would have another form, which gives the denial away.
    return realise(replace(clause, tense="past", negation="never" if denied else ""))
