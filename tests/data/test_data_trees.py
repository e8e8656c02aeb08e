"""Depths and distances in trees, against scipy's shortest paths and a plain walk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from bertscope.core.errors import UserError
from bertscope.core.examples import ROOT
from bertscope.data.trees import all_depths, all_distances, check_tree, depths, distances


@st.composite
def trees(draw, largest=40):
    """Heads of a random tree: each word hangs on one before it, then the words are shuffled."""
    count = draw(st.integers(1, largest))
    heads = [ROOT, *(draw(st.integers(0, word - 1)) for word in range(1, count))]
    order = draw(st.permutations(range(count)))
    shuffled = [ROOT] * count
    for word, head in enumerate(heads):
        shuffled[order[word]] = ROOT if head == ROOT else order[head]
    return shuffled


def walked(heads):
    """Distances by going from word to word along the edges."""
    near = [set() for _ in heads]
    for word, head in enumerate(heads):
        if head != ROOT:
            near[word].add(head)
            near[head].add(word)
    found = np.full((len(heads), len(heads)), -1)
    for start in range(len(heads)):
        found[start, start] = 0
        queue = [start]
        for word in queue:
            for other in near[word]:
                if found[start, other] < 0:
                    found[start, other] = found[start, word] + 1
                    queue.append(other)
    return found


def by_scipy(heads):
    edges = [(word, head) for word, head in enumerate(heads) if head != ROOT]
    rows, columns = zip(*edges, strict=True) if edges else ((), ())
    graph = csr_array((np.ones(len(edges)), (rows, columns)), shape=(len(heads), len(heads)))
    return shortest_path(graph, directed=False, unweighted=True)


def test_a_tree_worked_by_hand():
    #  the(0) -> dog(1) -> barked(2, root) <- loudly(3)
    heads = (1, 2, ROOT, 2)
    assert depths(heads).tolist() == [2, 1, 0, 1]
    assert distances(heads).tolist() == [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    assert depths([ROOT]).tolist() == [0] and distances([ROOT]).tolist() == [[0]]


@settings(max_examples=150, deadline=None)
@given(heads=trees())
def test_distances_are_those_of_scipy_and_of_a_walk(heads):
    assert check_tree(heads) is None
    found = distances(np.array(heads))
    assert found.dtype == np.int64
    assert (found == walked(heads)).all() and (found == by_scipy(heads)).all()
    assert depths(heads).tolist() == found[heads.index(ROOT)].tolist()


@settings(max_examples=50, deadline=None)
@given(many=st.lists(trees(largest=5), max_size=12), few=st.sampled_from([1, 100, 1 << 20]))
def test_many_at_once_are_as_one_by_one(many, few):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bertscope.data.trees._AT_ONCE", few)
        together = list(zip(all_distances(many), all_depths(many), strict=True))
    assert len(together) == len(many)
    for heads, (distance, depth) in zip(many, together, strict=True):
        assert (distance == walked(heads)).all() and (depth == walked(heads)[heads.index(ROOT)]).all()


def test_one_bad_tree_among_many_is_named():
    for asked in (all_depths, all_distances):
        with pytest.raises(UserError, match="tree 3 of 4 is none: words 1 and 2 are both roots"):
            asked([(ROOT,), (ROOT, 0), (ROOT, ROOT), (1, ROOT)])


@pytest.mark.parametrize("count", [2, 63, 64, 65, 1000])
def test_a_chain_is_as_deep_as_it_is_long(count):
    chain = np.arange(count) - 1
    assert depths(chain).tolist() == list(range(count))
    assert (distances(chain) == np.abs(np.subtract.outer(np.arange(count), np.arange(count)))).all()


def is_tree(heads):
    """By the definition: every word comes to the one root."""

    def ends(word):
        for _ in heads:
            if word == ROOT:
                return True
            if not 0 <= word < len(heads):
                return False
            word = heads[word]
        return word == ROOT

    return len(heads) > 0 and sum(head == ROOT for head in heads) == 1 and all(map(ends, range(len(heads))))


@settings(max_examples=300, deadline=None)
@given(heads=st.lists(st.integers(-2, 6), max_size=6))
def test_whatever_is_no_tree_is_told(heads):
    wrong = check_tree(heads)
    assert (wrong is None) == is_tree(heads)
    if wrong:
        for asked in (depths, distances):
            with pytest.raises(UserError, match="these governors are no tree: "):
                asked(heads)


@pytest.mark.parametrize(
    ("heads", "said"),
    [
        ((), "it has no words"),
        ((ROOT, 5), "the head of word 2 is 6, but the words are 1 to 2"),
        ((ROOT, -2), "the head of word 2 is -1, but the words are 1 to 2"),
        ((ROOT, 0, ROOT), "words 1 and 3 are both roots"),
        ((1, 0), "word 1 hangs on a cycle, and no word is the root"),
        ((ROOT, 2, 1), "word 2 hangs on a cycle"),
        ((0,), "word 1 hangs on a cycle, and no word is the root"),
    ],
)
def test_what_is_wrong_is_said(heads, said):
    assert check_tree(heads) == said
