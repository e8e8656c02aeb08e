"""`demo/language`: plain text in the demo language, from which a model can learn it."""

from __future__ import annotations

from functools import lru_cache
from random import Random

from bertscope.data import demo
from bertscope.data.language import corpus

VERSION = 1
"""Raise it whenever the sentences change: what learns from them is identified by it."""
_SENTENCES = 30_000


@lru_cache(maxsize=1)
def sentences() -> tuple[str, ...]:
    """Sentences of every construction. What a model may be asked about later isn't among them: none of `demo/corpus`
    or a minimal pair, as they are by default."""
    random = Random(demo.TEXT)
    asked = {text for split in demo.SPLITS for text in demo.examples("demo/corpus", split).text}
    for name in demo.PAIRED:
        for split in demo.SPLITS:
            sides, _ = demo.pairs(name, split)
            asked |= {text for side in sides for text in (*side.text, *(side.pair or ()))}
    return tuple(corpus.drawn(random, asked).text for _ in range(_SENTENCES))
