"""Word attributions, against closed forms, plain loops, finite differences and captum."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from bags import bag, plain_bert
from bertscope.core.attributions import Targets, Wanted
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.models.attribution import METHODS, allowed_gap, attribute, gauss_legendre
from bertscope.models.load import load
from bertscope.models.outputs.classifier import OneLabel
from bertscope.models.words import NO_WORD, align
from captum_values import NODES, TEXTS, VALUES, captum_values
from families import CONFIGS, tiny_model
from six_sentences import SENTENCES

SOME = Examples(tuple("abcdef"), SENTENCES)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def tokenizer(_pocket):
    return _pocket.tokenizer


@pytest.fixture(scope="module")
def bert(tokenizer):
    return plain_bert(tokenizer)


def tokens_of(encoder, text, pair=None):
    """A text's ids, and each token's word, by the tokenizer itself."""
    coded = encoder.tokenizer(text, pair, return_tensors="pt")
    words = [NO_WORD if word is None else word for word in coded.word_ids()]
    first = max((w for w, s in zip(words, coded.sequence_ids(), strict=True) if s == 0), default=-1) + 1
    words = [word + first if side == 1 else word for word, side in zip(words, coded.sequence_ids(), strict=True)]
    return coded.to(encoder.device), np.array(words)


def margin(logits, label):
    others = [place for place in range(logits.shape[-1]) if place != label]
    return logits[..., label] - logits[..., others].mean(-1)


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
def test_integrated_gradients_are_captum_s(bert, nodes):
    """As captum 0.9 gave them (tests/support/captum_values.py): same baseline, same nodes."""
    found = attribute(bert, None, Examples(TEXTS, TEXTS), nodes=nodes, most_nodes=nodes)
    expected = json.loads(VALUES.read_text())[str(nodes)]
    np.testing.assert_allclose(found.values, expected, atol=1e-4)
    assert np.abs(found.values).max() > 0.1


def test_captum_still_says_so(bert):
    from benchmarks.captum_plain import find_captum

    attr = find_captum()
    if attr is None:
        pytest.skip("captum isn't installed")
    for nodes, expected in captum_values(attr, bert).items():
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


@pytest.mark.parametrize("family", CONFIGS)
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


# What is explained


def test_a_label_that_is_asked_for(bert):
    found = attribute(bert, None, SOME, wanted=Wanted(label=2), method="leave_out")
    assert set(found.targets.label) == {2} and set(found.explained) == {"LABEL_2"}
    other = attribute(bert, None, SOME, wanted=Wanted(label=0), method="leave_out")
    assert np.abs(found.values - other.values).max() > 0.1


def test_given_targets_are_explained_again(bert):
    first = attribute(bert, None, SOME, method="leave_out")
    again = attribute(bert, None, SOME, first.targets, method="leave_out")
    np.testing.assert_array_equal(again.values, first.values)
    one = Targets(np.array([3]), np.array([-1]), np.array([1]))
    found = attribute(bert, None, SOME, one, method="gradient")
    assert len(found) == 1 and found.targets.example[0] == 3 and found.explained == ("LABEL_1",)


def test_labels_are_in_the_task_s_order(bert, toy_task):
    """The model's third label is the task's first."""
    bert.model.config.id2label = {0: "x", 1: "y", 2: "z"}
    try:
        task = replace(toy_task, labels=("z", "x", "y"))
        asked = attribute(bert, task.output, SOME, wanted=Wanted(label=0), method="leave_out")
        own = attribute(bert, None, SOME, wanted=Wanted(label=2), method="leave_out")
    finally:
        bert.model.config.id2label = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    np.testing.assert_array_equal(asked.values, own.values)
    assert set(asked.explained) == {"z"}


def test_words_are_as_the_text_has_them(bert):
    texts = Examples(("a",), ("Don't  SHOUT, naïve\tman!",), ("It's ok",))
    found = attribute(bert, None, texts, method="leave_out")
    assert found.words_of(0) == ("Don", "'", "t", "SHOUT", ",", "naïve", "man", "!", "It", "'", "s", "ok")
    np.testing.assert_array_equal(found.word, np.arange(12))


def test_truncated_words_have_no_attribution(bert):
    texts = Examples(("a", "b"), ("old house " * 60, "good"), ("bad food " * 60, "bad"))
    found = attribute(bert, None, texts, method="leave_out")
    assert found.unread[1] == 0 and found.unread[0] == 240 - len(found.of(0))
    numbers = found.word[: len(found.of(0))]
    second = numbers >= 120  # a second text's words come after all of the first one's, read or not
    assert set(np.array(found.words_of(0))[second]) == {"bad", "food"} and 0 < second.sum() < 60
    assert set(np.array(found.words_of(0))[~second]) == {"old", "house"}


def test_windows_share_words(bert, toy_task):
    """A long text read in windows: words are counted through it, and each is masked wherever it is read."""
    task = replace(toy_task, labels=("LABEL_0", "LABEL_1", "LABEL_2"), windows=3)
    long = " ".join(["the old house by the river"] * 20)
    found = attribute(bert, task.output, Examples(("a", "b"), (long, "good")), method="integrated", nodes=64)
    assert len(found.of(0)) == 120 and found.unread[0] == 0
    assert " ".join(found.words_of(0)) == long
    left = attribute(bert, task.output, Examples(("a", "b"), (long, "good")), method="leave_out")
    masked = long.split()
    masked[45] = bert.tokenizer.mask_token
    asked = OneLabel(bert, task.output)
    with torch.no_grad():
        said = [
            margin(asked.run(next(iter(asked.batches(Examples(("a",), (text,)))))), left.targets.label[0])
            for text in (long, " ".join(masked))
        ]
    assert left.of(0)[45] == pytest.approx(float(said[0] - said[1]), abs=1e-5)
    assert abs(left.of(0)[45]) > 1e-4


def test_a_word_of_windows_is_one(tokenizer):
    coded = tokenizer(["a b c d e f"], truncation=True, max_length=5, stride=1, return_overflowing_tokens=True,
                      return_special_tokens_mask=True)  # fmt: skip
    special = np.concatenate(coded["special_tokens_mask"]).astype(bool)
    words, _ = align(
        tokenizer, coded, special, Examples(("a",), ("a b c d e f",)), np.zeros(len(coded.encodings), int)
    )
    assert [word for word in words if word >= 0] == [0, 1, 2, 2, 3, 4, 4, 5]


# Texts at the edge, and mistakes


@pytest.mark.parametrize("method", METHODS)
def test_texts_without_words_are_left_out(bert, method):
    found = attribute(bert, None, Examples(tuple("abc"), ("", "good", " [SEP] ")), method=method)
    np.testing.assert_array_equal(found.targets.example, [1])
    assert found.words_of(0) == ("good",)
    if method != "gradient":
        assert found.of(0).sum() == pytest.approx(found.whole[0] - found.baseline[0], rel=0.01)
    assert not len(attribute(bert, None, Examples(("a",), ("",)), method=method))


def test_unknown_words_are_words(bert):
    found = attribute(bert, None, Examples(("a",), ("good 語 bad",)), method="leave_out")
    assert found.words_of(0) == ("good", "語", "bad") and np.isfinite(found.values).all()


def test_mistakes(tokenizer, bert):
    with pytest.raises(UserError, match=r"no texts; give some"):
        attribute(bert, None, Examples((), ()))
    with pytest.raises(UserError, match=r"unknown method 'integratd'; did you mean 'integrated'\?"):
        attribute(bert, None, SOME, method="integratd")
    broken = plain_bert(tokenizer)
    with torch.no_grad():
        broken.model.bert.encoder.layer[1].output.dense.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match="NaN or infinite values"):
        attribute(broken, None, SOME)


def test_a_tokenizer_without_masks_is_refused(bert, monkeypatch):
    monkeypatch.setattr(type(bert.tokenizer), "mask_token_id", None, raising=False)
    with pytest.raises(UserError, match=r"has no mask token, .* give a model that has one"):
        attribute(bert, None, SOME)
