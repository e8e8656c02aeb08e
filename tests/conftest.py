"""Shared fixtures: pocket itself, and a tiny random BERT with pocket's tokenizer, copied for each test."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable

# Tensors here are tiny: a second thread costs more than it brings. Set before anything imports torch.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from bertscope.core.examples import Examples

DEVICE = os.environ.get("BERTSCOPE_TEST_DEVICE", "cpu")
"""Where the tests' models live: `cuda` on a GPU machine. Tolerances are the same; only bit-equality isn't asked."""
on_cpu = pytest.mark.skipif(DEVICE != "cpu", reason="bit-equality is promised on CPU at a fixed thread count")

# Lengths differ on purpose: every batch of these has padding.
SENTENCES = (
    "the food was good .",
    "she never said that the long road to the old house by the river was closed in winter .",
    "no .",
    "although the room was small , the people who lived there were kind and the view was wonderful .",
    "he gave the book to his mother before the train left .",
    "it rained .",
)


@pytest.fixture
def texts() -> Examples:
    ids = tuple(str(row) for row in range(len(SENTENCES)))
    return Examples(ids=ids, text=SENTENCES, label=np.array([1, 0, 0, 1, 1, 0]))


@pytest.fixture(scope="session")
def _pocket():
    from bertscope.models.load import load

    return load("pocket", device=DEVICE)


@pytest.fixture(scope="session")
def _tiny(_pocket):
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from bertscope.models.load import load

    config = BertConfig(
        vocab_size=8192, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=64, num_labels=2, initializer_range=0.3,
    )  # fmt: skip
    torch.manual_seed(7)
    return load(BertForSequenceClassification(config).eval().to(DEVICE), tokenizer=_pocket.tokenizer)


@pytest.fixture
def pocket(_pocket):
    return copy.deepcopy(_pocket)


@pytest.fixture
def tiny(_tiny):
    """3 layers, 4 heads, random weights large enough that every part matters."""
    return copy.deepcopy(_tiny)


@pytest.fixture
def padded(texts) -> Callable:
    """The texts as one padded batch for an encoder."""

    def make(encoder):
        return encoder.tokenizer(list(texts.text), padding=True, return_tensors="pt").to(encoder.device)

    return make
