"""`demo/similarity`: how much of the meaning do two sentences share, from 0 to 5?

A point for each part that is the same: who did it, what was done, to whom, where, and what the other one was like.
A synonym is the same; who takes the other's role isn't, though the words are.
"""

from __future__ import annotations

from random import Random
from typing import Any

from bertscope.data.language.pairs import matched
from bertscope.data.language.realise import realise
from bertscope.data.language.sentence import Row, Sentence
from bertscope.data.language.synonyms import ACTIONS, PEOPLE, PLACES, QUALITIES, located, synonym, unlike
from bertscope.data.language.syntax import Clause, NounPhrase

SCORES = range(6)
_OTHERS: dict[str, tuple[tuple[Any, Any], ...]] = {"action": ACTIONS, "place": PLACES, "quality": QUALITIES}
_PARTS = ("agent", "patient", *_OTHERS)
_Meaning = dict[str, Any]
"""The word for each part."""


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` pairs without a sentence that is in `seen`, to which theirs are added, as many of each score."""
    del split
    return matched(lambda score: _row(int(score), random), SCORES, n, seen)


def _row(score: int, random: Random) -> Row:
    agent, patient = random.sample(PEOPLE, 2)
    pairs = {"agent": agent, "patient": patient} | {part: random.choice(pairs) for part, pairs in _OTHERS.items()}
    meaning: _Meaning = {part: random.choice(pair) for part, pair in pairs.items()}
    changed = _changed(meaning, len(_PARTS) - score, random)
    share = random.choice((0.0, 0.5, 1.0))
    other = {part: synonym(word) if random.random() < share else word for part, word in (meaning | changed).items()}
    return Row(_sentence(meaning, random), _sentence(other, random), float(score))


def _changed(meaning: _Meaning, n: int, random: Random) -> _Meaning:
    """New words for `n` parts; where both people are among them, they mostly change places."""
    parts = random.sample(_PARTS, n)
    if {"agent", "patient"} <= {*parts} and random.random() < 0.7:
        swapped = {"agent": meaning["patient"], "patient": meaning["agent"]}
    else:
        swapped = {}
    changed = {**swapped}
    for part in parts:
        if part not in swapped:
            changed[part] = unlike(meaning[part], random, [*meaning.values(), *changed.values()])
    return changed


def _sentence(meaning: _Meaning, random: Random) -> Sentence:
    sense = meaning["action"]
    patient = NounPhrase(meaning["patient"], adjectives=(meaning["quality"],))
    fillers = {sense.subject.role: NounPhrase(meaning["agent"]), sense.object.role: patient}
    place = located(NounPhrase(meaning["place"]))
    return realise(Clause(sense, fillers, place=place, passive=random.random() < 0.3))
