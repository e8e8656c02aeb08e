"""The tables of `features`: means, nulls and changes that are known by construction."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bertscope.analyses.features.means import LayerMeans
from bertscope.analyses.features.question import FeaturesConfig, features
from bertscope.analyses.features.result import mostly_special
from bertscope.core.examples import Examples
from marked_words import MARKED, features_of
from planted_features import HEADS, planted, sentences
from three_sentences import EXAMPLES

KEYS = ["from", "to", "layer"]


def test_pairs_by_layer_are_the_means_of_the_heads_on_the_texts_that_have_them(tiny):
    """Layers of 2, 3 and 4 heads; two of the three texts have a noun, one has `She`."""
    tables = features_of([tiny.cut(["head:1.1", "head:1.2", "head:2.1"])], EXAMPLES, MARKED).tables
    means = tables["pairs_of_heads"].groupby(KEYS)[["attention", "over_uniform", "null", "n"]].mean().sort_index()
    layers = tables["pairs"].set_index(KEYS).sort_index()
    np.testing.assert_allclose(layers[means.columns], means, atol=1e-7)
    np.testing.assert_allclose(layers["excess"], means["over_uniform"] - means["null"], atol=1e-7)
    known = layers.dropna()
    assert {1, 2, 3} == set(known["n"]) and (known["low"] <= known["attention"]).all()


def test_uniform_attention_prefers_no_words_however_many_pieces_they_have(pocket):
    """Version 1 found that long words draw attention."""
    tables = features_of([planted(pocket.tokenizer, ("uniform", "sep"))], EXAMPLES, MARKED).tables
    heads, pairs = (tables[name].query("head == 1").dropna() for name in ("heads", "pairs_of_heads"))
    np.testing.assert_allclose(heads[["over_uniform", "null", "excess", "excess_low", "excess_high"]], 0, atol=1e-7)
    np.testing.assert_allclose(pairs[["over_uniform", "null"]], 0, atol=1e-7)
    attention = heads.set_index(["by", "feature"])["attention"]
    assert attention["all_tokens", "long"] > 1.5 * attention["all_tokens", "cls"]


def test_random_words_are_no_punctuation(pocket):
    plain = np.concatenate([np.array(row) != "." for row in EXAMPLES.words])
    model = planted(pocket.tokenizer, ("previous", "sep"))
    some, every = (
        features_of([model], EXAMPLES, MARKED, plain=which).tables["pairs_of_heads"].query("head == 1")
        for which in (plain, None)
    )
    some, every = (table.set_index(["from", "to"])["attention"] for table in (some, every))
    assert some["noun", "noun"] == every["noun", "noun"]
    assert some["any_word", "any_word"] != pytest.approx(every["any_word", "any_word"], rel=0.01)


def test_a_uniform_head_gives_special_tokens_their_share(pocket):
    texts = ("the old dog .", "no ."), ("a man saw it .", "it rained here again .")
    examples = Examples(("0", "1"), *texts)
    lengths = np.array([len(pocket.tokenizer(*pair)["input_ids"]) for pair in zip(*texts, strict=True)])
    model = planted(pocket.tokenizer)
    table = features_of([model], examples, {}).tables["special"].set_index(["token", "head"])
    for token, count in (("cls", 1), ("sep", 2), ("both", 3)):
        row = table.loc[(token, HEADS.index("uniform") + 1)]
        assert row["uniform"] == pytest.approx(np.mean(count / lengths))
        assert row["attention"] == pytest.approx(np.mean(count / lengths), abs=1e-5)
    assert table.loc[("sep", HEADS.index("uniform") + 1), "each"] == pytest.approx(np.mean(1 / lengths), abs=1e-5)


def test_heads_mostly_on_special_tokens_are_counted_over_the_model():
    """One of four heads gives .3 to [CLS] and .3 to [SEP]; layers have one head and three."""

    def means(cls, sep, heads):
        special = np.tile(np.array([cls, sep, sep])[None, :, None], (3, 1, heads))
        nothing = np.zeros((3, 1))
        return LayerMeans(nothing, special, nothing, nothing)

    reader = SimpleNamespace(of=lambda which: {1: means(0.3, 0.3, 1), 2: means(0.2, 0.2, 3)})
    assert mostly_special(reader, 0).tolist() == [0.25] * 3


def test_what_every_word_has_receives_as_much_as_random_words_in_every_resample(tiny):
    """Of as many words as there are, the strongest is the strongest: the excess is 0, and so is its interval."""
    everything = {"any": tuple(np.ones(len(words), dtype=bool) for words in EXAMPLES.words)}
    heads = features_of([tiny], EXAMPLES, everything).tables["heads"]
    mine = heads[heads["feature"] == "any"]
    assert (mine["attention"] > 0).all() and (mine["high"] > mine["low"]).all()
    np.testing.assert_allclose(mine[["excess", "excess_low", "excess_high"]], 0, atol=1e-6)


def test_a_word_that_no_token_shows_neither_has_the_feature_nor_is_drawn(pocket):
    """BERT drops a control character. Three words remain: a uniform head gives 1 / 5 to each, one on [SEP] none."""
    model = planted(pocket.tokenizer, ("uniform", "sep"))
    words = (("the", "\u200b", "old", "house"), ("the", "old", "house"))
    examples = Examples(("a", "b"), ("a", "b"), words=words)
    marked = {"gone": (np.array([False, True, False, False]), np.zeros(3, bool)),
              "some": (np.array([True, True, False, False]), np.array([True, False, False]))}  # fmt: skip
    heads = features_of([model], examples, marked).tables["heads"].set_index(["head", "by", "feature"])
    table = heads.loc[1]
    assert table.loc[("all_tokens", "gone"), "n"] == 0 and np.isnan(table.loc[("all_tokens", "gone"), "attention"])
    some = table.loc[("all_tokens", "some")]
    assert some["n"] == 2 and some["attention"] == pytest.approx(0.2, abs=1e-5) and some["null"] == 0
    assert heads.loc[(2, "all_tokens", "some"), "null"] == pytest.approx(-0.2, abs=1e-3)
    assert some["attention"] == pytest.approx(0.2, abs=1e-5)


def test_changes_are_later_minus_first(pocket):
    """Before, one of two heads is on [SEP]; after, none is. The second head goes from the noun to the word before."""
    examples = sentences(24)
    marked = {"object": tuple(np.array([mark == "obj" for mark in row]) for row in examples.marks["relation"])}
    marked["verb"] = tuple(
        np.array([word in {head for head, mark in zip(heads, marks, strict=True) if mark == "obj"}
                  for word in range(len(heads))])
        for heads, marks in zip(examples.governors, examples.marks["relation"], strict=True)
    )  # fmt: skip
    models = [planted(pocket.tokenizer, heads) for heads in (("sep", "match"), ("uniform", "previous"))]
    both = features_of(models, examples, marked, names=("a", "b"))
    assert both["mostly_on_special_change"].value == -0.5
    alone = [features_of([model], examples, marked).tables for model in models]
    for name, table, keys in (
        ("change", "heads", ["by", "feature", "head"]),
        ("change_of_layers", "layers", ["by", "feature"]),
        ("change_of_pairs", "pairs", ["from", "to"]),
    ):
        before, after = (one[table].set_index(keys)["attention"] for one in alone)
        changed = both.tables[name].set_index(keys)["change"]
        np.testing.assert_allclose(changed, (after - before)[changed.index], atol=1e-6)
    lost = both.tables["change_of_pairs"].set_index(["from", "to"]).loc[("verb", "object")]
    assert lost["change"] < -0.4 and lost["high"] < 0


def test_weighted_attention_leaves_out_what_nothing_is_taken_from(pocket):
    """Every value is 0 but that of [SEP]: by weighted attention all heads look there."""
    model = planted(pocket.tokenizer)
    from planted_features import _SEP

    value = model.layers[0].attention.self.value
    with torch.no_grad():
        value.weight.zero_()
        value.weight[:, _SEP] = 1.0
        other = model.model.bert.embeddings.LayerNorm(torch.eye(value.in_features)[:3].sum(0).to(model.device))
        value.bias.fill_(-float(other[-1]))  # what LayerNorm makes of a zero
    examples = replace(sentences(12), governors=None)
    for weighted, wanted in ((False, 1 / len(HEADS)), (True, 1.0)):
        result = features(model, examples, FeaturesConfig(repeats=100, weighted=weighted))
        assert result["mostly_on_special"].value == pytest.approx(wanted)
