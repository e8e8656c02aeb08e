"""`attention`: the maps of one text against plain transformers; two checkpoints, pairs, cut models; mistakes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import bertscope
from bertscope.analyses.attention.maps import read_maps
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.load import load
from device import DEVICE
from families import UNEVEN, tiny_model
from tokenizer_kinds import roberta

TEXT, PAIR = "the old man saw a dog in the garden", "a dog was seen by him"
SOME = ("bert", "roberta", "distilbert", "albert", "modernbert", "eurobert", "deberta-v2", "ultrabert", "rembert")
"""Families that compute attention in different ways: local windows, shared keys, relative positions, hooks."""


def plain(encoder, text, pair=None):
    """transformers' own maps [layer][head, query, key]."""
    if not encoder.family.hooked:
        encoder.model.set_attn_implementation("eager")
    coded = encoder.tokenizer(text, pair, return_tensors="pt").to(encoder.device)
    with torch.no_grad():
        return [one[0].cpu().numpy() for one in encoder.model(**coded, output_attentions=True).attentions]


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("pair", [None, PAIR])
def test_maps_are_the_librarys(name, pair, _pocket):
    encoder = load(tiny_model(name).to(DEVICE), tokenizer=_pocket.tokenizer)
    shown = bertscope.attention(encoder, TEXT, pair)
    theirs = plain(encoder, TEXT, pair)
    assert len(shown.maps) == len(theirs) == 3 and shown.other_maps is None
    for layer, (ours, wanted) in enumerate(zip(shown.maps, theirs, strict=True), start=1):
        assert ours.dtype == np.float32 and ours.shape == (4, len(shown.tokens), len(shown.tokens))
        np.testing.assert_allclose(ours, wanted, atol=1e-6)
        np.testing.assert_allclose(ours.sum(-1), 1, atol=1e-5)
        assert np.array_equal(shown.map(layer, 3), ours[2])


