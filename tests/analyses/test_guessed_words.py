"""`masked-words` against what the model says of each text, and on hand-made texts."""

from __future__ import annotations

import numpy as np
import pytest

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.data.corpus import read_examples
from bertscope.data.outputs.masked_words import MaskedWords

TEXTS = ["The old man went down to the river with his dog.", "She said that it was a very good book, and long.", "no"]


@pytest.fixture(scope="module")
def result():
    return bertscope.masked_words("pocket", TEXTS * 30, repeats=200)


def test_it_is_the_share_of_pieces_and_their_bits(result, pocket):
    output = MaskedWords.of("", (), "accuracy")
    texts = pocket.marked(output, Examples.of(TEXTS))
    gold, said = texts.label, pocket.predict(texts, output).logits
    right = sum(said[row, at, 0] == gold[row, at] for row, at in np.argwhere(gold != NOTHING))
    bits = [said[row, at, 1] for row, at in np.argwhere(gold != NOTHING)]
    assert result["accuracy"].n == 30 * len(bits)
    assert result["accuracy"].value == pytest.approx(right / len(bits), abs=1e-9)
    assert result["bits_per_piece"].value == pytest.approx(np.mean(bits), rel=1e-5)


def test_it_is_what_the_task_of_masked_words_scores(result, pocket):
    """`check` scores a test set; that of a task that is all these texts is the same number."""
    output = MaskedWords.of("", (), "accuracy")
    texts = pocket.marked(output, Examples.of(TEXTS * 30))
    said = pocket.predict(texts, output).logits
    moments = output.moments(said, texts.label).mean(0)
    assert result["accuracy"].value == pytest.approx(float(output.value(moments)), abs=1e-12)
    bits = output.secondary(said, texts.label)["bits_per_piece"]
    assert result["bits_per_piece"].value == pytest.approx(bits, rel=1e-6)


@pytest.mark.slow
def test_intervals_hold_the_value_of_many_texts(pocket):
    """Halves of a corpus: the interval of each covers the whole's value nineteen times in twenty; here of 12."""
    texts = [*read_examples("demo/sentiment", split="train", limit=600).text]
    whole = bertscope.masked_words(pocket, texts, repeats=200)
    parts = [bertscope.masked_words(pocket, texts[at::12], repeats=200) for at in range(12)]
    covered = [part["accuracy"].low <= whole["accuracy"].value <= part["accuracy"].high for part in parts]
    assert sum(covered) >= 9


def test_a_model_without_the_head_is_refused(tiny):
    with pytest.raises(UserError, match="doesn't guess masked words"):
        bertscope.masked_words(tiny, TEXTS)


def test_texts_without_a_word_that_is_masked_are_counted(result):
    table = result.tables["scores"]
    told = [note for note in result.notes if "no masked word" in note]
    assert table["texts"].item() + sum(int(note.split(":")[1].split()[0]) for note in told) == 90
