"""What a training is said to need before it begins, beside what it then needs."""

from __future__ import annotations

import math

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from bertscope.core.room import shared
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier
from bertscope.training import loop, memory
from bertscope.training.memory import KeptForBackward, kept_for_backward, still_to_take
from bertscope.training.objective import Labelled
from planted_device import Planted
from pocket_facts import PIECES
from short_training import QUICK, make_task

SIZES = [(2, 2, 32, 64, 24, 16), (3, 4, 64, 256, 8, 40), (2, 8, 64, 128, 4, 128)]
"""Layers, heads, units, neurons; rows, tokens."""


@pytest.mark.parametrize("kind", [BertForSequenceClassification, BertForMaskedLM])
@pytest.mark.parametrize(("layers", "heads", "units", "neurons", "rows", "tokens"), SIZES)
def test_a_step_is_estimated_from_above_and_not_by_much(_pocket, kind, layers, heads, units, neurons, rows, tokens):
    config = BertConfig(
        vocab_size=PIECES, hidden_size=units, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=neurons, max_position_embeddings=128,
    )  # fmt: skip
    encoder = load(kind(config).train(), tokenizer=_pocket.tokenizer)
    ids = torch.randint(5, PIECES, (rows, tokens))
    kept = KeptForBackward(encoder.model)
    with kept:
        said = encoder.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        torch.nn.functional.cross_entropy(said.flatten(0, -2), torch.zeros(said[..., 0].numel(), dtype=torch.long))
    assert 1 <= kept_for_backward(encoder, rows, tokens) / kept.bytes <= 2


def test_gradients_moments_and_the_best_weights_are_counted(tiny):
    weights = sum(tensor.nbytes for tensor in (*tiny.model.parameters(), *tiny.model.buffers()))
    all_of_it, some = list(tiny.model.parameters()), list(tiny.model.classifier.parameters())
    whole = still_to_take(tiny, all_of_it, 8, 16, keeps_best=False)
    trained = [sum(one.nbytes for one in each) for each in (all_of_it, some)]
    assert whole - still_to_take(tiny, some, 8, 16, keeps_best=False) == 3 * (trained[0] - trained[1])
    assert still_to_take(tiny, all_of_it, 8, 16, keeps_best=True) - whole == weights
    step = kept_for_backward(tiny, 8, 16)
    assert whole - 3 * trained[0] >= 2 * step, "it is tried once, and recorded once"


def test_a_training_asks_for_room_and_tells_what_it_took(tiny, tmp_path, monkeypatch):
    """As on a GPU, whose memory is planted here."""
    device, asked, looked = Planted(free=1), [], []

    def room_on(where, more):
        asked.append(more)
        return memory.room(device, more)

    monkeypatch.setattr(loop, "room_on", room_on)
    monkeypatch.setattr(memory.Share, "look", lambda self: looked.append(device.taken()))
    encoder, task = with_classifier(tiny, ("no", "yes"), seed=1), make_task()
    objective = Labelled(encoder, task)
    with shared(tmp_path, pytest.fail):
        loop.train(encoder, objective, QUICK.settled(24, 100), out=None, resume=False)
    longest, rows = int(objective.lengths.max()), QUICK.batch_size
    assert asked == [still_to_take(encoder, list(encoder.model.parameters()), rows, longest, keeps_best=False)]
    assert len(looked) >= 1 + QUICK.epochs and device.given_back == 1
    assert not list((tmp_path / "planted").glob("*.json")) and math.isfinite(asked[0])
