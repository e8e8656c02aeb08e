"""One annotated sentence, as every corpus reader makes it, and many of them as `Examples`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples, Link

_WORD = re.compile(r"\w+|[^\w\s]")
_Raw = TypeVar("_Raw")


@dataclass(frozen=True)
class Sentence:
    id: str
    text: str
    words: tuple[str, ...]
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What is said of every word, by kind; '' where nothing is said."""
    heads: tuple[int, ...] | None = None
    links: tuple[Link, ...] | None = None


def read_each(
    raw: Iterable[_Raw],
    parse: Callable[[_Raw], Sentence],
    where: str | Path,
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    notes: list[str] | None = None,
) -> Examples:
    """Parse one sentence after the other, until there are `limit`.

    A malformed one is refused, or with `skip_bad` left out; `notes` is then told how many were, and what the first
    had wrong.
    """
    check_limit(limit)
    kept: list[Sentence] = []
    bad: list[str] = []
    for one in raw:
        try:
            kept.append(parse(one))
        except UserError as error:
            if not skip_bad:
                raise
            bad.append(str(error))
        if len(kept) == limit:
            break
    if bad and notes is not None:
        total = len(bad) + len(kept)
        notes.append(f"{len(bad):,} of {total:,} sentences are malformed and left out; the first: {bad[0]}")
    if not kept:
        raise UserError(bad[0] if bad else f"{where} has no sentences; check that it is the right file")
    return to_examples(kept)


def to_examples(sentences: Sequence[Sentence]) -> Examples:
    """Sentences as columns. A kind of mark that none of them has is left out; heads and links are there if the first
    sentence has them: a source gives them to all or to none."""
    kinds = dict.fromkeys(kind for sentence in sentences for kind in sentence.marks)

    def column(kind: str) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(sentence.marks.get(kind) or ("",) * len(sentence.words)) for sentence in sentences)

    marks = {kind: column(kind) for kind in kinds}
    trees = any(sentence.heads is not None for sentence in sentences[:1])
    linked = any(sentence.links is not None for sentence in sentences[:1])
    return Examples(
        ids=tuple(sentence.id for sentence in sentences),
        text=tuple(sentence.text for sentence in sentences),
        words=tuple(sentence.words for sentence in sentences),
        marks={kind: column for kind, column in marks.items() if any(map(any, column))},
        heads=tuple(sentence.heads or () for sentence in sentences) if trees else None,
        links=tuple(sentence.links or () for sentence in sentences) if linked else None,
    )


def check_limit(limit: int | None) -> None:
    if limit is not None and limit < 1:
        raise UserError(f"limit is {limit}; give 1 or more, or leave it out to have all")


def word_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    """Where a text's words are: split at spaces and punctuation, each punctuation mark a word of its own."""
    return [match.span() for match in _WORD.finditer(text, start, len(text) if end is None else end)]
