"""The measures of a layer's geometry: against loops over pairs, numpy's SVD, and scikit-learn's PCA."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t
from sklearn.decomposition import PCA

from bertscope.analyses.geometry.measure import by_type
from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.geometry.vectors import (
    AS_IT_IS,
    STANDARDISED,
    TOP_REMOVED,
    Form,
    LayerVectors,
    by_text,
    effective_rank,
    explained,
    isoscore,
    moments,
    self_similarity,
)
from bertscope.analyses.geometry.words import read_words
from made_states import made_states, sentences_of

LENGTHS = [4, 1, 7, 5, 6, 2, 8, 3, 1, 9, 5, 6] * 3


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def mean_cosine(vectors):
    return np.mean([cosine(a, b) for a, b in combinations(vectors.astype(float), 2)])


@pytest.fixture
def cone():
    """Words of twelve types in 36 sentences, each near its type's vector, all in a cone; and its words."""
    sentences = sentences_of(LENGTHS, vocabulary=12, seed=2)
    generator = np.random.default_rng(0)
    types = generator.normal(size=(12, 10)) + 1.0
    flat = [int(word[1:]) for sentence in sentences for word in sentence]
    vectors = types[flat] * generator.uniform(0.5, 2, (len(flat), 1)) + 0.7 * generator.normal(size=(len(flat), 10))
    store, examples = made_states([vectors], sentences)
    words = read_words(store, examples, GeometryConfig(groups=6))
    return store.vectors(0), words, np.array(flat), LayerVectors(store.vectors(0))


def without(words, group):
    return np.flatnonzero(words.group != group)


def test_the_baseline_is_the_mean_over_all_pairs(cone):
    vectors, words, _, layer = cone
    draws, _ = by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    assert len(draws) == 7 and draws[0] == pytest.approx(mean_cosine(vectors), abs=1e-6)
    for group in range(6):
        assert draws[1 + group] == pytest.approx(mean_cosine(vectors[without(words, group)]), abs=1e-6)


def test_a_word_is_compared_with_the_mean_of_its_text(cone):
    vectors, words, _, layer = cone
    _, draws = by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]

    def expected(rows):
        inside = []
        for text in np.unique(words.text[rows]):
            own = vectors[words.text == text].astype(float)
            if len(own) > 1:
                inside.append(np.mean([cosine(one, own.mean(0)) for one in own]))
        return np.mean(inside)

    assert draws[0] == pytest.approx(expected(np.arange(len(vectors))), abs=1e-6)
    assert draws[3] == pytest.approx(expected(without(words, 2)), abs=1e-6)


