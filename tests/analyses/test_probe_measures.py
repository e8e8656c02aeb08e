"""Accuracies, codes, selectivity and the expected layer of probes, on vectors in which the answer is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from bertscope.analyses.probe.measure import (
    accuracies,
    codelengths,
    cumulative,
    online_code,
    portion_ends,
    text_draws,
)
from bertscope.analyses.probe.result import expected_layer
from bertscope.analyses.probe.sample import TEST, TRAIN, VALIDATION, control_labels, text_parts
from bertscope.analyses.probe.targets import Limits, choose_targets
from bertscope.analyses.probe.training import Training, train_probes
from bertscope.analyses.probe.vectors import Rows, have_vectors
from bertscope.core.resampling import Resampling
from made_states import made_store, one_hot
from planted_probe import POS, TEXTS, stack_of


def test_selectivity_tells_a_label_from_a_type():
    types = np.array([int(word[1:]) for row in TEXTS.words for word in row])
    vectors, sample = stack_of(TEXTS, one_hot(types, 41), one_hot(POS, 41))
    found = accuracies(vectors, sample, Training(rate=0.05), Resampling(TEXTS.ids, repeats=100))
    (type_accuracy, label_accuracy), (type_control, label_control) = found.target[0], found.control[0]
    assert label_accuracy == 1 and type_control > 0.97  # what is in the vectors is read
    test = sample.items(TEST)
    frequent, frequent_control = (
        np.bincount(labels[test]).max() / len(test) for labels in (sample.target.label, control_labels(sample, 0))
    )
    assert type_accuracy < frequent + 0.03 and label_control < frequent_control + 0.03  # what isn't, isn't
    assert found.validation_loss.argmin() == 1


def test_an_accuracy_is_as_sure_as_its_texts_are_many():
    """Every second text of report has another label's vectors: all of a text's words are right, or none is."""
    wrong = np.flatnonzero(text_parts(TEXTS, 0) == TEST)[::2]
    shown = np.where(np.isin(np.repeat(np.arange(150), 8), wrong), (POS + 1) % 3, POS)
    vectors, sample = stack_of(TEXTS, one_hot(shown, 3))
    draws = accuracies(vectors, sample, Training(rate=0.05), Resampling(TEXTS.ids, repeats=2000)).target[:, 0]
    held_out = len(np.unique(sample.target.example[sample.items(TEST)]))
    share = 1 - len(wrong) / held_out
    assert draws[0] == pytest.approx(share)
    assert draws[1:].std() == pytest.approx(math.sqrt(share * (1 - share) / held_out), rel=0.1)


def test_vectors_are_those_of_the_words_and_standardised_over_train():
    random = np.random.default_rng(0)
    layer = random.normal(3, 5, size=(1200, 6))
    vectors, sample = stack_of(TEXTS, layer, layer * 2)
    train = sample.items(TRAIN)
    place = sample.target.example * 8 + sample.target.words[:, 0]
    expected = (layer[place] - layer[place[train]].mean(0)) / layer[place[train]].std(0)
    read = vectors.read(torch.arange(len(place)))[0]
    np.testing.assert_allclose(read[:, 0].numpy(), expected, atol=1e-4)
    np.testing.assert_allclose(read[:, 1].numpy(), expected, atol=1e-4)  # twice as long is the same


def test_a_texts_vector_is_the_mean_of_its_words():
    layer = np.random.default_rng(0).normal(size=(1200, 3))
    rows = Rows(made_store(TEXTS, [layer]), TEXTS)
    (target,), _ = choose_targets(TEXTS, ["label"], Limits())
    means = rows.vectors(0, "text", rows.of(target)[:, 0])
    np.testing.assert_allclose(means, layer.reshape(150, 8, 3).mean(1), atol=1e-6)


def test_a_word_without_a_vector_is_left_out_everywhere():
    store = made_store(TEXTS, [np.ones((1200, 2))])
    some = replace(store, starts=np.concatenate([[0], store.starts[1:] - 1]), words=store.words[1:],
                   array=store.array[1:])  # fmt: skip
    (target,), _ = choose_targets(TEXTS, ["pos"], Limits())
    assert not have_vectors({"a": Rows(store, TEXTS), "b": Rows(some, TEXTS)}, target)[0]
    assert have_vectors({"a": Rows(store, TEXTS), "b": Rows(some, TEXTS)}, target)[1:].all()


def test_the_portions_of_an_online_code():
    assert portion_ends(1000) == [1, 2, 4, 8, 16, 32, 62, 125, 250, 500, 1000]
    assert portion_ends(10) == [1, 2, 5, 10]
    # 3 labels of 4 classes at 2 bits, then two portions that cost 1.5 and 2 bits.
    nats = np.array([[1.5], [2.0]]) * math.log(2)
    assert online_code(3, 4, nats).tolist() == pytest.approx([9.5])


def test_a_code_is_what_each_portion_costs_a_probe_of_those_before_it():
    random = np.random.default_rng(0)
    vectors, sample = stack_of(TEXTS, random.normal(size=(1200, 4)), random.normal(size=(1200, 4)), words=200)
    training = Training(looks=5)
    train, label = sample.items(TRAIN), torch.from_numpy(sample.target.label)
    expected = portion_ends(len(train))[0] * math.log2(3) * np.ones(2)
    for end, after in zip(portion_ends(200), portion_ends(200)[1:], strict=False):
        answers = label.expand(2, -1)
        validation = torch.from_numpy(sample.items(VALIDATION))
        probes = train_probes(vectors, [[0], [1]], answers, 3, torch.from_numpy(train[:end]), validation, training)
        found = torch.cat([block for _, block in probes.log_probabilities(torch.from_numpy(train[end:after]))], 1)
        for probe in range(2):
            for place, item in enumerate(train[end:after]):
                expected[probe] -= found[probe, place, label[item]].item() / math.log(2)
    np.testing.assert_allclose(codelengths(vectors, sample, training), expected, rtol=1e-5)


def test_a_label_in_the_vectors_makes_a_short_code_and_noise_none():
    noise = np.random.default_rng(0).normal(size=(1200, 3))
    vectors, sample = stack_of(TEXTS, noise, one_hot(POS, 3))
    n = len(sample.items(TRAIN))
    of_noise, of_label = n * math.log2(3) / codelengths(vectors, sample, Training(rate=0.05))
    counts = np.bincount(sample.target.label[sample.items(TRAIN)])
    prior = -(counts / n * np.log2(counts / n)).sum()
    assert 0.95 < of_noise < math.log2(3) / prior + 0.01  # at best the labels' frequencies
    assert of_label > 8


def test_the_expected_layer_by_hand():
    # Gains of 0.2 at layers 1 and 2: in the middle. Losses count as losses.
    assert expected_layer(np.array([0.5, 0.7, 0.9, 0.9]), [0, 1, 2, 3]) == pytest.approx(1.5)
    assert expected_layer(np.array([0.5, 0.4, 0.9]), [0, 1, 2]) == pytest.approx((-0.1 * 1 + 0.5 * 2) / 0.4)
    both = expected_layer(np.array([[0.5, 0.5, 1.0], [0.9, 0.8, 0.9]]), [0, 1, 2])
    assert both[0] == 2 and np.isnan(both[1])  # nothing was gained


def test_a_mix_gains_where_the_label_comes_in():
    random = np.random.default_rng(0)
    noise = [random.normal(size=(1200, 4)) for _ in range(5)]
    for layer in (3, 4):
        noise[layer][:, :3] += 8 * one_hot(POS, 3)
    vectors, sample = stack_of(TEXTS, *noise)
    draws = cumulative(vectors, sample, Training(rate=0.05), Resampling(TEXTS.ids, repeats=100))
    assert draws[0, :3].max() < 0.6 and draws[0, 3:].min() > 0.97
    assert expected_layer(draws, range(5))[0] == pytest.approx(3, abs=0.2)


def test_intervals_resample_texts_with_all_their_words():
    hits = np.array([[1, 0], [1, 0], [0, 1], [1, 1], [0, 0]])
    texts = np.array([2, 2, 0, 2, 0])
    resampling = Resampling(["a", "b", "c"], repeats=50)
    draws = text_draws(hits, texts, resampling)
    weights = resampling.weights(np.array([0, 2]))
    sums, counts = np.array([[0, 1], [3, 1]]), np.array([[2.0], [3.0]])
    with np.errstate(invalid="ignore"):
        expected = (weights @ sums) / (weights @ counts)
    np.testing.assert_allclose(draws, expected)
    assert draws[0].tolist() == [0.6, 0.4]
