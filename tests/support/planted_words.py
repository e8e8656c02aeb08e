"""Encoders in which one head does the task, built by hand, of kinds of outputs that have no classifier.

Masked words: a text repeats one word, so that a masked one is known from the others. Head 2 of layer 1 takes what all
tokens say to dimensions that the guessing layer reads. Vectors: two texts are alike if their first words are on the
same side, of which an embedding hardly tells; head 2 of layer 1 says it louder than all that texts differ in.
"""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel

from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE
from pocket_facts import PIECES

NEEDED = "head:1.2"
WORDS = ("the", "old", "house", "by", "water", "with", "long", "road")
_GOOD, _BAD = ("good", "kind", "happy", "fine"), ("bad", "cruel", "sad", "poor")
_SIZE, _HEADS = 48, 4
_CONFIG = {
    "vocab_size": PIECES, "hidden_size": _SIZE, "num_hidden_layers": 2, "num_attention_heads": _HEADS,
    "intermediate_size": 8, "max_position_embeddings": 32, "tie_word_embeddings": False,
}  # fmt: skip


def guesser(tokenizer) -> Encoder:
    """A masked language model of repeated words."""
    torch.manual_seed(5)
    model = BertForMaskedLM(BertConfig(**_CONFIG)).eval()
    with torch.no_grad():
        _silence(model.bert)
        words = model.bert.embeddings.word_embeddings.weight
        vocab = tokenizer.vocab  # made anew whenever it is asked for
        own = [vocab[word] for word in WORDS]
        words[own, : len(WORDS)] = torch.eye(len(WORDS))
        _speak(model.bert, comes=range(8), goes=range(8, 16), loud=20.0)
        head = model.cls.predictions
        head.transform.dense.weight.copy_(torch.eye(_SIZE))
        head.transform.dense.bias.zero_()
        head.decoder.weight.zero_()
        head.bias.zero_()
        head.decoder.bias.zero_()
        head.decoder.weight[own, 8:16] = 2 * torch.eye(len(WORDS))  # softly: who is too sure has no gradients
    return load(model.to(DEVICE), tokenizer=tokenizer)


def embedder(tokenizer) -> Encoder:
    """An encoder with nothing on top, whose vectors tell good texts from bad ones."""
    torch.manual_seed(5)
    model = BertModel(BertConfig(**_CONFIG)).eval()
    with torch.no_grad():
        _silence(model)
        words = model.embeddings.word_embeddings.weight
        noise = torch.randn(len(words), 16)
        words[:, 16:32] = noise - noise.mean(1, keepdim=True)  # so that LayerNorm takes no mean from what is said
        vocab = tokenizer.vocab
        for side, says in ((_GOOD, [1.0, -1.0, 0.0, 0.0]), (_BAD, [0.0, 0.0, 1.0, -1.0])):
            words[[vocab[word] for word in side], :4] = 0.1 * torch.tensor(says)
        _speak(model, comes=range(4), goes=range(8, 12), loud=700.0)
    return load(model.to(DEVICE), tokenizer=tokenizer)


def guessing_task(n: int = 60) -> Task:
    def split(name: str, seed: int) -> Examples:
        random = np.random.default_rng(seed)
        text = tuple(" ".join([str(random.choice(WORDS))] * int(random.integers(3, 9))) for _ in range(n))
        return Examples(tuple(f"{name} {row}" for row in range(n)), text)

    return Task("planted", "masked", (), split("train", 1), split("validation", 2), split("test", 3), "accuracy")


def similarity_task(n: int = 80) -> Task:
    """Pairs with scores, from 1 to 5, as people give them."""

    def split(name: str, seed: int) -> Examples:
        random = np.random.default_rng(seed)
        sides = random.integers(0, 2, (2, n))

        def texts(good: np.ndarray) -> tuple[str, ...]:
            return tuple(
                " ".join([str(random.choice(_GOOD if one else _BAD)), *random.choice(WORDS, random.integers(2, 7))])
                for one in good
            )

        score = np.where(sides[0] == sides[1], 5.0, 1.0)
        ids = tuple(f"{name} {row}" for row in range(n))
        return Examples(ids, texts(sides[0]), texts(sides[1]), label=score)

    return Task("planted", "regression", (), split("train", 1), split("validation", 2), split("test", 3), "pearson")


def _silence(bert) -> None:
    """All words say the same, no position differs, no layer adds anything."""
    words = bert.embeddings.word_embeddings.weight
    words.zero_()
    words[:, 40:42] = torch.tensor([1.0, -1.0])  # LayerNorm has no gradient where all is equal
    bert.embeddings.position_embeddings.weight.zero_()
    bert.embeddings.token_type_embeddings.weight.zero_()
    for block in bert.encoder.layer:
        attention, output = block.attention.self, block.attention.output.dense
        for linear in (attention.query, attention.key, attention.value, output, block.output.dense):
            linear.weight.zero_()
            linear.bias.zero_()


def _speak(bert, comes, goes, loud: float) -> None:
    """Head 2 of layer 1 takes the mean of what all tokens have in some dimensions to others."""
    attention, output = bert.encoder.layer[0].attention.self, bert.encoder.layer[0].attention.output.dense
    first = _SIZE // _HEADS
    for place, (source, target) in enumerate(zip(comes, goes, strict=True)):
        attention.value.weight[first + place, source] = 1
        output.weight[target, first + place] = loud
