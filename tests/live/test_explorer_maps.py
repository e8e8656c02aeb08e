"""Maps for the page: what they are rounded to, what their shapes are called, how far two checkpoints' are apart."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.one_map import classify_map
from bertscope.live.explorer import Explorer
from bertscope.live.messages import Change, LookAt, Reading
from explored import another, unpacked
from planted_kinds import PLANTED

TEXT = "the old man by the river was never seen again"
CHANGES = [Change(["head:2.1"]), Change(["head:1.1"])]


@pytest.fixture(scope="module")
def explorer(_pocket):
    return Explorer.open(_pocket, another(_pocket, 0.02))


@pytest.mark.parametrize("reading", [Reading(TEXT), Reading(TEXT, "a house and a [MASK]")], ids=["text", "pair"])
def test_shapes_are_those_of_each_map_by_itself(explorer, reading):
    asked = LookAt(reading, CHANGES)
    seen, maps = explorer.look(asked).seen, explorer.maps(asked)
    separators = [at for at, token in enumerate(seen[0].tokens) if token.side == -1 and at]
    for side, layers in zip(seen, (maps.maps, maps.other_maps), strict=True):
        assert set(explorer.about().patterns) == set(CLASSES)
        for names, layer in zip(side.maps.patterns, layers[side.maps.first - 1 :], strict=True):
            assert names == [classify_map(one, separators).name for one in layer]


def test_two_texts_that_are_read_apart(_pocket):
    planted = PLANTED["vectors"]
    model = planted.model(_pocket.tokenizer)
    explorer = Explorer.open(model, None, planted.task(4))
    reading = explorer.about().example
    maps = explorer.maps(LookAt(reading))
    alone = [bertscope.attention(model, text).maps for text in (reading.text, reading.pair)]
    first, second = (layers[0].shape[-1] for layers in alone)
    assert maps.maps[0].shape[-1] == first + second == len(maps.tokens)
    for layer, heads in enumerate(maps.maps):
        np.testing.assert_allclose(heads[:, :first, :first], alone[0][layer], atol=1e-6)
        np.testing.assert_allclose(heads[:, first:, first:], alone[1][layer], atol=1e-6)
        assert not heads[:, :first, first:].any() and not heads[:, first:, :first].any()


def test_the_change_is_that_of_the_question(explorer):
    one, other = (side.encoder for side in explorer._sides)
    found = np.array(explorer.look(LookAt(Reading(TEXT))).change)
    table = bertscope.change(one, other, [TEXT]).tables["heads"]
    np.testing.assert_allclose(found.ravel(), 1 - table["cosine"].to_numpy(), atol=1e-5)
    changed = np.array(explorer.look(LookAt(Reading(TEXT), [Change(["head:6.1"])])).change)
    np.testing.assert_array_equal(changed[:6], found[:6])
    assert np.abs(changed[6:] - found[6:]).min(1).max() > 0
    alone = Explorer.open(one, one).look(LookAt(Reading(TEXT))).change
    assert np.abs(alone).max() < 1e-6


@pytest.fixture
def long_reader(tiny):
    """It reads 600 tokens."""
    embeddings = tiny.model.bert.embeddings
    embeddings.position_embeddings = torch.nn.Embedding(600, tiny.hidden_size).to(tiny.device)
    embeddings.position_ids = torch.arange(600, device=tiny.device)[None]
    embeddings.token_type_ids = torch.zeros(1, 600, dtype=torch.long, device=tiny.device)
    tiny.model.config.max_position_embeddings = tiny.tokenizer.model_max_length = 600
    return Explorer.open(tiny)


@pytest.mark.parametrize(("words", "wide"), [(8, False), (100, False), (150, True), (230, True)])
def test_no_step_is_longer_than_half_of_even_attention(long_reader, words, wide):
    reading = Reading(" ".join(["house", "river"] * (words // 2)))
    side = long_reader.look(LookAt(reading)).seen[0]
    tokens = len(side.tokens)
    assert side.maps.wide == wide and side.maps.step <= 0.52 / tokens
    exact = np.concatenate(long_reader.maps(LookAt(reading)).maps)
    assert np.abs(unpacked(side.maps, len(exact), tokens) - exact).max() <= side.maps.step / 2 + 1e-6


def test_long_texts_have_no_maps_and_say_so(long_reader):
    reading = Reading("house " * 300)
    side = long_reader.look(LookAt(reading, [Change(["head:1.1"])])).seen[0]
    assert side.maps is None and "256 tokens" in side.notes[0] and side.after.p is not None
    with pytest.raises(bertscope.UserError, match="256 tokens"):
        long_reader.maps(LookAt(reading))


def test_maps_are_kept_and_say_what_was_changed(explorer, tmp_path):
    maps = explorer.maps(LookAt(Reading(TEXT), [Change(["head:2.1"]), Change(graft=["layer:3"])]))
    assert maps.equals(bertscope.AttentionMaps.load(maps.save(tmp_path / "maps")))
    assert any("off (zero): head:2.1" in note for note in maps.notes)
    assert any("from the other checkpoint: layer:3" in note for note in maps.notes)
    json.dumps([layer.tolist() for layer in maps.maps])
