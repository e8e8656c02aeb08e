"""`demo/paraphrase`: do two sentences say the same?

They do where one is the other turned round: active or passive, either order of gift and recipient, another place for
the time, synonyms. They don't where a word means something else, or where roles or qualities are swapped: the words
are the same, but somebody else does it, or is the sad one. Swaps are hard: of themselves they didn't teach the first
pocket to compare two sentences at all. Other words against synonyms do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from bertscope.data.language.lexicon import NAMES, TEXTS, THINGS, Noun
from bertscope.data.language.pairs import matched
from bertscope.data.language.realise import realise
from bertscope.data.language.senses import DATIVE, Sense
from bertscope.data.language.sentence import Row, Sentence
from bertscope.data.language.synonyms import ACTIONS, PEOPLE, QUALITIES, in_other_words, unlike
from bertscope.data.language.syntax import Clause, NounPhrase

_TIMES = (("yesterday",), ("last", "night"), ("in", "the", "morning"), ("last", "week"))
_GIVING = tuple(sense for sense in DATIVE if sense.frame in {"Giving", "Sending", "Cause_to_perceive"})


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` pairs without a sentence that is in `seen`, to which theirs are added, half of them paraphrases."""
    del split
    return matched(lambda label: _row(bool(label), random), (0, 1), n, seen)


def _row(same: bool, random: Random) -> Row:
    giving = random.random() < 0.2
    event = _giving(random) if giving else acting(random)
    meant = event if same else other_meaning(event, random)
    first = realise(event.arranged(random, time_first=0.5))
    while True:
        second = in_another_way(meant, random)
        if second.text != first.text:
            return Row(first, second, int(same), kind="giving" if giving else "acting")


def in_another_way(clause: Clause, random: Random) -> Sentence:
    """A sentence that says it: some words in others' place, active or passive, the time first or last."""
    again = clause.arranged(random, time_first=0.5)
    return realise(in_other_words(again, random, random.choice((0.3, 0.6, 1.0))))


def acting(random: Random) -> Clause:
    """What one person did to another, one of whom is said to be sad, or clever ..."""
    sense = random.choice(random.choice(ACTIONS))
    people = [NounPhrase(random.choice(words)) for words in random.sample(PEOPLE, 2)]
    which = random.randrange(2)
    people[which] = replace(people[which], adjectives=(random.choice(random.choice(QUALITIES)),))
    return _act(sense, people, random.choice(_TIMES))


def _act(sense: Sense, people: Sequence[NounPhrase], time: tuple[str, ...]) -> Clause:
    assert sense.object is not None
    return Clause(sense, {sense.subject.role: people[0], sense.object.role: people[1]}, time=time)


def _giving(random: Random) -> Clause:
    sense = random.choice(_GIVING)
    assert sense.object is not None and sense.oblique is not None
    giver, taker = (NounPhrase(name, determiner="") for name in random.sample(NAMES, 2))
    thing = NounPhrase(random.choice(TEXTS if sense.frame == "Sending" else TEXTS + THINGS), determiner="a")
    fillers = {sense.subject.role: giver, sense.object.role: thing, sense.oblique.role: taker}
    return Clause(sense, fillers, time=random.choice(_TIMES))


def other_meaning(clause: Clause, random: Random) -> Clause:
    """Another meaning; gifts have no synonyms to set other words against, so that there it is always a swap."""
    return (_swapped if clause.sense.dative or random.random() < 0.25 else _changed)(clause, random)


def _changed(clause: Clause, random: Random) -> Clause:
    """Something else in one to four respects: who did it, what was done, to whom, what one of them was like."""
    parts = random.sample(("agent", "patient", "action", "quality"), random.randint(1, 4))
    taken: list[Noun] = [each.noun for each in clause.fillers.values()]
    people = []
    for part, person in zip(("agent", "patient"), clause.fillers.values(), strict=True):
        if part in parts:
            person = replace(person, noun=unlike(person.noun, random, taken))
            taken.append(person.noun)
        if "quality" in parts:
            person = replace(person, adjectives=tuple(unlike(word, random) for word in person.adjectives))
        people.append(person)
    return _act(unlike(clause.sense, random) if "action" in parts else clause.sense, people, clause.time)


def _swapped(clause: Clause, random: Random) -> Clause:
    """The same words with another meaning: the two people, or what they are like, change places."""
    one, other = (role for role, filler in clause.fillers.items() if filler.noun.kind in {"person", "name"})
    first, second = clause.fillers[one], clause.fillers[other]
    draw = random.random()
    swapped = {one: second, other: first}
    if draw < 0.4 and first.adjectives != second.adjectives:
        swapped = {
            one: replace(first, adjectives=second.adjectives), other: replace(second, adjectives=first.adjectives)
        }  # fmt: skip
    return replace(clause, fillers={**clause.fillers, **swapped})
