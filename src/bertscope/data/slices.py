"""Slices: the examples that mention certain words, and the rest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import numpy as np

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples

_APOSTROPHES = str.maketrans("’ʼ＇", "'''")


def mentions(examples: Examples, words: Iterable[str]) -> np.ndarray:
    """Which examples have one of the words in either text, or in a candidate, as booleans.

    Words are matched whole ("man" isn't in "woman", but is in "man's"), upper and lower case alike, with either
    apostrophe. A phrase may have any white space between its words.
    """
    pattern = _pattern(words)
    found = np.array([bool(pattern.search(folded(text))) for text in examples.text], dtype=bool)
    if examples.pair is not None:
        found |= np.array([bool(pattern.search(folded(text))) for text in examples.pair], dtype=bool)
    if examples.choices is not None:
        found |= np.array([any(pattern.search(folded(text)) for text in row) for row in examples.choices], dtype=bool)
    return found


def divide(examples: Examples, words: Iterable[str]) -> tuple[Examples, Examples]:
    """The examples that mention one of the words, and the rest; both in their order."""
    found = mentions(examples, words)
    return examples.take(np.flatnonzero(found)), examples.take(np.flatnonzero(~found))


def _pattern(words: Iterable[str]) -> re.Pattern[str]:
    if isinstance(words, str):
        raise UserError(f"words is the one text {words!r}; give a list of words")
    wanted = [folded(word).split() for word in words]
    if not wanted or not all(wanted):
        raise UserError("a slice needs at least one word, and none may be blank; name some")
    forms = "|".join(r"\s+".join(map(re.escape, phrase)) for phrase in wanted)
    return re.compile(rf"(?<!\w)(?:{forms})(?!\w)")


def folded(text: str) -> str:
    """The text in one form of upper and lower case, composed characters and apostrophes."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).translate(_APOSTROPHES)
