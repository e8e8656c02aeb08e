"""Words over a corpus where only predictions are explained: of tags, and of more than eight classes. A prediction is
what its words are for, so that chance alone gives any word attributions above 0."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bertscope.analyses.explain.corpus import beyond_others, corpus_words, is_of_predictions
from bertscope.core.attributions import NO_PLACE, Attributions, Targets

CLASSES, WORDS, LENGTH = 9, 200, 10
ASKED = SimpleNamespace(pushed=tuple("abcdefghi"), mirrored=False, says_of_words=False)


def explained(
    values: np.ndarray, words: np.ndarray, label: np.ndarray, place: np.ndarray | None = None
) -> Attributions:
    """Of each text [text, word] the values towards its label."""
    texts, length = words.shape
    nothing = np.zeros(texts)
    where = np.full(texts, NO_PLACE) if place is None else place
    return Attributions(
        "any", Targets(np.arange(texts), where, label), np.arange(texts + 1) * length, values.ravel(),
        np.tile(np.arange(length), texts), tuple(f"w{word}" for word in words.ravel()), nothing, nothing, nothing,
        nothing.astype(bool), nothing.astype(int), nothing,
    )  # fmt: skip


def drawn(seed: int, texts: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Words [text, place], none twice in a text, and what each does for every class [text, place, class]."""
    generator = np.random.default_rng(seed)
    words = np.array([generator.choice(WORDS, LENGTH, replace=False) for _ in range(texts)])
    return words, generator.standard_normal((texts, LENGTH, CLASSES))


def towards_predicted(words: np.ndarray, towards: np.ndarray) -> Attributions:
    predicted = towards.sum(1).argmax(1)
    values = np.take_along_axis(towards, predicted[:, None, None], 2)[..., 0]
    return explained(values, words, predicted)


def test_words_that_mean_nothing_are_not_found_and_plain_means_would_be():
    of_predictions = [towards_predicted(*drawn(seed)) for seed in range(3)]
    beside = [corpus_words(ASKED, one, beside=True).found().sum() for one in of_predictions]
    assert sum(beside) <= 1
    assert all(corpus_words(ASKED, one).found().mean() > 0.2 for one in of_predictions), "what the means are for"


def test_the_planted_word_is_found():
    words, towards = drawn(3)
    towards[..., 4] += 1.5 * (words == 7)
    made = corpus_words(ASKED, towards_predicted(words, towards), beside=True)
    sure = {(made.names[made.label[cell]], made.word[cell]) for cell in np.flatnonzero(made.found())}
    assert ("e", "w7") in sure and len(sure) <= 2, "of false discoveries there may be one in twenty"
    mean = (made.sums / made.counts)[(made.label == 4) & (made.word == "w7")]
    assert mean == pytest.approx(1.5 * (1 - 1 / LENGTH), abs=0.15), "its own text's mean has a tenth of it"


