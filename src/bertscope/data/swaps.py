"""Counterfactual texts: the same texts with words exchanged, such as she for he."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.limits import LARGEST_WHOLE
from bertscope.data.table_files import read_text

GENDER = """
    she/he herself/himself woman/man women/men girl/boy girls/boys lady/gentleman ladies/gentlemen female/male
    females/males mother/father mothers/fathers mom/dad moms/dads mommy/daddy wife/husband wives/husbands
    daughter/son daughters/sons sister/brother sisters/brothers aunt/uncle aunts/uncles niece/nephew nieces/nephews
    grandmother/grandfather grandmothers/grandfathers grandma/grandpa granddaughter/grandson stepmother/stepfather
    girlfriend/boyfriend girlfriends/boyfriends bride/groom brides/grooms widow/widower mrs/mr madam/sir queen/king
    queens/kings princess/prince actress/actor actresses/actors waitress/waiter waitresses/waiters nun/monk
    nuns/monks cowgirl/cowboy cowgirls/cowboys policewoman/policeman policewomen/policemen
    businesswoman/businessman businesswomen/businessmen spokeswoman/spokesman chairwoman/chairman
    fisherwoman/fisherman saleswoman/salesman feminine/masculine
    mum/dad mums/dads mummy/daddy mama/papa ms/mr lass/lad lasses/lads
"""
"""English words of gender, to which a rule adds her, him, his and hers. Of a word in two pairs (dad, mr) the first
decides. No names: they have no counterpart."""
_CLOSED = """
    a an the this that these those some any no every each all both another
    about above across after against along among around as at before behind below beneath beside between by down
    during for from in inside into like near of off on onto out outside over past since through throughout to toward
    towards under until up upon with within without
    and but or nor so yet because if when while where who whom whose which how why than though although whether
    i you he she it we they me him us them my your our their its myself yourself himself herself themselves
    is are was were be been being am has have had do does did will would can could may might must shall should
    not n't again also alone already always away even ever here instead just never now often once only rather
    sometimes soon still then there today together tomorrow tonight too very well yesterday
"""
_NO_NOUN = frozenset(_CLOSED.split())
"""What can't follow "her" or "his" in its own phrase: before these "her" is what "him" is, and "his" what "hers"."""
_WORD = r"(?<!\w)(?:{})(?!\w)"
_NEXT = re.compile(r"[\s\"“'‘(]*([\w'’-]+)")


class Swap:
    """Exchanges words for each other in texts, both ways, whole words in upper and lower case alike.

    pairs   such as she/he; by default `GENDER`, and her for him or his

    >>> Swap()("Her mother saw HIM; he waved at her.")
    'His father saw HER; she waved at him.'
    """

    def __init__(self, pairs: Sequence[str] = ()) -> None:
        self._rule = _PRONOUNS if not pairs else {}
        self._table: dict[str, str] = {}
        for one, other in map(_pair, pairs or GENDER.split()):
            self._table.setdefault(one, other)
            self._table.setdefault(other, one)
        self._pattern = re.compile(_WORD.format("|".join(map(re.escape, (*self._table, *self._rule)))), re.IGNORECASE)

    def __call__(self, text: str, after: str = "") -> str:
        """The text with its words exchanged; `after` is what follows it."""

        def other(found: re.Match[str]) -> str:
            word = found[0].lower()
            if word in self._rule:
                return _in_case(_pronoun(word, f"{text[found.end() :]} {after}"), found[0])
            return _in_case(self._table[word], found[0])

        return self._pattern.sub(other, text)

    def words(self, row: tuple[str, ...]) -> tuple[str, ...]:
        """The marked words of one text, exchanged one by one: as many as before."""
        return tuple(self(word, " ".join(row[place + 1 : place + 3])) for place, word in enumerate(row))


def words_of(given: Sequence[str]) -> list[str]:
    """The pairs of words that are meant: pairs themselves, those of a file, with one on each line, or none, which
    stands for `GENDER`, where that is all that is said."""
    if tuple(given) == ("gender",):
        return []
    found = list[str]()
    for one in given:
        if not Path(one).is_file():
            found.append(one)
            continue
        lines = [line.strip() for line in read_text(Path(one), LARGEST_WHOLE).splitlines()]
        pairs = [line for line in lines if line and not line.startswith("#")]
        if not pairs:
            raise UserError(f"{one} has no words to exchange; write a pair such as she/he on each line")
        found += pairs
    for one in found:
        _pair(one)
    return found


def swapped(examples: Examples, pairs: Sequence[str] = ()) -> tuple[np.ndarray, Examples]:
    """The positions of the examples in which the swap changes a word, and those examples with their words exchanged,
    in both texts, and in all candidates, alike. Words that a source marks are as many as before, and keep what it
    says of them, but for their gender. Where answers are places in the second text, only examples are given in which
    that stays as it is: places move with its words."""
    swap = Swap(pairs)
    text = [swap(one) for one in examples.text]
    pair = None if examples.pair is None else [swap(one) for one in examples.pair]
    changed = np.array([new != old for new, old in zip(text, examples.text, strict=True)], dtype=bool)
    if pair is not None and examples.pair is not None:
        second = np.array([new != old for new, old in zip(pair, examples.pair, strict=True)], dtype=bool)
        changed = changed & ~second if examples.answers is not None else changed | second
    choices = None
    if examples.choices is not None:
        choices = tuple(tuple(map(swap, row)) for row in examples.choices)
        changed |= np.array([new != old for new, old in zip(choices, examples.choices, strict=True)], dtype=bool)
    words = None
    if examples.words is not None:
        ends = examples.first_words or map(len, examples.words)
        words = tuple(
            swap.words(row[:end]) + swap.words(row[end:]) for row, end in zip(examples.words, ends, strict=True)
        )
    other = replace(
        examples, text=tuple(text), pair=None if pair is None else tuple(pair), choices=choices,
        words=words, marks={kind: marks for kind, marks in examples.marks.items() if kind != "gender"},
    )  # fmt: skip
    at = np.flatnonzero(changed)
    return at, other.take(at)


_PRONOUNS = {"her": ("his", "him"), "his": ("her", "hers"), "him": ("her", "her"), "hers": ("his", "his")}
"""What each becomes: before a noun of its own phrase, and elsewhere."""


def _pronoun(word: str, after: str) -> str:
    """English has one "her" for two words and one "his" for two: the word that follows decides."""
    follows = _NEXT.match(after)
    owns = follows is not None and follows[1].lower() not in _NO_NOUN
    return _PRONOUNS[word][0 if owns else 1]


def _pair(pair: str) -> tuple[str, str]:
    """
    >>> _pair("She/he")
    ('she', 'he')
    """
    sides = pair.lower().split("/")
    if len(sides) != 2 or sides[0] == sides[1] or not all(re.fullmatch(r"\S+", side) for side in sides):
        raise UserError(f"swap has {pair!r}; give pairs of two different words, such as she/he")
    return sides[0], sides[1]


def _in_case(word: str, like: str) -> str:
    """
    >>> _in_case("he", "She"), _in_case("he", "SHE"), _in_case("he", "she")
    ('He', 'HE', 'he')
    """
    if len(like) > 1 and like.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if like[:1].isupper() else word
