"""Vectors of whole texts: Spearman, alignment and uniformity by layer, against plain loops and scipy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr, t

from bertscope.analyses.sentences.question import SentencesConfig, sentences
from bertscope.core.errors import UserError
from bertscope.core.hashing import hashed
from bertscope.core.rank_resampling import rank_draws, rank_left_out
from bertscope.core.resampling import group_bounds
from bertscope.data.task import Task
from bertscope.models.new_task_head import bare
from contrast_sets import sts


def plain_vectors(encoder, text: str) -> list[np.ndarray]:
    """[pool][layer, d], one text at a time."""
    inputs = encoder.tokenizer(text, return_tensors="pt").to(encoder.device)
    with torch.no_grad():
        states = torch.stack(encoder.model.base_model(**inputs, output_hidden_states=True).hidden_states)[:, 0]
    found = [states[:, 0].cpu().numpy(), states[:, 1:-1].mean(1).cpu().numpy()]
    return [one / np.linalg.norm(one, axis=-1, keepdims=True) for one in found]


@pytest.fixture(scope="module")
def task() -> Task:
    return sts(24)


@pytest.fixture
def plain(tiny, task):
    """[pool, layer, pair, 2, d]: unit vectors of every text."""
    pairs = zip(task.test.text, task.test.pair, strict=True)
    read = np.array([[plain_vectors(tiny, text) for text in pair] for pair in pairs])  # [pair, 2, pool, layer, d]
    return read.transpose(2, 3, 0, 1, 4)


def test_every_measure_is_what_it_says(tiny, task, plain):
    result = sentences(tiny, task)
    table = result.tables["layers"].set_index(["measure", "pool", "layer"])["value"]
    same = task.test.label >= 4
    for at, pool in enumerate(("cls", "mean")):
        for layer in range(4):
            ones, others = plain[at, layer, :, 0], plain[at, layer, :, 1]
            cosines = (ones * others).sum(-1)
            if np.ptp(cosines) > 1e-5:  # layer 0's first token is the same in every text
                expected = spearmanr(cosines.round(5), task.test.label).statistic
                assert table["spearman", pool, layer] == pytest.approx(expected, abs=0.02)
            alignment = ((ones - others) ** 2).sum(-1)[same].mean()
            assert table["alignment", pool, layer] == pytest.approx(alignment, abs=1e-4)
            texts = plain[at, layer].reshape(-1, plain.shape[-1])
            near = [np.exp(-2 * ((texts[i] - texts[j]) ** 2).sum()) for i in range(48) for j in range(48) if i != j]
            assert table["uniformity", pool, layer] == pytest.approx(np.log(np.mean(near)), abs=1e-4)
    assert np.allclose(result.arrays["cosine"], (plain[:, :, :, 0] * plain[:, :, :, 1]).sum(-1), atol=1e-5)
    assert result["spearman_cls_pool"].low < result["spearman_cls_pool"].value
    said = {number.key for number in result.headline}
    assert said == {key for key in sentences.numbers if not key.endswith("_own")}
    assert result["spearman_mean_pool"].of == {"pool": "mean", "layer": "3"}
    assert [figure.title for figure in result.figures] == ["Spearman", "Alignment", "Uniformity"]
    assert list(result.models) == [tiny.id] and result.subject == {"task": task.name}


def test_a_model_that_counts_shared_words_follows_the_score(pocket):
    """The score is the number of shared words: layer 0's mean knows it well."""
    result = sentences(pocket, sts(60), SentencesConfig(repeats=100))
    layers = result.tables["layers"].query("measure == 'spearman' and pool == 'mean'")
    assert layers["value"].iloc[0] > 0.8


def test_many_pairs_are_read_in_parts_and_sampled(tiny, task, monkeypatch):
    whole = sentences(tiny, task)
    monkeypatch.setattr("bertscope.analyses.sentences.measure._PAIRS", 7)
    parts = sentences(tiny, task)
    for name, array in whole.arrays.items():
        assert np.allclose(array, parts.arrays[name], atol=1e-5), name
    few = sentences(tiny, task, SentencesConfig(sample=20))
    assert set(few.tables["layers"].query("measure == 'uniformity'")["n"]) == {20}


def test_texts_that_are_cut_are_counted(tiny, task, monkeypatch):
    monkeypatch.setattr("bertscope.analyses.sentences.measure._PAIRS", 7)
    assert not sentences(tiny, task).notes
    long = " ".join(["river"] * 80)
    pair = tuple(long if place in (2, 20) else text for place, text in enumerate(task.test.pair))
    longer = replace(task, test=replace(task.test, pair=pair))
    assert sentences(tiny, longer).notes == ["2 of the pairs' texts are longer than 64 tokens and were cut"]


def test_sampled_pairs_keep_their_own_scores(tiny, task, plain):
    config = SentencesConfig(sample=20)
    result = sentences(tiny, task, config)
    chosen = np.argsort(hashed(task.test.ids, config.seed), kind="stable")[:10]
    same = chosen[task.test.label[chosen] >= 4]
    apart = ((plain[:, 3, same, 0] - plain[:, 3, same, 1]) ** 2).sum(-1).mean(-1)
    assert 0 < len(same) < 10 and set(chosen) != set(range(10))
    for pool, value in zip(("cls", "mean"), apart, strict=True):
        number = result[f"alignment_{pool}_pool"]
        assert number.value == pytest.approx(value, abs=1e-4) and number.n == len(same)


