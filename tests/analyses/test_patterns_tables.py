"""The tables of `patterns`, counted by hand from planted classes; which maps are shown; the classifiers' range."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from bertscope.analyses.attention.maps import LayerMaps, read_maps
from bertscope.analyses.attention.view import View
from bertscope.analyses.patterns.measure import PatternsReader
from bertscope.analyses.patterns.question import PatternsConfig, patterns
from bertscope.analyses.patterns.result import patterns_result
from bertscope.analyses.shapes import CLASSES, LABELS
from bertscope.analyses.shapes.confusion import called_for_class, shares_behind
from bertscope.analyses.shapes.exemplars import Exemplars
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.analyses.shapes.net import facts, shipped
from plain_attention import plain_maps
from planted_features import pairs, planted

FEW = PatternsConfig(repeats=100)
LAYERS = (2, 3, 4)  # heads


def planned(row: int, layer: int, head: int) -> int:
    """Four of seven texts in turn have the class that belongs to the head, the others one each."""
    turn = row % 7
    return (layer + head + max(0, turn - 3)) % len(CLASSES)


@pytest.fixture(scope="module")
def counted(_tiny):
    """The answer where a map's class is as planned, and the shares [layer][head, class] that makes."""
    texts = pairs(21)
    smaller = _tiny.cut(["head:1.1", "head:1.2", "head:2.1"])
    layer = iter(())

    def classify(maps: LayerMaps, parts: object) -> dict[str, torch.Tensor]:
        nonlocal layer
        found = []
        for heads in maps.head_counts:  # of one layer, or of several that are shown together
            at = next(layer, None)
            if at is None:  # a new batch begins
                layer = iter(range(1, 3))
                at = 0
            found.append([[planned(int(row), at, head) for head in range(heads)] for row in maps.view.rows])
        classes = torch.from_numpy(np.concatenate(found, 1).astype(np.int64))
        chances = torch.nn.functional.one_hot(classes, len(CLASSES)).to(maps.maps) * 0.8
        return dict.fromkeys(LABELS, chances)

    reader = PatternsReader({"tiny": smaller}, texts, FEW, classify=classify)
    result = patterns_result(reader, read_maps([smaller], texts, [reader], tokens=200))
    shares = [np.zeros((heads, len(CLASSES))) for heads in LAYERS]
    for row in range(21):
        for at, heads in enumerate(LAYERS):
            for head in range(heads):
                shares[at][head, planned(row, at, head)] += 1 / 21
    return result, shares


def test_shares_are_over_texts_then_heads(counted):
    result, shares = counted
    np.testing.assert_allclose(result.tables["shares"]["share"], np.concatenate(shares).ravel(), atol=1e-6)
    np.testing.assert_allclose(
        result.tables["layers"]["share"], np.concatenate([one.mean(0) for one in shares]), atol=1e-6
    )
    whole = np.concatenate(shares).mean(0)  # every head counts alike, also in a layer of few
    np.testing.assert_allclose(result.tables["models"]["share"], whole, atol=1e-6)
    assert not np.allclose(whole, np.mean([one.mean(0) for one in shares], 0), atol=1e-3)
    assert [number.value for number in result.headline[4:9]] == pytest.approx(whole.tolist())
    assert result["block"].n == 21


def test_a_heads_class_is_its_commonest_and_its_consistency_the_share_of_that(counted):
    result, _ = counted
    heads = result.tables["heads"]
    wanted = [CLASSES[planned(0, at, head)] for at, n in enumerate(LAYERS) for head in range(n)]
    assert heads["class"].tolist() == wanted
    np.testing.assert_allclose(heads["consistency"], 4 / 7, atol=1e-6)


