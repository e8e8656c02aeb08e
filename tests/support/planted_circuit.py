"""A BERT with one circuit, built by hand, and noise everywhere else.

A text has one word that decides, good or bad, somewhere among others. Head 3 of layer 2 looks from [CLS] to that word
and takes its sign to [CLS]; the MLP of layer 3 takes it there into the direction that the classifier reads. So the
sign is at the word up to layer 1, at [CLS] from layer 2 on, and in the classifier's own direction from layer 3 on.

All other heads and MLPs have small random weights. They write everywhere, into the circuit's dimensions too, but read
none of those: what they add to an answer has nothing to do with what is right, and is as often for it as against it.
Everything the circuit uses is a pair of dimensions of opposite signs, and a large pair is the same in every token: so
LayerNorm's mean never moves, and its scale hardly. Nothing saturates: gradients tell the truth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from bertscope.core.examples import Examples
from bertscope.data.minimal import MinimalPairs
from bertscope.data.task import SPLITS, Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE

HEAD, MLP = "head:2.3", "mlp:3"
"""The circuit."""
LAYERS, HEADS = 4, 4
GOOD, BAD = ("good", "kind", "happy", "fine"), ("bad", "cruel", "sad", "poor")
FILLERS = ("the", "old", "house", "by", "water", "with", "long", "road")
_SIZE, _HEAD_SIZE, _NEURONS = 64, 16, 32
_STEADY, _SAYS, _DECIDES, _OPENS, _MOVED, _ANSWER = range(0, 12, 2)
"""Where each pair of dimensions begins: what all tokens have; a word's sign; whether it is the word that decides;
whether it is [CLS]; the sign once it was moved; and the same where the classifier reads it."""
_JUNK = slice(12, _SIZE)
_BOTH = torch.tensor([1.0, -1.0])
_LOUD, _NOISE = 0.25, 0.0025
"""How large what the circuit says is beside the steady pair, of 5.6; and the weights with which noise is written."""


def circuit(tokenizer: Any, *, head: bool = True, mlp: bool = True, drift: float = 0.0, seed: int = 0) -> Encoder:
    """The model; without its head or its MLP it knows nothing. Another seed has other noise; `drift` adds so much of
    another's to it, as a base has that was then trained."""
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=_SIZE, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
        intermediate_size=_NEURONS, max_position_embeddings=32, id2label={0: "bad", 1: "good"},
    )  # fmt: skip
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        _words(model.bert.embeddings, tokenizer)
        for size, drawn in ((1.0, seed), (drift, seed + 1000)):
            generator = torch.Generator().manual_seed(drawn)
            for block in model.bert.encoder.layer:
                _add_noise(block, size, generator)
        _head(model.bert.encoder.layer[1].attention, on=head)
        _mlp(model.bert.encoder.layer[2], on=mlp)
        _task_head(model)
        encoder = load(model.to(DEVICE), tokenizer=tokenizer)
        _even_out(encoder)
    return encoder


def circuit_task(n: int = 80, seed: int = 0) -> Task:
    """Texts, half of them good, in random order."""

    def split(name: str) -> Examples:
        words, at = _frames(n, [seed, SPLITS.index(name)])
        random = np.random.default_rng([seed, SPLITS.index(name), 1])
        label = random.permutation(np.arange(n) % 2)
        deciding = [str(random.choice((BAD, GOOD)[good])) for good in label]
        return Examples(tuple(f"{name} {row}" for row in range(n)), _texts(words, at, deciding), label=label)

    return Task("planted", "classification", ("bad", "good"), *map(split, SPLITS), "accuracy")