def test_numbers_are_the_last_layers_and_intervals_what_they_say(tiny, task, plain):
    result = sentences(tiny, task, SentencesConfig(groups=12))
    same, gold = task.test.label >= 4, task.test.label
    apart = ((plain[1, 3, :, 0] - plain[1, 3, :, 1]) ** 2).sum(-1)
    group = np.arange(24) // 2
    left = np.array([apart[same & (group != at)].mean() for at in range(12)])
    either = t.ppf(0.975, 11) * np.sqrt(11 / 12 * ((left - left.mean()) ** 2).sum())
    number = result["alignment_mean_pool"]
    whole = apart[same].mean()
    assert (number.value, number.low, number.high) == pytest.approx((whole, whole - either, whole + either), abs=1e-4)
    draws = rank_draws(result.arrays["cosine"][1], gold, repeats=1000)[:, 3]
    number = result["spearman_mean_pool"]
    ends = np.quantile(draws[1:], [0.025, 0.975])
    assert (number.value, number.low, number.high) == pytest.approx((draws[0], *ends))


def test_spearman_in_the_sample_and_in_each_resample_is_scipys():
    generator = np.random.default_rng(0)
    gold = generator.integers(0, 6, 50).astype(float)  # many ties
    arms = np.stack([gold + generator.normal(size=50), generator.integers(0, 3, 50), np.ones(50)])
    draws = rank_draws(arms, gold, repeats=20, seed=4)
    counts = np.random.default_rng(4).multinomial(50, np.full(50, 1 / 50), size=20)
    for row, drawn in zip(draws, [np.ones(50, int), *counts], strict=True):
        rows = np.repeat(np.arange(50), drawn)
        for arm in (0, 1):
            assert row[arm] == pytest.approx(spearmanr(arms[arm][rows], gold[rows]).statistic, abs=1e-12)
        assert row[2] == 0, "constant answers"


def test_spearman_without_each_group_is_scipys():
    generator = np.random.default_rng(1)
    gold = generator.integers(0, 6, 50).astype(float)
    arms = np.stack([gold + generator.normal(size=50), generator.integers(0, 3, 50)])
    draws = rank_left_out(arms, gold, groups=7)
    edges = group_bounds(np.arange(50), 7)
    kept = [np.arange(50), *(np.r_[: edges[at], edges[at + 1] : 50] for at in range(7))]
    assert draws.shape == (8, 2)
    for row, rows in zip(draws, kept, strict=True):
        assert row == pytest.approx([spearmanr(arm[rows], gold[rows]).statistic for arm in arms], abs=1e-12)


def test_what_cannot_be_measured_is_refused(tiny, task):
    with pytest.raises(
        UserError, match="demo/sentiment has no pairs of texts with scores; give a task such as glue/stsb"
    ):
        sentences(tiny, "demo/sentiment")
    short = Task(task.name, task.kind, (), task.train, task.validation, task.test.take(range(5)), "pearson")
    with pytest.raises(UserError, match="toy sts has 5 pairs to test on; give at least 10"):
        sentences(tiny, short)
    with pytest.raises(UserError, match="sample is 9000; it can be at most 5000"):
        SentencesConfig(sample=9000)
    with pytest.raises(UserError, match="groups is 1; it must be at least 2"):
        SentencesConfig(groups=1)


def test_a_model_with_vectors_of_its_own_is_measured_by_them_too(tiny, task, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    torch.manual_seed(4)
    encoder = Transformer(str(bare(tiny, name="bare").save(tmp_path / "plain")))
    made = library.SentenceTransformer(
        modules=[encoder, Pooling(24, "max"), Dense(24, 10), Normalize()], device="cpu"
    )
    made.save(str(tmp_path / "own"))
    ones, others = made.encode(list(task.test.text)), made.encode(list(task.test.pair))
    result = sentences(str(tmp_path / "own"), task)
    table = result.tables["layers"].set_index(["measure", "pool", "layer"])["value"]
    assert np.allclose(result.arrays["cosine_own"], (ones * others).sum(-1), atol=1e-5)
    expected = spearmanr(result.arrays["cosine_own"], task.test.label).statistic  # some texts are there twice
    assert table["spearman", "own", 3] == pytest.approx(expected, abs=1e-4)
    assert result["spearman_own"].value == pytest.approx(expected, abs=1e-4)
    same = task.test.label >= 4
    assert result["alignment_own"].value == pytest.approx(((ones - others) ** 2).sum(-1)[same].mean(), abs=1e-4)
    texts = np.concatenate([ones, others])
    near = [np.exp(-2 * ((texts[i] - texts[j]) ** 2).sum()) for i in range(48) for j in range(48) if i != j]
    assert result["uniformity_own"].value == pytest.approx(np.log(np.mean(near)), abs=1e-4)
    assert len(table["spearman", "own"]) == 1 and {number.key for number in result.headline} == set(sentences.numbers)
    assert "own: the model's own vectors (max, dense to 10, normalised)" in result.figures[0].caption
