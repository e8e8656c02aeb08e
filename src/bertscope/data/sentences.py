"""One annotated sentence, as every corpus reader makes it, and many of them as `Examples`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples, Link
from bertscope.data.plain_files import Kept

_WORD = re.compile(r"\w+|[^\w\s]")
_Raw = TypeVar("_Raw")


@dataclass(frozen=True)
class Sentence:
    id: str
    text: str
    words: tuple[str, ...]
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is said of every word, by kind; '' where nothing is said."""
    governors: tuple[int, ...] | None = None
    links: tuple[Link, ...] | None = None
    pair: str | None = None
    """The second text, where there are two; `words` then has those of both."""
    first_words: int | None = None
    """How many of the words are in the first text, where there are two."""
    answers: tuple[tuple[int, int], ...] | None = None


def read_each(
    raw: Iterable[_Raw],
    parse: Callable[[_Raw], Sentence],
    where: str | Path,
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    few: bool = False,
    notes: list[str] | None = None,
) -> Examples:
    """Parse one sentence after the other, until there are `limit`.

    A malformed one is refused, or with `skip_bad` left out; `notes` is then told how many were, and what the first
    had wrong. Of more than can be held some are taken, if only a `few` are wanted.
    """
    check_limit(limit)
    kept = Kept[Sentence](where, few=few, what="sentences", most=limits.MOST_SENTENCES)
    good = bad = 0
    first = ""
    for number, one in enumerate(raw):
        if number == limits.MOST_ROWS:  # each takes its time, also where it isn't held
            raise UserError(f"{where} has over {number:,} sentences, more than are read; split it")
        if kept.passes_over():
            continue
        try:
            sentence = parse(one)
        except UserError as error:
            if not skip_bad:
                raise
            bad, first = bad + 1, first or str(error)
            continue
        good += 1
        kept.add(sentence, _bytes(sentence))
        if good == limit:
            break
    if notes is not None:
        notes += kept.note()
        if bad:
            total = f"{bad:,} of {bad + good:,}"
            notes.append(f"{total} sentences are malformed and left out; the first: {first}")
    if not good:
        raise UserError(first or f"{where} has no sentences; check that it is the right file")
    return to_examples(kept.rows)


def _bytes(sentence: Sentence) -> int:
    """About what a sentence takes in a file: its text, and some characters for each word and mark."""
    return len(sentence.text) + len(sentence.pair or "") + 8 * len(sentence.words) * (1 + len(sentence.marks))


def to_examples(sentences: Sequence[Sentence]) -> Examples:
    """Sentences as columns. A kind of mark that none of them has is left out; links and answers are there if any
    sentence has them, second texts and governors if the first has: a source gives those to all or to none. An id that
    was there before gets a number: several files may each count their sentences from 1."""
    kinds = dict.fromkeys(kind for sentence in sentences for kind in sentence.marks)

    def column(kind: str) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(sentence.marks.get(kind) or ("",) * len(sentence.words)) for sentence in sentences)

    marks = {kind: column(kind) for kind in kinds}
    trees = any(sentence.governors is not None for sentence in sentences[:1])
    paired = any(sentence.pair is not None for sentence in sentences[:1])
    linked = any(sentence.links is not None for sentence in sentences)
    answered = any(sentence.answers is not None for sentence in sentences)
    return Examples(
        ids=told_apart([sentence.id for sentence in sentences]),
        text=tuple(sentence.text for sentence in sentences),
        pair=tuple(sentence.pair or "" for sentence in sentences) if paired else None,
        words=tuple(sentence.words for sentence in sentences),
        first_words=tuple(sentence.first_words or 0 for sentence in sentences) if paired else None,
        marks={kind: column for kind, column in marks.items() if any(map(any, column))},
        governors=tuple(sentence.governors or () for sentence in sentences) if trees else None,
        links=tuple(sentence.links or () for sentence in sentences) if linked else None,
        answers=tuple(sentence.answers or () for sentence in sentences) if answered else None,
    )


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """The names, of which repeated ones go on as `name (2)`, `name (3)` ..., past any that are taken."""
    given, times = set(names), Counter[str]()

    def one(name: str) -> str:
        times[name] += 1
        if times[name] == 1:
            return name
        while (numbered := f"{name} ({times[name]})") in given:
            times[name] += 1
        return numbered

    return tuple(map(one, names))


def check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise UserError(f"limit is {limit}; give 1 or more, or leave it out to have all")


def word_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Where a text's words are: split at spaces and punctuation, each punctuation mark a word of its own."""
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]