def circuit_pairs(n: int = 96, seed: int = 0) -> MinimalPairs:
    """Texts that differ in the word that decides: of 32 pairs every good word is set against every bad one, once as
    the clean one and once as the corrupted one."""
    words, at = _frames(n, [seed, 7])
    row = np.arange(n)
    sides = [(GOOD[one % 4], BAD[one // 4 % 4]) for one in row // 2]
    ids = tuple(f"pair {one}" for one in row)
    clean, corrupted = (
        Examples(
            ids, _texts(words, at, [sides[one][(one + which) % 2] for one in row]), label=1 - (row + which) % 2,
            name="planted",
        )
        for which in (0, 1)
    )  # fmt: skip
    return MinimalPairs("planted", clean, corrupted, ("sign",) * n)


def _frames(n: int, seed: list[int]) -> tuple[list[list[str]], list[int]]:
    """Other words, and where the one that decides comes among them: never first or last."""
    random = np.random.default_rng(seed)
    words = [[str(word) for word in random.choice(FILLERS, random.integers(3, 8))] for _ in range(n)]
    return words, [int(random.integers(1, len(row))) for row in words]


def _texts(words: list[list[str]], at: list[int], deciding: list[str]) -> tuple[str, ...]:
    return tuple(
        " ".join([*row[:place], word, *row[place:]]) for row, place, word in zip(words, at, deciding, strict=True)
    )


def _words(embeddings: Any, tokenizer: Any) -> None:
    """Each word has something of its own, but the first good and the first bad word the same, and so on: what other
    parts read of a word doesn't tell its sign. Norms are such that LayerNorm leaves them nearly as they are."""
    generator = torch.Generator().manual_seed(11)
    embeddings.position_embeddings.weight.zero_()
    embeddings.token_type_embeddings.weight.zero_()
    words = embeddings.word_embeddings.weight
    words.zero_()
    own = 0.1 * _LOUD * torch.randn(len(words), _SIZE - _JUNK.start, generator=generator)
    vocab = tokenizer.vocab  # made anew whenever it is asked for
    good, bad = ([vocab[word] for word in side] for side in (GOOD, BAD))
    own[bad] = own[good]
    words[:, _JUNK] = own - own.mean(1, keepdim=True)
    words[:, _STEADY : _STEADY + 2] = 5.6 * _BOTH
    for sign, side in ((1.0, good), (-1.0, bad)):
        words[side, _SAYS : _SAYS + 2] = sign * _LOUD * _BOTH
        words[side, _DECIDES : _DECIDES + 2] = _LOUD * _BOTH
    words[tokenizer.cls_token_id, _OPENS : _OPENS + 2] = _LOUD * _BOTH


def _add_noise(block: Any, size: float, generator: torch.Generator) -> None:
    """Random weights that read nothing of the circuit; what they write is small and has no mean over dimensions."""
    attention, output = block.attention.self, block.attention.output.dense
    reading = (attention.query, attention.key, attention.value, block.intermediate.dense)
    for linear in (*reading, output, block.output.dense):
        drawn = torch.randn(linear.weight.shape, generator=generator)
        if linear in reading:
            drawn[:, : _JUNK.start] = 0
            drawn /= _LOUD
        else:
            drawn = _NOISE * (drawn - drawn.mean(0, keepdim=True))
        if size == 1:
            linear.weight.zero_()
            linear.bias.zero_()
        linear.weight.add_(size * drawn)


def _head(attention: Any, on: bool) -> None:
    """Head 3 looks from [CLS] to the word that decides, and nowhere in particular from elsewhere."""
    own = slice(2 * _HEAD_SIZE, 3 * _HEAD_SIZE)
    first, inner, output = own.start, attention.self, attention.output.dense
    for linear in (inner.query, inner.key, inner.value):
        linear.weight[own] = 0
    output.weight[:, own] = 0
    if not on:
        return
    inner.query.weight[first, _OPENS] = inner.key.weight[first, _DECIDES] = 6.0 / _LOUD  # scores of 36 / sqrt(16)
    inner.value.weight[first, _SAYS] = 1.0
    output.weight[_MOVED : _MOVED + 2, first] = 1.5 * _BOTH


def _mlp(block: Any, on: bool) -> None:
    """Of two opposite neurons the difference is what they read: GELU(z) - GELU(-z) = z."""
    block.intermediate.dense.weight.zero_()
    block.output.dense.weight.zero_()
    if not on:
        return
    block.intermediate.dense.weight[:2, _MOVED] = _BOTH
    block.output.dense.weight[_ANSWER : _ANSWER + 2, :2] = torch.outer(_BOTH, _BOTH)


def _task_head(model: Any) -> None:
    pooler, classifier = model.bert.pooler.dense, model.classifier
    for linear in (pooler, classifier):
        linear.weight.zero_()
        linear.bias.zero_()
    pooler.weight[0, _ANSWER] = 0.5 / _LOUD
    classifier.weight[:, 0] = -2.0 * _BOTH


def _even_out(encoder: Encoder) -> None:
    """Both labels equally sure, as training would leave them: what noise adds to all texts is taken off."""
    pairs = circuit_pairs(160, seed=99)
    margin = np.mean([encoder.predict(each).logits @ [-0.5, 0.5] for each in (pairs.clean, pairs.corrupted)])
    encoder.model.classifier.bias.copy_(float(margin) * _BOTH)
