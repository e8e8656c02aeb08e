"""Similarity of representations: against matrices written out, rsatoolbox, and changes planted in one layer."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.stats import t

import bertscope
import test_models_words as tokenizers
from bertscope.analyses.similarity.measures import cka, plain_cosine, rsa
from bertscope.analyses.similarity.question import SimilarityConfig, plan, similarity
from bertscope.core.errors import UserError
from bertscope.core.jackknife import jackknife_interval
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root, read_examples
from bertscope.models.source import model_root
from made_states import made_states, sentences_of

EDGES = np.array([0, 40, 75, 130, 200])
PLAIN = "plain cosine (defeated by rotation)"


def upper_correlation(x, y):
    """RSA as it is defined: both matrices whole, in double precision."""
    x, y = (z.astype(float) / np.linalg.norm(z.astype(float), axis=1, keepdims=True) for z in (x, y))
    pairs = np.triu_indices(len(x), 1)
    return np.corrcoef((x @ x.T)[pairs], (y @ y.T)[pairs])[0, 1]


def gram_alignment(x, y):
    """CKA by n x n kernels and the centring matrix."""
    centring = np.eye(len(x)) - 1 / len(x)
    k, m = (centring @ (z.astype(float) @ z.astype(float).T) @ centring for z in (x, y))
    return (k * m).sum() / np.sqrt((k * k).sum() * (m * m).sum())


def two_spaces(mean=0.0, n=200, seed=0):
    """Related spaces of different width; with a large mean, both are narrow cones."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, 15)) + mean
    y = x @ generator.normal(size=(15, 9)) + generator.normal(size=(n, 9)) + mean
    return x.astype(np.float32), y.astype(np.float32)


def measured(measure, *spaces, edges=EDGES, pairs=((0, 1),)):
    return measure([torch.from_numpy(space) for space in spaces], list(pairs), edges)


def turned(space, seed=3):
    rotation, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(space.shape[1], space.shape[1])))
    return (space @ rotation).astype(np.float32)


