"""Faithfulness: masks and deletions against plain loops, planted models, and intervals against nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.explain.faithfulness import (
    MEASURES,
    PERCENT,
    RANDOM,
    Faithfulness,
    Orders,
    faithfulness,
    faithfulness_table,
    over_texts,
)  # fmt: skip
from bertscope.core.examples import Examples
from bertscope.models.attribution import attribute
from bertscope.models.outputs.kinds import MODEL_OUTPUTS, model_output
from planted_kinds import PLANTED
from word_bags import OpenBag, bag, examples, fillers, with_word

COMPREHENSIVE, SUFFICIENT = range(2)


def taken(words: int) -> np.ndarray:
    return np.array([math.ceil(round(percent * words / 100, 9)) for percent in (10, 20, 30, 50)])


def excess(found: Faithfulness, how, measure: int, place: int = 0) -> np.ndarray:
    both = found.rows(how, place)[:, :, measure]
    return both[:, 0] - both[:, 1]


@pytest.mark.parametrize("how", ["mask", "delete"])
def test_a_model_that_reads_one_word(tiny, how):
    texts = with_word("good", 80)
    asked = bag(tiny, {"good": 3.0})
    found = attribute(tiny, asked, texts, method="leave_out")
    lost = faithfulness(asked, texts, [found])
    sure = 1 / (1 + math.exp(-3.0)) - 0.5
    raw = lost.lost[how][:, 0]
    assert raw[:, COMPREHENSIVE] == pytest.approx(sure, abs=1e-6), "without the word nothing is left"
    assert raw[:, SUFFICIENT] == pytest.approx(0, abs=1e-6), "with the word alone nothing is lost"
    words = np.array([len(text.split()) for text in texts.text])
    chance = np.array([(taken(n) / n).mean() for n in words])  # of the word to be among those that are taken
    mean, low, high, n = over_texts(excess(lost, how, COMPREHENSIVE), lost.example)
    assert low < (sure * (1 - chance)).mean() < high and n == 80
    mean, low, high, _ = over_texts(excess(lost, how, SUFFICIENT), lost.example)
    assert low < -(sure * (1 - chance)).mean() < high and mean < 0


def test_random_orders_lose_what_they_are_expected_to_on_a_linear_model(tiny):
    numbers = {"house": 2.0, "was": -1.0, "never": 0.5, "road": 3.0, "him": -2.0}
    texts, asked = examples(fillers(80)), bag(tiny, numbers, OpenBag)
    found = attribute(tiny, asked, texts, method="gradient")
    lost = faithfulness(asked, texts, [found])
    values = [np.array([numbers.get(word, 0.0) for word in text.split()]) for text in texts.text]
    sign = np.where(np.array([each.sum() for each in values]) > 0, 1, -1)
    values = [each * one for each, one in zip(values, sign, strict=True)]
    best = np.array([np.mean([np.sort(each)[::-1][:k].sum() for k in taken(len(each))]) for each in values])
    assert lost.lost["mask"][:, 0, COMPREHENSIVE] == pytest.approx(best, abs=1e-5)
    totals = np.array([each.sum() for each in values])
    assert lost.lost["mask"][:, 0, SUFFICIENT] == pytest.approx(totals - best, abs=1e-5)
    expected = np.array([each.sum() * (taken(len(each)) / len(each)).mean() for each in values])
    drawn = lost.lost["mask"][:, 1:, COMPREHENSIVE]
    error = drawn.std(1, ddof=1) / math.sqrt(RANDOM)
    away = (drawn.mean(1) - expected)[error > 0] / error[error > 0]
    assert abs(away.mean()) < 4 / math.sqrt(len(away)) and away.std() < 1.5
    assert np.abs(drawn[error == 0].mean(1) - expected[error == 0]).max(initial=0) < 1e-5


def plain(encoder, text: str, label: int, gone: set[int], how: str) -> float:
    """The probability of a label of one text without some words, the plain way."""
    words = text.split()
    if how == "delete":
        text = " ".join(word for place, word in enumerate(words) if place not in gone)
    coded = encoder.tokenizer(text, return_tensors="pt")
    if how == "mask":
        for place, word in enumerate(coded.word_ids()):
            if word in gone:
                coded["input_ids"][0, place] = encoder.tokenizer.mask_token_id
    with torch.no_grad():
        return float(encoder.model(**coded.to(encoder.device)).logits[0].softmax(0)[label])


@pytest.mark.parametrize("how", ["mask", "delete"])
def test_masks_and_deletions_are_those_of_a_loop_over_texts(tiny, many, how):
    many = many.take(range(8))
    methods = [attribute(tiny, None, many, method=method) for method in ("leave_out", "gradient")]
    lost = faithfulness(model_output(tiny), many, methods, tokens=200)
    for row, text in enumerate(many.text):
        label = int(methods[0].targets.label[row])
        whole = plain(tiny, text, label, set(), how)
        for place, found in enumerate(methods):
            order = np.argsort(-found.of(row), kind="stable")
            most, rest = [], []
            for k in taken(len(order)):
                most.append(whole - plain(tiny, text, label, set(order[:k].tolist()), how))
                rest.append(whole - plain(tiny, text, label, set(order[k:].tolist()), how))
            assert lost.lost[how][row, place] == pytest.approx([np.mean(most), np.mean(rest)], abs=2e-5)
    assert lost.passes[how] <= 8 * (1 + 8 * (2 + RANDOM)), "what is alike is read once"


def test_pairs_odd_spaces_and_texts_that_are_cut_lose_the_words_that_were_read(tiny):
    long = " ".join(["good", "bad", "house", "road"] * 30)  # 120 words, of which 62 fit
    texts = Examples(("1", "2"), ("a good , old  house!", long), pair=("it was\nnever bad", ""))
    single = Examples(("1",), (long,))
    for given in (texts.take([0]), single):
        found = attribute(tiny, None, given, method="leave_out")
        lost = faithfulness(model_output(tiny), given, [found])
        assert np.isfinite(lost.lost["delete"]).all()
    everything = replace(found, values=np.arange(len(found.values))[::-1].astype(float))
    lost = faithfulness(model_output(tiny), single, [everything])
    read = long.split()[: len(found.values)]
    label, k = int(found.targets.label[0]), taken(len(read))
    whole = plain(tiny, " ".join(read), label, set(), "delete")
    rest = [whole - plain(tiny, " ".join(read[:each]), label, set(), "delete") for each in k]
    assert lost.lost["delete"][0, 0, SUFFICIENT] == pytest.approx(np.mean(rest), abs=2e-5)


def test_what_stands_between_words_stays_and_spaces_go_with_their_word(tiny):
    from bertscope.models.explained_window import ExplainedWindow
    from bertscope.models.fewer_words import _Deleting

    texts = Examples(("1",), ("a  good [SEP] house , him",))
    window = ExplainedWindow.of(model_output(tiny), texts, 0, 1)
    kept = np.array([[True, False, True, False, True], [False, True, True, True, True], [False] * 5])
    made = _Deleting(window).without(np.zeros(3, dtype=int), kept)
    assert made.text == ("a [SEP] house him", "good [SEP] house , him", "[SEP]")


def test_the_word_that_is_explained_is_never_taken(_pocket):
    planted = PLANTED["tokens"]
    task, encoder = planted.task(12), planted.model(_pocket.tokenizer)
    asked = model_output(encoder, task.output)
    found = attribute(encoder, asked, task.test, method="leave_out")
    at = np.arange(len(found))
    counts = np.diff(found.starts)
    values = np.full((1, len(found), counts.max()), 0.0)
    orders = Orders.of(asked, found.targets, counts, found, at, values, 0)
    gone = orders.taken().any((1, 2, 3))
    assert len(orders.some) and (gone.sum(1) == counts[orders.some] - 1).all()
    assert not gone[np.arange(len(gone)), found.targets.place[orders.some]].any()


def test_a_deleted_word_moves_the_explained_one(_pocket):
    """Against the encoder's own predictions of the shorter sentences."""
    planted = PLANTED["tokens"]
    task, encoder = planted.task(8), planted.model(_pocket.tokenizer)
    asked, test = model_output(encoder, task.output), task.test
    found = attribute(encoder, asked, test, method="leave_out")
    found = found.with_values(np.random.default_rng(0).random(len(found.values)), "any")
    lost = faithfulness(asked, test, [found])
    assert len(lost.example) == len(found) > 4
    for target in range(len(found)):
        words, place = test.words[found.targets.example[target]], int(found.targets.place[target])
        others, label = [at for at in np.argsort(-found.of(target)) if at != place], found.targets.label[target]
        rest = []
        for k in taken(len(others)):
            kept = [at for at in range(len(words)) if at not in others[k:]]
            rest.append(_tag(encoder, task, [words[at] for at in kept], kept.index(place), label))
        whole = _tag(encoder, task, list(words), place, label)
        assert lost.lost["delete"][target, 0, SUFFICIENT] == pytest.approx(whole - np.mean(rest), abs=1e-5)


