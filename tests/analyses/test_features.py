"""Attention to features against loops over single maps, the null against enumeration, and a planted truth."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import torch

from bertscope.analyses.features.measure import expected_maximum_weights
from bertscope.analyses.features.question import FeaturesConfig, features
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.result import Result
from bertscope.models.load import load
from device import DEVICE
from families import tiny_model
from marked_words import MARKED, features_of
from plain_attention import plain_maps_of_words
from planted_features import HEADS, VERBS, planted, sentences
from three_sentences import EXAMPLES, WORDS


@pytest.mark.parametrize("total", [1, 2, 5, 9])
def test_the_expected_maximum_is_that_of_all_draws(total):
    values = np.random.default_rng(total).random(total)
    drawn = torch.arange(total + 1)[None]
    weights = expected_maximum_weights(drawn, torch.tensor([total]), total + 3)[0].numpy()  # three places of padding
    assert (weights[0] == 0).all() and (weights[:, total:] == 0).all()
    for k in range(1, total + 1):
        by_hand = np.mean([max(draw) for draw in combinations(values, k)])
        assert weights[k, :total] @ np.sort(values)[::-1] == pytest.approx(by_hand, rel=1e-6)


def test_the_expected_maximum_of_long_texts():
    weights = expected_maximum_weights(torch.tensor([[200]]), torch.tensor([400]), 400)[0, 0]
    assert float(weights.double().sum()) == pytest.approx(1, abs=1e-6)
    assert float(weights[0]) == pytest.approx(0.5)  # the largest is in half of the draws


@pytest.mark.parametrize("tokens", [64, 4096])
def test_means_are_those_of_loops_over_plain_maps(pocket, tokens):
    tables = features_of([pocket], EXAMPLES, MARKED, tokens=tokens).tables
    found = tables["heads"].set_index(["by", "feature", "layer", "head"])
    pairs = tables["pairs_of_heads"].set_index(["from", "to", "layer", "head"]).sort_index()
    special = tables["special"].set_index(["token", "layer", "head"])
    plain = [plain_maps_of_words(pocket, row) for row in range(3)]
    for layer, head in ((1, 3), (6, 12), (12, 1)):
        values, nulls, beyond, between, all_pairs, sums = {}, {}, {}, {}, {}, []
        for row, (maps, word_ids) in enumerate(plain):
            one = maps[layer - 1, head - 1]
            pieces = [[i for i, at in enumerate(word_ids) if at == word] for word in range(len(WORDS[row]))]
            sums.append((one.mean(0)[0], one.mean(0)[-1]))
            for by, received in (("all_tokens", one.mean(0)), ("cls", one[0])):
                on_words = np.array([received[at].sum() for at in pieces])
                over = on_words - np.array([len(at) for at in pieces]) / len(one)  # beyond uniform
                for name, marks in MARKED.items():
                    if k := marks[row].sum():
                        values.setdefault((by, name), []).append(on_words[marks[row]].max())
                        beyond.setdefault((by, name), []).append(over[marks[row]].max())
                        drawn = [max(draw) for draw in combinations(over, k)]
                        nulls.setdefault((by, name), []).append(np.mean(drawn))
                for name, at in (("cls", 0), ("sep", -1)):
                    values.setdefault((by, name), []).append(received[at])
                    beyond.setdefault((by, name), []).append(received[at] - 1 / len(one))
                    nulls.setdefault((by, name), []).append(over.mean())
            everyone = dict(MARKED, **{"any_word": [np.ones(len(words), bool) for words in WORDS]})
            attention = np.array([[one[np.ix_(a, b)].sum(1).mean() for b in pieces] for a in pieces])
            alike = np.array([len(at) for at in pieces]) / len(one)
            overall = (attention - alike)[~np.eye(len(pieces), dtype=bool)].mean()
            for f, sources in everyone.items():
                for g, targets in everyone.items():
                    chosen = [
                        attention[a, b]
                        for a in np.flatnonzero(sources[row])
                        for b in np.flatnonzero(targets[row])
                        if a != b
                    ]
                    if chosen:
                        between.setdefault((f, g), []).append(np.mean(chosen))
                        all_pairs.setdefault((f, g), []).append(overall)
        for (by, name), by_hand in values.items():
            row = found.loc[by, name, layer, head]
            assert row["n"] == len(by_hand)
            assert row["attention"] == pytest.approx(np.mean(by_hand), abs=1e-5)
            assert row["null"] == pytest.approx(np.mean(nulls[by, name]), abs=1e-5)
            assert row["over_uniform"] == pytest.approx(np.mean(beyond[by, name]), abs=1e-5)
            assert row["excess"] == pytest.approx(row["over_uniform"] - row["null"])
        for (f, g), by_hand in between.items():
            row = pairs.loc[f, g, layer, head]
            assert row["n"] == len(by_hand)
            assert row["attention"] == pytest.approx(np.mean(by_hand), abs=1e-5)
            assert row["null"] == pytest.approx(np.mean(all_pairs[f, g]), abs=1e-5)
        cls, sep = np.mean(sums, axis=0)
        assert special.loc["both", layer, head]["attention"] == pytest.approx(cls + sep, abs=1e-5)
        lengths = [len(word_ids) for _, word_ids in plain]
        assert special.loc["sep", layer, head]["uniform"] == pytest.approx(np.mean([1 / n for n in lengths]))
    assert pairs.xs(("she", "she"))["attention"].isna().all()  # one such word makes no pair


def test_layers_are_means_over_heads_with_intervals(pocket):
    tables = features_of([pocket], EXAMPLES, MARKED).tables
    keys = ["by", "feature", "layer"]
    means = tables["heads"].groupby(keys)[["attention", "null", "excess"]].mean()
    layers = tables["layers"].set_index(keys)
    pd.testing.assert_frame_equal(layers[means.columns].sort_index(), means, check_exact=False, atol=1e-12)
    assert ((layers["low"] <= layers["attention"]) & (layers["attention"] <= layers["high"])).all()


def test_separators_of_pairs_count_each_and_together(tiny):
    pairs = Examples(ids=("0", "1"), text=("the old dog .", "no ."), pair=("a man saw it .", "it rained here ."))
    special = features_of([tiny], pairs, {}).tables["special"].set_index("token")
    assert special.loc["sep", "each"].to_numpy() == pytest.approx(special.loc["sep", "attention"].to_numpy() / 2)


def test_nothing_moves_with_batches_order_or_padding(pocket):
    forward = features_of([pocket], EXAMPLES, MARKED, tokens=4096)
    order = [2, 0, 1]
    turned = {name: tuple(rows[row] for row in order) for name, rows in MARKED.items()}
    backward = features_of([pocket], EXAMPLES.take(order), turned, tokens=16)
    for name, table in forward.tables.items():
        pd.testing.assert_frame_equal(table, backward.tables[name], check_exact=False, atol=1e-5, rtol=0)
    assert forward.headline == backward.headline


@pytest.mark.parametrize("family", ["roberta", "distilbert", "modernbert", "deberta-v2"])
def test_padding_does_not_matter_in_other_families(pocket, family):
    encoder = load(tiny_model(family).to(DEVICE), tokenizer=pocket.tokenizer)
    alone, padded = (features_of([encoder], EXAMPLES, MARKED, tokens=tokens) for tokens in (1, 4096))
    for name, table in alone.tables.items():
        pd.testing.assert_frame_equal(table, padded.tables[name], check_exact=False, atol=1e-5, rtol=0)


def test_a_head_planted_on_the_separator_is_the_one_that_is_found(pocket):
    model = planted(pocket.tokenizer)
    result = features_of([model], sentences(20), {})
    special = result.tables["special"].set_index(["token", "head"])["attention"]
    by_head = dict(zip(HEADS, special["sep"], strict=True))
    assert by_head.pop("sep") > 0.98 and max(by_head.values()) < 0.2
    assert result["mostly_on_special"].value == pytest.approx(1 / len(HEADS))


def test_a_head_planted_on_objects_attends_to_nouns(pocket):
    """From verbs to nouns all of it, back none that isn't by chance, and more than as many random words receive."""
    examples = sentences(20)
    nouns = tuple(np.array([mark == "obj" for mark in row]) for row in examples.marks["relation"])
    verbs = tuple(np.isin(row, VERBS) for row in examples.words)
    tables = features_of([planted(pocket.tokenizer)], examples, {"verb": verbs, "object": nouns}).tables
    pairs = tables["pairs_of_heads"].set_index(["from", "to", "head"])["attention"]
    match = HEADS.index("match") + 1
    assert pairs["verb", "object", match] > 0.98 and pairs["object", "verb", match] < 0.1
    heads = tables["heads"].set_index(["by", "feature", "head"])
    assert heads.loc[("all_tokens", "object", match), "excess_low"] > 0
    assert heads.loc[("all_tokens", "object", HEADS.index("uniform") + 1), "excess"] == pytest.approx(0, abs=1e-6)