@pytest.mark.parametrize("mean", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("measure, defined", [(rsa, upper_correlation), (cka, gram_alignment)])
def test_they_equal_their_definitions_whole_and_without_each_group(measure, defined, mean):
    x, y = two_spaces(mean)
    got = measured(measure, x, y)[:, 0]
    left = [np.delete(np.arange(200), np.s_[begin:end]) for begin, end in pairwise(EDGES)]
    want = [defined(x, y), *(defined(x[rows], y[rows]) for rows in left)]
    np.testing.assert_allclose(got, want, atol=2e-5 if mean > 10 else 1e-6)
    assert np.ptp(want) > 1e-3, "groups that change nothing would test nothing"


def test_rsa_equals_rsatoolbox():
    """There, patterns are compared by squared distances: of unit vectors 2 - 2 cos, whose correlation is the same."""
    pytest.importorskip("rsatoolbox")
    from rsatoolbox.data import Dataset
    from rsatoolbox.rdm import calc_rdm, compare

    x, y = two_spaces(0.5)
    units = [space.astype(float) / np.linalg.norm(space.astype(float), axis=1, keepdims=True) for space in (x, y)]
    one, other = (calc_rdm(Dataset(space), method="euclidean") for space in units)
    assert measured(rsa, x, y)[0, 0] == pytest.approx(compare(one, other, method="corr").item(), abs=1e-6)


@pytest.mark.parametrize("measure", [rsa, cka])
def test_rotation_and_scale_change_nothing(measure):
    x, _ = two_spaces(0.7)
    for same in (x.copy(), turned(x), 7 * x, (turned(x) * 0.01).astype(np.float32)):
        np.testing.assert_allclose(measured(measure, x, same), 1, atol=1e-5)
    other, unrelated = two_spaces(0.7, seed=1)
    assert abs(measured(rsa, x, unrelated)[0, 0]) < 0.05
    assert measured(measure, turned(x), other)[0, 0] == pytest.approx(measured(measure, x, other)[0, 0], abs=1e-5)


def test_rotation_defeats_the_plain_cosine():
    x, _ = two_spaces()
    assert measured(plain_cosine, x, 3 * x)[0, 0] == pytest.approx(1, abs=1e-6)
    got, seen = measured(plain_cosine, x, turned(x)), turned(x)
    cosines = (x * seen).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(seen, axis=1)
    assert got[0, 0] == pytest.approx(cosines.mean(), abs=1e-6) and abs(got[0, 0]) < 0.5
    assert got[2, 0] == pytest.approx(np.delete(cosines, np.s_[40:75]).mean(), abs=1e-6)


@pytest.mark.parametrize("measure", [rsa, cka, plain_cosine])
def test_groups_do_not_change_the_value_and_pairs_are_those_asked_for(measure):
    x, y = two_spaces()
    y = np.concatenate([y, x[:, :6]], 1)
    usual = measured(measure, x, y, pairs=[(0, 1), (1, 0), (1, 1)])
    assert usual[0, 0] == pytest.approx(usual[0, 1]) and usual[0, 2] == pytest.approx(1, abs=1e-6)
    for edges in ([0, 200], [0, 1, 200], [*range(0, 201, 10)]):
        got = measured(measure, x, y, edges=np.array(edges))
        assert len(got) == len(edges) and got[0, 0] == pytest.approx(usual[0, 0], abs=1e-6)


def test_a_space_without_differences_has_no_similarity():
    x, _ = two_spaces()
    assert np.isnan(measured(cka, x, np.ones_like(x))).all()


def test_intervals_hold_what_they_promise():
    """Words of a sentence are alike; samples of sentences must have the true value in about 95 of 100 intervals."""
    generator = np.random.default_rng(5)
    maps = generator.normal(size=(2, 6, 6))

    def sample(count):
        topic = np.repeat(generator.normal(size=(count, 6)), 5, axis=0)
        words = topic + generator.normal(size=(5 * count, 6))
        return [(words @ one + 0.7 * generator.normal(size=words.shape)).astype(np.float32) for one in maps]

    truth = measured(rsa, *sample(20_000), edges=np.array([0, 100_000]))[0, 0]
    inside = 0
    for _ in range(200):
        low, high = jackknife_interval(measured(rsa, *sample(80), edges=np.arange(0, 401, 20)))
        inside += int(low[0] <= truth <= high[0])
    assert 175 <= inside <= 199


def jackknifed(values):
    """The error by the formula, of values [1 + groups]: the whole's, then without each group."""
    left = np.array(values[1:])
    return np.sqrt((len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum())


def test_intervals_leave_texts_out_and_differences_add_errors_in_squares():
    """Five groups of four texts of six words, and a second corpus of three texts: three groups."""
    generator = np.random.default_rng(0)
    read, values, errors = [], [], []
    for texts, groups in ((20, 5), (3, 3)):
        words, length = 120, 120 // texts
        topic = np.repeat(generator.normal(size=(texts, 8)), length, axis=0)
        x = topic + generator.normal(size=(words, 8))
        y = x + 0.8 * generator.normal(size=(words, 8))
        sentences = [tuple(f"{texts} {word}" for word in each) for each in sentences_of([length] * texts)]
        one, examples = made_states([x, x], sentences, name="one")
        read.append((one, made_states([y, y], sentences, name="other")[0], examples))
        group = np.arange(words) // (words // groups)
        left = [upper_correlation(x[group != at], y[group != at]) for at in range(groups)]
        values.append(upper_correlation(x, y))
        errors.append(jackknifed([values[-1], *left]))
    (*here, examples), (*there, against) = read
    config = SimilarityConfig(groups=5, grid=False)
    result = similarity(here, examples, config, against=against, against_states=there)
    table = result.table.query("measure == 'RSA' and layer == 1")
    for (_, row), value, error, groups in zip(table.iterrows(), values, errors, (5, 3), strict=True):
        either = t.ppf(0.975, groups - 1) * error
        assert (row["low"], row["high"]) == pytest.approx((value - either, min(1, value + either)), abs=1e-5)
    number = result.number("RSA, last layer")
    assert (number.low, number.high) == tuple(table.iloc[0][["low", "high"]])
    between = result.tables["corpora"].query("measure == 'RSA' and layer == 1").iloc[0]
    apart, either = values[0] - values[1], t.ppf(0.975, 2) * np.hypot(*errors)
    assert (between["low"], between["high"]) == pytest.approx((apart - either, apart + either), abs=1e-5)


@pytest.fixture
def corpus():
    return read_examples("demo/corpus", limit=40)


@pytest.fixture
def other(tiny):
    """The tiny model with its last layer changed, and nothing below it."""
    moved = copy.deepcopy(tiny)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in moved.layers[2].parameters():
            parameter += (torch.randn(parameter.shape, generator=generator) * 0.3).to(parameter.device)
    moved.name = "moved"
    return moved


def test_layers_are_compared_word_by_word(tiny, other, corpus):
    result = similarity([tiny, other], corpus)
    before, after = (bertscope.hidden(model, corpus) for model in (tiny, other))
    table = result.table.set_index(["measure", "layer"])
    assert (table["n"] == len(before)).all() and len(table) == 3 * 4
    for layer in range(4):
        x, y = before.vectors(layer), after.vectors(layer)
        assert table.loc[("RSA", layer), "value"] == pytest.approx(upper_correlation(x, y), abs=1e-5)
        assert table.loc[("CKA", layer), "value"] == pytest.approx(gram_alignment(x, y), abs=1e-5)
    np.testing.assert_allclose(table["value"].unstack()[[0, 1, 2]], 1, atol=1e-5)
    assert table.loc[("RSA", 3), "value"] < 0.99
    assert (table["low"] <= table["value"] + 1e-9).all() and (table["value"] <= table["high"] + 1e-9).all()
    last = result.number("RSA, last layer")
    assert last.value == table.loc[("RSA", 3), "value"] and last.low < last.value < last.high
    blocks = table.loc["RSA"].loc[[1, 2, 3], "value"].mean()
    assert result.number("RSA, mean").value == pytest.approx(blocks)
    assert result.number("layer with the lowest RSA").value == 3
    assert result.number(f"{PLAIN}, last layer").unit == "cosine"


def test_every_two_layers_are_compared(tiny, other, corpus):
    result = similarity([tiny, other], corpus)
    keys = ["measure", "checkpoint", "other", "layer", "other_layer"]
    grid = result.tables["grid"].set_index(keys)["value"].sort_index()
    name = tiny.name
    assert len(grid) == 2 * 3 * 16
    for measure, defined in (("RSA", upper_correlation), ("CKA", gram_alignment)):
        square = grid.loc[measure, name, name].unstack().to_numpy()
        np.testing.assert_allclose(square, square.T, atol=1e-6)
        np.testing.assert_allclose(np.diag(square), 1, atol=1e-6)
        between = grid.loc[measure, name, "moved"]
        x, y = bertscope.hidden(tiny, corpus).vectors(1), bertscope.hidden(other, corpus).vectors(3)
        assert between.loc[1, 3] == pytest.approx(defined(x, y), abs=1e-5)
    layers = result.table.set_index(["measure", "layer"])["value"]
    assert grid.loc["RSA", name, "moved", 3, 3] == pytest.approx(layers["RSA", 3], abs=1e-6)
    assert "grid" not in similarity([tiny, other], corpus, SimilarityConfig(grid=False)).tables


def test_one_checkpoint_is_compared_layer_by_layer(tiny, corpus):
    result = similarity(tiny, corpus)
    store = bertscope.hidden(tiny, corpus)
    table = result.table.query("measure == 'RSA'").set_index("layer")
    assert table.index.tolist() == [1, 2, 3] and table["other_layer"].tolist() == [0, 1, 2]
    assert table.loc[2, "value"] == pytest.approx(upper_correlation(store.vectors(2), store.vectors(1)), abs=1e-5)
    assert result.number("RSA with the layer below, last layer").value == pytest.approx(table.loc[3, "value"])


def test_the_first_is_the_reference_or_all_are_compared(tiny, other, corpus):
    third = copy.deepcopy(tiny)
    third.name = "third"
    models = [tiny, other, third]
    first = similarity(models, corpus, SimilarityConfig(grid=False))
    assert list(first.table["pair"].unique()) == [f"{tiny.name} and moved", f"{tiny.name} and third"]
    assert set(first.table["series"]) == {"moved", "third"} and first.figures[0].facet == "measure"
    every = similarity(models, corpus, SimilarityConfig(pairs="all"))
    assert every.table["pair"].nunique() == 3 and every.tables["grid"]["pair"].nunique() == 6
    moved = every.number("RSA, last layer, moved and third").value
    assert moved == pytest.approx(first.number(f"RSA, last layer, {tiny.name} and moved").value, abs=1e-6)


def test_the_value_settles_and_ends_where_the_sample_does(tiny, other, corpus):
    result = similarity([tiny, other], corpus, SimilarityConfig(words=200))
    settling = result.tables["by_words"]
    assert sorted(settling["n"].unique()) == [50, 100, 200]
    assert settling["layer"].unique().tolist() == [1, 2, 3] and set(settling["measure"]) == {"RSA", "CKA"}
    last = settling.query("n == 200 and measure == 'CKA'").set_index("layer")["value"]
    want = result.table.query("measure == 'CKA'").set_index("layer")["value"]
    assert last[3] == pytest.approx(want[3], abs=1e-6)


def test_checkpoints_of_other_width_and_depth(tiny, pocket, corpus):
    result = similarity([tiny, pocket], corpus, SimilarityConfig(words=300))
    assert set(result.table["measure"]) == {"RSA", "CKA"}, "a plain cosine of different widths makes no sense"
    assert result.table["layer"].max() == 3 and result.tables["grid"]["other_layer"].max() == 12


def test_other_tokenizers_are_compared_on_words_they_share(tiny, corpus):
    """Without marked words: SentencePiece cuts at spaces only, BERT at punctuation too."""
    plain = bertscope.Examples(ids=corpus.ids, text=corpus.text)
    other = copy.deepcopy(tiny)
    other.name, other.tokenizer = "pieces", tokenizers.sentencepiece()
    result = similarity([tiny, other], plain)
    shared = result.table["n"].iloc[0]
    words = len(bertscope.hidden(tiny, plain))
    assert 50 < shared < words
    assert any(f"of {words:,} words of {tiny.name}, {shared:,} are words for all" in note for note in result.notes)


def test_a_second_corpus_stands_beside_the_first(tiny, other, corpus):
    config = SimilarityConfig(grid=False)
    result = similarity([tiny, other], corpus, config, against="demo/sentiment")
    there = similarity([tiny, other], "demo/sentiment", SimilarityConfig(grid=False)).table
    mine = result.table[result.table["corpus"] == "demo/sentiment"]
    assert mine["value"].tolist() == pytest.approx(there["value"].tolist(), abs=1e-6)
    assert set(result.table["series"]) == {"demo/corpus", "demo/sentiment"} and result.subject["against"]
    between = result.tables["corpora"].set_index(["measure", "layer"])
    rsa_values = result.table.query("measure == 'RSA' and layer == 3").set_index("corpus")["value"]
    difference = between.loc[("RSA", 3)]
    assert difference["difference"] == pytest.approx(rsa_values["demo/corpus"] - rsa_values["demo/sentiment"])
    assert difference["low"] < difference["difference"] < difference["high"]
    with pytest.raises(UserError, match="say nothing of another; give against_states"):
        similarity([bertscope.hidden(tiny, corpus)], corpus, config, against="demo/sentiment")
    sentiment = read_examples("demo/sentiment")
    stores = {texts: [bertscope.hidden(model, texts) for model in (tiny, other)] for texts in (corpus, sentiment)}
    given = similarity(stores[corpus], corpus, config, against=sentiment, against_states=stores[sentiment])
    assert given.equals(result)


def test_the_plan_shares_states_and_knows_the_second_corpus_by_what_it_holds(tiny, tmp_path):
    folder = tiny.save(tmp_path / "model")
    lines = "\n".join(read_examples("demo/sentiment", limit=30).text)
    (tmp_path / "a.txt").write_text(lines)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.txt").write_text(lines)
    corpus = examples_root("demo/corpus", limit=25)
    config = SimilarityConfig(grid=False)
    steps = [
        plan(model_root(folder), corpus, config, against=examples_root(tmp_path / name))
        for name in ("a.txt", "b/a.txt")
    ]
    assert steps[0].id == steps[1].id != plan(model_root(folder), corpus, config).id
    store = Store(tmp_path / "store")
    told = []
    store.run(steps[0], announce=lambda step, stored: told.append(step.name))
    assert told == ["states", "states", "similarity"]
    result = store.result(steps[0])
    assert result.subject["against"] == "a.txt" and set(result.table["corpus"]) == {"demo/corpus", "a.txt"}


def test_it_comes_back_as_it_was_stored(tiny, other, corpus, tmp_path):
    result = similarity([tiny, other], corpus)
    assert Result.load(result.save(tmp_path / "r")).equals(result)
    assert [figure.kind for figure in result.figures] == ["lines", "heatmap", "heatmap", "lines"]
    assert PLAIN in set(result.table["measure"]) and "plain cosine" in result.figures[0].caption
    assert similarity([tiny, other], corpus).equals(result), "nothing is random but the seed's sample"


def test_too_little_and_too_much_are_refused(tiny, texts):
    with pytest.raises(UserError, match="only 10 words of these texts are words for all checkpoints, and 50 are"):
        similarity(tiny, texts.take([0, 2, 5]))
    for wrong, said in (({"words": 10}, "words is 10"), ({"groups": 1}, "groups is 1"), ({"seed": -1}, "seed is -1"),
                        ({"pairs": "both"}, "unknown pairs 'both'; known: all, first")):  # fmt: skip
        with pytest.raises(UserError, match=said):
            SimilarityConfig(**wrong)


def test_stores_made_elsewhere_are_read():
    generator = np.random.default_rng(0)
    layers = generator.normal(size=(3, 120, 8))
    one, examples = made_states(list(layers), sentences_of([6] * 20), name="one")
    other, _ = made_states([turned(layer) for layer in layers], sentences_of([6] * 20), name="other")
    result = similarity([one, other], examples)
    np.testing.assert_allclose(result.table.query("measure != @PLAIN")["value"], 1, atol=1e-5)
    assert result.table.query("measure == @PLAIN")["value"].max() < 0.9


def test_corpora_of_one_name_are_told_apart_and_one_corpus_is_not_two(tiny):
    corpus = read_examples("demo/corpus", limit=60)
    other = replace(read_examples("demo/sentiment", limit=60), name=corpus.name)
    result = similarity([tiny, tiny], corpus, SimilarityConfig(words=100, grid=False), against=other)
    assert result.table.groupby(["measure", "series", "layer"]).size().max() == 1
    assert result.table["corpus"].nunique() == 2
    with pytest.raises(UserError, match="the second corpus is the first one"):
        similarity([tiny, tiny], corpus, SimilarityConfig(words=100), against=corpus)


def test_one_layer_of_one_checkpoint_is_refused(tiny):
    corpus = read_examples("demo/corpus", limit=60)
    with pytest.raises(UserError, match="two layers or more"):
        similarity(bertscope.hidden(tiny, corpus, layers=[2]), corpus)


def test_a_task_in_a_file_stands_beside_plain_text(tmp_path, tiny):
    from bertscope.data.corpus import second_root

    text = tmp_path / "texts.txt"
    text.write_text("the old house was by the road .\n" * 3)
    plain = second_root(text, text="sentence", label="label", limit=2, seed=1)
    assert plain == second_root(text, limit=2, seed=1)
