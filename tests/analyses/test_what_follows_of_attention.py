"""What follows from questions about attention is said of what they measured."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertModel

import bertscope
from bertscope.core.consequence import consequences_of
from bertscope.core.result import Result
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE
from pocket_facts import PIECES


def told(result: Result) -> list[str]:
    return [one.text for one in consequences_of(result)]


def small(tokenizer, layers: int, seed: int) -> Encoder:
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=PIECES, hidden_size=8, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=8,
        max_position_embeddings=32, initializer_range=0.5,
    )  # fmt: skip
    return load(BertModel(config).eval().to(DEVICE), tokenizer=tokenizer)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_attention_that_changed_is_said_to_have_in_a_model_of_few_layers_too(pocket, texts, layers):
    before, after = (small(pocket.tokenizer, layers, seed) for seed in (1, 2))
    assert told(bertscope.change(before, before, texts, repeats=100)) == [
        "Fine-tuning changed nothing in what it looks at."
    ]
    (changed,) = told(bertscope.change(before, after, texts, repeats=100))
    assert "nothing" not in changed and ("only layer" in changed) is (layers == 1)


@pytest.mark.parametrize("question", [bertscope.patterns, bertscope.features, bertscope.change])
def test_norm_weighted_attention_is_not_told_as_where_heads_look(pocket, texts, question):
    models = [small(pocket.tokenizer, 3, seed) for seed in (1, 2)]
    given = (*models, texts) if question is bertscope.change else (models, texts)
    assert told(question(*given, repeats=100))
    assert told(question(*given, repeats=100, weighted=True)) == []
