"""A tagger whose task lives in one head, built by hand: nothing else in it matters.

Names are people where the sentence has a good word, and places where it has a bad one. That a word is a name, its own
embedding says; which kind, only head 2 of layer 1, which takes the sign of all words to each of them.
"""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertForTokenClassification

from bertscope.core.examples import Examples
from bertscope.data.tagged import make_tokens
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE
from pocket_facts import PIECES

NEEDED = "head:1.2"
LABELS = ("O", "B-LOC", "B-PER")
_GOOD, _BAD = ("good", "kind", "happy", "fine"), ("bad", "cruel", "sad", "poor")
_NAMES = ("anna", "paris", "london", "john")
_REST = ("the", "old", "house", "by", "water", "with", "long", "road")
_SAYS, _NAME, _READ, _EMPTY = 0, 1, 2, 3
_SIZE, _HEADS, _LOUD = 48, 4, 6.0


def planted(tokenizer, labels: tuple[str, ...] = LABELS) -> Encoder:
    """The tagger, with its tags in this order."""
    config = BertConfig(
        vocab_size=PIECES, hidden_size=_SIZE, num_hidden_layers=2, num_attention_heads=_HEADS, intermediate_size=8,
        max_position_embeddings=32, num_labels=len(labels), id2label=dict(enumerate(labels)),
    )  # fmt: skip
    torch.manual_seed(5)
    model = BertForTokenClassification(config).eval()
    with torch.no_grad():
        words = model.bert.embeddings.word_embeddings.weight
        words[:, : _EMPTY + 1] = 0
        model.bert.embeddings.position_embeddings.weight.zero_()
        vocab = tokenizer.vocab  # made anew whenever it is asked for
        for sign, side in ((1.0, _GOOD), (-1.0, _BAD)):
            words[[vocab[word] for word in side], _SAYS] = sign
        words[[vocab[word] for word in _NAMES], _NAME] = 1.0
        for block in model.bert.encoder.layer:
            attention, output = block.attention.self, block.attention.output.dense
            for linear in (attention.query, attention.key, attention.value, output, block.output.dense):
                linear.weight.zero_()
                linear.bias.zero_()
        head, first = model.bert.encoder.layer[0].attention, _SIZE // _HEADS
        head.self.value.weight[first, _SAYS] = 1
        head.output.dense.weight[_READ, first] = _LOUD
        model.classifier.weight.zero_()
        # Without the head both kinds of names are as likely, but for what decides between them.
        biases = {"O": 12.0, "B-LOC": 0.001}
        model.classifier.bias.copy_(torch.tensor([biases.get(label, 0.0) for label in labels]))
        for label, sign in (("B-PER", 1.0), ("B-LOC", -1.0)):
            weights = torch.tensor([4.0, sign, -sign], device=model.device)
            model.classifier.weight[labels.index(label), [_NAME, _READ, _EMPTY]] = weights
    return load(model.to(DEVICE), tokenizer=tokenizer)


def task(n: int = 40) -> Task:
    """Which words are names, and of what."""
    generator = np.random.default_rng(1)

    def split(name: str) -> Examples:
        rows = [_sentence(generator, good=row % 2 == 0) for row in range(n)]
        words, tags = (tuple(tuple(each) for each in side) for side in zip(*rows, strict=True))
        ids = tuple(f"{name} {row}" for row in range(n))
        return Examples(ids, tuple(map(" ".join, words)), words=words, marks={"tag": tags})

    return make_tokens("planted", (split("train"), split("validation"), split("test")))


def _sentence(generator, *, good: bool) -> tuple[list[str], list[str]]:
    rest = list(map(str, generator.choice(_REST, generator.integers(2, 6))))
    words = [str(generator.choice(_GOOD if good else _BAD)), *rest, str(generator.choice(_NAMES))]
    words = [words[at] for at in generator.permutation(len(words))]
    named = "B-PER" if good else "B-LOC"
    return words, [named if word in _NAMES else "O" for word in words]