def test_a_model_beside_itself_has_not_changed(tiny, tmp_path):
    result = features_of([tiny, tiny], EXAMPLES, MARKED, names=("a", "b"))
    for name in ("change", "change_of_layers", "change_of_pairs"):
        assert set(result.tables[name]["checkpoint"]) == {"b"}
        assert (result.tables[name][["change", "low", "high"]].fillna(0) == 0).all(axis=None)
    change = result["mostly_on_special_change"]
    assert change.value == 0 and change.of == {"model": "b", "against": "a"}
    assert change.label == "change from model a to model b"
    assert {number.key for number in result.headline} == set(features.numbers)
    assert Result.load(result.save(tmp_path / "result")).equals(result)


def test_changes_are_differences_on_the_same_texts(pocket):
    models = [planted(pocket.tokenizer, heads) for heads in (HEADS[1:], HEADS[:4])]
    alone = [features_of([one], EXAMPLES, MARKED).tables["heads"] for one in models]
    both = features_of(models, EXAMPLES, MARKED, names=("a", "b"))
    want = alone[1]["attention"] - alone[0]["attention"]
    np.testing.assert_allclose(both.tables["change"]["change"], want, atol=1e-6)
    changes = both.tables["change"]
    assert ((changes["low"] <= changes["change"]) & (changes["change"] <= changes["high"])).all()


