"""Texts with answers and predictions that are hard to compare: articles, punctuation, other scripts, nothing at all.

Of a seed alone, on any version of any library."""

from __future__ import annotations

from random import Random

Span = tuple[int, int]

WORDS = (
    "the", "The", "THE", "a", "A", "an", "An", "theatre", "Ann", "another", "thé", "a-b", "the-c", "U.S.A.", "3.14",
    "$5", "5%", "5°", "can't", "it's", "o’clock", "“the”", "«an»", "…", "—", "--", ".", ",", "(the)", "[a]", '"an"',
    "a.", "the,", "_an_", "ÆON", "straße", "STRASSE", "İstanbul", "ﬁne", "Ⅷ", "½", "caf\u00e9", "cafe\u0301", "東京",
    "東京、大阪", "العربية،", "ไทย", "👍", "x\u200by", "red", "red", "red", "blue", "Blue", "BLUE",
)  # fmt: skip
SPACES = (" ", " ", " ", "  ", "\n", "\t", "\xa0", "\u2003", "")


def nasty_answer(seed: int) -> tuple[str, tuple[Span, ...], Span]:
    """A text, one to four right spans of it, and a predicted one; some are empty, of articles or punctuation only."""
    random = Random(seed)  # its random() is the same in every Python

    def below(n: int) -> int:
        return int(random.random() * n)

    text, edges = "", list[Span]()
    for _ in range(1 + below(12)):
        word = WORDS[below(len(WORDS))]
        edges.append((len(text), len(text) + len(word)))
        text += word + SPACES[below(len(SPACES))]

    def span() -> Span:
        if random.random() < 0.25:  # any characters
            first, last = sorted((below(len(text) + 1), below(len(text) + 1)))
            return first, last
        first = below(len(edges))
        return edges[first][0], edges[min(first + below(4), len(edges) - 1)][1]

    right = tuple(span() for _ in range(1 + below(4)))
    predicted = span() if random.random() < 0.8 else right[below(len(right))]
    return text, right, predicted
