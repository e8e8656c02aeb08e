"""What words are, read off the tokenizer's character offsets."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from bertscope.core.examples import Examples
from bertscope.models.words import NO_WORD, align, encode, special_ids


def word_texts(tokenizer: Any, texts: Examples) -> list[list[str]]:
    """Every example's words as text: word k of example i is `word_texts(...)[i][k]`."""
    if texts.words is not None:
        return [list(sentence) for sentence in texts.words]
    coded = encode(tokenizer, texts, verbose=False)
    special = np.isin([*chain.from_iterable(coded["input_ids"])], special_ids(tokenizer))
    words, segments = align(tokenizer, coded, special, texts)
    found = []
    end = 0
    for row, encoding in enumerate(coded.encodings):
        start, end = end, end + len(encoding)
        word, offsets = words[start:end], np.array(encoding.offsets).reshape(-1, 2)
        count = word.max(initial=NO_WORD) + 1
        first, last = np.full(count, len(word)), np.zeros(count, dtype=np.int64)
        inside = np.flatnonzero(word >= 0)
        np.minimum.at(first, word[inside], inside)
        np.maximum.at(last, word[inside], inside)
        sources = (texts.text[row], "" if texts.pair is None else texts.pair[row])
        spans = zip(segments[start:end][first], offsets[first, 0], offsets[last, 1], strict=True)
        found.append([sources[which][at:to].strip() for which, at, to in spans])
    return found