def _tag(encoder, task, words: list[str], place: int, tag: int) -> float:
    one = Examples(("1",), (" ".join(words),), words=(tuple(words),))
    said = task.output.in_order(*_said(encoder.predict(one, task.output)))[0][0, place]
    return float(np.exp(said[tag] - np.logaddexp.reduce(said)))


def _said(predictions):
    return predictions.logits.astype(np.float64), predictions.labels


@pytest.mark.parametrize("kind", sorted(MODEL_OUTPUTS))
def test_every_kind_of_output_can_be_asked(kind, _pocket):
    planted = PLANTED[kind]
    task, encoder = planted.task(8), planted.model(_pocket.tokenizer)
    task = task.asked_of(encoder)
    asked = model_output(encoder, task.output)
    found = attribute(encoder, asked, task.test, method="leave_out")
    lost = faithfulness(asked, task.test, [found])
    assert list(lost.lost) == (["mask"] if kind in ("spans", "masked") else ["mask", "delete"])
    assert asked.has_probability == (kind not in ("regression", "vectors"))
    for each in lost.lost.values():
        assert each.shape == (len(lost.example), 1 + RANDOM, 2) and np.isfinite(each).all()
        assert (np.abs(each) <= 1).all() or not asked.has_probability
        assert asked.has_probability or (each >= 0).all()


