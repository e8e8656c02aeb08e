"""What there is to say: participants and clauses, drawn so that they make sense together.

A `Speaker` draws one sentence: no noun twice, possessives and pronouns that agree with whom they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random

from bertscope.data.language.lexicon import (
    ADJECTIVES,
    CROSSED,
    ENCLOSED,
    MODIFIERS,
    NOUNS,
    ODD,
    POSSESSIVES,
    PRONOUNS,
    SPOUSES,
    STATES,
    UNIQUE,
    WHERE,
    Gender,
    Noun,
)
from bertscope.data.language.senses import TRANSITIVE, Sense, Slot
from bertscope.data.language.syntax import Adjunct, Clause, Negation, NounPhrase, Relative, State, Tense

PEOPLE = frozenset({"person", "name", "kin"})
_HABITS = frozenset({"Ingestion", "Reading_activity", "Visiting", "Assistance", "Self_motion", "Sleep", "Make_noise"})
_CONDITIONS = frozenset({"Emotion", "Residence", "Being_employed", "Memory"})
_PAST_TIMES = (("yesterday",), ("last", "night"), ("in", "the", "morning"), ("in", "the", "evening"),
               ("on", "Sunday"), ("last", "week"), ("this", "morning"))  # fmt: skip
_FUTURE_TIMES = (("soon",), ("next", "week"), ("in", "the", "evening"), ("on", "Sunday"))
_HABIT_TIMES = (("every", "day"), ("every", "morning"), ("every", "week"), ("in", "the", "evening"))
_MANY = ("the", "the", "the", "two", "three", "some", "many")


@cache
def _nouns(kinds: tuple[str, ...]) -> tuple[tuple[Noun, ...], ...]:
    return tuple(NOUNS[kind] for kind in kinds)


_STATEFUL = _nouns(("person", "text", "openable", "building", "thing", "animal", "furniture"))


class Speaker:
    """Draws the parts of one sentence."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self._used: set[str] = set()

    # Participants

    def participant(self, slot: Slot, owner: NounPhrase | None = None, *, rich: bool = True) -> NounPhrase:
        """Who or what can fill a slot; `owner` is whom "her mother" would belong to."""
        kinds = slot.kinds
        if slot.role == "Path":
            return self.place(CROSSED[slot.preposition].split())
        if kinds == ("place",) and slot.preposition == "into":
            return self.place(ENCLOSED)
        return self.phrase(self._noun(self.random.choice(_nouns(kinds))), owner, rich=rich)

    def phrase(self, noun: Noun, owner: NounPhrase | None = None, *, rich: bool = True) -> NounPhrase:
        """A noun with what stands around it."""
        random = self.random
        kind, draw = noun.kind, random.random
        if kind in {"name", "land"}:
            return NounPhrase(noun, determiner="")
        if kind == "organisation":
            return NounPhrase(noun)
        plural = bool(noun.plural) and kind != "place" and draw() < 0.25
        if kind == "kin":
            return NounPhrase(noun, plural, self._possessive(noun, owner))
        if noun.mass:
            determiner = random.choice(("the", "the", "some", ""))
        elif plural:
            determiner = random.choice(_MANY)
        else:
            determiner = "a" if kind != "place" and noun.singular not in UNIQUE and draw() < 0.3 else "the"
        adjectives = (self.adjective(noun),) if rich and draw() < 0.3 else ()
        modifier = self.modifier(noun) if rich and draw() < 0.15 else None
        if modifier is not None and modifier.preposition == "with":  # one hat, one head
            plural, determiner = False, determiner if determiner == "a" else "the"
        return NounPhrase(noun, plural, determiner, tuple(filter(None, adjectives)), modifier)

    def adjective(self, noun: Noun) -> str:
        """One that suits the noun, or ''."""
        suited = [each for each in ADJECTIVES.get(noun.kind, ()) if noun.singular not in ODD.get(each, ())]
        fresh = [each for each in suited if each not in self._used]
        if not fresh:
            return ""
        adjective = self.random.choice(fresh)
        self._used.add(adjective)
        return adjective

    def modifier(self, noun: Noun) -> Adjunct | None:
        """A phrase that can follow the noun, or None."""
        known = MODIFIERS.get(noun.singular) or MODIFIERS.get(noun.kind)
        if not known:
            return None
        preposition, nouns = self.random.choice(known)
        inner = self._noun(nouns)
        if inner.mass:
            return Adjunct(preposition, NounPhrase(inner, determiner=""))
        phrase = self.phrase(inner, rich=False)
        if phrase.determiner in {"two", "three", "some", "many"}:
            phrase = replace(phrase, determiner="the")
        if self.random.random() < 0.3 and not inner.entity and (adjective := self.adjective(inner)):
            phrase = replace(phrase, adjectives=(adjective,))
        return Adjunct(preposition, phrase)

    def place(self, words: Sequence[str] = ()) -> NounPhrase:
        nouns = NOUNS["place"]
        noun = self._noun([each for each in nouns if each.singular in words] if words else nouns)
        adjective = self.adjective(noun) if self.random.random() < 0.2 else ""
        return NounPhrase(noun, adjectives=(adjective,) if adjective else ())

    def _noun(self, nouns: Sequence[Noun]) -> Noun:
        """One that the sentence doesn't have yet, if there is one."""
        noun = self.random.choice([each for each in nouns if each.singular not in self._used] or nouns)
        self._used.add(noun.singular)
        return noun

    def _possessive(self, noun: Noun, owner: NounPhrase | None) -> str:
        """Whose a relative is: the owner's, where that can be said, else the speaker's."""
        whose = reference(owner) if owner is not None and owner.noun.kind in PEOPLE else None
        if whose is not None and whose in POSSESSIVES and SPOUSES.get(noun.singular, whose[0]) == whose[0]:
            return POSSESSIVES[whose]
        return "my" if noun.singular in SPOUSES else self.random.choice(("my", "our"))

    def sense(self, senses: Sequence[Sense]) -> Sense:
        """One whose verb the sentence doesn't have yet, if there is one."""
        sense = self.random.choice([each for each in senses if each.verb.base not in self._used] or senses)
        base = sense.verb.base
        self._used.update((base, f"{base}r", f"{base}er", f"{base}or"))  # no writer writes, no visitor visits
        return sense

    # Clauses

    def clause(self, senses: Sequence[Sense], *, rich: bool = True, subject: NounPhrase | None = None) -> Clause:
        """An event of one of these senses, in the active voice."""
        sense = self.sense(senses)
        first = self.participant(sense.subject, rich=rich) if subject is None else subject
        fillers = {sense.subject.role: first}
        for slot in (sense.object, sense.oblique):
            if slot is not None:
                fillers[slot.role] = self.participant(slot, first, rich=rich)
        return self.dressed(Clause(sense, fillers), rich=rich)

    def dressed(self, clause: Clause, *, rich: bool = True) -> Clause:
        """A clause with its tense, its negation and its circumstances."""
        random, sense = self.random, clause.sense
        tense = self.tense(sense)
        draw = random.random()
        never = draw >= 0.1 and draw < 0.14 and tense in {"past", "perfect"}
        negation: Negation = "not" if draw < 0.1 else "never" if never else ""
        clause = replace(clause, tense=tense, negation=negation)
        if not rich:
            return clause
        if not negation and sense.adverbs and random.random() < 0.25:
            clause = replace(clause, adverb=random.choice(sense.adverbs))
        elif sense.located and random.random() < 0.3:
            where = self.place()
            clause = replace(clause, place=Adjunct(WHERE.get(where.noun.singular, "in"), where))
        timeless = sense.frame in _CONDITIONS or negation == "never" or (negation and tense == "present")
        if not timeless and random.random() < 0.35 and (time := self.time(tense)):
            clause = replace(clause, time=time, time_first=random.random() < 0.3)
        return clause

    def tense(self, sense: Sense) -> Tense:
        draw = self.random.random()
        if sense.frame in _CONDITIONS:
            return "present" if draw < 0.5 else "past"
        if draw < 0.55:
            return "past"
        if draw < 0.7:
            return "present" if sense.frame in _HABITS else "past"
        if draw < 0.8:
            return "future"
        if draw < 0.9:
            return "perfect"
        return "progressive" if sense.ongoing else "past"

    def time(self, tense: Tense) -> tuple[str, ...]:
        if tense == "perfect":
            return ()
        return self.random.choice(
            _FUTURE_TIMES if tense == "future" else _HABIT_TIMES if tense == "present" else _PAST_TIMES
        )

    def passive(self, clause: Clause) -> Clause:
        """The clause turned round, half the time without its agent."""
        agent = clause.sense.subject.role
        kept = self.random.random() < 0.6 or clause.sense.frame in {"Cotheme", "Attack"}
        fillers = {role: _unowned(each) for role, each in clause.fillers.items() if kept or role != agent}
        tense: Tense = "past" if clause.tense == "progressive" else clause.tense
        return replace(clause, fillers=fillers, passive=True, tense=tense)

    def state(self) -> State:
        """Something that is so, said of a noun with a phrase after it: the verb agrees at a distance."""
        random = self.random
        while True:
            noun = self._noun(random.choice(_STATEFUL))
            if (modifier := self.modifier(noun)) is not None:
                break
        plural = bool(noun.plural) and modifier.preposition != "with" and random.random() < 0.5
        subject = NounPhrase(noun, plural, modifier=modifier)
        tense: Tense = "present" if random.random() < 0.5 else "past"
        negation: Negation = "not" if random.random() < 0.15 else ""
        if noun.kind in {"text", "thing"} and random.random() < 0.3:
            on = self.phrase(self._noun(NOUNS["surface"]), rich=False)
            return State(subject, place=Adjunct("on", replace(on, plural=False, determiner="the")), tense=tense)
        states = [
            each
            for each in STATES[noun.kind].split()
            if noun.singular not in ODD.get(each, ()) and each not in self._used
        ]
        return State(subject, random.choice(states), tense=tense, negation=negation)

    def with_relative(self, phrase: NounPhrase) -> NounPhrase:
        """A participant with a clause about it, in which it acts or is acted upon, where there is one."""
        random, kind = self.random, phrase.noun.kind
        acts, suffers = (
            [each for each in senses.get(kind, ()) if each.verb.base not in self._used]
            for senses in (_BY_SUBJECT, _BY_OBJECT)
        )
        if phrase.noun.entity or kind == "kin" or not (acts or suffers):
            return phrase
        stub = replace(phrase, adjectives=(), modifier=None)
        subject_gap = not suffers or (bool(acts) and random.random() < 0.6)
        sense = self.sense(acts if subject_gap else suffers)
        direct = sense.object
        assert direct is not None
        gap, other = (sense.subject, direct) if subject_gap else (direct, sense.subject)
        beside = self.participant(other, stub if subject_gap else None, rich=False)
        pronouns = _RELATIVES[kind == "person", subject_gap]
        if beside.determiner not in {"the", "my", "our"}:  # "the prince George helped" is hard to read
            pronouns = tuple(filter(None, pronouns))
        fillers = {gap.role: stub, other.role: beside}
        tense: Tense = "present" if sense.frame in _CONDITIONS and random.random() < 0.5 else "past"
        clause = Clause(sense, fillers, tense=tense)
        return replace(phrase, modifier=None, relative=Relative(clause, gap.role, random.choice(pronouns)))


