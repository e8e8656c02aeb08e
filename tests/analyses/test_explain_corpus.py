"""Words over a corpus, and how alike attributions of models are: planted words, nulls, references of others."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy import stats
from tokenizers.pre_tokenizers import WhitespaceSplit

from bertscope.analyses.explain.corpus import CorpusWords, corpus_words, null_table, towards_classes
from bertscope.analyses.explain.measure import measure, pieces_of, spearman
from bertscope.analyses.explain.question import ExplainConfig
from bertscope.analyses.explain.result import _first
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.intervals import student_interval
from bertscope.core.statistics import benjamini_hochberg
from bertscope.data.task import Task
from bertscope.models.attribution import attribute
from bertscope.models.outputs.kinds import model_output
from planted_kinds import PLANTED
from word_bags import bag, examples, fillers


def noisy(tiny, monkeypatch, n: int = 120):
    """A model that reads one word, and attributions with noise of no meaning on all of them."""
    texts = fillers(n, 6, 16)
    generator = np.random.default_rng(2)
    texts = [[*text, "Good"] if generator.random() < 0.5 else text for text in texts]
    asked = bag(tiny, {"good": 3.0})
    monkeypatch.setattr(type(asked), "names", ("poor", "fine"))
    found = attribute(tiny, asked, examples(texts), method="leave_out")
    sign = np.where(found.targets.label == 1, 1, -1)[found.owner]
    noise = generator.normal(0, 0.3, len(found.values))
    return asked, found.with_values(found.values + sign * noise, "any"), texts


def test_the_planted_word_is_found_and_only_it(tiny, monkeypatch):
    asked, found, texts = noisy(tiny, monkeypatch)
    words = corpus_words(asked, found)
    table = words.table()
    sure = table[table["p_fdr"] < 0.05]
    assert sure[["class", "word"]].to_numpy().tolist() == [["poor", "good"], ["fine", "good"]]
    assert words.found().sum() == 1, "two classes are mirror images: one test"
    one = table[table["class"] == "fine"].iloc[0]
    own = [
        sum(value for word, value in zip(found.words_of(row), found.of(row), strict=True) if word == "Good") * (
            1 if found.targets.label[row] == 1 else -1
        )
        for row in range(len(found)) if "Good" in found.words_of(row)
    ]  # fmt: skip
    assert one["texts"] == len(own) == sum("Good" in text for text in texts)
    assert one["mean"] == pytest.approx(np.mean(own)) and one["safe"] == one["low"] > 2.5
    assert [one["low"], one["high"]] == pytest.approx(student_interval(np.mean(own), np.std(own, ddof=1), len(own)))
    assert one["p"] == pytest.approx(stats.ttest_1samp(own, 0).pvalue)
    mirrored = table[table["class"] == "poor"].set_index("word")
    other = table[table["class"] == "fine"].set_index("word")
    assert (mirrored["mean"] == -other["mean"].reindex(mirrored.index)).all()
    assert (mirrored["low"] == -other["high"].reindex(mirrored.index)).all()


def test_a_word_counts_once_a_text_with_the_mean_of_its_places_and_rare_words_dont_count(tiny):
    asked = bag(tiny, {"good": 1.0})
    texts = examples([["good", "Good", "road"]] * 20 + [["rare", "road"]] * 19)
    found = attribute(tiny, asked, texts, method="leave_out")
    values = np.concatenate([[4.0, 2.0, 0.1]] * 20 + [[9.0, 0.1]] * 19)
    found = found.with_values(values * np.where(found.targets.label == 1, 1, -1)[found.owner], "any")
    words = corpus_words(asked, found)
    assert dict(zip(words.word, words.counts, strict=True)) == {"good": 20, "road": 39}
    assert (words.sums / words.counts)[list(words.word).index("good")] == pytest.approx(3.0)


def test_the_order_is_by_the_safe_end():
    generator = np.random.default_rng(0)
    values = [generator.normal(3, 6, 20), generator.normal(1, 0.1, 60), generator.normal(-2, 0.1, 40)]
    cell, text = np.repeat([0, 1, 2], [20, 60, 40]), np.concatenate([np.arange(20), np.arange(60), np.arange(40)])
    words = CorpusWords(("it",), np.zeros(3, int), np.array(["wide", "sure", "against"], object), cell, text,
                        np.concatenate(values), False)  # fmt: skip
    table = words.table()
    assert table["word"].tolist()[:2] == ["against", "sure"]
    assert table["safe"].tolist()[0] == table["high"].tolist()[0] < 0
    assert table.set_index("word").loc["wide", "mean"] > table.set_index("word").loc["sure", "mean"]


def test_the_null_panel_holds_and_a_wrong_test_would_not(tiny, monkeypatch):
    asked, found, _ = noisy(tiny, monkeypatch, 400)
    words = corpus_words(asked, found)
    panel = null_table(words, 0).iloc[0]
    assert panel["draws"] == 200 and panel["findings"] <= 18 and panel["passes"]
    monkeypatch.setattr("bertscope.analyses.explain.corpus.benjamini_hochberg", lambda p: p)
    assert not null_table(words, 0).iloc[0]["passes"], "without a correction more is found than may be"


def test_nothing_is_found_where_attributions_mean_nothing(tiny, monkeypatch):
    """Fresh data, not redrawn signs: words that say nothing, heavy tails, all texts of one class."""
    generator, hits = np.random.default_rng(4), 0
    texts = examples(fillers(80, 4, 12))
    asked = bag(tiny, {})
    monkeypatch.setattr(type(asked), "names", ("poor", "fine"))
    found = attribute(tiny, asked, texts, method="leave_out")
    for _ in range(200):
        words = corpus_words(asked, found.with_values(generator.standard_t(3, len(found.values)), "any"))
        hits += words.found().any()
    assert hits <= 18


def test_the_figure_draws_what_is_found_and_nothing_else():
    """Of 300 words that mean nothing some have an interval without 0: without the correction they would be drawn."""
    generator = np.random.default_rng(6)
    cell, text = np.repeat(np.arange(301), 30), np.tile(np.arange(30), 301)
    value = generator.normal(size=len(cell))
    value[cell == 300] += 3
    names = np.array([f"w{place}" for place in range(300)] + ["planted"], object)
    table = CorpusWords(("no", "yes"), np.ones(301, int), names, cell, text, value, True).table()
    assert (table["safe"] > 0).sum() > 5
    shown = table[_first(table)]
    assert shown[["class", "word"]].to_numpy().tolist() == [["yes", "planted"]]


@pytest.mark.parametrize("shape", [(1,), (7,), (4, 50)])
def test_benjamini_and_hochberg_are_scipys(shape):
    p = np.random.default_rng(1).random(shape) ** 3
    p.flat[-1] = p.flat[0]
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p, axis=-1))


@pytest.mark.parametrize("kind", ["classification", "one_logit", "several", "regression", "vectors", "tokens"])
def test_kinds_with_classes_can_be_asked(kind, _pocket):
    planted = PLANTED[kind]
    task, encoder = planted.task(30), planted.model(_pocket.tokenizer)
    result = measure(encoder, task, ExplainConfig(method="gradient", null=True, sample=30))
    table = result.tables["corpus_words"]
    assert {*table["class"]} <= {*model_output(encoder, task.asked_of(encoder).output).pushed}
    assert {"random", "shown"} <= {*table.columns} and len(result.tables["null"]) == 1
    assert result["pushing_words_random"].n is not None


@pytest.mark.parametrize("kind", ["choices", "spans", "trees", "masked"])
def test_where_every_text_has_its_own_choices_there_are_no_classes_to_push(kind, _pocket):
    planted = PLANTED[kind]
    task, encoder = planted.task(4), planted.model(_pocket.tokenizer)
    with pytest.raises(UserError, match=r"gives no classes that words could push.*leave out corpus"):
        measure(encoder, task, ExplainConfig(method="gradient", corpus=True, sample=4))


def test_each_of_several_classes_is_explained_in_every_text(_pocket):
    task, encoder = PLANTED["several"].task(6), PLANTED["several"].model(_pocket.tokenizer)
    asked = model_output(encoder, task.output)
    found = attribute(encoder, asked, task.test, method="gradient")
    every = towards_classes(asked, task.test, found, "gradient", 16, chosen=False)
    assert len(every) == len(task.test) * 3 and every.targets.label.tolist()[:3] == [0, 1, 2]
    assert towards_classes(asked, task.test, found, "gradient", 16, chosen=True) is found


def test_spearman_is_scipys_with_ties_and_nothing_of_too_few():
    generator = np.random.default_rng(3)
    sizes = [5, 2, 12, 3, 4]
    owner = np.repeat(np.arange(5), sizes)
    one, other = (generator.integers(0, 4, len(owner)).astype(float) for _ in range(2))
    one[owner == 4] = 1.0
    found = spearman(one, other, owner, 6)
    for target in (0, 2, 3):
        mine = owner == target
        assert found[target] == pytest.approx(stats.spearmanr(one[mine], other[mine]).statistic, nan_ok=True)
    assert np.isnan(found[[1, 4, 5]]).all()


def test_pieces_are_those_of_the_tokenizer(tiny):
    texts = Examples(("1", "2"), ("a good unbelievably long house", "never said unbelievably"), pair=("by him", "it"))
    found = attribute(tiny, None, texts, method="gradient")
    expected = [len(tiny.tokenizer.tokenize(word)) for word in found.text]
    assert pieces_of(model_output(tiny), texts, found).tolist() == expected and max(expected) > 1


def test_a_model_agrees_with_itself_and_less_with_random_weights(tiny, many):
    task = Task("own", "classification", ("LABEL_0", "LABEL_1"), many, many, many, "accuracy")
    config = ExplainConfig(method="gradient", faithful=True, sample=20)
    result = measure(tiny, task, config, other_seed=tiny)
    table = result.tables["agreement"].set_index("between")["correlation"]
    assert table["other_seed"] == pytest.approx(1.0)
    assert abs(table["random_weights"]) < 0.9 and abs(table["two_random"]) < 0.9
    assert list(result.tables["faithfulness"]["method"].unique()) == ["gradient", "integrated", "leave_out"]
    assert any("passes: " in note for note in result.notes)
    assert result.numbers(key="comprehensiveness", method="gradient", how="mask")[0].n == 20


def test_another_seed_without_faithful_and_another_tokenizer_are_refused(tiny):
    texts = Examples(("1",), ("a good house, never said",), label=np.array([0]))
    task = Task("own", "classification", ("LABEL_0", "LABEL_1"), texts, texts, texts, "accuracy")
    with pytest.raises(UserError, match=r"other_seed is for faithful"):
        measure(tiny, task, ExplainConfig(method="gradient"), other_seed=tiny)
    other = copy.deepcopy(tiny)
    other.tokenizer.backend_tokenizer.pre_tokenizer = WhitespaceSplit()
    with pytest.raises(UserError, match=r"reads other words than .*give a model with the same tokenizer"):
        measure(tiny, task, ExplainConfig(method="gradient", faithful=True), other_seed=other)


def test_few_texts_say_so(tiny, many):
    task = Task("own", "classification", ("LABEL_0", "LABEL_1"), many, many, many, "accuracy")
    result = measure(tiny, task, ExplainConfig(method="gradient", null=True, sample=3))
    assert not len(result.tables["corpus_words"]) and result["pushing_words"].value == 0
    assert any("no word is in 20 of the texts" in note for note in result.notes)
    assert [figure.key for figure in result.figures] == ["texts"]