def test_blocks_hold_whole_texts_of_one_group(cone, monkeypatch):
    _, words, _, layer = cone
    whole = by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    similar = self_similarity(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    monkeypatch.setattr("bertscope.analyses.geometry.words._ROWS", 10)
    blocks = list(words.blocks())
    assert len(blocks) > 12 and [begin for begin, _ in blocks[1:]] == [end for _, end in blocks[:-1]]
    for begin, end in blocks:
        assert len(set(words.group[begin:end])) == 1
        assert begin == 0 or words.text[begin - 1] != words.text[begin]
    np.testing.assert_allclose(by_text(layer, words, {AS_IT_IS: Form()})[AS_IT_IS], whole, atol=1e-6)
    assert len(list(words.chunks())) > 5
    np.testing.assert_allclose(self_similarity(layer, words, {AS_IT_IS: Form()})[AS_IT_IS], similar, atol=1e-6)


def test_self_similarity_is_the_mean_over_pairs_of_occurrences(cone):
    vectors, words, flat, layer = cone
    draws = self_similarity(layer, words, {AS_IT_IS: Form()})[AS_IT_IS]
    assert words.counts.min() >= 5 and list(words.counts) == sorted(words.counts) and len(words.types) == 12
    for at, name in enumerate(words.types):
        occurrences = np.flatnonzero(flat == int(name[1:]))
        assert words.counts[at] == len(occurrences)
        assert draws[0, at] == pytest.approx(mean_cosine(vectors[occurrences]), abs=1e-5)
        for group in range(6):
            left = np.intersect1d(occurrences, without(words, group))
            assert draws[1 + group, at] == pytest.approx(mean_cosine(vectors[left]), abs=1e-5)


def share(vectors):
    squares = np.linalg.svd(vectors.astype(float), compute_uv=False) ** 2
    return squares[0] / squares.sum()


def test_the_first_direction_explains_what_numpys_svd_says(cone):
    """Of five occurrences always: without a group of texts, only sets that lose none count."""
    vectors, words, flat, layer = cone
    draws = explained(layer, words, {AS_IT_IS: Form()}, words.sets)[AS_IT_IS]
    assert words.sets.shape == (12 * 128, 5) and words.type_of_set.tolist() == list(np.repeat(np.arange(12), 128))
    for at, rows in enumerate(words.sets):
        assert len(set(rows)) == 5 and set(flat[rows]) == {int(words.types[words.type_of_set[at]][1:])}
        want = share(vectors[rows])
        left = [np.nan if group in words.group[rows] else want for group in range(6)]
        np.testing.assert_allclose(draws[:, at], [want, *left], atol=1e-5)
    means = by_type(draws, words)
    for one in range(12):
        np.testing.assert_allclose(means[:, one], np.nanmean(draws[:, words.type_of_set == one], axis=1), atol=1e-9)


def test_sets_have_as_many_occurrences_as_a_type_needs_and_a_type_of_no_more_has_one():
    sentences = [("The", "the", "THE", "cat"), ("a", "the", "Cat", "Cat"), ("the", "cat", "cat", "rare")] * 2
    store, examples = made_states([np.random.default_rng(0).normal(size=(24, 6))], sentences)
    words = read_words(store, examples, GeometryConfig(least=10))
    assert words.types.tolist() == ["cat", "the"] and words.counts.tolist() == [10, 10]
    assert words.sets.tolist() == [[3, 6, 7, 9, 10, 15, 18, 19, 21, 22], [0, 1, 2, 5, 8, 12, 13, 14, 17, 20]]
    assert words.random_sets.shape == (8192, 10) and (np.diff(words.random_sets) > 0).all()
    drawn = read_words(store, examples, GeometryConfig(least=6))
    assert drawn.sets.shape == (256, 6) and (np.diff(drawn.sets) > 0).all()
    often = np.unique(drawn.sets[:128], return_counts=True)[1]
    assert often.sum() == 6 * 128 and often == pytest.approx(np.full(10, 76.8), abs=25), "all are drawn alike"
    again = read_words(store, examples, GeometryConfig(least=6, seed=1))
    assert not np.array_equal(again.sets, drawn.sets) and not np.array_equal(again.random_sets, drawn.random_sets)


def test_the_baseline_of_mev_is_that_of_as_many_random_occurrences():
    sentences = [tuple(f"w{word}" for word in range(40))] * 5 + [("often",) * 50]
    vectors = np.random.default_rng(0).normal(size=(250, 6))
    store, examples = made_states([vectors], sentences)
    sets = read_words(store, examples, GeometryConfig()).random_sets
    plain = pd_values(geometry(store, examples, GeometryConfig(sample=50)).tables["plain"])
    want = np.mean([share(vectors[rows]) for rows in sets])
    assert plain[0, AS_IT_IS, "mev_baseline"] == pytest.approx(want, abs=1e-5)


def test_types_count_by_the_chance_to_be_frequent_enough_in_a_smaller_corpus(cone):
    """Against 20,000 draws of 60 of the words, whole and without a group; among all words all count alike."""
    vectors, words, flat, _ = cone
    assert (words.weights == 1).all() and words.corpus == len(flat)
    sentences = sentences_of(LENGTHS, vocabulary=12, seed=2)
    store, examples = made_states([vectors], sentences)
    some = read_words(store, examples, GeometryConfig(groups=6, words=60))
    generator = np.random.default_rng(0)
    number = np.array([list(some.types).index(f"w{word}") for word in flat])
    for draw, rows in ((0, np.arange(len(flat))), (3, without(some, 2))):
        drawn = generator.permuted(np.tile(number[rows], (20_000, 1)), axis=1)[:, :60]
        reached = [((drawn == one).sum(1) >= 5).mean() for one in range(12)]
        np.testing.assert_allclose(some.weights[draw], reached, atol=0.02)
        assert np.ptp(reached) > 0.2
    result = geometry(store, examples, GeometryConfig(groups=6, words=60, sample=60))
    similar = self_similarity(LayerVectors(vectors), some, {AS_IT_IS: Form()})[AS_IT_IS]
    want = [np.average(values, weights=weights) for values, weights in zip(similar, some.weights, strict=True)]
    np.testing.assert_allclose(result.arrays["self_similarity"][0, 0], want, atol=1e-5)
    assert any("are those of a corpus of 60 words" in note for note in result.notes)


def test_mending_is_what_it_is_called(cone):
    vectors, words, _, layer = cone
    known = moments(layer, words)
    forms = known.forms(2)
    whole = layer[:]
    pca = PCA(2).fit(vectors.astype(float))
    centred = vectors - vectors.mean(0, dtype=float)
    removed = centred - centred @ pca.components_.T @ pca.components_
    np.testing.assert_allclose(forms[TOP_REMOVED](whole).cpu().numpy(), removed, atol=1e-4)
    standard = forms[STANDARDISED](whole).cpu().numpy()
    np.testing.assert_allclose(standard, centred / vectors.std(0, dtype=float), atol=1e-4)
    np.testing.assert_array_equal(forms[AS_IT_IS](whole).cpu().numpy(), vectors)


def test_the_effective_rank_is_the_entropy_of_the_spectrum(cone):
    vectors, words, _, layer = cone

    def expected(rows):
        values = np.linalg.eigvalsh(np.cov(vectors[rows].astype(float).T, bias=True))
        shares = values / values.sum()
        return np.exp(-(shares * np.log(shares)).sum())

    known = moments(layer, words)
    along = vectors.astype(float) @ known.directions.double().cpu().numpy()
    for group in range(6):
        np.testing.assert_allclose(known.spectrum[1 + group], along[without(words, group)].var(0), rtol=1e-4)
    draws = known.of_sample(effective_rank)
    assert draws[0] == pytest.approx(expected(np.arange(len(vectors))), rel=1e-5)
    for group in range(6):
        assert draws[1 + group] == pytest.approx(expected(without(words, group)), rel=0.02)


def test_the_isoscore_of_known_spectra():
    """1 where all directions vary alike, 0 where one does; where k of n do, (k - 1) / (n - 1)."""
    for n in (2, 5, 64):
        for k in range(1, n + 1):
            spectrum = np.where(np.arange(n) < k, 7.0, 0.0)
            assert isoscore(spectrum) == pytest.approx((k - 1) / (n - 1), abs=1e-9)


def test_extrapolation_adds_what_the_whole_has_more_than_its_halves(cone):
    vectors, words, _, layer = cone
    known = moments(layer, words)

    def expected(rows):
        return isoscore(np.linalg.eigvalsh(np.cov(vectors[rows].astype(float).T, bias=True)))

    halves = [np.flatnonzero(words.group % 2 == half) for half in (0, 1)]
    smaller = np.mean([len(words.group) / len(rows) for rows in halves])
    whole, half = expected(np.arange(len(vectors))), np.mean([expected(rows) for rows in halves])
    draws = known.extrapolated(isoscore)
    assert draws[0] == pytest.approx(whole + (whole - half) / (smaller - 1), rel=1e-4) and len(draws) == 7
    left = [rows[words.group[rows] != 2] for rows in halves]
    wanted = expected(without(words, 2)), np.mean([expected(rows) for rows in left])
    assert draws[3] == pytest.approx(wanted[0] + (wanted[0] - wanted[1]) / (smaller - 1), rel=0.03)


def test_measures_add_up_in_the_tables(cone):
    sentences = sentences_of(LENGTHS, vocabulary=12, seed=2)
    vectors, words, _, _ = cone
    result = geometry(*made_states([vectors, 2 * vectors], sentences), GeometryConfig(groups=6, sample=60, listed=3))
    table = pd_values(result.tables["layers"])
    plain = pd_values(result.tables["plain"])
    for form in (AS_IT_IS, TOP_REMOVED, STANDARDISED):
        for measure in ("self_similarity", "intra_sentence"):
            adjusted = plain[0, form, measure] - table[0, form, "baseline"]
            assert table[0, form, f"{measure}_adjusted"] == pytest.approx(adjusted)
        assert table[0, form, "mev_adjusted"] == pytest.approx(plain[0, form, "mev"] - plain[0, form, "mev_baseline"])
    similar = self_similarity(LayerVectors(vectors), words, {AS_IT_IS: Form()})[AS_IT_IS]
    assert plain[0, AS_IT_IS, "self_similarity"] == pytest.approx(similar[0].mean(), abs=1e-6), (
        "every type counts alike"
    )
    assert table[1, AS_IT_IS, "self_similarity_adjusted"] == pytest.approx(
        table[0, AS_IT_IS, "self_similarity_adjusted"], abs=1e-5
    ), "scale is nothing"
    arrays = result.arrays
    for measure, baseline in (
        ("self_similarity", "baseline"),
        ("intra_sentence", "baseline"),
        ("mev", "mev_baseline"),
    ):
        np.testing.assert_allclose(arrays[f"{measure}_adjusted"], arrays[measure] - arrays[baseline])
    left = arrays["self_similarity_adjusted"][0, 1]
    either = t.ppf(0.975, 5) * np.sqrt(5 / 6 * ((left[1:] - left[1:].mean()) ** 2).sum())
    row = result.table.query("layer == 1 and form == @AS_IT_IS and measure == 'self_similarity_adjusted'").iloc[0]
    assert (row["low"], row["high"]) == pytest.approx((left[0] - either, left[0] + either))
    listed = result.tables["words"]
    assert len(listed) == 6 and listed["kind"].value_counts().tolist() == [3, 3]
    assert listed["high"][:3].max() <= listed["high"][3:].max() and (listed["layer"] == 1).all()
    at = list(words.types).index(listed["word"][0])
    assert listed["value"][0] == pytest.approx(similar[0, at] - table[0, AS_IT_IS, "baseline"], abs=1e-5)
    assert listed["n"][0] == words.counts[at]


def pd_values(table):
    return table.set_index(["layer", "form", "measure"])["value"]


def test_words_are_ranked_by_the_safe_ends_of_their_intervals():
    """By loops: each type's occurrences without each group of texts that has it, less the baseline without it."""
    sentences = sentences_of(LENGTHS, vocabulary=30, seed=4)
    flat = np.array([word for sentence in sentences for word in sentence])
    generator = np.random.default_rng(1)
    centres = {word: generator.normal(size=10) * generator.uniform(0, 2) for word in sorted(set(flat))}
    vectors = np.array([centres[word] for word in flat]) + generator.normal(size=(len(flat), 10))
    store, examples = made_states([vectors], sentences)
    config = GeometryConfig(groups=6, sample=60, listed=3)
    group = read_words(store, examples, config).group
    baseline, baselines = mean_cosine(vectors), np.array([mean_cosine(vectors[group != at]) for at in range(6)])
    ends = {}
    for word in (word for word in centres if (flat == word).sum() >= 5):
        mine = np.unique(group[flat == word])
        left = [mean_cosine(vectors[(flat == word) & (group != at)]) for at in mine] - baselines[mine]
        value = mean_cosine(vectors[flat == word]) - baseline
        error = np.sqrt((len(mine) - 1) / len(mine) * ((left - np.mean(left)) ** 2).sum())
        either = t.ppf(0.975, len(mine) - 1) * error
        ends[word] = (value - either, value + either, len(mine))
    by_low, by_high = (sorted(ends, key=lambda word: ends[word][at]) for at in (0, 1))
    assert set(by_low[:3]) != set(by_high[:3]) and set(by_low[-3:]) != set(by_high[-3:])
    assert min(groups for *_, groups in ends.values()) < 6
    listed = geometry(store, examples, config).tables["words"]
    assert listed["word"].tolist() == [*by_high[:3], *by_low[-3:]]
    for _, row in listed.iterrows():
        assert (row["low"], row["high"]) == pytest.approx(ends[row["word"]][:2], abs=1e-5)
