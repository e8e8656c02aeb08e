"""`patterns`: planted heads are named for what they do; nothing moves with batches, order or padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bertscope.analyses.attention.maps import read_maps
from bertscope.analyses.attention.view import View
from bertscope.analyses.patterns.measure import PatternsReader
from bertscope.analyses.patterns.question import PatternsConfig, patterns
from bertscope.analyses.patterns.result import patterns_result
from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.features import NAMES, features
from bertscope.analyses.shapes.labelled import as_layer
from bertscope.analyses.shapes.net import shipped
from bertscope.analyses.shapes.representative import RepresentativeMaps, _Kept
from bertscope.analyses.shapes.synthetic import make
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from planted_features import pairs, planted

PLANTED = {"previous": "diagonal", "sep": "vertical", "segment": "block", "uniform": "block"}


@pytest.fixture(scope="module")
def found(_pocket) -> Result:
    return patterns(planted(_pocket.tokenizer, tuple(PLANTED)), pairs(), PatternsConfig(repeats=200))


def test_planted_heads_are_named_for_what_they_do(found):
    by_head = found.tables["heads"].set_index("head")
    for number, wanted in enumerate(PLANTED.values(), start=1):
        assert by_head.loc[number, "class"] == wanted and by_head.loc[number, "consistency"] > 0.9
    to_sep = by_head.loc[list(PLANTED).index("sep") + 1]
    assert to_sep["to_special"] > 0.99 and to_sep["entropy"] == pytest.approx(1, abs=0.05)  # two [SEP]s: one bit
    # A query scores 8 for the previous token and 0 for every other; the first has no previous one: all are alike.
    n = np.array([len(f"{one} {other}".split()) + 3 for one, other in zip(pairs().text, pairs().pair, strict=True)])
    on_it, elsewhere = np.exp(8) / (np.exp(8) + n - 1), 1 / (np.exp(8) + n - 1)
    bits = -on_it * np.log2(on_it) - (n - 1) * elsewhere * np.log2(elsewhere)
    assert by_head.loc[1, "entropy"] == pytest.approx(np.mean(((n - 1) * bits + np.log2(n)) / n), abs=1e-3)
    assert by_head.loc[1, "distance"] == pytest.approx(np.mean(1.5 * (n - 1) / n), abs=0.05)
    assert found["mostly_on_special"].value == 0.25


def test_shares_add_up_and_agree_with_each_other(found):
    shares = found.tables["shares"]
    np.testing.assert_allclose(shares.groupby(["layer", "head"])["share"].sum(), 1)
    models = found.tables["models"].set_index("class")["share"]
    np.testing.assert_allclose(models[list(CLASSES)], shares.groupby("class")["share"].mean()[list(CLASSES)])
    assert (shares["low"] <= shares["share"] + 1e-12).all() and (shares["share"] <= shares["high"] + 1e-12).all()
    assert found["block"].value == pytest.approx(models["block"])


def test_typical_maps_are_real_maps_of_their_class(found):
    typical = found.tables["typical"]
    assert set(typical["class"]) >= {"vertical", "diagonal", "block"}
    for _, one in typical.groupby("map"):
        n = one["query"].max()
        assert len(one) == n * n and one["token"].iloc[0] == "[CLS]"
        np.testing.assert_allclose(one.groupby("query")["attention"].sum(), 1, atol=1e-2)


def tables(pocket, examples, **how):
    reader = PatternsReader({"pocket": pocket}, examples, PatternsConfig(repeats=100))
    passed = read_maps([pocket], examples, [reader], **how)
    return patterns_result(reader, passed).tables


def test_nothing_moves_with_batches_order_or_padding(pocket, texts):
    one = tables(pocket, texts)
    order = [3, 0, 5, 1, 4, 2]
    for other in (tables(pocket, texts, tokens=32), tables(pocket, texts.take(order), window=2)):
        for name in ("heads", "shares", "layers", "models"):
            for column in one[name].select_dtypes("number"):
                np.testing.assert_allclose(one[name][column], other[name][column], atol=1e-5)


def test_several_checkpoints_stand_side_by_side(tiny, texts):
    result = patterns([tiny, tiny], texts, PatternsConfig(repeats=100))
    one, other = (table for _, table in result.tables["shares"].groupby("checkpoint"))
    assert one["checkpoint"].iloc[0] != other["checkpoint"].iloc[0]
    np.testing.assert_array_equal(one["share"], other["share"])


def test_cut_models_have_fewer_rows(tiny, texts):
    smaller = tiny.cut(["head:1.1", "head:1.2", "head:2.1"])
    heads = patterns(smaller, texts, PatternsConfig(repeats=100)).tables["heads"]
    assert heads.groupby("layer")["head"].max().tolist() == [2, 3, 4]


@pytest.mark.parametrize("name", CLASSES)
def test_made_maps_are_recognised_at_every_length(name):
    """Single and pair: nine in ten, and at least three in four of each length."""
    net = shipped()["both"]
    random = np.random.default_rng(11)
    hits = []
    for n in (8, 11, 16, 23, 32, 45, 64, 90, 128):
        layouts = [(n, n if place % 2 else n // 2) for place in range(20)]
        maps = [make(name, layout, random) for layout in layouts]
        special = [(0, n - 1) if second == n else (0, second - 1, n - 1) for _, second in layouts]
        with torch.inference_mode():
            predicted = net(features(as_layer(maps, special)))[:, 0].argmax(-1).numpy()
        hits.append(np.mean(predicted == CLASSES.index(name)))
    assert np.mean(hits) >= 0.9 and min(hits) >= 0.75, hits


def test_mistakes_are_refused():
    with pytest.raises(UserError, match="at least 100"):
        PatternsConfig(repeats=3)


def test_special_tokens_typed_in_a_text_are_neither_separators_nor_sides(tiny):
    class Sides:
        needs = frozenset()

        def read(self, layer, view, maps):
            self.cls, self.sep = view.cls[0].tolist(), view.sep[0].tolist()
            self.pair = features(maps[0])[0, 0, NAMES.index("pair")].item()

    seen = Sides()
    read_maps([tiny], Examples(("a",), ("the [MASK] dog barks [SEP] at the cat",)), [seen])
    assert seen.sep == [False] * (len(seen.sep) - 1) + [True] and seen.cls == [True] + [False] * (len(seen.cls) - 1)
    assert seen.pair == 0
    read_maps([tiny], Examples(("a",), ("the dog barks",), ("at the cat",)), [seen])
    assert sum(seen.sep) == 2 and seen.pair == 1


def test_layers_without_heads_have_no_rows(tiny, texts):
    smaller = tiny.cut(["heads:2"])
    result = patterns([tiny, smaller], texts, PatternsConfig(repeats=100))
    heads = result.tables["heads"]
    layers = [sorted(set(table["layer"])) for _, table in heads.groupby("checkpoint", sort=False)]
    assert layers == [[1, 2, 3], [1, 3]]
    assert not result.tables["layers"]["share"].isna().any()
    with pytest.raises(UserError, match="no heads left"):
        patterns(tiny.cut(["heads:1", "heads:2", "heads:3"]), texts)


def test_an_empty_resample_says_nothing(tiny):
    """One text: a third of the resamples hold none of it, and must not count as heads that look elsewhere."""
    one = Examples(("a",), ("it rained",))
    number = patterns(tiny, one, PatternsConfig(repeats=200))["mostly_on_special"]
    assert number.low == number.value == number.high


def test_every_head_has_a_small_map_of_an_example_it_treats_as_usual(found):
    """The planted heads' maps are known: what they look at is 255, the rest nearly 0."""
    where, maps = found.tables["head_maps"], found.arrays["maps"]
    assert maps.dtype == np.uint8 and len(maps) == len(where) == len(PLANTED)
    tokens = found.tables["map_tokens"].groupby("example")["token"].agg(list)
    for (_, row), picture in zip(where.iterrows(), maps, strict=True):
        n = len(tokens[row["example"]])
        shown = (picture[:n, :n] / 255) ** 2
        np.testing.assert_allclose(shown.sum(1), 1, atol=0.1)
        assert not picture[n:].any() and not picture[:, n:].any()
        planted_as = list(PLANTED)[row["head"] - 1]
        if planted_as == "previous":
            assert (shown.argmax(1)[1:] == np.arange(n - 1)).all()
        elif planted_as == "sep":
            at = [place for place, token in enumerate(tokens[row["example"]]) if token == "[SEP]"]
            np.testing.assert_allclose(shown[:, at].sum(1), 1, atol=0.05)


