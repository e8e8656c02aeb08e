"""Numbers that stand for ids and texts: the same on every machine, in every order, in every batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from zlib import crc32

import numpy as np


def hashed(ids: Sequence[str], seed: int) -> np.ndarray:
    """A number for each id, uint64: the same wherever the id stands. Examples that share an id get numbers of their
    own, in their order: they are different examples, and must not be drawn together."""
    times: Counter[str] = Counter()
    numbers = np.empty((2, len(ids)), dtype=np.uint64)
    for place, name in enumerate(ids):
        numbers[:, place] = crc32(name.encode()), times[name]
        times[name] += 1
    return mixed(mixed(numbers[0], np.uint64(seed)), numbers[1])


def hashed_texts(texts: Sequence[str], seed: int) -> np.ndarray:
    """A number for each text, uint64, the same for equal texts: what decides on which side of a split they fall."""
    return mixed(np.array([crc32(text.encode()) for text in texts], dtype=np.uint64), np.uint64(seed))


def mixed(key: np.ndarray, number: np.ndarray | np.uint64) -> np.ndarray:
    """A hash of two numbers, uint64 (the finaliser of SplitMix64): close keys give unrelated values."""
    with np.errstate(over="ignore"):
        z = key + (number + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def to_unit(number: np.ndarray) -> np.ndarray:
    """Hashes as numbers in [0, 1)."""
    return (number >> np.uint64(11)) * 2.0**-53
