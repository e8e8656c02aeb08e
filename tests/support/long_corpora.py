"""Corpora of several windows, of short texts: quickly read by a tiny model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

TAGS = {
    "house": "NOUN", "road": "NOUN", "it": "PRON", "him": "PRON", "she": "PRON", "was": "VERB", "said": "VERB",
    "good": "ADJ", "bad": "ADJ", "old": "ADJ", "long": "ADJ", "never": "ADV", "not": "PART", "by": "ADP", "a": "DET",
}  # fmt: skip
TEXTS = 2 * 2048 + 300
"""Two windows, and a part of one."""


def lines(count: int = TEXTS, seed: int = 5) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice([*TAGS], size)) for size in generator.integers(1, 7, count)]


def text_file(path: Path, count: int = TEXTS) -> Path:
    """A text a line, and here and there a blank one."""
    found = lines(count)
    path.write_text("".join(f"{text}\n" + "\n" * (at % 500 == 7) for at, text in enumerate(found)), encoding="utf-8")
    return path


def treebank(path: Path, count: int = TEXTS) -> Path:
    """The same with parts of speech and heads: each word hangs on the one before it."""
    blocks = []
    for text in lines(count):
        rows = [
            f"{at}\t{word}\t_\t{TAGS[word]}\t_\t_\t{at - 1}\t{'nsubj' if word == 'she' else 'dep'}\t_\t_"
            for at, word in enumerate(text.split(), start=1)
        ]
        blocks.append(f"# text = {text}\n" + "\n".join(rows) + "\n\n")
    path.write_text("".join(blocks), encoding="utf-8")
    return path
