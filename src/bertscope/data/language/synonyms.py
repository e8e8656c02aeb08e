"""Words in pairs that mean the same, and what can be said in other words with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from bertscope.data.language.lexicon import Gender, Noun
from bertscope.data.language.senses import Sense, Slot, verb
from bertscope.data.language.syntax import Adjunct, Clause, NounPhrase

T = TypeVar("T")
Pairs = tuple[tuple[T, T], ...]
_GENDERS: dict[str, Gender] = {"f": "feminine", "m": "masculine", "": ""}


def _nouns(kind: str, entries: str) -> Pairs[Noun]:
    """`woman/lady:f`."""
    found = []
    for entry in entries.split():
        words, _, gender = entry.partition(":")
        one, other = (Noun(kind, word, gender=_GENDERS[gender]) for word in words.split("/"))
        found.append((one, other))
    return tuple(found)


def _actions(table: str) -> Pairs[Sense]:
    found = []
    for line in table.strip().splitlines():
        frame, one, other, subject, direct = (part.strip() for part in line.split("|"))
        slots = Slot(subject, ("person",)), Slot(direct, ("person",))
        found.append((Sense(frame, verb(one), *slots), Sense(frame, verb(other), *slots)))
    return tuple(found)


PEOPLE = _nouns("person", """
    doctor/physician boy/lad:m soldier/warrior woman/lady:f writer/author guest/visitor child/kid friend/companion
""")  # fmt: skip
PLACES = _nouns("place", "street/road inn/hotel shop/store beach/shore sea/ocean forest/wood cottage/hut path/track")
WHERE = {"street": "on", "road": "on", "inn": "at", "hotel": "at", "beach": "on", "shore": "on", "sea": "near",
         "ocean": "near", "path": "on", "track": "on"}  # fmt: skip
"""How a place takes what happens there; "in" unless it is here."""
QUALITIES = (("clever", "intelligent"), ("sad", "unhappy"), ("small", "little"), ("strange", "odd"),
             ("tired", "weary"), ("brave", "bold"))  # fmt: skip
ACTIONS = _actions("""
    Perception_active | watch | observe | Perceiver_agentive | Phenomenon
    Cotheme | follow | pursue | Theme | Cotheme
    Locating | find found | discover discovered | Perceiver | Sought_entity
    Perception_experience | see saw seen | notice | Perceiver_passive | Phenomenon
    Memory | remember remembered | recall recalled | Cognizer | Content
    Cause_impact | strike struck | hit hit | Agent | Impactee
    Abandonment | abandon abandoned | desert deserted | Agent | Theme
    Cause_harm | wound | hurt hurt | Agent | Victim
    Choosing | choose chose chosen | select | Cognizer | Chosen
    Cause_emotion | frighten frightened | alarm alarmed | Agent | Experiencer
    Convincing | persuade | convince | Speaker | Addressee
""")


_SORTS: tuple[Pairs[Any], ...] = (PEOPLE, PLACES, QUALITIES, ACTIONS)
_SYNONYMS: dict[Any, Any] = {word: other for pairs in _SORTS for pair in pairs for word, other in (pair, pair[::-1])}


def synonym(word: T) -> T:
    """The other word of the pair; the word itself where it is in none."""
    return _SYNONYMS.get(word, word)


def unlike(word: T, random: Random, taken: Iterable[Any] = ()) -> T:
    """A word of the same sort that means something else, and nothing that is taken means."""
    pairs = next(pairs for pairs in _SORTS if any(word in pair for pair in pairs))
    avoided = {word, *taken}
    return random.choice(random.choice([pair for pair in pairs if not avoided.intersection(pair)]))


def in_other_words(clause: Clause, random: Random, share: float) -> Clause:
    """The clause with a `share` of its words that have a synonym replaced by it."""

    def other(word: T) -> T:
        return synonym(word) if random.random() < share else word

    def phrase(one: NounPhrase) -> NounPhrase:
        return replace(one, noun=other(one.noun), adjectives=tuple(other(each) for each in one.adjectives))

    fillers = {role: phrase(filler) for role, filler in clause.fillers.items()}
    return replace(clause, sense=other(clause.sense), fillers=fillers)


def located(place: NounPhrase) -> Adjunct:
    """Where something happens: "in the forest", "on the road"."""
    return Adjunct(WHERE.get(place.noun.singular, "in"), place)
