"""Units of attention, spelled out."""

from __future__ import annotations

import numpy as np


def one_piece(examples):
    """As many words as there are, each of one piece."""
    return np.ones(sum(map(len, examples.words)), dtype=int)


def spelled(pairs, examples, units, rows=None):
    """Units as tuples of words, [pair][end]; `rows` says which examples they are in, if not those of all pairs."""
    rows = np.repeat(np.arange(len(examples)), np.diff(pairs.starts)) if rows is None else rows
    found = []
    for row, ends in zip(rows, units, strict=True):
        words = len(examples.words[row])
        spans = pairs.span_starts[row]
        found.append([
            (int(unit),) if unit < words
            else tuple(pairs.span_words[slice(*pairs.word_starts[spans + unit - words :][:2])].tolist())
            for unit in ends
        ])  # fmt: skip
    return found


def spelled_controls(pairs, examples):
    """Of each pair that has a control: the control's example, and its source and target as tuples of words."""
    rows = np.repeat(np.arange(len(examples)), np.diff(pairs.control_starts))
    ends = spelled(pairs, examples, pairs.control_ends, rows)
    placed = zip(pairs.control_of, rows, ends, strict=True)
    return {int(pairs.with_control[of]): (int(row), end) for of, row, end in placed}
