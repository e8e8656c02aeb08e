"""What is learnt from a row: the loss against the library's own, parts that follow and parts that don't, scores."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import masking_utils

from bertscope.data.documents import open_documents
from bertscope.models.load import load
from bertscope.models.new_vocabulary import continues_a_word
from bertscope.training.captured import CapturedSteps
from bertscope.training.masked_objective import HELD_OUT_RATE, MaskedWords
from bertscope.training.optimizer import adamw
from bertscope.training.packed_text import packed_text
from bertscope.training.pretrain.beginning import Drawn
from bertscope.training.pretrain.question import PretrainConfig
from bertscope.training.text_rows import TextRows
from device import DEVICE
from planted_text import write_text
from recorders import Again


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    path = write_text(folder / "topics.txt")
    return packed_text(
        [open_documents(path)], folder / "text", "", vocabulary=None, usual=64, cased=False, held_out=0.1, longest=64,
        resume=False,
    )  # fmt: skip


def objective(text, *, next_sentence: bool = False, tokens: int = 512, **given) -> MaskedWords:
    config = PretrainConfig(layers=2, heads=2, units=16, positions=64, length=32, next_sentence=next_sentence)
    encoder = Drawn().encoder(config.settled(len(text.train)), text, "text")
    how = {"rate": 0.2, "whole_words": True, "dropout": 0.0, "half": False, "compiled": False, "length": 32} | given
    return MaskedWords(
        encoder, text, batch_tokens=tokens, next_sentence=next_sentence, seed=0, fingerprint="", **how
    )  # fmt: skip


@pytest.mark.parametrize("next_sentence", [False, True])
def test_nothing_is_compiled_while_a_step_is_recorded(text, monkeypatch, next_sentence):
    """To compile breaks the recording. While it lasts, transformers 5.17 makes a mask where the tries had none."""
    made, compiled, anew = objective(text, next_sentence=next_sentence), [], []
    backend = lambda graph, _: compiled.append(graph) or graph  # noqa: E731
    for block in made.encoder.layers:
        block.compile(dynamic=False, backend=backend)

    class Capturing(Again):
        def record(self, work):
            with monkeypatch.context() as told:
                told.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
                told.setattr(masking_utils, "_ignore_bidirectional_mask_sdpa", lambda *given: False)
                before = len(compiled)
                work()
            anew.append(len(compiled) - before)
            return super().record(work)

    trained = list(made.encoder.model.parameters())
    optimizer = adamw({1.0: trained}, 1e-3, 0.0, on_gpu=DEVICE != "cpu")
    steps = CapturedSteps(
        made.encoder, made, trained, optimizer, Capturing(), clip=1.0, most=64, several=False,
        precision=nullcontext,
    )  # fmt: skip
    made.encoder.model.train()
    for rows in (64, 16, 8):
        steps.step([np.arange(rows)], 1e-3)
    torch._dynamo.reset()
    assert (len(compiled), anew) == (3, [0, 0, 0]) and np.isfinite(steps.told()).all()


@pytest.mark.parametrize(("next_sentence", "length"), [(False, 32), (True, 32), (True, 16)])
def test_the_loss_is_the_librarys(text, next_sentence, length, monkeypatch):
    made = objective(text, next_sentence=next_sentence, tokens=16 * length)
    batch, drawn = made.batch(np.arange(16) * 40), []
    import bertscope.training.masked_objective as module

    plain = module.masked
    monkeypatch.setattr(module, "masked", lambda *given: drawn.append(plain(*given)) or drawn[-1])
    loss, size = made.sized_loss(batch)
    (chosen,) = drawn
    labels = torch.full_like(batch.ids, -100)
    counted = chosen.weight > 0
    rows = torch.arange(16, device=DEVICE)[:, None].expand_as(chosen.places)
    labels[rows[counted], chosen.places[counted]] = chosen.right[counted]
    beside = {"next_sentence_label": batch.follows} if next_sentence else {}
    wanted = made.encoder.model(
        input_ids=chosen.shown, token_type_ids=batch.segments, labels=labels,
        attention_mask=torch.ones_like(batch.ids), **beside,
    ).loss  # fmt: skip
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-5) and size.item() == counted.sum().item()
    assert ((labels != -100).sum(1) <= round(0.2 * length)).all()


def test_rows_are_the_text_between_special_tokens(text):
    made = objective(text)
    tokenizer, starts = made.encoder.tokenizer, np.array([0, 7, 100, 333])
    batch = made.fixed_batch(starts, 4)  # 512 tokens in four rows
    assert batch.ids.shape == (4, 128) and batch.segments is None
    for row, start in zip(batch.ids.tolist(), starts, strict=True):
        assert row == [tokenizer.cls_token_id, *text.train[start : start + 126].tolist(), tokenizer.sep_token_id]


def test_a_second_part_follows_or_is_from_elsewhere(text):
    made = objective(text, next_sentence=True, tokens=32 * 200)
    tokenizer, starts = made.encoder.tokenizer, np.arange(200) * 31
    batch = made.fixed_batch(starts, 200)
    dot, train, ends = tokenizer.convert_tokens_to_ids("."), text.train.tolist(), 0
    split = []
    for row, segments, start in zip(batch.ids.tolist(), batch.segments.tolist(), starts, strict=True):
        size = segments.index(1) - 2  # without [CLS] and the [SEP] between the parts
        first, second = row[1 : 1 + size], row[2 + size : -1]
        split.append((start + size, second))
        assert row[0] == tokenizer.cls_token_id and row[1 + size] == row[-1] == tokenizer.sep_token_id
        assert segments == [0] * (2 + size) + [1] * (30 - size) and first == train[start : start + size]
        assert 8 <= size <= 24
        ends += first[-1] == dot
    assert ends > 190, "a sentence ends where a part does, if one does at all"
    for number, ((behind, second), other) in enumerate(zip(split, batch.follows.tolist(), strict=True)):
        begins = split[(number - 100) % 200][0] if other else behind  # far from here, where rows follow one another
        assert second == train[begins : begins + len(second)]
    assert 70 < int(batch.follows.sum()) < 130


STORY = (
    'the cat sat . " [SEP] he ran ( far . ) she came ! ! [SEP] no end is here and the old house was cold in the rain'
)


@pytest.mark.parametrize("next_sentence", [False, True])
@pytest.mark.parametrize(
    ("start", "begins"),
    [
        (0, "he"), (4, "he"), (5, "he"), (6, "she"), (10, "she"), (11, "no"), (12, "no"), (17, "no"), (19, "is"),
        (26, "cold"),
    ],
)  # fmt: skip
def test_short_rows_begin_with_a_sentence(next_sentence, start, begins):
    """By hand: behind a full stop and what belongs to it, and behind the end of a document; a mark that isn't behind
    an end (the bracket of "( far") is none. Where no sentence begins near, it is where the row was to begin. The
    second row has one part, whatever is asked."""
    tokenizer, words = load("pocket").tokenizer, STORY.split()
    text = np.array(tokenizer.convert_tokens_to_ids(words))
    assert tokenizer.unk_token_id not in text
    rows = TextRows(tokenizer, next_sentence, usual=16, seed=0).of(text, np.array([start, start]), 8)
    assert rows.ids.shape == (2, 8)
    if next_sentence:
        assert not rows.segments[1].any() and rows.follows[1] == -100
    else:
        assert rows.segments is None and rows.follows is None
    first, *found, last = tokenizer.convert_ids_to_tokens(rows.ids[1].tolist())
    place = words.index(begins)
    assert (first, last) == ("[CLS]", "[SEP]") and found == (words[place:] + words[-1:] * 6)[:6]


def test_every_other_short_row_is_a_pair(text):
    """With a second part that follows the first or is some other pair's; the others count in no loss of following."""
    made = objective(text, next_sentence=True, tokens=8 * 200)
    batch = made.batch(np.arange(200) * 31)
    pairs, alone = batch.segments[::2].bool(), batch.segments[1::2]
    assert pairs.any(1).all() and not alone.any() and set(batch.follows[::2].tolist()) == {0, 1}
    assert set(batch.follows[1::2].tolist()) == {-100}
    separators = (batch.ids[:, 1:-1] == made.encoder.tokenizer.sep_token_id).float()
    assert separators[::2].sum() > separators[1::2].sum() + 90, "one between the parts of each pair"


