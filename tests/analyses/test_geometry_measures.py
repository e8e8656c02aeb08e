"""The measures of a layer's geometry: against loops over pairs, numpy's SVD, and scikit-learn's PCA."""

from __future__ import annotations

import copy
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t
from sklearn.decomposition import PCA

from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.geometry.vectors import (
    AS_IT_IS,
    STANDARDISED,
    TOP_REMOVED,
    Form,
    LayerVectors,
    by_text,
    explained,
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


def test_the_first_direction_explains_what_numpys_svd_says(cone):
    vectors, words, flat, layer = cone
    draws = explained(layer, words, {AS_IT_IS: Form()}, words.sets)[AS_IT_IS]

    def share(rows):
        values = np.linalg.svd(vectors[rows].astype(float), compute_uv=False) ** 2
        return values[0] / values.sum()

    at = 0
    for one in words.sets:
        for rows in one.rows:
            assert set(flat[rows]) == {int(words.types[at][1:])}
            assert draws[0, at] == pytest.approx(share(rows), abs=1e-5)
            for group in range(6):
                left = np.intersect1d(rows, without(words, group))
                assert draws[1 + group, at] == pytest.approx(share(left), rel=0.02)
            at += 1
    assert at == len(words.types)


def test_leaving_out_the_only_group_of_the_first_direction_finds_another(cone):
    """Two orthogonal vectors, the longer in one group: without it the other explains all."""
    _, words, _, _ = cone
    far = np.zeros((len(words.group), 3), np.float32)
    first, second = words.edges[0], words.edges[1]
    far[first], far[second] = (2, 0, 0), (0, 1, 0)
    sets = (copy.copy(words.sets[0]),)
    object.__setattr__(sets[0], "rows", np.array([[first, second]]))
    draws = explained(LayerVectors(far), words, {AS_IT_IS: Form()}, sets)[AS_IT_IS][:, 0]
    np.testing.assert_allclose(draws, [0.8, 1, 1, 0.8, 0.8, 0.8, 0.8], atol=1e-6)


def test_frequent_types_are_sampled_and_random_sets_are_as_many_and_as_large():
    sentences = [("The", "the", "THE", "cat"), ("a", "the", "Cat", "Cat"), ("the", "cat", "cat", "rare")] * 2
    store, examples = made_states([np.random.default_rng(0).normal(size=(24, 6))], sentences)
    words = read_words(store, examples, GeometryConfig(occurrences=6, least=4))
    assert words.types.tolist() == ["cat", "the"] and words.counts.tolist() == [10, 10]
    (sample,) = words.sets
    assert sample.rows.shape == (2, 6) and set(sample.rows[0]) <= {3, 6, 7, 9, 10, 15, 18, 19, 21, 22}
    (drawn,) = words.random_sets
    assert drawn.rows.shape == (2, 6) and all(len(set(rows)) == 6 for rows in drawn.rows.tolist())
    again = read_words(store, examples, GeometryConfig(occurrences=6, least=4, seed=1))
    assert not np.array_equal(again.sets[0].rows, sample.rows)


def test_random_sets_weigh_as_much_as_the_types_they_stand_for():
    sentences = [tuple(f"w{word}" for word in range(40))] * 5 + [("often",) * 7]
    store, examples = made_states([np.random.default_rng(0).normal(size=(207, 6))], sentences)
    few, one = read_words(store, examples, GeometryConfig()).random_sets
    assert (few.rows.shape, few.weight) == ((32, 5), 40 / 32) and (one.rows.shape, one.weight) == ((1, 7), 1)


def test_the_baseline_of_mev_is_the_mean_over_types_of_random_sets_of_their_size():
    sentences = [tuple(f"w{word}" for word in range(40))] * 5 + [("often",) * 50]
    vectors = np.random.default_rng(0).normal(size=(250, 6))
    store, examples = made_states([vectors], sentences)
    sets = read_words(store, examples, GeometryConfig()).random_sets

    def explained_by_one(rows):
        squares = np.linalg.svd(vectors[rows], compute_uv=False) ** 2
        return squares[0] / squares.sum()

    small, large = (np.mean([explained_by_one(rows) for rows in one.rows]) for one in sets)
    plain = pd_values(geometry(store, examples, GeometryConfig(sample=50)).tables["plain"])
    assert plain[0, AS_IT_IS, "mev_baseline"] == pytest.approx((40 * small + large) / 41, abs=1e-5)


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
    draws = known.effective_rank()
    assert draws[0] == pytest.approx(expected(np.arange(len(vectors))), rel=1e-5)
    for group in range(6):
        assert draws[1 + group] == pytest.approx(expected(without(words, group)), rel=0.02)


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
