"""`demo/entailment`: does the second sentence follow from the first, contradict it, or neither?

Every sentence affirms or denies something (it happened once, it never did; a boy did it, no boy did; every boy
did it, not every boy did). What two sentences are about is the same (in the passive, perhaps), or one is the narrower
(a dog, or in the garden, where the other has an animal, or no place), or it is something else (roles are swapped).
The label follows from these three, and from none of them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product
from random import Random
from typing import Literal, get_args

from bertscope.data.language.lexicon import NAMES, TEXTS, Noun, named
from bertscope.data.language.pairs import matched
from bertscope.data.language.realise import realise
from bertscope.data.language.senses import TRANSITIVE, Sense
from bertscope.data.language.sentence import Row, differing
from bertscope.data.language.synonyms import ACTIONS, in_other_words
from bertscope.data.language.syntax import Adjunct, Clause, NounPhrase

LABELS = ("entailment", "neutral", "contradiction")

Statement = Literal["strong", "weak", "other"]
"""What a sentence is about: the strong implies the weak; the other has nothing to do with them."""
_Signed = tuple[Statement, bool]
"""A claim, and whether it is affirmed."""
_Say = Callable[[Statement, bool], Clause]
Flip = Literal["once_never", "a_no", "kind"]
FLIPS: tuple[Flip, ...] = get_args(Flip)
"""What one word can change: that it happened, that anybody did it, or to what."""


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` pairs without a sentence that is in `seen`, to which theirs are added, a third of each label."""
    del split
    return matched(lambda label: _row(int(label), random), range(len(LABELS)), n, seen)


def _follows(first: _Signed, second: _Signed) -> str:
    """The label, from the worlds in which each statement is true."""
    worlds = [world for world in product((False, True), repeat=len(_CLAIMS)) if world[1] or not world[0]]
    one, other = ({world for world in worlds if world[_CLAIMS.index(claim)] == yes} for claim, yes in (first, second))
    return "entailment" if one <= other else "neutral" if one & other else "contradiction"


def _cases(label: str, *claims: tuple[Statement, Statement]) -> list[tuple[_Signed, _Signed]]:
    """The pairs of statements about these pairs of claims that have this label."""
    cases: list[tuple[_Signed, _Signed]] = [
        ((one, yes), (other, also)) for one, other in claims for yes, also in product((True, False), repeat=2)
    ]
    return [case for case in cases if _follows(*case) == label]


_CLAIMS: tuple[Statement, ...] = ("strong", "weak", "other")
_NESTED = {label: _cases(label, ("strong", "weak"), ("weak", "strong")) for label in LABELS}
_PLAIN = {
    label: _cases(label, ("strong", "strong"), ("weak", "weak"))
    or _cases(label, ("strong", "other"), ("weak", "other"))
    for label in LABELS
}
"""Cases that don't ask which claim is the wider: the same is said or denied, or it is about something else."""


def _row(label: int, random: Random) -> Row:
    cases = random.choice((_PLAIN, _NESTED))
    first, second = random.choice(cases[LABELS[label]])
    family = random.choice(_FAMILIES)
    while True:
        say = family(random)
        one = realise(_arranged(say(*first), random))
        other = realise(in_other_words(_arranged(say(*second), random), random, 0.5))
        if one.text != other.text:
            return Row(one, other, label, kind=family.__name__)


def flip(phenomenon: Flip, random: Random) -> tuple[Row, Row, int]:
    """Two rows that differ in a single word, which their labels hang on, and where it stands in both, counted through
    the two texts."""
    families, denied = _FLIPPED[phenomenon]
    while True:
        kept, one = random.choice(_SIGNED), random.choice(_SIGNED)
        other = (one[0], not one[1]) if denied else (random.choice(_CLAIMS), one[1])
        second = random.random() < 0.5
        labels = [_follows(kept, new) if second else _follows(new, kept) for new in (one, other)]
        if labels[0] == labels[1]:
            continue
        say = random.choice(families)(random)
        same = realise(in_other_words(_arranged(say(*kept), random), random, 0.5))
        how = _arranged(say(*one), random)
        changed = [
            realise(replace(say(*new), passive=how.passive, time_first=how.time_first)) for new in (one, other)
        ]
        places = differing(*changed)
        if len(places) != 1 or same.text in (changed[0].text, changed[1].text):
            continue
        first, last = (
            Row(*((same, new) if second else (new, same)), LABELS.index(label))
            for new, label in zip(changed, labels, strict=True)
        )
        return first, last, places[0] + (len(same.words) if second else 0)


def _arranged(clause: Clause, random: Random) -> Clause:
    """The same in one of the ways to say it."""
    direct = clause.sense.object
    assert direct is not None
    passive = clause.fillers[direct.role].noun.kind == "name" and random.random() < 0.5
    return replace(clause, passive=passive, time_first=random.random() < 0.5)


