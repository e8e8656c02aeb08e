"""`similarity`: layers and checkpoints compared on the same words; a second corpus, intervals, plans and mistakes."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import t

import bertscope
import tokenizer_kinds
from bertscope.analyses.similarity.question import SimilarityConfig, plan, similarity
from bertscope.core.errors import UserError
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.data.corpus import examples_root, read_examples
from bertscope.models.source import model_root
from made_states import made_states, sentences_of
from plain_similarity import gram_alignment, rotated_distance, turned, unbiased_alignment, upper_correlation
from running import made_by

PLAIN = "plain_cosine"


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
    table = result.table.query("measure == 'rsa' and layer == 1")
    for (_, row), value, error, groups in zip(table.iterrows(), values, errors, (5, 3), strict=True):
        either = t.ppf(0.975, groups - 1) * error
        assert (row["low"], row["high"]) == pytest.approx((value - either, min(1, value + either)), abs=1e-5)
    number = result.numbers(key="rsa_last_layer")[0]
    assert [each.of["corpus"] for each in result.numbers(key="rsa_last_layer")] == ["these texts", "these texts (2)"]
    assert (number.low, number.high) == tuple(table.iloc[0][["low", "high"]])
    between = result.tables["corpora"].query("measure == 'rsa' and layer == 1").iloc[0]
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
    before, after = (bertscope.hidden_states(model, corpus) for model in (tiny, other))
    table = result.table.set_index(["measure", "layer"])
    assert (table["n"] == len(before)).all() and len(table) == 5 * 4
    for layer in range(4):
        x, y = before.vectors(layer), after.vectors(layer)
        assert table.loc[("rsa", layer), "value"] == pytest.approx(upper_correlation(x, y), abs=1e-5)
        assert table.loc[("cka", layer), "value"] == pytest.approx(gram_alignment(x, y), abs=1e-5)
        assert table.loc[("debiased_cka", layer), "value"] == pytest.approx(unbiased_alignment(x, y), abs=1e-5)
        assert table.loc[("procrustes", layer), "value"] == pytest.approx(rotated_distance(x, y), abs=1e-5)
    same = table["value"].unstack()[[0, 1, 2]]
    np.testing.assert_allclose(same.drop("procrustes"), 1, atol=1e-5)
    np.testing.assert_allclose(same.loc["procrustes"], 0, atol=1e-5)
    assert table.loc[("rsa", 3), "value"] < 0.99
    assert (table["low"] <= table["value"] + 1e-9).all() and (table["value"] <= table["high"] + 1e-9).all()
    last = result["rsa_last_layer"]
    assert last.of == {"model": other.id, "against": tiny.id, "corpus": corpus.name, "layer": "3"}
    assert last.label == "RSA, last layer (3)" and list(result.models) == [tiny.id, other.id]
    assert last.value == table.loc[("rsa", 3), "value"] and last.low < last.value < last.high
    blocks = table.loc["rsa"].loc[[1, 2, 3], "value"].mean()
    assert result["rsa_mean"].value == pytest.approx(blocks)
    assert result["lowest_rsa_layer"].value == 3
    assert result["plain_cosine_last_layer"].unit == "cosine"
    assert {number.key for number in result.headline} < set(similarity.numbers)


def test_every_two_layers_are_compared(tiny, other, corpus):
    result = similarity([tiny, other], corpus)
    keys = ["measure", "checkpoint", "other", "layer", "other_layer"]
    grid = result.tables["grid"].set_index(keys)["value"].sort_index()
    name, moved = tiny.id, other.id
    assert len(grid) == 3 * 3 * 16
    measures = {"rsa": upper_correlation, "cka": gram_alignment, "debiased_cka": unbiased_alignment}
    for measure, defined in measures.items():
        square = grid.loc[measure, name, name].unstack().to_numpy()
        np.testing.assert_allclose(square, square.T, atol=1e-6)
        np.testing.assert_allclose(np.diag(square), 1, atol=1e-6)
        between = grid.loc[measure, name, moved]
        x, y = bertscope.hidden_states(tiny, corpus).vectors(1), bertscope.hidden_states(other, corpus).vectors(3)
        assert between.loc[1, 3] == pytest.approx(defined(x, y), abs=1e-5)
    layers = result.table.set_index(["measure", "layer"])["value"]
    assert grid.loc["rsa", name, moved, 3, 3] == pytest.approx(layers["rsa", 3], abs=1e-6)
    assert "grid" not in similarity([tiny, other], corpus, SimilarityConfig(grid=False)).tables


def test_one_checkpoint_is_compared_layer_by_layer(tiny, corpus):
    result = similarity(tiny, corpus)
    store = bertscope.hidden_states(tiny, corpus)
    table = result.table.query("measure == 'rsa'").set_index("layer")
    assert table.index.tolist() == [1, 2, 3] and table["other_layer"].tolist() == [0, 1, 2]
    assert table.loc[2, "value"] == pytest.approx(upper_correlation(store.vectors(2), store.vectors(1)), abs=1e-5)
    assert result["rsa_below_last_layer"].value == pytest.approx(table.loc[3, "value"])


def test_the_first_is_the_reference_or_all_are_compared(tiny, other, corpus):
    third = copy.deepcopy(tiny)
    third.name = "third"
    models = [tiny, other, third]
    first = similarity(models, corpus, SimilarityConfig(grid=False))
    assert list(first.table["pair"].unique()) == [f"{tiny.name} and moved", f"{tiny.name} and third"]
    assert set(first.table["series"]) == {"moved", "third"} and first.figures[0].facet == "measure"
    every = similarity(models, corpus, SimilarityConfig(pairs="all"))
    assert every.table["pair"].nunique() == 3 and every.tables["grid"]["pair"].nunique() == 6
    (moved,) = every.numbers(key="rsa_last_layer", model=f"{tiny.id}-2", against=other.id)
    (same,) = first.numbers(key="rsa_last_layer", model=other)
    assert moved.value == pytest.approx(same.value, abs=1e-6)
    assert moved.label == "RSA, last layer (3), third, moved" and same.label == "RSA, last layer (3), moved"


def test_the_value_settles_and_ends_where_the_sample_does(tiny, other, corpus):
    result = similarity([tiny, other], corpus, SimilarityConfig(words=200))
    settling = result.tables["by_words"]
    assert sorted(settling["n"].unique()) == [50, 100, 200]
    assert settling["layer"].unique().tolist() == [1, 2, 3] and len(settling) == 3 * 3 * 4
    last = settling.query("n == 200 and measure == 'cka'").set_index("layer")["value"]
    want = result.table.query("measure == 'cka'").set_index("layer")["value"]
    assert last[3] == pytest.approx(want[3], abs=1e-6)


def test_checkpoints_of_other_width_and_depth(tiny, pocket, corpus):
    result = similarity([tiny, pocket], corpus, SimilarityConfig(words=300))
    assert PLAIN not in set(result.table["measure"]), "a plain cosine of different widths makes no sense"
    assert result.table["layer"].max() == 3 and result.tables["grid"]["other_layer"].max() == 12


def test_other_tokenizers_are_compared_on_words_they_share(tiny, corpus):
    """Without marked words: SentencePiece cuts at spaces only, BERT at punctuation too."""
    plain = bertscope.Examples(ids=corpus.ids, text=corpus.text)
    other = copy.deepcopy(tiny)
    other.name, other.tokenizer = "pieces", tokenizer_kinds.sentencepiece()
    result = similarity([tiny, other], plain)
    shared = result.table["n"].iloc[0]
    words = len(bertscope.hidden_states(tiny, plain))
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
    rsa_values = result.table.query("measure == 'rsa' and layer == 3").set_index("corpus")["value"]
    difference = between.loc[("rsa", 3)]
    assert difference["difference"] == pytest.approx(rsa_values["demo/corpus"] - rsa_values["demo/sentiment"])
    assert difference["low"] < difference["difference"] < difference["high"]
    with pytest.raises(UserError, match="say nothing of another; give against_states"):
        similarity([bertscope.hidden_states(tiny, corpus)], corpus, config, against="demo/sentiment")
    sentiment = read_examples("demo/sentiment")
    stores = {
        texts: [bertscope.hidden_states(model, texts) for model in (tiny, other)] for texts in (corpus, sentiment)
    }
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
    assert made_by(steps[0], store) == ["states", "states", "similarity"]
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
    for wrong, cause in (({"words": 10}, "words is 10"), ({"groups": 1}, "groups is 1"), ({"seed": -1}, "seed is -1"),
                        ({"pairs": "both"}, "unknown pairs 'both'; known: all, first")):  # fmt: skip
        with pytest.raises(UserError, match=cause):
            SimilarityConfig(**wrong)


def test_stores_made_elsewhere_are_read():
    generator = np.random.default_rng(0)
    layers = generator.normal(size=(3, 120, 8))
    one, examples = made_states(list(layers), sentences_of([6] * 20), name="one")
    other, _ = made_states([turned(layer) for layer in layers], sentences_of([6] * 20), name="other")
    result = similarity([one, other], examples)
    alike = result.table.query("measure not in [@PLAIN, 'procrustes']")
    np.testing.assert_allclose(alike["value"], 1, atol=1e-5)
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
        similarity(bertscope.hidden_states(tiny, corpus, layers=[2]), corpus)


def test_a_task_in_a_file_stands_beside_plain_text(tmp_path, tiny):
    from bertscope.data.corpus import options_of_second

    text = tmp_path / "texts.txt"
    text.write_text("the old house was by the road .\n" * 3)
    reading = {"text": "sentence", "label": "label", "limit": 2, "seed": 1}
    assert options_of_second(text, reading) == {"limit": 2, "seed": 1} == options_of_second(["a text"], reading)
    assert options_of_second([{"sentence": "a", "label": 1}], reading) == reading


def test_a_fine_tuned_checkpoint_is_told_beside_what_it_was(tiny, other, corpus):
    result = similarity([tiny, other], corpus, SimilarityConfig(grid=False))
    number = result["rsa_last_layer"]
    told = similarity.sentence(result)
    assert told.sentence == (
        "Layer 3 moved farthest in fine-tuning; the last layer's RSA with what it was before is "
        f"{number.value:.3f} ({number.low:.3f} to {number.high:.3f})."
    )
    assert told.main == number.value
    assert similarity.sentence(similarity(tiny, corpus, SimilarityConfig(grid=False))) is None


def test_eyes_get_names_and_words(tiny, other, corpus):
    shown = similarity([tiny, other], corpus).in_words()
    assert list(shown.table["measure"].unique()) == ["RSA", "debiased CKA", "plain CKA", "Procrustes distance",
                                                    "plain cosine (defeated by rotation)"]  # fmt: skip
    assert set(shown.table["checkpoint"]) == {tiny.name} and set(shown.table["other"]) == {"moved"}
    assert [figure.key for figure in shown.figures] == ["layers", "grid_rsa", "grid_debiased_cka", "by_words"]
    assert shown.figures[1].where == {"measure": "RSA"}


def test_states_of_other_models_are_no_second_corpus(tiny, other, corpus):
    sentiment = read_examples("demo/sentiment", limit=30)
    here, there = bertscope.hidden_states(tiny, corpus), bertscope.hidden_states(other, sentiment)
    with pytest.raises(UserError, match=f"first corpus are those of {tiny.name}, of the second those of moved; give"):
        similarity(here, corpus, against=sentiment, against_states=there)
