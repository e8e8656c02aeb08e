"""UUAS, root accuracy, DSpr and NSpr: worked by hand, and against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import spearmanr

from bertscope.analyses.structure.metrics import (
    DSPR,
    DSPR_SENTENCES,
    NSPR,
    NSPR_SENTENCES,
    ROOT_ACCURACY,
    UUAS,
    Scored,
    correlation,
    evaluate,
    linear_chain,
    ranks,
    spanning_trees,
)
from bertscope.analyses.structure.trees import Trees
from bertscope.core.examples import ROOT, Examples
from bertscope.core.resampling import Resampling
from bertscope.data.treebank import read_treebank
from corpora import EWT, with_shared
from planted_trees import random_trees


def sentences(*rows: tuple[str, list[int]]) -> Trees:
    """Trees of `she read the book .`-like rows: words of no letter are punctuation; heads count from 0."""
    words = tuple(tuple(text.split()) for text, _ in rows)
    pos = tuple(tuple("X" if any(map(str.isalnum, word)) else "PUNCT" for word in row) for row in words)
    ids = tuple(map(str, range(len(rows))))
    governors = tuple(tuple(governors) for _, governors in rows)
    return Trees.of(Examples(ids=ids, text=ids, words=words, governors=governors, marks={"pos": pos}))


def values(scored: Scored, trees: Trees) -> dict[str, np.ndarray]:
    return {metric: draws[0] for metric, draws in scored.draws(Resampling(trees.ids, repeats=1)).items()}


def predicting(matrix):
    """The same prediction for every batch."""
    return lambda batch: torch.tensor(matrix, dtype=torch.float32)[None, None].expand(
        1, len(batch.sentences), *[-1] * np.ndim(matrix)
    )


SHE = ("she read the book .", [1, ROOT, 3, 1, 1])


def test_a_chain_of_words_worked_by_hand():
    """Edges of the chain: she-read, read-the, the-book; of the tree: she-read, the-book, book-read. Correlations from
    the ranks of each word's distances, itself and the full stop included."""
    trees = sentences(SHE)
    every = np.arange(1)
    found = values(evaluate("distance", linear_chain("distance"), trees, every), trees)
    assert found[UUAS] == pytest.approx(2 / 3)
    by_word = [6.5 / 95**0.5, 3 / 76**0.5, 9 / 85.5**0.5, 6 / 85.5**0.5, 3.5 / 95**0.5]
    assert found[DSPR] == pytest.approx(np.mean(by_word))
    found = values(evaluate("depth", linear_chain("depth"), trees, every), trees)
    assert found[ROOT_ACCURACY] == 0
    assert found[NSPR] == pytest.approx(2 / 80**0.5)


def test_punctuation_takes_no_part_in_trees_and_roots_but_in_correlations():
    trees = sentences(SHE)
    # The full stop is nearest to every word, and the shallowest: as a word it would be the middle of a star.
    near = [[0, 2, 4, 3, 1], [2, 0, 3, 1, 1], [4, 3, 0, 2, 1], [3, 1, 2, 0, 1], [1, 1, 1, 1, 0]]
    scored = evaluate("distance", predicting(near), trees, np.arange(1))
    assert (scored.hits.tolist(), scored.to_find.tolist()) == ([[3]], [3])
    gold = trees.distances(trees.batch(np.arange(1)))[0]
    by_word = [spearmanr(one, other).statistic for one, other in zip(near, gold, strict=True)]
    assert scored.order[0, 0] == pytest.approx(np.mean(by_word))
    scored = evaluate("depth", predicting([2.0, 1.0, 3.0, 2.0, 0.0]), trees, np.arange(1))
    assert (scored.hits.tolist(), scored.to_find.tolist()) == ([[1]], [1])
    assert scored.order[0, 0] == pytest.approx(spearmanr([2, 1, 3, 2, 0], [1, 0, 2, 1, 1]).statistic)


def test_edges_at_punctuation_and_roots_that_are_punctuation_are_not_asked_for():
    trees = sentences(("a - b", [1, ROOT, 1]), ("a b !", [1, ROOT, 1]), ("! ?", [ROOT, 0]), ("a", [ROOT]))
    distance = evaluate("distance", linear_chain("distance"), trees, np.arange(4))
    to_find = dict(zip(distance.sentences.tolist(), distance.to_find.tolist(), strict=True))
    assert to_find == {0: 0, 1: 1, 2: 0, 3: 0} and distance.hits.sum() == 1
    depth = evaluate("depth", linear_chain("depth"), trees, np.arange(4))
    to_find = dict(zip(depth.sentences.tolist(), depth.to_find.tolist(), strict=True))
    assert to_find == {0: 0, 1: 1, 2: 0, 3: 1} and depth.hits.sum() == 1