def test_the_small_maps_are_of_the_same_example_for_all_checkpoints_and_batches(tiny, pocket, texts):
    both = patterns([tiny, tiny], texts, PatternsConfig(repeats=100))
    one, other = (rows["example"].tolist() for _, rows in both.tables["head_maps"].groupby("checkpoint"))
    assert one == other
    half = len(both.arrays["maps"]) // 2
    np.testing.assert_array_equal(both.arrays["maps"][:half], both.arrays["maps"][half:])
    whole, split = tables(pocket, texts), tables(pocket, texts, tokens=32, window=2)
    assert whole["head_maps"]["example"].tolist() == split["head_maps"]["example"].tolist()


def test_the_usual_example_is_the_one_nearest_to_the_median():
    """Five examples of one head with the numbers 0, 1, 2, 10, 11: the median is 2."""
    kept = RepresentativeMaps()
    kept._kept = {(0.0, row): _Kept({}, {(0, 0): np.array([[value]])}) for row, value in enumerate([0, 1, 2, 10, 11])}
    assert kept._nearest_to_median([(0, 0)]) == [2]


def test_the_examples_nearest_to_twelve_tokens_are_kept_whatever_comes_first():
    kept = RepresentativeMaps()
    for rows, lengths in (([5, 6], [40, 12]), (list(range(10, 30)), [13] * 20), ([2], [11])):
        real = torch.arange(50) < torch.tensor(lengths)[:, None]
        nothing = torch.zeros_like(real)
        kept.choose(View(np.array(rows), real, nothing, nothing.long(), nothing.long()))
    assert list(kept._kept) == [(0, 6), (1, 2), *((1, row) for row in range(10, 23))]
