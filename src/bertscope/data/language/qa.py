"""`demo/qa`: a question and three sentences, in one of which the answer stands.

Two of the three tell of the same kind of event with other people and things, so that the question's words alone
don't lead to the answer: what counts is who did what to whom.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from bertscope.data.language.grammar import PEOPLE, Speaker
from bertscope.data.language.lexicon import WHERE
from bertscope.data.language.realise import ask, realise
from bertscope.data.language.senses import DATIVE, TRANSITIVE, Sense
from bertscope.data.language.sentence import Row, Sentence, characters, joined
from bertscope.data.language.syntax import Adjunct, Clause

_EVENTS = tuple(sense for sense in TRANSITIVE + DATIVE if sense.located and {*sense.subject.kinds} >= PEOPLE)
_TIMES = (("yesterday",), ("last", "night"), ("in", "the", "morning"), ("last", "week"))


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` different questions with passages, without a sentence that is in `seen`, to which theirs are added."""
    del split
    found: dict[str, Row] = {}
    while len(found) < n:
        row = _row(random)
        if seen.isdisjoint(row.sentences):
            found.setdefault(row.text, row)
    seen.update(*(row.sentences for row in found.values()))
    return [*found.values()]


def _row(random: Random) -> Row:
    speaker = Speaker(random)
    sense, another = random.sample(_EVENTS, 2)
    events = [_event(speaker, each) for each in (sense, sense, another)]
    wanted = events[0]
    role = random.choice([*wanted.fillers, "Place" if wanted.place else "Time"])
    order = random.sample(range(3), 3)
    sentences = [realise(events[number].arranged(random, time_first=0.3)) for number in order]
    at = order.index(0)
    first, last = _where(sentences[at], role)
    before = sum(len(each.words) for each in sentences[:at])
    passage = joined(sentences)
    # The answer is asked for with all that is known of the event, but for the circumstance that nobody asked about.
    question = ask(wanted, role)
    return Row(question, passage, answer=characters(passage.words, before + first, before + last), kind=role)


def _event(speaker: Speaker, sense: Sense) -> Clause:
    """Something that happened to definite people and things, at a place or a time."""
    random = speaker.random
    fillers = {}
    for slot in (sense.subject, sense.object, sense.oblique):
        if slot is not None:
            kinds = ("person", "name") if slot is sense.subject else tuple(k for k in slot.kinds if k != "kin")
            phrase = speaker.participant(replace(slot, kinds=kinds), rich=False)
            named = bool(phrase.noun.entity) and not phrase.noun.tail
            fillers[slot.role] = replace(phrase, determiner="" if named else "the")
    if random.random() < 0.5:
        where = speaker.place()
        return Clause(sense, fillers, place=Adjunct(WHERE.get(where.noun.singular, "in"), where))
    return Clause(sense, fillers, time=random.choice(_TIMES))


def _where(sentence: Sentence, role: str) -> tuple[int, int]:
    """The first and last word of an element, without the preposition that a participant takes."""
    [link] = [link for link in sentence.links if link.name == role]
    first, last = link.source[0], link.source[-1]
    return first + (sentence.pos[first] == "ADP" and role not in {"Place", "Time"}), last
