"""The demo tasks' rows, made once for all tests that look at them."""

from __future__ import annotations

from functools import cache

from bertscope.data import demo

TRAINED = ("demo/sentiment", "demo/entailment", "demo/paraphrase", "demo/similarity", "demo/acceptability")
SPLITS = ("train", "validation", "test")


@cache
def made(name: str, seed: int = 0):
    return demo.make(name, seed)


@cache
def splits(name: str, seed: int = 0):
    if name in TRAINED:
        return [getattr(made(name, seed), split) for split in SPLITS]
    return [demo.examples(name, split, seed) for split in SPLITS]


def texts(examples):
    return list(zip(examples.text, examples.pair or [""] * len(examples), strict=True))


def labelled(name: str, n: int):
    """The first n rows of each split: (text, second text, label)."""
    for split in splits(name):
        yield from ((*pair, label) for pair, label in list(zip(texts(split), split.label, strict=True))[:n])
