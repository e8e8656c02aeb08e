"""The best tree: against every tree there is, and against networkx where it is installed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bertscope.core.examples import ROOT
from bertscope.data.trees import check_tree
from bertscope.models.spanning_tree import arborescence, best_trees


def all_trees(words: int):
    for heads in product(range(words + 1), repeat=words):
        if check_tree([head - 1 if head else ROOT for head in heads]) is None:
            yield np.array(heads)


def total(scores: np.ndarray, heads: np.ndarray) -> float:
    return float(scores[np.arange(len(heads)), heads].sum())


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_no_tree_is_better(words):
    trees = list(all_trees(words))
    assert len(trees) == words ** (words - 1)  # Cayley: rooted labelled trees
    generator = np.random.default_rng(words)
    for kind in range(60):
        scores = generator.normal(size=(words, words + 1))
        if kind % 3 == 1:  # many are tempted to be roots, or to stand in circles
            scores[:, 0] += 5
        elif kind % 3 == 2:
            scores[:, 0] -= 5
        found = arborescence(scores)
        assert check_tree(found - 1) is None
        assert total(scores, found) == pytest.approx(max(total(scores, tree) for tree in trees))


def test_circles_inside_circles():
    """Two pairs that choose each other, and then the pairs each other: two contractions."""
    scores = np.full((4, 5), -10.0)
    scores[0, 2], scores[1, 1], scores[2, 4], scores[3, 3] = 9, 9, 9, 9  # 1 <-> 2, 3 <-> 4
    scores[0, 3], scores[2, 1] = 5, 5  # 1 under 3, 3 under 1
    scores[1, 0] = 4  # the root
    # 2 is the root, 1 under 2, 3 under 1, 4 under 3: 4 + 9 + 5 + 9.
    assert arborescence(scores).tolist() == [2, 0, 1, 3]


def test_one_root_even_where_two_would_score_more():
    scores = np.array([[10.0, 0.0, 1.0], [9.0, 2.0, 0.0]])
    assert arborescence(scores).tolist() == [0, 1]  # 10 + 2 against 9 + 1; two roots would have 19


def test_forbidden_arcs_stay_out():
    scores = np.array([[-np.inf, 0.0, 3.0], [-5.0, 4.0, 0.0]])
    assert arborescence(scores).tolist() == [2, 0]


def test_many_at_once_are_the_same_as_one_by_one():
    generator = np.random.default_rng(0)
    counts = np.array([1, 7, 3, 12, 12, 5])
    scores = generator.normal(size=(len(counts), 12, 13))
    scores[3] = -1.0
    scores[3, np.arange(12), np.arange(12)] = 1.0  # each under the one before: a tree at once
    found = best_trees(scores, counts)
    for row, count in enumerate(counts):
        assert (found[row, :count] == arborescence(scores[row, :count, : count + 1])).all()
        assert (found[row, count:] == 0).all()
    assert found[3].tolist() == list(range(12))


def test_networkx_finds_the_same():
    networkx = pytest.importorskip("networkx")
    generator = np.random.default_rng(3)
    for _ in range(4):
        words = int(generator.integers(6, 16))
        scores = generator.normal(size=(words, words + 1))
        best = -np.inf
        for root in range(words):
            graph = networkx.DiGraph()
            graph.add_edge(0, root + 1, weight=scores[root, 0])
            graph.add_weighted_edges_from(
                (head, word + 1, scores[word, head])
                for word in range(words) for head in range(1, words + 1) if head != word + 1
            )  # fmt: skip
            tree = networkx.maximum_spanning_arborescence(graph, preserve_attrs=True)
            best = max(best, tree.size(weight="weight"))
        assert total(scores, arborescence(scores)) == pytest.approx(best)
