"""What a sentence of the demo language says, before it has words: noun phrases, clauses and states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from bertscope.data.language.lexicon import Noun
from bertscope.data.language.senses import Sense

Tense = Literal["past", "present", "future", "perfect", "progressive"]
Negation = Literal["", "not", "never"]


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A participant."""

    noun: Noun
    plural: bool = False
    determiner: str = "the"
    """"the", "a" (which becomes "an" by itself), "two", "her", "every" ...; '' for names, pronouns and bare nouns."""
    adjectives: tuple[str, ...] = ()
    modifier: Adjunct | None = None
    """"to the old house", "with the hat"."""
    relative: Relative | None = None
    conjunct: NounPhrase | None = None
    """"and the girl"."""

    @property
    def is_plural(self) -> bool:
        """Whether a verb agrees with it in the plural."""
        return self.plural or self.conjunct is not None


@dataclass(frozen=True, slots=True)
class Adjunct:
    """A noun phrase with its preposition."""

    preposition: str
    phrase: NounPhrase


@dataclass(frozen=True, slots=True)
class Relative:
    """A clause about a noun, which fills its `gap`."""

    clause: Clause
    gap: str
    """The element that the noun is in the clause."""
    pronoun: str = ""
    """"who", "that" ...; '' for none, which only an object's gap allows."""


@dataclass(frozen=True, slots=True)
class Clause:
    """An event: a verb's sense and who or what fills its elements."""

    sense: Sense
    fillers: Mapping[str, NounPhrase]
    content: Clause | State | None = None
    """What is said, known or thought."""
    tense: Tense = "past"
    negation: Negation = ""
    passive: bool = False
    """The object becomes the subject; the subject follows "by", or is left out where `fillers` hasn't it."""
    shifted: bool = False
    """The recipient stands before the object: "gave the boy a book"."""
    adverb: str = ""
    time: tuple[str, ...] = ()
    """("yesterday",), ("in", "the", "evening")."""
    time_first: bool = False
    place: Adjunct | None = None

    def arranged(self, random: Random, *, time_first: float) -> Clause:
        """The same in one of the ways to say it; in this share of them the time stands first."""
        return replace(
            self,
            passive=random.random() < 0.3,
            shifted=self.sense.dative and random.random() < 0.5,
            time_first=random.random() < time_first,
        )


@dataclass(frozen=True, slots=True)
class State:
    """A copular clause: something is lost, or is on the table."""

    subject: NounPhrase
    adjective: str = ""
    place: Adjunct | None = None
    tense: Tense = "past"
    negation: Negation = ""


@dataclass(frozen=True, slots=True)
class Joined:
    """Clauses as one sentence."""

    first: Clause | State
    link: str = ""
    """"and", "but", "while", "before" ...; '' for a sentence of one clause."""
    second: Clause | State | None = None
    second_first: bool = False
    """The subordinate clause stands first: "while Anna slept, ..."."""
    shared_subject: bool = False
    """The second clause leaves out its subject, which is the first's: "Anna came and saw the house"."""


COORDINATORS = frozenset({"and", "but"})
