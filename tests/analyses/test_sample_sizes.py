"""Measures of samples of different size, where the truth is known: what doesn't move with the number of texts, and
what does and says so."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from bertscope.analyses.similarity.question import SimilarityConfig, similarity
from bertscope.analyses.structure.metrics import DSPR, DSPR_SENTENCES, Scored
from bertscope.core.intervals import interval
from bertscope.core.resampling import Resampling
from bertscope.data.corpus import read_examples

PLAIN = "plain_cosine"


def test_what_moves_with_the_number_of_words_is_not_compared_between_two(tiny):
    other, corpus = copy.deepcopy(tiny), read_examples("demo/corpus", limit=40)
    config, less = SimilarityConfig(grid=False, words=200), read_examples("demo/sentiment", limit=10)
    result = similarity([tiny, other], corpus, config, against=less)
    assert set(result.tables["corpora"]["measure"]) == {"rsa", "debiased_cka", PLAIN}
    assert any("the corpora have 200 and" in note and "don't compare" in note for note in result.notes)
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