def test_of_several_checkpoints_the_headline_begins_with_the_last_ones(pocket):
    """Before, the head looks one back; after, at [SEP]."""
    models = [planted(pocket.tokenizer, (kind, "uniform")) for kind in ("previous", "sep")]
    result = patterns(models, pairs(20), FEW)
    first, last = result.models
    assert last == result.tables["heads"]["checkpoint"].iloc[-1]
    vertical, diagonal, special = (result.numbers(key=key) for key in ("vertical", "diagonal", "mostly_on_special"))
    assert [number.of["model"] for number in vertical] == [last, first]
    assert vertical[0].value == pytest.approx(0.5, abs=0.05) and vertical[1].value < 0.05
    assert diagonal[0].value < 0.05 and diagonal[1].value == pytest.approx(0.5, abs=0.05)
    assert [number.value for number in special] == [0.5, 0.0]
    where, maps = result.tables["head_maps"], result.arrays["maps"]
    tokens = result.tables["map_tokens"].groupby("example")["token"].agg(list)
    for place, row in where.iterrows():  # each checkpoint's own map is shown
        words = tokens[row["example"]]
        shown = (maps[place][: len(words), : len(words)] / 255.0) ** 2
        if row["head"] == 1 and row["checkpoint"] == where["checkpoint"].iloc[0]:
            assert (shown.argmax(1)[1:] == np.arange(len(words) - 1)).all()
        elif row["head"] == 1:
            assert {words[at] for at in shown.argmax(1)} == {"[SEP]"}


def test_numbers_and_figures_have_keys_and_words(counted):
    result, shares = counted
    assert [number.key for number in result.headline] == list(patterns.numbers)
    assert result["vertical_diagonal"].label == "vertical + diagonal"
    assert result[patterns.main].value == pytest.approx(
        np.concatenate(shares).mean(0)[CLASSES.index("heterogeneous")]
    )
    keys = [figure.key for figure in result.figures]
    parts = ["layer_parts", "columns", "band", "block", "rest"]
    assert keys == [*parts, "layers", "shares", "to_special", "entropy", "distance", "typical"]


def test_the_sentence_tells_the_commonest_shape_of_the_last_model(pocket):
    models = [planted(pocket.tokenizer, (kind, "uniform")) for kind in ("previous", "sep")]
    result = patterns(models, pairs(20), FEW)
    told = patterns.sentence(result)
    # The range: of an unseen model few maps were labelled block, and of these some were called heterogeneous.
    assert re.fullmatch(
        rf"Of the maps of {re.escape(models[1].name)}'s 2 heads, 50% \(\d+% to \d+%\) are vertical and 0% "
        r"\(0% to \d+%\) heterogeneous\.",
        told.sentence,
    )
    assert (
        told.main == result.numbers(key="heterogeneous", model=models[1])[0].value
        and told.written(told.main) == "0%"
        and patterns.compared
    )
    result.subject["attention"] = "norm-weighted"
    assert patterns.sentence(result) is None


def test_special_tokens_are_cls_and_both_separators(pocket):
    texts = pairs(20)
    lengths = [len(f"{one} {other}".split()) + 3 for one, other in zip(texts.text, texts.pair, strict=True)]
    heads = patterns(planted(pocket.tokenizer, ("uniform", "sep")), texts, FEW).tables["heads"]
    assert heads["to_special"][0] == pytest.approx(np.mean([3 / n for n in lengths]), abs=1e-5)


def test_each_classifier_is_asked(tiny, texts):
    """The share is by the one for both labellers; the range holds what each says, also as often wrong as it is."""
    result = patterns(tiny, texts, FEW)
    nets, counts = shipped(), np.zeros((len(LABELS), len(CLASSES)))
    for text in texts.text:
        maps = plain_maps(tiny, text).reshape(12, *[len(tiny.tokenizer(text)["input_ids"])] * 2)
        layer = as_layer(list(maps.astype(np.float32)), [(0, maps.shape[-1] - 1)] * 12)
        with torch.inference_mode():
            for place, labels in enumerate(LABELS):
                called = nets[labels](features(layer))[:, 0].argmax(-1)
                counts[place] += np.bincount(called, minlength=len(CLASSES))
    shares = counts / counts.sum(1, keepdims=True)
    models = result.tables["models"]
    np.testing.assert_allclose(models["share"], shares[0], atol=1e-6)
    told = np.concatenate([shares, shares_behind(shares[:, None], called_for_class(facts(), 0)[0])[:, 0]])
    assert (models["low"] <= told.min(0) + 1e-6).all() and (models["high"] >= told.max(0) - 1e-6).all()
    assert "macro F1" in result.notes[-1] and "never saw" in result.notes[-1]