def _event(sense: Sense, subject: NounPhrase, direct: NounPhrase, yes: bool, place: Adjunct | None = None) -> Clause:
    """It happened once, or never."""
    assert sense.object is not None
    fillers = {sense.subject.role: subject, sense.object.role: direct}
    return Clause(sense, fillers, adverb="once" if yes else "", negation="" if yes else "never", place=place)


def _between_people(random: Random) -> _Say:
    """Two people; the strong claim says where, the other one swaps them."""
    sense = random.choice(random.choice(ACTIONS))
    one, two = (NounPhrase(name, determiner="") for name in random.sample(NAMES, 2))
    place = random.choice(_ROOMS)
    placed = {"strong": True, "weak": False, "other": random.random() < 0.5}

    def say(claim: Statement, yes: bool) -> Clause:
        people = (two, one) if claim == "other" else (one, two)
        return _event(sense, *people, yes, place if placed[claim] else None)

    return say


def _about_things(random: Random) -> _Say:
    """Somebody and something; the strong claim is about a narrower kind, the other one about another kind."""
    sense = random.choice(_DEALINGS)
    (wide, narrow), (elsewhere, there) = random.sample(_KINDS, 2)
    other = elsewhere if random.random() < 0.5 else random.choice(there)
    things: dict[Statement, Noun] = {"strong": random.choice(narrow), "weak": wide, "other": other}
    who, place = NounPhrase(random.choice(NAMES), determiner=""), random.choice(_ANYWHERE)

    def say(claim: Statement, yes: bool) -> Clause:
        return _event(sense, who, NounPhrase(things[claim], determiner="a"), yes, place)

    return say


def _existential(random: Random) -> _Say:
    """A or no person of a kind: the narrower kind makes the strong claim."""
    wide, narrow = random.choice(_GROUPS)
    strong, weak = NounPhrase(random.choice(narrow)), NounPhrase(wide)
    return _quantified(random, ("a", "no"), strong, weak)


def _universal(random: Random) -> _Say:
    """Every or not every person of a kind: the wider kind makes the strong claim."""
    strong = NounPhrase(random.choice(random.choice(_GROUPS)[1]))
    return _quantified(random, ("every", "not every"), strong, replace(strong, adjectives=(random.choice(_SUBSETS),)))


def _quantified(random: Random, words: tuple[str, str], strong: NounPhrase, weak: NounPhrase) -> _Say:
    """Claims about what people did with a text; the other one is about another text."""
    sense = random.choice(_READING)
    text, another = random.sample(TEXTS, 2)
    time = random.choice((("yesterday",), ("last", "night"), ("last", "week"), ("in", "the", "morning")))
    place = random.choice(_ANYWHERE)
    who = {"strong": strong, "weak": weak, "other": random.choice((strong, weak))}

    def say(claim: Statement, yes: bool) -> Clause:
        assert sense.object is not None
        subject = replace(who[claim], determiner=words[0] if yes else words[1])
        direct = NounPhrase(another if claim == "other" else text)
        return Clause(sense, {sense.subject.role: subject, sense.object.role: direct}, time=time, place=place)

    return say


_FAMILIES = (_between_people, _about_things, _existential, _universal)
_FLIPPED: Mapping[Flip, tuple[tuple[Callable[[Random], _Say], ...], bool]] = {
    "once_never": ((_between_people, _about_things), True),
    "a_no": ((_existential,), True),
    "kind": ((_about_things, _existential), False),
}
"""What a word can change: the families that have it, and whether it denies what was said."""
_SIGNED: tuple[_Signed, ...] = tuple(product(_CLAIMS, (True, False)))
_ROOMS = tuple(
    Adjunct("in", NounPhrase(room))
    for room in named("garden kitchen library church office hall park street", "place")
)
_ANYWHERE = (None, *_ROOMS)
"""The place that all claims of a pair name, or none: with these there are sentences enough for every split."""
_DEALINGS = tuple(
    sense for pair in ACTIONS for sense in pair if sense.verb.base in {"see", "notice", "find", "discover"}
)
_READING = tuple(sense for sense in TRANSITIVE if sense.verb.base in {"read", "write", "find", "lose", "remember"})
_SUBSETS = ("young", "old", "tall", "famous", "poor")


def _kinds(kind: str, table: dict[str, str]) -> tuple[tuple[Noun, tuple[Noun, ...]], ...]:
    return tuple(
        (Noun(kind, wide), tuple(Noun(kind, word) for word in words.split())) for wide, words in table.items()
    )


_KINDS = _kinds("thing", {"animal": "dog cat horse pig cow", "weapon": "sword gun knife", "flower": "rose lily",
                          "boat": "ship canoe", "book": "novel bible"})  # fmt: skip
_GROUPS = _kinds("person", {"person": "soldier student lawyer farmer sailor poet", "child": "boy girl"})
