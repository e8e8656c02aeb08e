"""Three sentences that are given as words."""

from __future__ import annotations

from bertscope.core.examples import Examples

WORDS = (
    ("The", "keys", "to", "the", "cabinets", "unquestionably", "disappeared", "."),
    ("She", "slept", "."),
    ("Nobody", "knows", "what", "the", "old", "gardener", "whispered", "to", "them", "."),
)
EXAMPLES = Examples(ids=("a", "b", "c"), text=tuple(map(" ".join, WORDS)), words=WORDS)