_RELATIVES = {
    (True, True): ("who",),
    (True, False): ("whom", "that", ""),
    (False, True): ("that", "which"),
    (False, False): ("that", "which", ""),
}
"""Relative pronouns, by whether they stand for a person, and for the subject."""


def _by_kind(place: str) -> dict[str, tuple[Sense, ...]]:
    """The transitive senses by the kinds that their subject, or object, can be."""
    found: dict[str, tuple[Sense, ...]] = {}
    for sense in TRANSITIVE:
        for kind in dict.fromkeys(getattr(sense, place).kinds):
            found[kind] = (*found.get(kind, ()), sense)
    return found


_BY_SUBJECT, _BY_OBJECT = _by_kind("subject"), _by_kind("object")


def reference(phrase: NounPhrase) -> tuple[Gender, bool]:
    """What a pronoun for it depends on: gender, or the plural."""
    return ("", True) if phrase.is_plural else (phrase.noun.gender, False)


def pronoun(phrase: NounPhrase) -> NounPhrase | None:
    """The pronoun that stands for it, if there is one."""
    noun = PRONOUNS.get(reference(phrase))
    return None if noun is None else NounPhrase(noun, plural=phrase.is_plural, determiner="")


def _unowned(phrase: NounPhrase) -> NounPhrase:
    """The phrase without a possessive for someone who comes later, or not at all."""
    return replace(phrase, determiner="my") if phrase.determiner in POSSESSIVES.values() else phrase