def unequal(seed: int) -> np.ndarray:
    """By word, how large its attributions are: those of most are small."""
    sizes = np.exp(np.random.default_rng(seed).standard_normal(WORDS))
    return sizes / np.sqrt((sizes**2).mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_words_that_mean_nothing_are_not_found_where_some_do_much_and_others_little(seed):
    """A prediction has most of the words that vary most. Beside the mean of its text's words many would be found."""
    words, towards = drawn(seed)
    found = towards_predicted(words, towards * unequal(seed)[words][..., None])
    values = found.values.reshape(words.shape)
    by_mean = corpus_words(ASKED, found.with_values((values - values.mean(1, keepdims=True)).ravel(), "any"))
    assert (by_mean.found() & (by_mean.sums > 0)).sum() > 20 and by_mean.found().mean() > 0.4
    assert corpus_words(ASKED, found, beside=True).found().sum() <= 2


@pytest.mark.parametrize("seed", [0, 1])
def test_words_that_mean_nothing_are_not_against_what_others_decide(seed):
    """Each text has one word that is for a class: all others do less, and are against nothing."""
    words, towards = drawn(seed)
    towards *= unequal(seed)[words][..., None]
    cue = np.random.default_rng(seed).integers(4 * CLASSES, size=len(words))
    words[:, 0] = WORDS + cue
    towards[np.arange(len(words)), 0, cue % CLASSES] += 6
    found = towards_predicted(words, towards)
    made = corpus_words(ASKED, found, beside=True)
    number = np.array([int(word[1:]) for word in made.word])
    cues = (number >= WORDS) & ((number - WORDS) % CLASSES == made.label)
    assert cues.sum() == 4 * CLASSES and made.found()[cues].all() and made.found()[~cues].sum() <= 2
    assert corpus_words(ASKED, beyond_others(found)).found()[~cues].mean() > 0.25, "below their share, for certain"
    assert (made.of_nothing(100, seed) > 0).sum() <= 11


def test_each_stands_beside_the_others_of_its_text():
    found = beyond_others(
        explained(np.array([[1.0, 2.0, 6.0], [5.0, 5.0, 5.0]]), np.arange(6).reshape(2, 3), np.array([0, 1]))
    )
    assert found.values.tolist() == [-2, -1, 3, 0, 0, 0]


def test_a_word_has_a_share_of_its_text_by_how_much_it_varies():
    """By hand: two words vary, and a third has the same in all texts."""
    generator = np.random.default_rng(0)
    values = np.concatenate([generator.permutation(np.array([1.0, -1.0] * 2))[:, None] for _ in range(2)], axis=1)
    values = np.concatenate([values, np.full((4, 1), 3.0)], axis=1)
    found = beyond_others(explained(values, np.tile([0, 1, 2], (4, 1)), np.zeros(4, int)))
    every = 8 / 9  # squares, of 12 attributions less 3 means
    spread = np.array([(4 + 5 * every) / 8, (4 + 5 * every) / 8, 5 * every / 8])
    expected = values - values.sum(1, keepdims=True) * spread / spread.sum()
    np.testing.assert_allclose(found.values.reshape(4, 3), expected)


def test_the_only_word_of_its_texts_says_nothing():
    """Its share is all there is: what rounding leaves of texts that are the same would be certain."""
    words = np.random.default_rng(0).integers(5, size=(300, 1))
    for seed in range(10):
        values = np.random.default_rng(seed).standard_normal(5)[words]
        values[0] += 0.3
        made = corpus_words(ASKED, explained(values, words, words[:, 0] % 3), beside=True)
        assert len(made.word) == 5 and not made.found().any() and (made.table()["p"] == 1).all()


def test_a_tagged_word_stands_beside_those_with_its_tag():
    values = np.array([[9.0, 1.0, 3.0], [2.0, 7.0, 4.0], [0.0, 0.0, 5.0]])
    found = beyond_others(explained(values, np.arange(9).reshape(3, 3), np.array([0, 0, 1]), np.array([0, 1, 2])))
    assert found.values.tolist() == [1, -1, 1, -1, -1, 1, 0, 0, 0]


def test_of_tags_that_any_word_could_have_none_is_found_and_a_planted_one_is():
    """A tagged word does most for its tag, whichever word it is."""
    generator = np.random.default_rng(5)
    words, _ = drawn(6, 6000)
    texts = len(words)
    place, label = generator.integers(LENGTH, size=texts), generator.integers(3, size=texts)
    values = generator.standard_normal(words.shape)
    values[np.arange(texts), place] += 6
    tags = SimpleNamespace(pushed=("PER", "LOC", "ORG"), mirrored=False, says_of_words=True)
    assert is_of_predictions(tags, chosen=True), "whichever tag is asked for, it is asked of words that have one"
    assert corpus_words(tags, explained(values, words, label, place), beside=True).found().sum() == 0
    assert corpus_words(tags, explained(values, words, label, place)).found().any()
    values += 2.5 * ((words == 11) & (label == 1)[:, None])
    made = corpus_words(tags, explained(values, words, label, place), beside=True)
    assert [(made.names[made.label[cell]], made.word[cell]) for cell in np.flatnonzero(made.found())] == [
        ("LOC", "w11")
    ]
