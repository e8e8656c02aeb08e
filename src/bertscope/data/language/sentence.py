"""Words with their annotation, built up as phrases and read off as a sentence.

A `Word` points at its governor itself, so that phrases are joined by putting lists of words one after the other;
positions are counted once, when the sentence is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from bertscope.core.examples import ROOT, Examples, Link

T = TypeVar("T")
_CLOSING = frozenset(",.?")
_BETWEEN = re.compile(r"(?<=[.?]) ")


class Word:
    """One word while its sentence is being built."""

    __slots__ = ("at", "entity", "form", "gender", "governor", "pos", "relation")

    def __init__(self, form: str, pos: str, relation: str = "", entity: str = "", gender: str = "") -> None:
        self.form, self.pos, self.relation, self.entity, self.gender = form, pos, relation, entity, gender
        self.governor: Word | None = None
        self.at = ROOT

    def under(self, governor: Word, relation: str = "") -> Word:
        """This word, made a dependent of `governor`."""
        self.governor, self.relation = governor, relation or self.relation
        return self


class Phrase:
    """Words in their order, and the one that the others depend on."""

    __slots__ = ("root", "words")

    def __init__(self, root: Word, words: list[Word]) -> None:
        self.root, self.words = root, words

    def under(self, governor: Word, relation: str) -> list[Word]:
        """The words of this phrase, made dependent on `governor`."""
        self.root.under(governor, relation)
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
    governors: tuple[int, ...]
    entities: tuple[str, ...]
    genders: tuple[str, ...]
    links: tuple[Link, ...]


def finish(phrase: Phrase, elements: Iterable[Element] = (), *, mark: str = ".", capital: bool = True) -> Sentence:
    """The sentence that a phrase makes, with its closing mark."""
    root = phrase.root
    root.relation = "root"
    words = [*phrase.words, Word(mark, "PUNCT").under(root, "punct")]
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
        tuple([ROOT if word.governor is None else word.governor.at for word in words]),
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


def characters(words: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Where words first to last (included) stand in the text that all words make."""
    end = len(spaced(words[: last + 1]))
    return end - len(spaced(words[first : last + 1])), end


def shifted(link: Link, by: int) -> Link:
    """A link of words that `by` others have come before."""
    source, target = (tuple([at + by for at in words]) for words in (link.source, link.target))
    return Link(link.name, source, target, link.frame, link.core)


def joined(sentences: Sequence[Sentence]) -> Sentence:
    """Several sentences as one text; each keeps a root of its own."""
    governors: list[int] = []
    links: list[Link] = []
    for each in sentences:
        before = len(governors)
        links += [shifted(link, before) for link in each.links]
        governors += [at if at == ROOT else at + before for at in each.governors]

    def column(name: str) -> tuple[str, ...]:
        return tuple(value for each in sentences for value in getattr(each, name))

    return Sentence(
        text=" ".join(each.text for each in sentences),
        words=column("words"),
        pos=column("pos"),
        relations=column("relations"),
        governors=tuple(governors),
        entities=column("entities"),
        genders=column("genders"),
        links=tuple(links),
    )


def respelled(sentence: Sentence, at: int, form: str) -> Sentence:
    """The sentence with another form of one word."""
    words = (*sentence.words[:at], form, *sentence.words[at + 1 :])
    return replace(sentence, words=words, text=spaced(words))


def exchanged(sentence: Sentence, at: int) -> Sentence:
    """The sentence with a word and the next one in each other's place; its tree and frames are as they were."""
    place = [*range(len(sentence.words))]
    place[at], place[at + 1] = at + 1, at

    def column(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[old] for old in place)

    def moved(where: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(place[old] for old in where))

    words = column(sentence.words)
    return Sentence(
        text=spaced(words),
        words=words,
        pos=column(sentence.pos),
        relations=column(sentence.relations),
        governors=tuple(ROOT if at == ROOT else place[at] for at in column(sentence.governors)),
        entities=column(sentence.entities),
        genders=column(sentence.genders),
        links=tuple(replace(link, source=moved(link.source), target=moved(link.target)) for link in sentence.links),
    )


def differing(one: Sentence, other: Sentence) -> list[int]:
    """The places at which two sentences of as many words have another one; all, of others."""
    if len(one.words) != len(other.words):
        return [*range(max(len(one.words), len(other.words)))]
    return [at for at, (word, new) in enumerate(zip(one.words, other.words, strict=True)) if word != new]


@dataclass(frozen=True, slots=True)
class Row:
    """One example of a task."""

    first: Sentence
    second: Sentence | None = None
    label: float = 0
    labels: tuple[int, ...] = ()
    """The places of all its labels, where it can have several."""
    choices: tuple[str, ...] = ()
    """The sentences among which `label` says which is right."""
    answer: tuple[int, int] | None = None
    """The characters of the second text that answer the first."""
    kind: str = ""
    """What it is an instance of, where a task has several kinds."""

    @property
    def sentences(self) -> list[str]:
        """Every sentence of both texts."""
        texts = [each.text for each in (self.first, self.second) if each is not None]
        return [sentence for text in texts for sentence in _BETWEEN.split(text)]

    @property
    def text(self) -> str:
        """Both texts, to tell rows apart by."""
        return self.first.text if self.second is None else f"{self.first.text} | {self.second.text}"


def examples(split: str, rows: Sequence[Row], label: np.ndarray | None = None) -> Examples:
    """Rows as `Examples` with all their annotation."""
    paired = rows[0].second is not None
    whole = [row.first if row.second is None else joined((row.first, row.second)) for row in rows]
    answers = tuple(() if row.answer is None else (row.answer,) for row in rows)
    return Examples(
        ids=tuple(f"{split}:{number}" for number in range(1, len(rows) + 1)),
        text=tuple(row.first.text for row in rows),
        pair=tuple(row.second.text for row in rows if row.second is not None) if paired else None,
        label=label,
        words=tuple(each.words for each in whole),
        first_words=tuple(len(row.first.words) for row in rows) if paired else None,
        marks={
            "pos": tuple(each.pos for each in whole),
            "relation": tuple(each.relations for each in whole),
            "entity": tuple(each.entities for each in whole),
            "gender": tuple(each.genders for each in whole),
        },
        governors=tuple(each.governors for each in whole),
        links=tuple(each.links for each in whole),
        answers=answers if any(answers) else None,
        choices=tuple(row.choices for row in rows) if rows[0].choices else None,
    )