def test_planted_heads_have_their_mass_where_it_was_planted(pocket):
    result = patterns(planted(pocket.tokenizer, ("sep", "segment")), pairs(20), FEW)
    first = result.tables["heads"]
    assert first["columns"].iloc[0] > 0.95 and first["block"].iloc[1] > 0.9
    np.testing.assert_allclose(first[["columns", "band", "block", "rest"]].sum(axis=1), 1, atol=1e-5)
    parts = result.tables["model_parts"]
    assert result["columns_mass"].value == pytest.approx(first["columns"].mean()) == parts["mass"].iloc[0]
    assert (parts["low"] <= parts["mass"]).all() and (parts["mass"] <= parts["high"]).all()


def test_a_change_is_by_one_classifier_on_the_same_texts(pocket):
    """Of one model twice nothing changed, however wide the range of its shares is."""
    same = patterns([planted(pocket.tokenizer, ("previous", "uniform"))] * 2, pairs(20), FEW).tables["changes"]
    assert (same[["change", "low", "high"]] == 0).all(axis=None) and set(same["class"]) == set(CLASSES)
    models = [planted(pocket.tokenizer, (kind, "uniform")) for kind in ("previous", "sep")]
    grown = patterns(models, pairs(20), FEW).tables["changes"].set_index("class").loc["vertical"]
    assert grown["change"] == pytest.approx(0.5, abs=0.05) and 0 < grown["low"] <= grown["change"] <= grown["high"]


def test_weighted_attention_is_what_is_classified(tiny, texts):
    plain, weighted = (patterns(tiny, texts, PatternsConfig(repeats=100, weighted=on)) for on in (False, True))
    reader = PatternsReader({tiny.name: tiny}, texts, FEW)
    wanted = patterns_result(reader, read_maps([tiny], texts, [reader], weighted=True)).tables["heads"]
    np.testing.assert_allclose(weighted.tables["heads"]["entropy"], wanted["entropy"], atol=1e-5)
    assert np.abs(plain.tables["heads"]["entropy"] - wanted["entropy"]).max() > 0.01
    assert "none of them norm-weighted" in weighted.notes[-1] and "norm" not in plain.notes[-1]


def test_rows_are_given_back_their_sum(pocket):
    """A map in half precision has rows that miss 1 by a little."""
    stored = np.full((9, 9), 0.11, dtype=np.float32)
    torch.testing.assert_close(as_layer([stored], [(0, 8)]).maps.sum(-1), torch.ones(1, 1, 9))


def test_the_typical_map_is_the_one_the_classifier_is_surest_of(pocket, texts):
    """Two batches of three rows and two heads; a map's cells say whose it is."""
    typical = Exemplars()
    for batch, surest in enumerate((0.7, 0.9)):
        real = torch.ones(3, 8, dtype=torch.bool)
        nothing = torch.zeros_like(real)
        view = View(np.arange(3) + 3 * batch, real, nothing, nothing.long(), nothing.long(), n_layers=2)
        named = torch.arange(6).view(3, 2) + 6 * batch  # of each row and head
        maps = (named[..., None, None] + torch.zeros(8, 8)) / 100
        chances = torch.full((3, 2, len(CLASSES)), 0.1)
        chances[2, 0, 1] = surest  # row 2, head 1 is diagonal
        chances[0, 1, 1] = 0.6
        typical.look(1, LayerMaps(maps, view), chances)
    (found,) = typical._best.values()
    assert (found.layer, found.head, found.row, found.chance) == (1, 0, 5, pytest.approx(0.9))
    assert found.map.ravel().tolist() == pytest.approx([0.1] * 64), "the map of row 2, head 1 of the second batch"
