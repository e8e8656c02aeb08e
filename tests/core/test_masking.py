"""Which words are masked: by a hash of the text and the word's place, and by nothing else."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from bertscope.core.examples import Examples
from bertscope.core.masking import masked_count, masked_words, word_spans

TEXT = "The old house by the water, where nobody ever goes, isn't for sale this year or the next."


def plain(*texts: str) -> Examples:
    return Examples(tuple(f"row {row}" for row in range(len(texts))), texts)


def split_mix(key: int, number: int) -> int:
    """SplitMix64's step and finaliser, in whole numbers."""
    whole = 2**64 - 1
    z = (key + (number + 1) * 0x9E3779B97F4A7C15) & whole
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & whole
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & whole
    return z ^ (z >> 31)


def by_hand(text: str, words: int, count: int) -> list[int]:
    key = split_mix(crc32(text.encode()), 0)
    return sorted(sorted(range(words), key=lambda place: split_mix(key, place))[:count])


def test_the_words_with_the_lowest_hashes_are_masked():
    words = [TEXT[slice(*span)] for span in word_spans(TEXT)]
    assert words[:7] == ["The", "old", "house", "by", "the", "water", ","] and words[11:15] == [",", "isn", "'", "t"]
    assert len(words) == 23
    (found,) = masked_words(plain(TEXT))
    assert found.tolist() == by_hand(TEXT + "\n", 23, 3)


def test_marked_words_and_pairs_are_counted_through_the_example():
    marked = Examples(("a",), ("New York is big",), words=(("New York", "is", "big"),))
    assert masked_words(marked)[0].tolist() == by_hand("New York is big\n", 3, 1)
    pair = Examples(("a",), (TEXT,), ("And the old water by the house.",))
    assert masked_words(pair)[0].tolist() == by_hand(TEXT + "\nAnd the old water by the house.", 31, 5)


def test_neither_the_id_nor_the_neighbours_nor_the_order_decide():
    texts = [f"{TEXT} {number}" for number in range(50)]
    whole = masked_words(plain(*texts))
    for row in (0, 17, 49):
        assert masked_words(plain(texts[row]))[0].tolist() == whole[row].tolist()
    assert [one.tolist() for one in masked_words(plain(*texts[::-1]))] == [one.tolist() for one in whole[::-1]]
    assert len({tuple(one) for one in whole}) > 40, "each text has a mask of its own"


def test_places_are_masked_evenly():
    chosen = np.concatenate(masked_words(plain(*(f"{TEXT} {number} ." for number in range(2000)))))
    shares = np.bincount(chosen, minlength=25) / 2000
    # 4 of 25 words each: 16%, with a standard deviation of .8%.
    assert len(shares) == 25 and shares == pytest.approx(np.full(25, 0.16), abs=4 * 0.0082)


@pytest.mark.parametrize(("words", "masked"), [(0, 0), (1, 1), (3, 1), (9, 1), (10, 2), (20, 3), (100, 15)])
def test_how_many(words, masked):
    assert masked_count(words) == masked
    assert len(masked_words(plain(" ".join(["word"] * words)))[0]) == masked
