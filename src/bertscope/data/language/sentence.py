"""Words with their annotation, built up as phrases and read off as a sentence.

A `Word` points at its head itself, so that phrases are joined by putting lists of words one after the other;
positions are counted once, when the sentence is whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bertscope.core.examples import ROOT, Examples, Link

_CLOSING = frozenset(",.?")


class Word:
    """One word while its sentence is being built."""

    __slots__ = ("at", "entity", "form", "gender", "head", "pos", "relation")

    def __init__(self, form: str, pos: str, relation: str = "", entity: str = "", gender: str = "") -> None:
        self.form, self.pos, self.relation, self.entity, self.gender = form, pos, relation, entity, gender
        self.head: Word | None = None
        self.at = ROOT

    def under(self, head: Word, relation: str = "") -> Word:
        """This word, made a dependent of `head`."""
        self.head, self.relation = head, relation or self.relation
        return self


class Phrase:
    """Words in their order, one of which is the head of the others."""

    __slots__ = ("head", "words")

    def __init__(self, head: Word, words: list[Word]) -> None:
        self.head, self.words = head, words

    def under(self, head: Word, relation: str) -> list[Word]:
        """The words of this phrase, made a dependent of `head`."""
        self.head.under(head, relation)
        return self.words


@dataclass(frozen=True)
class Element:
    """A frame's element while its sentence is being built."""

    name: str
    words: Sequence[Word]
    target: Word
    frame: str
    core: bool = True


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and what is known of its words."""

    text: str
    words: tuple[str, ...]
    pos: tuple[str, ...]
    relations: tuple[str, ...]
    heads: tuple[int, ...]
    entities: tuple[str, ...]
    genders: tuple[str, ...]
    links: tuple[Link, ...]


def finish(phrase: Phrase, elements: Iterable[Element] = (), *, mark: str = ".", capital: bool = True) -> Sentence:
    """The sentence that a phrase makes, with its closing mark."""
    head = phrase.head
    head.relation = "root"
    words = [*phrase.words, Word(mark, "PUNCT").under(head, "punct")]
    for at, word in enumerate(words):
        word.at = at
    if capital:
        first = words[0]
        first.form = first.form[0].upper() + first.form[1:]
    forms = tuple([word.form for word in words])
    return Sentence(
        spaced(forms),
        forms,
        tuple([word.pos for word in words]),
        tuple([word.relation for word in words]),
        tuple([ROOT if word.head is None else word.head.at for word in words]),
        tuple([word.entity for word in words]),
        tuple([word.gender for word in words]),
        tuple(
            [
                Link(each.name, tuple([word.at for word in each.words]), (each.target.at,), each.frame, each.core)
                for each in elements
            ]
        ),
    )


def spaced(words: Sequence[str]) -> str:
    """Words as running text: no space before a closing mark."""
    return "".join([word if word in _CLOSING or not at else f" {word}" for at, word in enumerate(words)])


def shifted(link: Link, by: int) -> Link:
    """A link of words that `by` others have come before."""
    source, target = (tuple(at + by for at in words) for words in (link.source, link.target))
    return Link(link.name, source, target, link.frame, link.core)


def joined(sentences: Sequence[Sentence]) -> Sentence:
    """Several sentences as one text; each keeps a root of its own."""
    starts = np.cumsum([0, *(len(each.words) for each in sentences)]).tolist()
    placed = list(zip(sentences, starts, strict=False))

    def column(name: str) -> tuple[str, ...]:
        return tuple(value for each in sentences for value in getattr(each, name))

    return Sentence(
        " ".join(each.text for each in sentences),
        *(column(name) for name in ("words", "pos", "relations")),
        tuple(head if head == ROOT else head + by for each, by in placed for head in each.heads),
        *(column(name) for name in ("entities", "genders")),
        tuple(shifted(link, by) for each, by in placed for link in each.links),
    )


def examples(
    split: str,
    first: Sequence[Sentence],
    second: Sequence[Sentence] | None = None,
    *,
    label: np.ndarray | None = None,
    answers: Sequence[tuple[int, int]] | None = None,
) -> Examples:
    """Sentences, or pairs of them, as `Examples` with all their annotation."""
    whole = first if second is None else [joined(pair) for pair in zip(first, second, strict=True)]
    return Examples(
        ids=tuple(f"{split}:{row}" for row in range(1, len(first) + 1)),
        text=tuple(each.text for each in first),
        pair=None if second is None else tuple(each.text for each in second),
        label=label,
        words=tuple(each.words for each in whole),
        first_words=None if second is None else tuple(len(each.words) for each in first),
        marks={
            "pos": tuple(each.pos for each in whole),
            "relation": tuple(each.relations for each in whole),
            "entity": tuple(each.entities for each in whole),
            "gender": tuple(each.genders for each in whole),
        },
        heads=tuple(each.heads for each in whole),
        links=tuple(each.links for each in whole),
        answers=None if answers is None else tuple((answer,) for answer in answers),
    )
