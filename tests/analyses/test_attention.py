"""Reductions of attention maps against plain transformers and NumPy, one map at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.analyses.attention.maps import read_maps
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from device import DEVICE
from plain_attention import plain_maps_of_words
from three_sentences import EXAMPLES, WORDS


class Keep:
    """Keeps the reductions of every map."""

    needs = frozenset({"contexts"})

    def __init__(self):
        self.found = {}

    def read(self, layer, view, maps):
        shown = [(which, at, one) for which, some in enumerate(maps) for at, one in enumerate(some.each, layer)]
        for which, at, one in shown:
            for place, row in enumerate(view.rows):
                n, words = int(view.lengths[place]), len(WORDS[row])
                self.found[which, at, int(row)] = {
                    "map": one.maps[place, :, :n, :n],
                    "rest": max(one.maps[place, :, n:].sum(), one.maps[place, :, :, n:].sum()),
                    "received": one.received[place, :, :n],
                    "squares": one.squares[place],
                    "entropy": one.entropy[place],
                    "between": one.between_words[place, :words, :words],
                    "words": view.words[place, :n],
                    "cls": view.cls[place, :n],
                    "sep": view.sep[place, :n],
                    "context": one.contexts[0][place, :n],
                }


@pytest.fixture(params=[64, 4096])
def kept(request, pocket):
    reader = Keep()
    read_maps([pocket], EXAMPLES, [reader], tokens=request.param)
    return reader.found


@pytest.mark.parametrize("row", range(3))
def test_reductions_are_those_of_the_plain_map(pocket, kept, row):
    maps, word_ids = plain_maps_of_words(pocket, row)
    for layer in range(pocket.n_layers):
        found = {name: np.asarray(torch.as_tensor(value).cpu()) for name, value in kept[0, layer, row].items()}
        want = maps[layer]
        np.testing.assert_allclose(found["map"], want, atol=1e-5)
        assert found["rest"] == 0  # padding, queries and keys alike
        assert found["words"].tolist() == [-1 if word is None else word for word in word_ids]
        assert np.flatnonzero(found["cls"]).tolist() == [0]
        assert np.flatnonzero(found["sep"]).tolist() == [len(word_ids) - 1]
        np.testing.assert_allclose(found["received"], want.mean(1), atol=1e-5)
        np.testing.assert_allclose(found["squares"], (want**2).sum((1, 2)), rtol=1e-5)
        bits = -(want * np.log2(np.maximum(want, 1e-30))).sum(-1).mean(-1)
        np.testing.assert_allclose(found["entropy"], bits, atol=1e-5)
        for one in range(len(WORDS[row])):
            for other in range(len(WORDS[row])):
                queries = [i for i, word in enumerate(word_ids) if word == one]
                keys = [i for i, word in enumerate(word_ids) if word == other]
                by_hand = want[:, queries][:, :, keys].sum(-1).mean(-1) * (one != other)
                np.testing.assert_allclose(found["between"][other, one], by_hand, atol=1e-5)


class Maps:
    needs = frozenset()

    def __init__(self):
        self.layers = []

    def read(self, layer, view, maps):
        self.layers += [one.maps for one in maps[0].each]


def test_values_that_are_rotated_have_no_lengths(tiny):
    tiny.model.config.rotary_value = True
    read_maps([tiny], EXAMPLES, [Maps()])
    with pytest.raises(UserError, match=r"rotates its values by position.* leave out --weighted"):
        read_maps([tiny], EXAMPLES, [Maps()], weighted=True)


def test_weighted_maps_are_the_lengths_of_what_each_value_adds(tiny):
    """|alpha W_o v| computed the long way, from the layer's own weights."""
    one = Examples(ids=("0",), text=("the old man saw a dog in the garden",))
    weighted, plain = Maps(), Maps()
    read_maps([tiny], one, [weighted], weighted=True)
    read_maps([tiny], one, [plain])
    coded = tiny.tokenizer(list(one.text), return_tensors="pt").to(DEVICE)
    with torch.inference_mode():
        hidden = tiny.model(**coded, output_hidden_states=True).hidden_states
        for layer, block in enumerate(tiny.layers):
            attention, projection = block.attention.self, block.attention.output.dense
            value = attention.value(hidden[layer])[0].unflatten(-1, (tiny.n_heads, tiny.head_size))
            for head in range(tiny.n_heads):
                at = slice(head * tiny.head_size, (head + 1) * tiny.head_size)
                added = value[:, head] @ projection.weight[:, at].T  # [key, hidden]
                lengths = plain.layers[layer][0, head] * added.norm(dim=-1)
                torch.testing.assert_close(
                    weighted.layers[layer][0, head], lengths / lengths.sum(-1, keepdim=True), atol=1e-5, rtol=1e-4
                )