def test_uuas_is_over_edges_and_correlations_over_lengths():
    """Two sentences of five words, one of six, one too short: 2/3, 2/3 and 4/4 of the edges; two lengths."""
    six = ("a b c d e .", [ROOT, 0, 1, 2, 3, 0])
    trees = sentences(SHE, SHE, six, ("a b", [ROOT, 0]))
    scored = evaluate("distance", linear_chain("distance"), trees, np.arange(4))
    found = values(scored, trees)
    assert found[UUAS] == pytest.approx((2 + 2 + 4 + 1) / (3 + 3 + 4 + 1))
    order = dict(zip(scored.sentences.tolist(), scored.order[:, 0], strict=True))
    assert order[0] == order[1] != order[2]
    assert found[DSPR] == pytest.approx((order[0] + order[2]) / 2)
    assert found[DSPR_SENTENCES] == pytest.approx((2 * order[0] + order[2]) / 3)
    long = sentences(*[(" ".join("a" * n), [ROOT, *range(n - 1)]) for n in (4, 50, 51)])
    scored = evaluate("depth", linear_chain("depth"), long, np.arange(3))
    assert scored.share.tolist() == [0, 1, 0] and values(scored, long)[NSPR] == pytest.approx(1)


def test_without_a_sentence_of_the_right_length_there_is_no_correlation():
    trees = sentences(("a b", [ROOT, 0]))
    draws = evaluate("depth", linear_chain("depth"), trees, np.arange(1)).draws(Resampling(trees.ids, repeats=100))
    assert np.isnan([draws[NSPR], draws[NSPR_SENTENCES]]).all() and draws[ROOT_ACCURACY][0] == 1


@pytest.mark.parametrize("size", [2, 3, 9, 30])
def test_spanning_trees_are_scipys(size):
    random = np.random.default_rng(size)
    points = random.normal(size=(40, size, 3))
    distances = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    outside = random.random((40, size)) < 0.3
    outside[:, 0] = False
    start = [random.choice(np.flatnonzero(~row)) for row in outside]
    governors = spanning_trees(torch.tensor(distances), torch.tensor(outside), torch.tensor(start)).numpy()
    for matrix, out, first, found in zip(distances, outside, start, governors, strict=True):
        assert found[first] == ROOT and (found[out] == ROOT).all()
        kept = np.flatnonzero(~out)
        tree = minimum_spanning_tree(matrix[np.ix_(kept, kept)]).tocoo()
        expected = {frozenset((kept[a], kept[b])) for a, b in zip(tree.row, tree.col, strict=True)}
        assert {frozenset((word, found[word])) for word in kept if word != first} == expected


def test_ranks_and_correlations_are_scipys():
    random = np.random.default_rng(0)
    one, other = random.normal(size=(6, 4, 15)), random.integers(0, 4, size=(4, 15)).astype(float)
    found = correlation(ranks(torch.tensor(one).round(decimals=1)), ranks(torch.tensor(other)))
    for a, row in enumerate(one.round(1)):
        for b, against in enumerate(other):
            assert found[a, b] == pytest.approx(spearmanr(row[b], against).statistic)
    assert correlation(ranks(torch.ones(5)), ranks(torch.arange(5.0))) == 0  # nothing to correlate is no correlation


def test_one_pass_over_all_lengths_gives_what_each_sentence_gives():
    examples = random_trees(60, shortest=3)
    trees = Trees.of(examples)

    def predictions(batch):  # another for each sentence and probe
        seeds = [np.random.default_rng(int(sentence)).normal(size=(2, 20, 3)) for sentence in batch.sentences]
        points = torch.tensor(np.stack(seeds, 1)[:, :, : batch.lengths[0]])
        return torch.cdist(points, points)

    scored = evaluate("distance", predictions, trees, np.arange(60))
    assert sorted(scored.sentences) == list(range(60))
    for row, sentence in enumerate(scored.sentences):
        alone = evaluate("distance", predictions, trees, np.array([sentence]))
        assert (alone.hits[0] == scored.hits[row]).all() and alone.to_find[0] == scored.to_find[row]
        assert np.allclose(alone.order[0], scored.order[row])


@with_shared
def test_a_chain_of_words_finds_43_percent_of_ewts_edges():
    examples = read_treebank(EWT / "en_ewt-ud-dev.conllu")
    trees = Trees.of(examples)
    found = values(evaluate("distance", linear_chain("distance"), trees, np.arange(len(examples))), trees)
    assert found[UUAS] == pytest.approx(0.43, abs=0.005)


def test_intervals_cover_what_is_resampled():
    """UUAS of random predictions: its bootstrap interval against the normal one of a ratio."""
    trees = Trees.of(random_trees(400))
    random = torch.Generator().manual_seed(0)
    scored = evaluate(
        "distance", lambda batch: torch.rand(1, len(batch.sentences), *[batch.lengths[0]] * 2, generator=random),
        trees, np.arange(400),
    )  # fmt: skip
    draws = scored.draws(Resampling(trees.ids, repeats=2000))[UUAS][:, 0]
    rest = scored.hits[:, 0] - draws[0] * scored.to_find
    error = np.sqrt((rest**2).sum()) / scored.to_find.sum()
    low, high = np.quantile(draws[1:], [0.025, 0.975])
    assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.1)
    assert np.mean(draws[1:]) == pytest.approx(draws[0], abs=error / 5)
