"""A BERT whose task lives in two heads, built by hand: nothing else in it matters.

The first word says the label. Head 2 of layer 1 takes its sign from every token's embedding to a dimension that was
empty; head 3 of layer 2 takes that on to another; the classifier reads the latter at [CLS]. So either head is needed.
"""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE
from pocket_facts import PIECES

NEEDED = ("head:1.2", "head:2.3")
_GOOD, _BAD = ("good", "kind", "happy", "fine"), ("bad", "cruel", "sad", "poor")
_REST = ("the", "old", "house", "by", "water", "with", "long", "road")
_SAYS, _PASSED, _READ = 0, 1, 2
_SIZE, _HEADS, _LOUD = 48, 4, 20.0


def planted(tokenizer) -> Encoder:
    config = BertConfig(
        vocab_size=PIECES, hidden_size=_SIZE, num_hidden_layers=2, num_attention_heads=_HEADS, intermediate_size=8,
        max_position_embeddings=32, num_labels=2, id2label={0: "bad", 1: "good"},
    )  # fmt: skip
    torch.manual_seed(5)
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        words = model.bert.embeddings.word_embeddings.weight
        words[:, : _READ + 1] = 0
        # Of a pair, the label could be read off the segments' embeddings, as chance has drawn them.
        model.bert.embeddings.token_type_embeddings.weight[:, : _READ + 1] = 0
        model.bert.embeddings.position_embeddings.weight.zero_()
        vocab = tokenizer.vocab  # made anew whenever it is asked for
        for sign, side in ((1, _GOOD), (-1, _BAD)):
            words[[vocab[word] for word in side], _SAYS] = sign * 1.0
        for layer, (number, comes, goes) in enumerate(((1, _SAYS, _PASSED), (2, _PASSED, _READ))):
            block = model.bert.encoder.layer[layer]
            attention, output = block.attention.self, block.attention.output.dense
            for linear in (attention.query, attention.key, attention.value, output, block.output.dense):
                linear.weight.zero_()
                linear.bias.zero_()
            first = number * _SIZE // _HEADS
            attention.value.weight[first, comes] = 1
            output.weight[goes, first] = _LOUD
        model.bert.pooler.dense.weight.zero_()
        model.bert.pooler.dense.weight[0, _READ] = 1
        model.bert.pooler.dense.bias.zero_()
        model.classifier.weight.zero_()
        model.classifier.weight[:, 0] = torch.tensor([-4.0, 4.0])
        model.classifier.bias.zero_()
    return load(model.to(DEVICE), tokenizer=tokenizer)


def leave_one_head(tiny: Encoder, examples: Examples, *, mlps: bool = True) -> None:
    """Only head 2.3 may speak: the columns of every projection that read other heads become zero. Half of the answers
    stay one, half the other."""
    with torch.no_grad():
        for layer, block in enumerate(tiny.model.bert.encoder.layer):
            keep = torch.zeros(24, device=tiny.device)
            if layer == 1:
                keep[12:18] = 3.0
            block.attention.output.dense.weight.mul_(keep)
            if not mlps:
                block.output.dense.weight.zero_()
        margin = tiny.predict(examples).logits @ [-1.0, 1.0]
        tiny.model.classifier.bias[0] += float(np.median(margin))


def task(n: int = 60) -> Task:
    """Which side the first word is on."""
    generator = np.random.default_rng(1)

    def split(name: str) -> Examples:
        label = np.arange(n) % 2
        text = [
            " ".join(
                [str(generator.choice(_GOOD if good else _BAD)), *generator.choice(_REST, generator.integers(2, 7))]
            )
            for good in label
        ]
        return Examples(tuple(f"{name} {row}" for row in range(n)), tuple(text), label=label)

    return Task(
        "planted", "classification", ("bad", "good"), split("train"), split("validation"), split("test"), "accuracy"
    )