def test_layers_that_were_cut_keep_their_own_number_of_heads(tiny):
    smaller = tiny.cut(["head:1.2", "heads:2"])
    result = features_of([tiny, smaller], EXAMPLES, MARKED, names=("whole", "cut"))
    counts = result.tables["heads"].groupby(["checkpoint", "layer"])["head"].nunique()
    assert counts["whole"].to_dict() == {1: 4, 2: 4, 3: 4}
    assert counts["cut"].to_dict() == {1: 3, 3: 4}
    assert set(result.tables["change"]["layer"]) == {3}


@pytest.mark.parametrize("settings", [{"repeats": 5}, {"seed": -1}])
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(UserError):
        FeaturesConfig(**settings)


def test_the_question_asks_the_corpus_for_its_features(tiny):
    pytest.importorskip("bertscope.data.features")
    marks = {"relation": tuple(tuple("nsubj" if word == "She" else "dep" for word in row) for row in WORDS)}
    examples = Examples(ids=EXAMPLES.ids, text=EXAMPLES.text, words=WORDS, marks=marks)
    result = features([tiny, tiny], examples, FeaturesConfig(repeats=100))
    assert list(result.models) == [tiny.id, f"{tiny.id}-2"]
    assert result.tables["heads"]["checkpoint"].unique().tolist() == list(result.models)
    assert set(result.in_words().tables["heads"]["checkpoint"]) == {tiny.name, f"{tiny.name} (2)"}
    assert set(result.tables["heads"]["feature"]) == {"subject", "object", "negation", "cls", "sep"}
    assert result.notes[0] == "the corpus doesn't tell which words are: noun, verb, adjective, pronoun"
    drawn = {figure.table: figure.labels for figure in result.figures}
    assert drawn["layers"]["null"] == drawn["heads"]["null"] == "as many random words"
    assert drawn["pairs"]["null"] == "between any two words"
    named = features(tiny, examples, FeaturesConfig(features=("relation:dep", "sep"), repeats=100))
    assert list(named.tables["layers"]["feature"].unique()) == ["relation:dep", "cls", "sep"]
    keys = ["layers_all_tokens", "layers_cls", "heads", "pairs"]
    assert [figure.key for figure in named.figures] == keys
    several = [figure.key for figure in result.figures]
    assert several[0] == f"layers_all_tokens_{tiny.id}" and len(set(several)) == len(several)
    with pytest.raises(UserError, match="pos"):
        features(tiny, examples, FeaturesConfig(features=("noun",)))


def test_plain_texts_still_have_special_tokens(tiny, texts):
    pytest.importorskip("bertscope.data.features")
    result = features(tiny, texts, FeaturesConfig(repeats=100))
    assert set(result.tables["heads"]["feature"]) == {"cls", "sep"}
    words = result.in_words().tables
    assert set(words["special"]["token"]) == {"[CLS]", "[SEP]", "[CLS] and [SEP]"}
    assert set(words["layers"]["by"]) == {"all tokens", "[CLS]"} and set(words["pairs"]["from"]) == {"any word"}
    assert result.tables["pairs"]["n"].max() == len(texts)


def test_the_sentence_tells_the_last_models_share(pocket):
    models = [planted(pocket.tokenizer, heads) for heads in (("sep", "match"), ("uniform", "previous"))]
    result = features_of(models, sentences(20), {}, names=("a", "b"))
    told = features.sentence(result)
    assert told.sentence == "0% of model b's heads put more than half of their attention on [CLS] and [SEP]."
    assert told.main == 0 == result.numbers("mostly_on_special", model="b")[0].value and features.compared
    assert result.numbers("mostly_on_special", model="a")[0].value == 0.5
    result.subject["attention"] = "norm-weighted"
    assert features.sentence(result) is None


def test_a_text_without_a_word_is_read(pocket):
    result = features(
        pocket, Examples(("a", "b"), ("\u200b", "the dog barks at the cat")), FeaturesConfig(repeats=100)
    )
    alone = features(pocket, Examples(("b",), ("the dog barks at the cat",)), FeaturesConfig(repeats=100))
    pairs, wanted = (one.tables["pairs"] for one in (result, alone))
    np.testing.assert_allclose(pairs["attention"], wanted["attention"], atol=1e-5)