def test_random_attributions_are_no_better_than_random_orders(tiny, many):
    found = attribute(tiny, None, many, method="leave_out")
    nothing = found.with_values(np.random.default_rng(5).random(len(found.values)), "random")
    table = faithfulness_table(faithfulness(model_output(tiny), many, [found, nothing])).set_index(
        ["method", "how", "measure"]
    )
    for how in ("mask", "delete"):
        for measure in MEASURES:
            one = table.loc[("random", how, measure)]
            assert one["low"] < 0 < one["high"] and one["value"] == pytest.approx(one["raw"] - one["random"])
    assert table.loc[("leave_out", "mask", "comprehensiveness"), "low"] > 0
    assert table.loc[("leave_out", "mask", "sufficiency"), "high"] < 0


def test_equal_attributions_are_taken_at_random_not_from_the_left(tiny):
    texts, asked = examples(fillers(300)), bag(tiny, {})
    found = attribute(tiny, asked, texts, method="leave_out")
    assert not found.values.any()
    counts = np.diff(found.starts)
    orders = Orders.of(asked, found.targets, counts, found, np.arange(300), np.zeros((1, 300, counts.max())), 0)
    first = np.argmin(orders.place[:, 0], 1) / (counts - 1)
    assert 0.4 < first.mean() < 0.6


def test_the_interval_covers_what_is_true_with_several_targets_a_text():
    generator, hits = np.random.default_rng(0), 0
    for _ in range(200):
        counts = generator.integers(1, 5, 60)
        example = np.repeat(np.arange(60), counts)
        values = np.repeat(generator.normal(0.3, 1, 60), counts) + generator.normal(0, 0.5, len(example))
        _, low, high, n = over_texts(values, example)
        hits += low < 0.3 < high
        assert n == 60
    assert 0.90 <= hits / 200 <= 0.975


def test_few_texts_have_no_interval():
    mean, low, high, n = over_texts(np.array([1.0, 2.0, np.nan]), np.array([0, 1, 2]))
    assert (mean, n) == (1.5, 2) and np.isnan(low) and np.isnan(high)
    assert np.isnan(over_texts(np.zeros(0), np.zeros(0, dtype=int))[0])


def test_shares_are_rounded_up_exactly():
    orders = Orders(np.arange(1), np.arange(70)[None, None], np.ones((1, 70), dtype=bool))
    assert orders.taken()[0, 0, 0].sum(1).tolist() == [7, 14, 21, 35] and PERCENT.tolist() == [10, 20, 30, 50]
