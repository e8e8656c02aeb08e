"""`project`: the plane is PCA's, the picture is turned and nothing else, and tokens are what they are."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from sklearn.decomposition import PCA

import bertscope
from bertscope.analyses.project.measure import (
    ANSWER,
    FIRST,
    SECOND,
    SPECIAL,
    TEXT,
    by_umap,
    jointly,
    layer_by_layer,
    pca,
    read_sentence,
    turn,
)
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from families import tiny_model

ASKED = Examples(
    ids=("q",),
    text=("who fell ?",),
    pair=("the old king fell .",),
    answers=(((4, 12),),),  # "old king"
    words=(("who", "fell", "?", "the", "old", "king", "fell", "."),),
    first_words=(3,),
)


@pytest.fixture
def states() -> np.ndarray:
    """[layer, token, dim] of unequal variance and size."""
    random = np.random.default_rng(0)
    spread = np.geomspace(4, 0.2, 7)
    return np.stack([scale * random.normal(size=(11, 7)) * spread + scale for scale in (1, 5, 0.1)])


def turning(angle: float, *, mirrored: bool = False) -> np.ndarray:
    spin = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return spin @ np.diag([1, -1]) if mirrored else spin


def distances(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


# Projections


def test_axes_and_shares_are_pcas(states):
    for layer in states:
        axes, shares = pca(layer)
        reference = PCA(2).fit(layer)
        np.testing.assert_allclose(shares, reference.explained_variance_ratio_)
        np.testing.assert_allclose(np.abs(axes @ reference.components_.T), np.eye(2), atol=1e-10)
        along = (layer - layer.mean(0)) @ axes.T
        assert (along[np.abs(along).argmax(0), [0, 1]] > 0).all()


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_turn_is_found(states, mirrored):
    points = states[0][:, :2] - states[0][:, :2].mean(0)
    spin = turning(1.1, mirrored=mirrored)
    found = turn(points, points @ spin)
    np.testing.assert_allclose(found, spin, atol=1e-10)
    np.testing.assert_allclose(found @ found.T, np.eye(2), atol=1e-12)


def test_layers_that_are_turned_and_scaled_look_the_same(states):
    spin, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(7, 7)))
    same = np.stack([states[0], 3 * states[0] @ spin + 7, -0.5 * states[0]])
    picture = layer_by_layer(same)
    np.testing.assert_allclose(picture.points[1], picture.points[0], atol=1e-8)
    np.testing.assert_allclose(picture.points[2], picture.points[0], atol=1e-8)
    np.testing.assert_allclose(picture.explained[1], picture.explained[0])


def test_a_layers_picture_is_its_own_pca_in_another_size(states):
    picture = layer_by_layer(states)
    for points, layer, shares in zip(picture.points, states, picture.explained, strict=True):
        plane = PCA(2).fit(layer)
        expected = distances(plane.transform(layer))
        size = np.sqrt((plane.transform(layer) ** 2).sum(1).mean())
        np.testing.assert_allclose(distances(points), expected / size, atol=1e-8)
        np.testing.assert_allclose((points**2).sum(1).mean(), 1)
        np.testing.assert_allclose(shares, plane.explained_variance_ratio_)
    # Turned onto the layer below: no other turn brings it nearer.
    for below, above in zip(picture.points, picture.points[1:], strict=False):
        apart = ((above - below) ** 2).sum()
        tried = [((above @ turning(angle, mirrored=m) - below) ** 2).sum() for angle in np.linspace(0, 6.28, 60)
                 for m in (False, True)]  # fmt: skip
        assert apart <= min(tried) + 1e-9


def test_another_checkpoint_is_turned_onto_the_first(states):
    first = layer_by_layer(states)
    other = layer_by_layer(states @ np.linalg.qr(np.random.default_rng(2).normal(size=(7, 7)))[0], first.points[0])
    np.testing.assert_allclose(other.points, first.points, atol=1e-8)


def test_one_plane_for_all_layers(states):
    picture = jointly(states)
    plane = PCA(2).fit(states.reshape(-1, 7))
    expected = plane.transform(states.reshape(-1, 7)).reshape(3, 11, 2)
    np.testing.assert_allclose(np.abs(picture.points), np.abs(expected), atol=1e-8)
    for layer, shares in zip(states, picture.explained, strict=True):
        centred = layer - layer.mean(0)
        inside = ((centred @ plane.components_.T) ** 2).sum(0)
        np.testing.assert_allclose(shares, inside / (centred**2).sum())
    turned_back = jointly(states, picture.points[0] @ turning(0.7))
    np.testing.assert_allclose(turned_back.points, picture.points @ turning(0.7), atol=1e-8)


def test_two_tokens_lie_on_a_line_and_equal_ones_on_a_point():
    two = np.random.default_rng(0).normal(size=(2, 2, 5))
    np.testing.assert_allclose(layer_by_layer(two).explained.sum(1), 1)
    assert np.isfinite(layer_by_layer(np.ones((2, 3, 5))).points).all()
    assert layer_by_layer(two[:, :1]).points.shape == (2, 1, 2)


def test_umap_is_asked_for_only_if_it_is_wanted(states, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(UserError, match="pip install umap-learn"):
        by_umap(states, 0)
    seen = {}

    class Fake:
        def __init__(self, **how):
            seen.update(how)

        def fit_transform(self, vectors):
            seen["shape"] = vectors.shape
            return vectors[:, :2]

    fake = ModuleType("umap")
    fake.UMAP = Fake
    monkeypatch.setitem(sys.modules, "umap", fake)
    picture = by_umap(states, 3)
    assert seen == {"n_neighbors": 15, "random_state": 3, "shape": (33, 7)} and picture.explained is None
    np.testing.assert_allclose(picture.points, states[..., :2])


# The text


def test_every_token_is_there_with_its_vectors(tiny, texts):
    import torch

    sentence = read_sentence([tiny], texts, 0)
    assert sentence.tokens == ["[CLS]", "the", "food", "was", "good", ".", "[SEP]"]
    assert sentence.kinds == [SPECIAL, *[TEXT] * 5, SPECIAL]
    batch = tiny.tokenizer(texts.text[0], return_tensors="pt").to(tiny.device)
    with torch.inference_mode():
        hidden = tiny.model(**batch, output_hidden_states=True).hidden_states
    expected = torch.stack([layer[0] for layer in hidden]).cpu().numpy()
    np.testing.assert_allclose(sentence.states[0], expected, atol=1e-5)


def test_texts_of_a_pair_and_answers_are_told_apart(tiny):
    sentence = read_sentence([tiny], ASKED, 0)
    kinds = dict(zip(sentence.tokens, sentence.kinds, strict=True))
    assert sentence.tokens[1:4] == ["who", "fell", "?"] and sentence.kinds[1:4] == [FIRST] * 3
    assert kinds["old"] == kinds["king"] == ANSWER and kinds["the"] == kinds["."] == SECOND
    assert sentence.kinds.count(SPECIAL) == 3 and sentence.kinds.count(ANSWER) == 2


def test_what_touches_an_answer_is_no_part_of_it(tiny):
    touching = Examples(("a",), ("who fell ?",), pair=("(king).",), answers=(((1, 5),),))
    sentence = read_sentence([tiny], touching, 0)
    assert [token for token, kind in zip(sentence.tokens, sentence.kinds, strict=True) if kind == ANSWER] == ["king"]


def test_pieces_are_shown_as_the_text_has_them(_pocket):
    from bertscope.models.load import load

    encoder = load(tiny_model("bert"), tokenizer=_pocket.tokenizer)
    text = Examples(("a",), ("Unfathomably GOOD",))
    tokens = read_sentence([encoder], text, 0).tokens
    assert "".join(tokens[1:-1]) == "UnfathomablyGOOD" and len(tokens) > 4


# The question


def test_checkpoints_stand_side_by_side(tiny, texts):
    result = bertscope.project([tiny, tiny], texts, bertscope.ProjectConfig(example="2"))
    points = result.tables["points"]
    assert len(points) == 2 * 4 * len(tiny.tokenizer(texts.text[2])["input_ids"])
    one, other = (table for _, table in points.groupby("checkpoint", sort=False))
    np.testing.assert_allclose(one[["x", "y"]], other[["x", "y"]], atol=1e-8)
    assert list(one["token"][:3]) == ["[CLS]", "no", "."] and sorted(set(one["layer"])) == [0, 1, 2, 3]
    figure = result.figures[0]
    assert (figure.step, figure.facet, figure.token, figure.path) == ("layer", "checkpoint", "token", "position")
    layers = result.tables["layers"]
    assert result["explained_variance"].value == layers["explained"].iloc[-1]
    assert result["explained_variance"].of == {"model": f"{tiny.id}-2", "layer": "3"}
    least = layers.loc[layers.query("checkpoint == @points.checkpoint.iloc[-1]")["explained"].idxmin()]
    assert result["least_explained"].value == least["explained"]
    assert result["least_explained"].label == f"least explained, layer {least['layer']}"
    assert {number.key for number in result.headline} == set(bertscope.project.numbers)
    assert "special token" in set(result.in_words().tables["points"]["kind"])
    assert ((layers["explained"] > 0) & (layers["explained"] <= 1 + 1e-9)).all()
    assert result.subject["text"] == "2"  # an id before it is a number


def test_a_text_is_named_by_id_or_number(tiny, texts):
    named = Examples(tuple("abcdef"), texts.text)
    by_id, by_number = (
        bertscope.project(tiny, named, bertscope.ProjectConfig(example=example, method="joint"))
        for example in ("c", "3")
    )
    assert by_id.equals(by_number) and by_id.subject["text"] == "c"
    with pytest.raises(UserError, match="give its number, 1 to 6, or an id such as 'a'"):
        bertscope.project(tiny, named, bertscope.ProjectConfig(example="7"))


def test_a_text_that_is_too_long_is_refused(tiny):
    long = Examples(("a",), ("good " * 100,))
    with pytest.raises(UserError, match="the text 'a' is longer than the model reads"):
        bertscope.project(tiny, long)


def test_an_unknown_method_is_refused():
    with pytest.raises(UserError, match="did you mean 'umap'"):
        bertscope.ProjectConfig(method="umapp")
