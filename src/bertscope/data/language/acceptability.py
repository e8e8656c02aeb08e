"""`demo/acceptability`: is it a sentence of the language?

One that isn't has its verb in the wrong number, with another noun between the subject and the verb ("the keys to the
old house is lost"), or two neighbouring words in the wrong order ("a man saw dog the").
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from bertscope.data.language.corpus import drawn
from bertscope.data.language.grammar import Speaker
from bertscope.data.language.realise import realise
from bertscope.data.language.sentence import Row, Sentence, exchanged, respelled
from bertscope.data.language.syntax import Adjunct, NounPhrase, State

_OTHER_NUMBER = {"is": "are", "was": "were", "has": "have"}
_OTHER_NUMBER |= {plural: singular for singular, plural in _OTHER_NUMBER.items()}
_FIXED_ORDER = frozenset({("DET", "NOUN"), ("DET", "ADJ"), ("ADJ", "NOUN"), ("ADP", "DET"), ("AUX", "VERB")})


def rows(split: str, n: int, random: Random, seen: set[str]) -> list[Row]:
    """`n` sentences that aren't in `seen`, added to it: in turn about agreement and about order, half of each as
    they should be."""
    del split
    found = []
    for number in range(n):
        make = _agreement if number % 4 < 2 else _order
        found.append(Row(make(bool(number % 2), random, seen), label=number % 2))
    return found


def _agreement(right: bool, random: Random, seen: set[str]) -> Sentence:
    while True:
        sentence, at = distant_agreement(random)
        if not right:
            sentence = disagreeing(sentence, at)
        if sentence.text not in seen:
            seen.add(sentence.text)
            return sentence


def distant_agreement(random: Random) -> tuple[Sentence, int]:
    """A sentence with another noun between the subject and the verb, and where the verb stands that agrees."""
    sentence = realise(_distant(Speaker(random)))
    [at] = [at for at, form in enumerate(sentence.words) if _finite(sentence, at, form)]
    return sentence, at


def disagreeing(sentence: Sentence, at: int) -> Sentence:
    """The same with that verb in the other number."""
    return respelled(sentence, at, _OTHER_NUMBER[sentence.words[at]])


def _finite(sentence: Sentence, at: int, form: str) -> bool:
    """Whether it is the main clause's verb that agrees with the subject."""
    governor = sentence.governors[at]
    return form in _OTHER_NUMBER and sentence.pos[at] == "AUX" and sentence.relations[governor] == "root"


def _distant(speaker: Speaker) -> State:
    """A state whose subject has another noun after it; either is as often in the plural as in the singular."""
    random = speaker.random
    while True:
        state = speaker.state()
        subject, modifier = state.subject, state.subject.modifier
        assert modifier is not None
        if subject.noun.plural and modifier.phrase.noun.plural:
            break
    near = modifier.phrase
    modifier = Adjunct(modifier.preposition, replace(near, plural=random.random() < 0.5, determiner="the"))
    subject = NounPhrase(subject.noun, random.random() < 0.5, modifier=modifier)
    if random.random() < 0.5:
        subject = speaker.with_relative(subject)
    return replace(state, subject=subject, tense=random.choice(("present", "past", "perfect")))


def _order(right: bool, random: Random, seen: set[str]) -> Sentence:
    while True:
        sentence = drawn(random, seen)
        if right:
            return sentence
        # A sentence's first word is left alone: its capital would give it away.
        pairs = zip(sentence.pos[1:], sentence.pos[2:], strict=False)
        places = [at for at, pair in enumerate(pairs, start=1) if pair in _FIXED_ORDER]
        if places:
            return exchanged(sentence, random.choice(places))
