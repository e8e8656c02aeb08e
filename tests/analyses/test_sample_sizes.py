"""Measures of samples of different size, where the truth is known: what doesn't move with the number of texts, and
what does and says so."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from bertscope.analyses.geometry.measure import by_type
from bertscope.analyses.geometry.question import GeometryConfig
from bertscope.analyses.geometry.vectors import (
    Form,
    LayerVectors,
    effective_rank,
    explained,
    isoscore,
    moments,
    self_similarity,
)
from bertscope.analyses.geometry.words import read_words
from bertscope.analyses.similarity.question import SimilarityConfig, similarity
from bertscope.analyses.structure.metrics import DSPR, DSPR_SENTENCES, Scored
from bertscope.core.intervals import interval, jackknife_interval
from bertscope.core.number import Number
from bertscope.core.resampling import Resampling
from bertscope.data.corpus import read_examples
from made_states import made_states
from stored_steps import put_step

PLAIN = "plain_cosine"


def test_what_moves_with_the_number_of_words_is_not_compared_between_two(tiny):
    other, corpus = copy.deepcopy(tiny), read_examples("demo/corpus", limit=40)
    config, less = SimilarityConfig(grid=False, words=200), read_examples("demo/sentiment", limit=10)
    result = similarity([tiny, other], corpus, config, against=less)
    assert set(result.tables["corpora"]["measure"]) == {"rsa", "debiased_cka", PLAIN}
    assert any("the corpora have 200 and" in note and "can't be compared" in note for note in result.notes)
    alike = similarity([tiny, other], corpus, replace(config, words=50), against=less)
    assert "procrustes" in set(alike.tables["corpora"]["measure"])
    assert any("are of 50 words and move with that number" in note for note in alike.notes)


LENGTHS = np.arange(5, 51)


def scored_sentences(n, generator, often):
    """Sentences of which the long are rare and hard: their correlation is 0.9 - length / 100, give or take 0.1."""
    lengths = generator.choice(LENGTHS, n, p=often)
    order = (0.9 - lengths / 100 + generator.normal(scale=0.1, size=n))[:, None]
    return Scored("distance", np.arange(n), lengths, np.ones((n, 1)), np.ones(n), order)


def test_correlations_over_sentences_do_not_move_with_their_number_and_those_over_lengths_do():
    generator = np.random.default_rng(0)
    often = np.exp(-LENGTHS / 8.0) / np.exp(-LENGTHS / 8.0).sum()
    truth = {DSPR_SENTENCES: 0.9 - often @ LENGTHS / 100, DSPR: 0.9 - LENGTHS.mean() / 100}
    found = {}
    for n in (100, 1000):
        inside, values = dict.fromkeys(truth, 0), {metric: [] for metric in truth}
        for _ in range(100):
            resampling = Resampling([f"{generator.integers(2**60)}" for _ in range(n)], repeats=200)
            for metric, draws in scored_sentences(n, generator, often).draws(resampling).items():
                if metric in truth:
                    low, high = interval(draws[:, 0])
                    inside[metric] += int(low <= truth[metric] <= high)
                    values[metric].append(draws[0, 0])
        found[n] = inside, {metric: np.mean(drawn) for metric, drawn in values.items()}
        error = np.std(values[DSPR_SENTENCES]) / 10
        assert abs(found[n][1][DSPR_SENTENCES] - truth[DSPR_SENTENCES]) < 3 * error
        assert 87 <= inside[DSPR_SENTENCES] <= 99
    assert found[100][1][DSPR] - truth[DSPR] > 0.04 and found[100][0][DSPR] < 50, "long lengths are missing"


OFTEN = 1 / np.arange(1, 301)
OFTEN /= OFTEN.sum()
TYPES, NOISE = np.random.default_rng(1).normal(size=(300, 40)) / np.sqrt(40), (0.3 - np.arange(300) / 1000).clip(0.03)


def occurring(texts, generator):
    """Words of a language in which the i-th type has a share of 1 / i, and the rarer a type, the less noise is on its
    vector. Texts have ten words."""
    words = generator.choice(300, 10 * texts, p=OFTEN)
    vectors = TYPES[words] + generator.normal(size=(len(words), 40)) * NOISE[words, None]
    return made_states([vectors], [tuple(f"w{word}" for word in row) for row in words.reshape(-1, 10)])


def measured_geometry(store, examples, config):
    """SelfSim, MEV, effective rank and IsoScore [1 + groups, measure]; SelfSim as the mean over all types beside."""
    words, vectors, forms = read_words(store, examples, config), LayerVectors(store.vectors(0)), {"": Form()}
    similar, shares = self_similarity(vectors, words, forms)[""], explained(vectors, words, forms, words.sets)[""]
    known, weights = moments(vectors, words), np.nan_to_num(words.weights)
    means = [
        np.ma.average(np.ma.masked_invalid(values), axis=1, weights=weights).filled(np.nan)
        for values in (similar, by_type(shares, words))
    ]
    spread = [known.extrapolated(effective_rank), known.extrapolated(isoscore)]
    return np.stack([*means, *spread, np.nanmean(similar, 1), known.of_sample(effective_rank)], 1)


@pytest.mark.slow
def test_geometry_does_not_move_with_the_number_of_texts():
    """The truth of SelfSim and MEV is that of a corpus of 2,000 texts, of the spread that of the language's own
    covariance. SelfSim as the mean over all types, and the effective rank of the sample itself, move."""
    generator, config = np.random.default_rng(0), GeometryConfig(words=600)
    truth = measured_geometry(*occurring(2000, generator), config)[0]
    middle = OFTEN @ TYPES
    covariance = (TYPES.T * OFTEN) @ TYPES - np.outer(middle, middle) + OFTEN @ NOISE**2 * np.eye(40)
    spectrum = np.linalg.eigvalsh(covariance)
    truth[[2, 3, 5]] = effective_rank(spectrum), isoscore(spectrum), effective_rank(spectrum)
    for texts in (100, 400):
        draws = [measured_geometry(*occurring(texts, generator), config) for _ in range(24)]
        found = np.array([each[0] for each in draws])
        away = (found.mean(0) - truth) / (found.std(0, ddof=1) / np.sqrt(24))
        low, high = jackknife_interval(np.stack(draws, 1))
        inside = ((low <= truth) & (truth <= high)).mean(0)
        assert (abs(away[:2]) < 3).all(), away
        # What falls as 1 / n^2 is left of the spread's bias: less than one sample's own standard deviation.
        assert (abs(away[2:4]) < np.sqrt(24)).all() and abs(away[2]) < abs(away[5]) / 8, away
        assert (inside[:4] >= 0.8).all(), inside
        assert (abs(away[4:]) > 8).all() and (inside[4:] < 0.5).all()


def test_two_stores_say_which_numbers_are_of_samples_of_different_size(tmp_path):
    """Plain CKA moves with the number of words and RSA doesn't; where both stores have as many, nothing is said."""
    pytest.importorskip("altair")  # not on the bare GPU machine
    from bertscope.core.step import Root, Step
    from bertscope.report.compare import compare_stores

    for name, words in (("one", 1000), ("other", 200), ("again", 200)):
        numbers = [Number(key, 0.5, 0.4, 0.6, words, "alignment") for key in ("rsa_mean", "cka_mean")]
        result = similarity.result(tables={}, headline=numbers, subject={"task": "toy"})
        result.provenance = {"created": "2026-11-15T10:00:00+00:00"}
        step = Step(result.question, result.version, {"words": words}, {"examples": Root("task", "toy", "1" * 16)})
        put_step(tmp_path / name, step, result)
    (said,) = [note for note in compare_stores(tmp_path / "one", tmp_path / "other").notes if "move" in note]
    assert "similarity: plain CKA, mean move with" in said and "RSA" not in said
    assert not [note for note in compare_stores(tmp_path / "other", tmp_path / "again").notes if "move" in note]
