"""`demo/language`: plain text in the demo language, from which a model can learn it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from bertscope.core.files import digest_text
from bertscope.data import demo
from bertscope.data.documents import Documents
from bertscope.data.language import corpus

_SENTENCES, _OF_A_DOCUMENT = 30_000, 20
_VERSION = 1
"""Raise it whenever the sentences change: what learns from them is identified by it."""


@dataclass(frozen=True)
class DemoText(Documents):
    """Documents of sentences that have nothing to do with each other."""

    @property
    def likely_size(self) -> int:
        return sum(map(len, sentences()))

    def __iter__(self) -> Iterator[list[str]]:
        for first in range(0, _SENTENCES, _OF_A_DOCUMENT):
            yield list(sentences()[first : first + _OF_A_DOCUMENT])


def demo_text() -> DemoText:
    return DemoText(demo.TEXT, (), digest_text(f"{demo.TEXT}-{_VERSION}"))


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
