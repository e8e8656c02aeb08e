"""Word attributions, against closed forms, plain loops, finite differences and captum."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from bags import bag, plain_bert
from bertscope.core.examples import Examples
from bertscope.models.attribution import METHODS, allowed_gap, attribute, gauss_legendre
from bertscope.models.load import load
from captum_values import NODES, TEXTS, VALUES, captum_values, own_tokenizer
from families import MARKED, tiny_model
from plain_margins import margin, tokens_of
from six_sentences import SENTENCES

SOME = Examples(tuple("abcdef"), SENTENCES)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def tokenizer(_pocket):
    return _pocket.tokenizer


@pytest.fixture(scope="module")
def bert(tokenizer):
    return plain_bert(tokenizer)


# Against what is known


@pytest.mark.parametrize("method", METHODS)
def test_a_linear_model_is_explained_exactly(tokenizer, method):
    """Each word's attribution is (its embeddings - [MASK]'s) times the weights of what is explained."""
    encoder = bag(tokenizer)
    found = attribute(encoder, None, SOME, method=method)
    words = encoder.model.get_input_embeddings().weight.detach().double()
    weights = encoder.model.classifier.weight.detach().double()
    for place, text in enumerate(SENTENCES):
        coded, word = tokens_of(encoder, text)
        label = int(found.targets.label[place])
        toward = weights[label] - weights[[at for at in range(3) if at != label]].mean(0)
        each = ((words[coded.input_ids[0]] - words[tokenizer.mask_token_id]) @ toward).cpu().numpy()
        expected = np.bincount(word[word >= 0], each[word >= 0])
        np.testing.assert_allclose(found.of(place), expected, **CLOSE)
        assert found.whole[place] - found.baseline[place] == pytest.approx(expected.sum(), abs=1e-4)
    assert not found.missed.any()


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_reads_one_word_is_found_out(tokenizer, method):
    """In every text the word that is read, and no other, did something."""
    texts = tuple(f"{text} good {text}" for text in SENTENCES)
    found = attribute(bag(tokenizer, read="good"), None, Examples(tuple("abcdef"), texts), method=method)
    for place in range(len(found)):
        words, values = np.array(found.words_of(place)), found.of(place)
        assert (np.abs(values[words == "good"]) > 0.4).all()
        np.testing.assert_allclose(values[words != "good"], 0, atol=1e-6)


@pytest.mark.parametrize("nodes", NODES)
def test_integrated_gradients_are_captum_s(nodes):
    """As captum 0.9 gave them (tests/support/captum_values.py): same baseline, same nodes."""
    found = attribute(plain_bert(own_tokenizer()), None, Examples(TEXTS, TEXTS), nodes=nodes, most_nodes=nodes)
    expected = json.loads(VALUES.read_text())[str(nodes)]
    np.testing.assert_allclose(found.values, expected, atol=1e-4)
    assert np.abs(found.values).max() > 0.1


def test_captum_still_says_so():
    from benchmarks.captum_plain import find_captum

    attr = find_captum()
    if attr is None:
        pytest.skip("captum isn't installed")
    for nodes, expected in captum_values(attr, plain_bert(own_tokenizer())).items():
        np.testing.assert_allclose(expected, json.loads(VALUES.read_text())[nodes], atol=1e-4)


def test_leaving_out_is_a_plain_loop(bert):
    pairs = Examples(tuple("abcdef"), SENTENCES, SENTENCES[::-1])
    found = attribute(bert, None, pairs, method="leave_out")
    for place, (text, pair) in enumerate(zip(SENTENCES, SENTENCES[::-1], strict=True)):
        coded, word = tokens_of(bert, text, pair)
        label = int(found.targets.label[place])
        expected = []
        with torch.no_grad():
            whole = margin(bert.model(**coded).logits[0], label)
            for one in range(word.max() + 1):
                ids = coded.input_ids.clone()
                ids[0, np.flatnonzero(word == one)] = bert.tokenizer.mask_token_id
                expected.append(float(whole - margin(bert.model(**coded | {"input_ids": ids}).logits[0], label)))
        np.testing.assert_allclose(found.of(place), expected, **CLOSE)
        assert found.whole[place] == pytest.approx(float(whole), abs=1e-5)


def test_gradients_are_finite_differences(tokenizer):
    """How fast what is explained changes as a word moves away from [MASK], in double."""
    encoder = plain_bert(tokenizer)
    encoder.model.double()
    found = attribute(encoder, None, SOME, method="gradient")
    step = 1e-5
    for place, text in enumerate(SENTENCES):
        coded, word = tokens_of(encoder, text)
        own = encoder.model.get_input_embeddings()(coded.input_ids)
        away = own - encoder.model.get_input_embeddings().weight[tokenizer.mask_token_id]
        expected = []
        for one in range(word.max() + 1):
            inside = torch.from_numpy(word == one).to(own.device)[None, :, None]
            with torch.no_grad():
                up, down = (
                    margin(encoder.model(inputs_embeds=own + side * step * away * inside).logits[0],
                           int(found.targets.label[place]))
                    for side in (1, -1)
                )  # fmt: skip
            expected.append(float(up - down) / (2 * step))
        np.testing.assert_allclose(found.of(place), expected, rtol=1e-5, atol=1e-7)


def test_the_baseline_is_the_text_with_every_word_masked(bert):
    found = attribute(bert, None, SOME, method="gradient")
    for place, text in enumerate(SENTENCES):
        coded, word = tokens_of(bert, text)
        ids = coded.input_ids.masked_fill(torch.from_numpy(word >= 0).to(bert.device), bert.tokenizer.mask_token_id)
        with torch.no_grad():
            logits = bert.model(**coded | {"input_ids": ids}).logits[0]
        assert found.baseline[place] == pytest.approx(float(margin(logits, found.targets.label[place])), abs=1e-5)


# How many nodes


def test_more_nodes_only_for_texts_that_dont_add_up(bert):
    few = attribute(bert, None, SOME, nodes=1, most_nodes=1)
    many = attribute(bert, None, SOME, nodes=1)
    allowed = allowed_gap(many.whole, many.baseline)
    assert few.missed.any() and (few.nodes == 1).all()
    np.testing.assert_array_equal(few.missed, few.gap > allowed)
    sums = np.add.reduceat(many.values, many.starts[:-1])
    np.testing.assert_allclose(np.abs(sums - (many.whole - many.baseline)), many.gap, atol=1e-12)
    assert (many.gap <= allowed).all() and not many.missed.any()
    assert len(set(many.nodes)) > 1 and set(many.nodes) <= {2**power for power in range(10)}
    for place, nodes in enumerate(many.nodes):  # each with its own number
        alone = attribute(bert, None, SOME, many.targets.take(np.array([place])), nodes=int(nodes), most_nodes=1)
        np.testing.assert_allclose(alone.values, many.of(place), **CLOSE)


def test_nodes_go_up_to_the_most_whatever_they_begin_with(bert, monkeypatch):
    monkeypatch.setattr("bertscope.models.attribution._SHARE", 0.0)
    monkeypatch.setattr("bertscope.models.attribution._OF_SPREAD", 0.0)
    found = attribute(bert, None, SOME, nodes=3, most_nodes=10)
    assert (found.nodes == 10).all() and found.missed.all(), "rounding is always missing"


def test_allowed_gap_is_a_hundredth_or_a_thousandth_of_the_spread():
    whole, baseline = np.array([1.0, 3.0, 5.0]), np.array([1.0, 2.0, 0.0])
    spread = np.sqrt(8 / 3) / 1000
    np.testing.assert_allclose(allowed_gap(whole, baseline), [spread, 0.01, 0.05])


def test_gauss_legendre_integrates_polynomials():
    place, weight = gauss_legendre(4)
    for power in range(8):
        assert (weight * place**power).sum() == pytest.approx(1 / (power + 1))


# Whatever the batches


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [1, 70, 4000])
def test_batches_change_nothing(bert, method, budget):
    usual = attribute(bert, None, SOME, method=method)
    found = attribute(bert, None, SOME, method=method, tokens=budget)
    np.testing.assert_allclose(found.values, usual.values, **CLOSE)
    np.testing.assert_allclose(found.baseline, usual.baseline, **CLOSE)
    np.testing.assert_array_equal(found.nodes, usual.nodes)


@pytest.mark.parametrize("method", METHODS)
def test_order_and_windows_of_examples_change_nothing(bert, method, monkeypatch):
    usual = attribute(bert, None, SOME, method=method)
    monkeypatch.setattr("bertscope.models.attribution.WINDOW", 2)
    turned = attribute(bert, None, SOME.take(range(5, -1, -1)), method=method)
    assert turned.words_of(0) == usual.words_of(5)
    for place in range(6):
        np.testing.assert_allclose(turned.of(place), usual.of(5 - place), **CLOSE)
    np.testing.assert_array_equal(turned.targets.example, np.arange(6))
    assert len(turned.unread) == 6


@pytest.mark.parametrize("method", METHODS)
def test_a_model_is_left_as_it_was(tokenizer, method):
    encoder = plain_bert(tokenizer)
    encoder.model.train()
    before = encoder.fingerprint
    attribute(encoder, None, SOME, method=method)
    assert encoder.model.training and encoder.fingerprint == before
    assert all(each.requires_grad and each.grad is None for each in encoder.model.parameters())
    assert not encoder.model.get_input_embeddings()._forward_hooks


@pytest.mark.parametrize("family", MARKED)
def test_every_family(family, tokenizer):
    """What is masked through embeddings is what is masked through ids, and integrated gradients add up."""
    encoder = load(tiny_model(family), tokenizer=tokenizer)
    two = Examples(("a", "b"), SENTENCES[:2])
    found = attribute(encoder, None, two, method="leave_out")
    coded, word = tokens_of(encoder, SENTENCES[0])
    given = {name: coded[name] for name in encoder.tokenizer.model_input_names if name in coded}
    ids = given["input_ids"].clone()
    ids[0, np.flatnonzero(word == 1)] = tokenizer.mask_token_id
    with torch.no_grad():
        said, without = (encoder.model(**given | {"input_ids": one}).logits[0] for one in (given["input_ids"], ids))
    label = int(found.targets.label[0])
    assert found.of(0)[1] == pytest.approx(float(margin(said, label) - margin(without, label)), abs=1e-4)
    added = attribute(encoder, None, two, nodes=64, most_nodes=64)
    difference = added.whole - added.baseline
    np.testing.assert_allclose(np.add.reduceat(added.values, added.starts[:-1]), difference, rtol=0.1, atol=0.05)
    assert np.abs(attribute(encoder, None, two, method="gradient").values).max() > 0
