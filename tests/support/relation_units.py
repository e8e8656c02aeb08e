"""Units of attention, spelled out."""

from __future__ import annotations

import numpy as np

from bertscope.analyses.relations.pairs import NONE


def spelled(pairs, examples, units):
    """Units as tuples of words, [pair][end]; () for none."""
    found = []
    for pair, ends in enumerate(units):
        row = np.searchsorted(pairs.starts, pair, side="right") - 1
        words = len(examples.words[row])
        spans = pairs.span_starts[row]
        found.append([
            () if unit == NONE else (int(unit),) if unit < words
            else tuple(pairs.span_words[slice(*pairs.word_starts[spans + unit - words :][:2])].tolist())
            for unit in ends
        ])  # fmt: skip
    return found
