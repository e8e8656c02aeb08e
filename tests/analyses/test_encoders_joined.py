"""Several encoders' maps as one tensor, as a GPU reads them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertscope.analyses.attention import maps as reading
from bertscope.analyses.attention.between_words import between_words
from bertscope.analyses.attention.joined import joined, of_encoders
from bertscope.analyses.attention.maps import LayerMaps, entropy, read_maps
from bertscope.analyses.attention.view import View
from bertscope.models.batches import batches


@pytest.fixture
def view():
    return SimpleNamespace(lengths=torch.tensor([3.0, 2.0]))


def side_by_side(view, *heads):
    """Encoders with so many heads, in one tensor."""
    cells = torch.rand(2, sum(heads), 3, 3, generator=torch.Generator().manual_seed(0))
    whole = LayerMaps(cells, view)
    firsts = np.cumsum([0, *heads[:-1]]).tolist()
    return whole, [
        LayerMaps(one, view, whole=whole, first=first)
        for one, first in zip(cells.split(list(heads), 1), firsts, strict=True)
    ]


def test_all_encoders_of_a_tensor_are_one(view):
    whole, (first, second, third) = side_by_side(view, 2, 3, 1)
    assert joined([first, second, third]) == [whole]
    for some in ([first, second], [second, third], [second, first, third], [first]):
        assert joined(some) == some, "some of them, or in another order, are read one by one"
    alone = LayerMaps(first.maps, view)
    assert joined([alone, alone]) == [alone, alone]


def test_what_is_found_of_all_comes_apart_by_encoder(view):
    whole, parts = side_by_side(view, 2, 3)
    found = of_encoders(parts, [whole.maps.sum(-1)], heads=1)
    assert all(torch.equal(one, part.maps.sum(-1)) for one, part in zip(found, parts, strict=True))
    each = [part.maps for part in parts]
    assert of_encoders(parts, each, heads=1) is each


def test_what_is_known_of_all_is_known_of_each(view):
    whole, (first, second) = side_by_side(view, 2, 3)
    before = first.squares
    assert "squares" not in vars(whole), "nobody asked for it"
    assert torch.equal(whole.squares[:, :2], before)
    assert second.squares.data_ptr() == whole.squares[:, 2:].data_ptr(), "it isn't computed again"


def test_entropy_elsewhere_is_entropy_here(view, monkeypatch):
    one, other = torch.rand(2, 2, 4, 9, generator=torch.Generator().manual_seed(0)).softmax(-1)
    one[0, 0, 3:] = 0  # nothing there is no bit
    here = [entropy(view, one), entropy(view, one, other)]
    monkeypatch.setattr(reading, "_on_cpu", lambda values: False)
    for found, wanted in zip([entropy(view, one), entropy(view, one, other)], here, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)


def test_encoders_are_joined_where_layers_are(pocket, texts, monkeypatch):
    class Shown:
        needs = frozenset()

        def read(self, layer, view, maps):
            self.maps, self.joined = maps, joined(maps)

    monkeypatch.setattr(reading, "_room", lambda device: 2**40)
    shown = Shown()
    read_maps([pocket, pocket], texts, [shown])
    (whole,) = shown.joined
    assert whole.maps.shape[1] == 2 * sum(pocket.head_counts)
    assert all(one.head_counts == pocket.head_counts for one in shown.maps)
    assert torch.equal(shown.maps[0].maps, shown.maps[1].maps), "it is the same encoder twice"
    read_maps([pocket], texts, [shown])
    assert shown.joined is shown.maps, "one alone is as it is"


def test_words_attention_is_that_of_two_products(pocket, texts):
    """Means over the pieces that attend, sums over those that are attended to."""
    (batch,) = batches(pocket.tokenizer, texts, max_length=64, tokens=2**14)
    view = View.of(batch, 1)
    n = view.real.shape[1]
    maps = torch.rand(len(view.rows), 3, n, n, generator=torch.Generator().manual_seed(0))
    assert view.pieces.max() > 1, "some words have several pieces"
    share = (view.in_word / view.pieces.clamp_min(1)[:, None]).double()
    wanted = torch.einsum("bqf,bhqk,bkt->btfh", share, maps.double(), view.in_word.double())
    wanted.diagonal(dim1=1, dim2=2).zero_()
    torch.testing.assert_close(between_words(view, maps).double(), wanted, rtol=1e-5, atol=1e-6)
