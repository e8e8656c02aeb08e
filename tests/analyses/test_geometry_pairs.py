"""Alignment, uniformity and the intrinsic dimension: against loops, and against surfaces of known dimension."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.analyses.geometry.measure import pair_spread, paired_texts, two_nn
from bertscope.analyses.geometry.question import GeometryConfig, geometry
from bertscope.analyses.geometry.vectors import LayerVectors
from bertscope.analyses.text_pairs import meaning_same
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.corpus import read_examples
from made_states import made_states, sentences_of


def made_pairs(pairs=24, dim=6, **more):
    """Pairs of texts of 2 and 3 words."""
    vectors = np.random.default_rng(0).normal(size=(5 * pairs, dim)) + 0.5
    more = {"pair": ("",) * pairs, "first_words": (2,) * pairs} | more
    return vectors, *made_states([vectors], sentences_of([5] * pairs), **more)


def test_they_are_what_their_formulas_say():
    label = np.arange(24) % 2
    vectors, store, examples = made_pairs(label=label)
    pairs = paired_texts(store, examples, 1, 1000, 4, 0)
    alignment, uniformity = pair_spread(LayerVectors(store.vectors(0)), pairs)
    words = vectors.reshape(24, 5, -1)
    texts = np.stack([words[:, :2].mean(1), words[:, 2:].mean(1)], 1)  # [pair, side, dim]
    texts /= np.linalg.norm(texts, axis=-1, keepdims=True)

    def expected(kept):
        close = [
            ((one - other) ** 2).sum() for (one, other), same in zip(texts[kept], label[kept], strict=True) if same
        ]
        flat = texts[kept].reshape(-1, texts.shape[-1])
        spread = [np.exp(-2 * ((flat[i] - flat[j]) ** 2).sum()) for i in range(len(flat)) for j in range(i)]
        return np.mean(close), np.log(np.mean(spread))

    kept = [np.arange(24), *(np.delete(np.arange(24), np.s_[at : at + 6]) for at in range(0, 24, 6))]
    want = np.array([expected(rows) for rows in kept])
    np.testing.assert_allclose(np.stack([alignment, uniformity], 1), want, atol=1e-5)


def test_which_pairs_mean_the_same():
    def same_of(label, same=None, name="", pair=("",) * 4):
        examples = Examples(ids=tuple("abcd"), text=("",) * 4, pair=pair, label=label, name=name)
        found = meaning_same(examples, same)
        return None if found is None else found[0].tolist()

    classes, scores = np.array([0, 1, 1, 2]), np.array([0.0, 5.0, 3.9, 4.0])
    assert same_of(scores) == [False, True, False, True], "four fifths of the highest score"
    assert same_of(scores, same=3.0) == [False, True, True, True]
    assert same_of(classes) is None, "a label alone doesn't say what it means"
    assert same_of(classes, same=0) == [True, False, False, False]
    assert same_of(classes, name="glue/mrpc") == [False, True, True, False]
    assert same_of(scores, pair=None) is None and same_of(None) is None


def test_a_sample_is_of_whole_pairs_with_words_on_both_sides():
    _, store, examples = made_pairs(label=np.ones(24, np.int64))
    few = paired_texts(store, examples, 1, 20, 4, 0)
    assert len(few.same) == 10 and len(few.rows) == 50 and few.text.max() == 19
    assert np.bincount(few.text).tolist() == [2, 3] * 10
    _, one_sided, _ = made_pairs(label=np.ones(24, np.int64), first_words=(2,) * 23 + (5,))
    assert len(paired_texts(one_sided, examples, 1, 1000, 4, 0).same) == 23
    with pytest.raises(UserError, match="choose another value"):
        paired_texts(store, examples, 0, 1000, 4, 0)


@pytest.mark.slow
def test_the_question_has_them_where_the_labels_tell(tiny):
    pairs = read_examples("demo/paraphrase", limit=40)
    result = geometry(tiny, pairs, GeometryConfig(sample=60))
    found = result.tables["pairs"]
    assert set(found["measure"]) == {"alignment", "uniformity"} and len(found) == 8
    assert any("pairs with the label 1" in figure.caption for figure in result.figures)
    assert "pairs" not in geometry(tiny, read_examples("demo/sentiment", limit=40), GeometryConfig(sample=60)).tables
    scores = geometry(tiny, read_examples("demo/similarity", limit=40), GeometryConfig(sample=60, same=2.5))
    assert any("a score of at least 2.5" in figure.caption for figure in scores.figures)


def surface(dim, n=1500, ambient=30, seed=0):
    """A curved surface: points of `dim` dimensions bent into many."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(-1, 1, (n, dim))
    return torch.from_numpy(
        np.sin(points @ generator.normal(size=(dim, ambient)) * 0.7 + generator.normal(size=ambient))
    )


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_surfaces_of_known_dimension(dim):
    draws, n = two_nn(surface(dim), np.arange(0, 1501, 150))
    assert n >= 1490, "on a line, a few points out of 1500 are as good as equal"
    assert draws[0] == pytest.approx(dim, rel=0.12)
    assert np.abs(draws[1:] / draws[0] - 1).max() < 0.1


def test_without_a_group_it_is_that_of_the_others():
    points, edges = surface(3, n=300), np.array([0, 60, 130, 200, 300])
    draws, _ = two_nn(points, edges)
    for group in range(4):
        left = np.delete(np.arange(300), np.s_[edges[group] : edges[group + 1]])
        alone, _ = two_nn(points[left], np.array([0, len(left)]))
        assert draws[1 + group] == pytest.approx(alone[0], rel=1e-6)


def test_it_is_the_papers_fit():
    """Facco et al.: sort r2 / r1, drop the top tenth, fit -log(1 - F) over its logarithm through the origin."""
    points = surface(2, n=200).numpy()
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
    distances.sort(1)
    x = np.sort(np.log(distances[:, 2] / distances[:, 1]))[:180]
    y = -np.log(1 - np.arange(1, 181) / 200)
    slope = np.linalg.lstsq(x[:, None], y, rcond=None)[0][0]
    assert two_nn(torch.from_numpy(points), np.array([0, 100, 200]))[0][0] == pytest.approx(slope, rel=1e-9)


def test_the_same_vector_twice_counts_once():
    points = surface(2, n=200)
    twice = torch.cat([points, points[:50], points[:50] + 1e-9])
    draws, n = two_nn(twice, np.array([0, 100, 200, 300]))
    assert n == 200 and draws[0] == pytest.approx(two_nn(points, np.array([0, 200]))[0][0], rel=1e-6)


def test_too_few_points_have_no_dimension():
    assert np.isnan(two_nn(surface(2, n=5), np.array([0, 2, 5]))[0]).all()


def test_asking_for_pairs_that_are_not_there_is_refused(tiny):
    pairs = read_examples("demo/entailment", limit=40)
    with pytest.raises(UserError, match="choose another value for --same"):
        geometry(tiny, pairs, GeometryConfig(same=7, sample=100))
    with pytest.raises(UserError, match="leave it out"):
        geometry(tiny, read_examples("demo/corpus", limit=40), GeometryConfig(same=1, sample=100))


def test_what_is_undefined_is_left_out(tiny):
    lonely = Examples(("a", "b"), ("house", "road"), words=(("house",), ("road",)))
    result = geometry(tiny, lonely, GeometryConfig(sample=100))
    assert all(not np.isnan(number.value) for number in result.headline)
    assert all(not table["value"].isna().any() for table in result.tables.values() if "value" in table)