def test_pockets_own_maps_and_tokens(pocket):
    shown = bertscope.attention(pocket, TEXT)
    assert shown.tokens == ["[CLS]", *TEXT.split(), "[SEP]"] and shown.in_text == [-1, *[0] * 9, -1]
    for ours, theirs in zip(shown.maps, plain(pocket, TEXT), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_a_pair_says_which_token_is_in_which_text(tiny):
    shown = bertscope.attention(tiny, "a dog", "the old man")
    assert shown.tokens == ["[CLS]", "a", "dog", "[SEP]", "the", "old", "man", "[SEP]"]
    assert shown.in_text == [-1, 0, 0, -1, 1, 1, 1, -1]


def test_two_checkpoints_side_by_side(tiny):
    other = load(tiny_model("bert", num_hidden_layers=2).to(DEVICE), tokenizer=tiny.tokenizer)
    shown = bertscope.attention(tiny, TEXT, other=other)
    alone = [bertscope.attention(one, TEXT) for one in (tiny, other)]
    for maps, one in zip(shown.of_models.values(), alone, strict=True):
        assert all(map(np.array_equal, maps, one.maps)) and len(maps) == len(one.maps)
    assert np.array_equal(shown.difference(2, 1), shown.map(2, 1, other=True) - shown.map(2, 1))
    with pytest.raises(UserError, match="has no layer 3; it has 1 to 2"):
        shown.difference(3, 1)
    again = bertscope.attention(tiny, TEXT, other=tiny)
    assert list(again.names.values()) == [tiny.name, f"{tiny.name} (2)"] and not again.difference(1, 1).any()


def test_a_model_that_was_cut(tiny):
    small = tiny.cut(UNEVEN)
    shown = bertscope.attention(small, TEXT, other=tiny)
    assert [len(heads) for heads in shown.maps] == [0, 3, 4]
    assert shown.maps[0].shape == (0, len(shown.tokens), len(shown.tokens))
    with pytest.raises(UserError, match=r"layer 1 of .* has no head 1; none is left there"):
        shown.map(1, 1)
    with pytest.raises(UserError, match="layer 2 has 3 heads in one checkpoint and 4 in the other"):
        shown.difference(2, 1)
    assert len(shown.to_frame(1)) == 4 * len(shown.tokens) ** 2  # the other one's
    with pytest.raises(UserError, match="has no heads left"):
        bertscope.attention(tiny.cut(["heads:1", "heads:2", "heads:3"]), TEXT)


def test_norm_weighted_maps_are_those_of_the_questions(tiny):
    class Keep:
        needs = frozenset()
        layers: list = []  # noqa: RUF012

        def read(self, layer, view, maps):
            self.layers += [one.maps[0].cpu().numpy() for one in maps[0].each]

    read_maps([tiny], Examples(("1",), (TEXT,)), [keep := Keep()], weighted=True)
    shown = bertscope.attention(tiny, TEXT, weighted=True)
    assert shown.weighted and "norm-weighted" in repr(shown)
    for ours, theirs in zip(shown.maps, keep.layers, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        np.testing.assert_allclose(ours.sum(-1), 1, atol=1e-5)
    assert not np.allclose(shown.maps[0], bertscope.attention(tiny, TEXT).maps[0], atol=1e-3)


def test_what_is_too_long_is_cut_and_said(tiny):
    shown = bertscope.attention(tiny, "good " * 100)
    assert len(shown.tokens) == 64 and shown.tokens[-1] == "[SEP]"
    assert shown.notes == ["the text is longer than the 64 tokens that are read, and was cut"]
    assert not bertscope.attention(tiny, "good").notes


def test_pieces_that_the_model_does_not_know_are_told(pocket):
    assert bertscope.attention(pocket, "東京 is good").notes == [
        "2 of 4 tokens are pieces that pocket doesn't know, read as [UNK]"
    ]
    assert bertscope.attention(pocket, "東 is good", "so it is").notes == [
        "1 of 6 tokens is a piece that pocket doesn't know, read as [UNK]"
    ]


@pytest.mark.parametrize(
    ("text", "pair", "said"),
    [
        ("", None, "the text is empty; give one with words"),
        (" \n", None, "the text is empty; give one with words"),
        ("a", "", "the second text is empty; give one with words"),
        ("\x00", None, "reads no token of this text; give one with words"),
        (["a", "b"], None, "attention takes one text, not list; for a corpus ask patterns or change"),
        (None, None, "attention takes one text, not NoneType"),
    ],
)
def test_what_is_no_text(tiny, text, pair, said):
    with pytest.raises(UserError, match=said):
        bertscope.attention(tiny, text, pair)


def test_other_tokenizers_are_refused(tiny):
    other = load(tiny_model("roberta", vocab_size=600, pad_token_id=1).to(DEVICE), tokenizer=roberta())
    with pytest.raises(UserError, match="have different tokenizers: their tokens can't be compared"):
        bertscope.attention(tiny, TEXT, other=other)


def test_tokens_made_of_bytes_are_readable():
    other = load(tiny_model("roberta", vocab_size=600, pad_token_id=1).to(DEVICE), tokenizer=roberta())
    shown = bertscope.attention(other, "I know naïve")
    assert "".join(shown.tokens).replace("Ġ", " ") == "<s>I know naïve</s>"


def test_the_table_has_every_cell(tiny):
    shown = bertscope.attention(tiny, "a dog", other=tiny)
    frame = shown.to_frame()
    assert len(frame) == 2 * 3 * 4 * 16 and list(frame["checkpoint"].unique()) == list(shown.models)
    one = frame[(frame["checkpoint"] == next(iter(shown.models))) & (frame["layer"] == 2) & (frame["head"] == 4)]
    cell = one[(one["query"] == 2) & (one["key"] == 4)].iloc[0]
    assert (cell["query_token"], cell["key_token"]) == ("a", "[SEP]")
    assert cell["attention"] == shown.map(2, 4)[1, 3]
    assert set(shown.to_frame(2)["layer"]) == {2} and len(shown.to_frame(2, 4)) == 2 * 16
    for layer, head, said in ((4, None, "has no layer 4; it has 1 to 3"), (1, 5, "has no head 5; it has 1 to 4")):
        with pytest.raises(UserError, match=said):
            shown.to_frame(layer, head)
    with pytest.raises(UserError, match="give attention"):
        bertscope.attention(tiny, "a dog").map(1, 1, other=True)


def test_saved_and_loaded_it_is_the_same(tiny, tmp_path):
    shown = bertscope.attention(tiny.cut(UNEVEN), TEXT, PAIR, tiny, weighted=True)
    folder = shown.save(tmp_path / "maps")
    assert sorted(file.name for file in folder.iterdir()) == ["attention.json", "maps.safetensors", "seal.json"]
    again = bertscope.AttentionMaps.load(folder)
    assert again.equals(shown) and shown.equals(again) and again.names == shown.names
    assert not again.equals(bertscope.attention(tiny.cut(UNEVEN), TEXT, PAIR, tiny))
    shown.save(folder)  # its own is replaced
    arrays = folder / "maps.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\x01")
    with pytest.raises(UserError, match=r"maps\.safetensors"):
        bertscope.AttentionMaps.load(folder)
    with pytest.raises(UserError, match="holds no attention maps"):
        bertscope.AttentionMaps.load(tmp_path)


def test_a_head_and_a_layer_as_figures(tiny):
    alt = pytest.importorskip("altair")
    shown = bertscope.attention(tiny, TEXT, other=tiny)
    one, layer = shown.plot(2, 3), shown.plot(2)
    assert isinstance(one, alt.FacetChart) and one.to_dict()["title"] == "Layer 2, head 3"
    pictures = [row for row in layer.to_dict()["data"]["values"] if "body" in row]
    assert len(pictures) == 2 * 4
    assert isinstance(bertscope.attention(tiny, TEXT).plot(1, 1), alt.LayerChart)


@pytest.mark.parametrize("words", [(), ("--weighted",)])
def test_the_command(command, model, tmp_path, words):
    pytest.importorskip("altair")
    code, out, err = command("attention", model, "--text", TEXT, "--text-pair", PAIR, "--maps", "kept", *words)
    assert code == 0 and not err
    assert "12 heads in 3 layers, 18 tokens" in out and "page written to attention.html" in out
    kept = bertscope.AttentionMaps.load(tmp_path / "kept")
    assert kept.equals(bertscope.attention(model, TEXT, PAIR, weighted=bool(words)))
    assert (tmp_path / "attention.html").read_text() == kept.page(tmp_path / "again.html").read_text()
    (tmp_path / "mine.html").write_text("no page of ours")
    code, out, err = command("attention", model, model, "--text", TEXT, "--out", "mine.html")
    assert code == 2 and "that file is not a page of bertscope" in err
    code, out, err = command("attention", model, "--text", " ")
    assert code == 2 and err == "bertscope: the text is empty; give one with words\n"
