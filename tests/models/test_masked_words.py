"""Masked words as models read and guess them: the same for every tokenizer, and every number by a plain loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForMaskedLM, BertConfig, BertForPreTraining

import tokenizer_kinds
from bertscope.core.errors import UserError
from bertscope.core.examples import NOTHING, Examples
from bertscope.core.masking import masked_words, word_spans
from bertscope.core.units import Unit
from bertscope.data.outputs.masked_words import MaskedWords
from bertscope.data.task import Task
from bertscope.models.judge import judge_without
from bertscope.models.load import load
from bertscope.models.masked_words import mask_words, right_pieces
from bertscope.models.outputs.kinds import model_output
from device import DEVICE
from families import _COMMON, CONFIGS
from six_sentences import SENTENCES
from tokenizer_kinds import HARD

PLAIN = Examples(tuple(map(str, range(6))), SENTENCES)
MARKED = Examples(tuple(map(str, range(len(HARD)))), tuple(map(" ".join, HARD)), words=HARD)


def tokenizer_of(kind: str, pocket):
    return pocket.tokenizer if kind == "bert" else getattr(tokenizer_kinds, kind)()


@pytest.fixture
def task() -> Task:
    return Task("own", "masked", (), PLAIN, PLAIN, PLAIN, "accuracy")


def guesser(family: str, tokenizer):
    if family not in CONFIG_MAPPING:
        pytest.skip(f"this transformers has no {family}")
    torch.manual_seed(3)
    if family == "bert":
        model = BertForPreTraining(BertConfig(**{k: v for k, v in _COMMON.items() if k != "num_labels"}))
    else:
        common = {
            k: v for k, v in _COMMON.items()
            if family != "distilbert" or not k.startswith(("hidden", "num_h", "num_a", "inter"))
        }  # fmt: skip
        model = AutoModelForMaskedLM.from_config(AutoConfig.for_model(family, **common | CONFIGS[family]))
    return load(model.eval().to(DEVICE), tokenizer=tokenizer)


@pytest.mark.parametrize("kind", tokenizer_kinds.KINDS)
def test_whole_words_are_masked_and_the_same_ones_for_every_tokenizer(kind, _pocket):
    tokenizer = tokenizer_of(kind, _pocket)
    for examples in (PLAIN, MARKED, replace(PLAIN, pair=SENTENCES[::-1])):
        tokens, right = mask_words(tokenizer, examples, 512)
        chosen, masked = masked_words(examples), right != NOTHING
        assert (tokens.fields["input_ids"][masked] == tokenizer.mask_token_id).all()
        assert not (masked & tokens.special).any()
        ends = tokens.starts + tokens.lengths
        for row, (start, end) in enumerate(zip(tokens.starts, ends, strict=True)):
            spans, segments = tokens.spans[start:end], tokens.segments[start:end]
            for at in range(end - start):
                if tokens.special[start + at] or spans[at, 0] == spans[at, 1]:
                    continue
                if examples.words is not None:
                    inside = tokens.words[start + at] in chosen[row]
                else:
                    first = word_spans(examples.text[row])
                    both = [(0, span) for span in first]
                    both += [(1, span) for span in word_spans(examples.pair[row])] if examples.pair else []
                    inside = any(
                        segments[at] == both[word][0]
                        and spans[at, 0] < both[word][1][1]
                        and spans[at, 1] > both[word][1][0]
                        for word in chosen[row]
                    )
                assert masked[start + at] == inside, (kind, examples.text[row], at)


def test_what_is_right_are_the_masked_words_themselves(_pocket):
    pieces = right_pieces(_pocket.tokenizer, PLAIN, 512)
    assert pieces.dtype == np.int64 and (pieces[:, 0] != NOTHING).all()
    for text, row, words in zip(SENTENCES, pieces, masked_words(PLAIN), strict=True):
        spelt = [text[slice(*word_spans(text)[word])].lower() for word in words]
        assert _pocket.tokenizer.decode(row[row != NOTHING]).replace(" ", "") == "".join(spelt)
    again = np.concatenate([right_pieces(_pocket.tokenizer, PLAIN.take([row]), 512)[0] for row in range(6)])
    np.testing.assert_array_equal(again[again != NOTHING], pieces[pieces != NOTHING])


@pytest.mark.parametrize("family", CONFIGS)
def test_outputs_losses_and_divergence_are_those_of_a_plain_loop(family, _pocket, task):
    encoder = guesser(family, _pocket.tokenizer)
    asked = task.asked_of(encoder)
    off = [Unit.parse("head:2.3")]
    judged = judge_without(encoder, asked.output, asked.test, [[], off], tokens=60)
    outputs = encoder.predict(asked.test, asked.output, tokens=40).logits
    tokens, right = mask_words(encoder.tokenizer, PLAIN, encoder.max_length)
    for row, (start, size) in enumerate(zip(tokens.starts, tokens.lengths, strict=True)):
        place = slice(start, start + size)
        ids, gold = (torch.from_numpy(each[place]).long().to(DEVICE) for each in (tokens.fields["input_ids"], right))
        masked, logs = gold != NOTHING, []
        for units in ([], off):
            with torch.inference_mode(), encoder.gates(units):
                found = encoder.model(input_ids=ids[None], attention_mask=torch.ones_like(ids)[None])
            logits = found.prediction_logits if "prediction_logits" in found else found.logits
            logs.append(log_softmax(logits[0][masked].double().cpu().numpy(), -1))
        gold = gold[masked].cpu().numpy()
        n = len(gold)
        assert asked.test.label[row].tolist() == [*gold, *[NOTHING] * (asked.test.label.shape[1] - n)]
        losses = [-one[np.arange(n), gold] for one in logs]
        assert judged.losses[:, row] == pytest.approx([one.mean() for one in losses], abs=1e-4)
        kl = (np.exp(logs[0]) * (logs[0] - logs[1])).sum(-1).mean()
        assert judged.divergence[:, row] == pytest.approx([0, kl], abs=1e-4)
        assert judged.predicted[0, row, :n, 0].tolist() == logs[0].argmax(-1).tolist()
        np.testing.assert_allclose(outputs[row, :n, 1], losses[0] / np.log(2), atol=1e-4)
        assert (outputs[row, n:] == NOTHING).all() and (judged.predicted[:, row, n:] == NOTHING).all()
        assert judged.moments[1, row].tolist() == [(logs[1].argmax(-1) == gold).sum(), n]
    assert judged.divergence[1].max() > 1e-3
    np.testing.assert_allclose(judged.losses[0], asked.losses(outputs), atol=1e-4)


def test_the_loss_leads_back_to_the_weights(_pocket, task):
    encoder = guesser("bert", _pocket.tokenizer)
    asked = task.asked_of(encoder)
    output = model_output(encoder, asked.output)
    (batch,) = output.batches(asked.test, gold=True)

    def loss() -> torch.Tensor:
        totals, counts = output.losses(output.run(batch), batch)
        return totals.sum() / counts.sum()

    weight = encoder.model.bert.encoder.layer[1].output.dense.weight
    (gradient,) = torch.autograd.grad(loss(), [weight])
    step, direction = 1e-2, gradient / gradient.norm()
    with torch.no_grad():
        ends = []
        for sign in (1, -1):
            weight.add_(sign * step * direction)
            ends.append(loss().item())
            weight.add_(-sign * step * direction)
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(gradient.norm().item(), rel=2e-2)


def test_what_lies_beyond_the_models_reach_counts_for_nothing_and_is_said(_pocket):
    long = " ".join(["house"] * 300)
    texts = Examples(("a", "b"), (SENTENCES[0], long))
    encoder = guesser("bert", _pocket.tokenizer)
    asked = Task("own", "masked", (), texts, texts, texts, "accuracy").asked_of(encoder)
    predicted = encoder.predict(asked.test, asked.output)
    assert encoder.max_length == 64 and predicted.truncated == 1
    read = (asked.test.label != NOTHING).sum(1)
    assert 0 < read[1] == sum(word < 62 for word in masked_words(texts)[1]) < 45
    # A text of which no masked word is read: of two words, the second is masked and the first is long.
    for number in range(50):
        words = (tuple(SENTENCES[0].split()), ("a-" * 60, "no"))
        tail = Examples(("a", "b"), (SENTENCES[0], f"{number}"), words=words)
        if masked_words(tail)[1].tolist() == [1]:
            break
    asked = Task("own", "masked", (), tail, tail, tail, "accuracy").asked_of(encoder)
    assert "1 test text has no masked word that the model reads" in asked.notes
    judged = judge_without(encoder, asked.output, asked.test, [[], [Unit.parse("head:1.1")]])
    assert judged.losses[:, 1].tolist() == [0, 0] and judged.divergence[:, 1].tolist() == [0, 0]
    assert judged.moments[:, 1].tolist() == [[0, 0], [0, 0]]


def test_asking_another_model_says_it_anew(_pocket, task):
    bert = guesser("bert", _pocket.tokenizer)
    other = guesser("bert", tokenizer_kinds.cased())
    first, second = task.asked_of(bert), task.asked_of(other)
    assert not np.array_equal(first.test.label, second.test.label)
    again = first.asked_of(other)
    np.testing.assert_array_equal(again.test.label, second.test.label)
    assert again.notes == second.notes and again.fingerprint == task.fingerprint


def test_models_that_do_not_guess_are_refused(tiny, _pocket, task):
    with pytest.raises(UserError, match=r"doesn't guess masked words \(it is: classifier\), and own asks for them"):
        task.asked_of(tiny)
    encoder = guesser("bert", tokenizer_kinds.cased())
    encoder.tokenizer.mask_token = None
    with pytest.raises(UserError, match="has no mask token"):
        task.asked_of(encoder)


def test_a_random_twin_guesses_too(_pocket):
    encoder = guesser("bert", _pocket.tokenizer)
    output = model_output(encoder, MaskedWords("own", "accuracy"))
    twin = output.with_random_weights(4)
    assert twin.task_head == "masked-lm" and type(twin.model) is type(encoder.model)
    assert twin.model.get_output_embeddings().weight is twin.model.get_input_embeddings().weight, "still tied"
    assert twin.fingerprint != encoder.fingerprint == guesser("bert", _pocket.tokenizer).fingerprint
    assert twin.fingerprint == output.with_random_weights(4).fingerprint