@pytest.mark.parametrize(("name", "tokens"), [("short", 8), ("long", 64)])
def test_short_and_long_rows_are_scored_beside_the_others(text, name, tokens):
    """Each masked place for itself, by the library's forward pass; and nothing is told where none could be masked."""
    made, nats, words = objective(text, beside={name: tokens}), 0.0, 0
    for rows, chosen in made._beside[name]:
        assert rows.ids.shape[1] == tokens
        with torch.no_grad():
            logits = made.encoder.model(input_ids=chosen.shown.to(DEVICE)).logits.cpu()
        places = chosen.places[..., None].expand(-1, -1, logits.shape[-1])
        lost = cross_entropy(logits.gather(1, places).flatten(0, 1), chosen.right.flatten(), reduction="none")
        nats, words = nats + (lost * chosen.weight.flatten()).sum().item(), words + int(chosen.begins.sum())
    key = f"{name}_bits_per_word"
    assert made.score().secondary[key] == pytest.approx(nats / math.log(2) / words, rel=1e-5)
    made._beside[name] = [(rows, replace(chosen, begins=0 * chosen.begins)) for rows, chosen in made._beside[name]]
    assert key not in made.score().secondary
    for follows, of_all in ((False, 1), (True, 2)):
        too_long = objective(text, beside={name: len(text.held_out) // of_all + 1}, next_sentence=follows)
        assert not too_long._beside, "held-out text has no row of that length, or none that another part may follow"


def test_a_step_in_which_nothing_can_be_masked_is_no_loss(text):
    made = objective(text, tokens=8, beside={"short": 8})
    batch = made.batch(np.array([0]))
    goes_on = int(np.flatnonzero(continues_a_word(made.encoder.tokenizer))[0])
    word = torch.full_like(batch.ids, goes_on)
    word[:, [0, -1]] = batch.ids[:, [0, -1]]
    word[:, 1] = batch.ids[:, 1]  # one word of six pieces, where one may be masked
    loss, size = made.sized_loss(replace(batch, ids=word))
    assert loss.item() == 0 and size.item() == 1


def test_scores_are_those_of_guesses_one_by_one(text):
    """Each masked place for itself, by the library's forward pass over the whole row."""
    made = objective(text)
    found, right, nats, words, pieces = made.score(), 0, 0.0, 0, 0
    for rows, chosen in made._held_out:
        with torch.no_grad():
            logits = made.encoder.model(input_ids=chosen.shown.to(DEVICE)).logits.cpu()
        for row in range(len(rows.ids)):
            for place, gold, weight, begins in zip(
                chosen.places[row], chosen.right[row], chosen.weight[row], chosen.begins[row], strict=True
            ):
                if weight:
                    nats += cross_entropy(logits[row, place], gold).item()
                    right += int(logits[row, place].argmax() == gold)
                    words, pieces = words + int(begins), pieces + 1
    assert found.n == pieces and found.value == pytest.approx(right / pieces)
    assert found.secondary["held_out_loss"] == pytest.approx(nats / pieces, rel=1e-5)
    assert found.secondary["bits_per_word"] == pytest.approx(nats / math.log(2) / words, rel=1e-5)
    assert pieces <= round(HELD_OUT_RATE * 32) * sum(len(rows.ids) for rows, _ in made._held_out)
    assert made.score() == found, "the same words are masked each time"


def test_what_is_kept_has_usual_dropout_and_half_the_digits(text):
    made = objective(text, dropout=0.3, half=True)
    model = made.encoder.model
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.3}
    made.finish()
    assert {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)} == {0.1}
    assert all(torch.equal(one, one.half().float()) for one in model.parameters())
