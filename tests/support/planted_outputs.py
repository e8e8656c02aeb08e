"""For every kind of output a task and a BERT that does it, built by hand: known heads are needed, and no other part.

Most rest on a text's *sign*: its first word is good or bad. Head 2 of layer 1 takes the sign from that word to every
token, into a dimension that was empty; head 3 of layer 2 takes it on to another, which the task head reads. So either
head is needed. A further kind is an entry of `PLANTED`: a task whose answers follow from the sign (`signed_texts`),
and `signed` with the library's class for its task head, whose weights then read `READ`. They read it softly: a model
that is too sure of itself has no gradients. Heads attend everywhere alike: only `mode="zero"` switches them off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification, BertModel

from bertscope.core.examples import ROOT, Examples
from bertscope.data.metrics import METRICS
from bertscope.data.task import SPLITS, Task
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.parser import with_parser
from device import DEVICE

GOOD, BAD = ("good", "kind", "happy", "fine"), ("bad", "cruel", "sad", "poor")
REST = ("the", "old", "house", "by", "water", "with", "long", "road")
ROWS = 60
SAYS, PASSED, READ, FIRST, OPENS = range(5)
"""Dimensions: a word's own sign; the text's, after layer 1; the same after layer 2, for task heads to read; whether
it is the text's first word; whether it is the token before it."""
_SIZE, _HEADS = 48, 4


@dataclass(frozen=True)
class Planted:
    """A kind of output."""

    task: Callable[[int], Task]
    """With so many rows in each split."""
    model: Callable[[Any], Encoder]
    """From a tokenizer to a model that is always right."""
    needed: tuple[str, ...] = ("head:1.2", "head:2.3")
    """The heads without which it isn't."""


def signed(tokenizer: Any, build: Callable[[BertConfig], Any], **config: Any) -> Any:
    """A BERT whose every token has the sign of the text in `READ`, with what `build` puts on it."""
    model = _quiet(tokenizer, build, **config)
    with torch.no_grad():
        words = model.base_model.embeddings.word_embeddings.weight
        vocab = tokenizer.vocab  # made anew whenever it is asked for
        for sign, side in ((1.0, GOOD), (-1.0, BAD)):
            places = [vocab[word] for word in side]
            words[places, SAYS], words[places, FIRST] = sign, 2.0
        words[tokenizer.cls_token_id, OPENS] = 2.0
        speak(model, 0, 1, {SAYS: PASSED}, loud=20.0)  # of all tokens one says it
        speak(model, 1, 2, {PASSED: READ}, loud=2.0)
    return model


def speak(model: Any, layer: int, head: int, moves: dict[int, int], *, loud: float) -> None:
    """Let a head take dimensions of what it attends to, to others of whoever attends; both count from 0."""
    attention = model.base_model.encoder.layer[layer].attention
    for place, (comes, goes) in enumerate(moves.items()):
        at = head * _SIZE // _HEADS + place
        attention.self.value.weight[at, comes] = 1
        attention.output.dense.weight[goes, at] = loud


def _quiet(tokenizer: Any, build: Callable[[BertConfig], Any], **config: Any) -> Any:
    """A BERT of 2 layers and 4 heads none of whose parts says anything, and whose heads attend everywhere alike."""
    shape = {"hidden_size": _SIZE, "num_hidden_layers": 2, "num_attention_heads": _HEADS, "intermediate_size": 8}
    torch.manual_seed(5)
    model = build(BertConfig(vocab_size=len(tokenizer), max_position_embeddings=32, **shape, **config)).eval()
    with torch.no_grad():
        embeddings = model.base_model.embeddings
        embeddings.word_embeddings.weight[:, : OPENS + 1] = 0
        embeddings.position_embeddings.weight.zero_()
        embeddings.token_type_embeddings.weight.zero_()
        for block in model.base_model.encoder.layer:
            attention, output = block.attention.self, block.attention.output.dense
            for linear in (attention.query, attention.key, attention.value, output, block.output.dense):
                linear.weight.zero_()
                linear.bias.zero_()
    return model


def signed_texts(split: str, n: int) -> tuple[np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """Signs, 1 for good, ids, and texts whose first word has the sign."""
    generator = np.random.default_rng([SPLITS.index(split), n])
    sign = np.arange(n) % 2
    texts = [
        " ".join([str(generator.choice(GOOD if good else BAD)), *generator.choice(REST, generator.integers(2, 7))])
        for good in sign
    ]
    return sign, tuple(f"{split} {row}" for row in range(n)), tuple(texts)


def made(kind: str, labels: tuple[str, ...], split: Callable[[str], Examples]) -> Task:
    return Task("planted", kind, labels, *map(split, SPLITS), METRICS[kind][0])  # type: ignore[arg-type]


def read_sign(linear: Any, sizes: list[float]) -> None:
    """Have each output of a linear layer read the sign, as loud as that, and nothing else."""
    with torch.no_grad():
        linear.weight.zero_()
        linear.bias.zero_()
        linear.weight[: len(sizes), READ] = torch.tensor(sizes)


def opened(model: Any, tokenizer: Any) -> Encoder:
    return load(model.to(DEVICE), tokenizer=tokenizer)


# One label, one score: the pooler hands the sign on.


def _labels(n: int) -> Task:
    def split(name: str) -> Examples:
        sign, ids, text = signed_texts(name, n)
        return Examples(ids, text, label=sign)

    return made("classification", ("bad", "good"), split)


def _scores(n: int) -> Task:
    def split(name: str) -> Examples:
        sign, ids, text = signed_texts(name, n)
        return Examples(ids, text, label=2.0 * sign - 1)

    return made("regression", (), split)


def _classifier(tokenizer: Any, sizes: list[float], **config: Any) -> Encoder:
    model = signed(tokenizer, BertForSequenceClassification, **config)
    read_sign(model.bert.pooler.dense, [0.1])  # tanh of the sign, in the first dimension
    read_sign(model.classifier, [0.0])
    with torch.no_grad():
        model.classifier.weight[:, 0] = torch.tensor(sizes)
    return opened(model, tokenizer)


def _label_model(tokenizer: Any) -> Encoder:
    return _classifier(tokenizer, [-2.0, 2.0], num_labels=2, id2label={0: "bad", 1: "good"})


def _score_model(tokenizer: Any) -> Encoder:
    return _classifier(tokenizer, [1.0], num_labels=1, problem_type="regression")


# Spans: the question names a kind of thing, and the answer is the one word of that kind. A sign wouldn't do: it is
# the same for all tokens. So one head looks: words of a kind attend to the question's word for it.

_KINDS = {"happy": ("house", "road", "room"), "poor": ("river", "winter", "train")}
_ASKED, _OWN, _IS_ASKED = slice(5, 7), slice(7, 9), 9


def _spans(n: int) -> Task:
    def split(name: str) -> Examples:
        generator = np.random.default_rng([7, SPLITS.index(name), n])
        asked, text, answers = [], [], []
        for row in range(n):
            things = [str(generator.choice(kind)) for kind in _KINDS.values()]
            words = [*things, *generator.choice(("the", "by", "with", "long"), 4)]
            words = [str(words[at]) for at in generator.permutation(len(words))]
            answer = things[row % 2]
            start = len(" ".join([*words[: words.index(answer)], ""]))
            asked.append(list(_KINDS)[row % 2])
            text.append(" ".join(words))
            answers.append(((start, start + len(answer)),))
        return Examples(tuple(f"{name} {row}" for row in range(n)), tuple(asked), tuple(text), answers=tuple(answers))

    return made("spans", (), split)


def _span_model(tokenizer: Any) -> Encoder:
    model = _quiet(tokenizer, BertForQuestionAnswering)
    with torch.no_grad():
        words = model.bert.embeddings.word_embeddings.weight
        words[:, _ASKED], words[:, _OWN], words[:, _IS_ASKED] = 0, 0, 0
        vocab = tokenizer.vocab
        for place, (asked, things) in enumerate(_KINDS.items()):
            words[vocab[asked], _ASKED.start + place] = 3.0
            words[vocab[asked], _IS_ASKED] = 3.0
            words[[vocab[thing] for thing in things], _OWN.start + place] = 3.0
        head, attention = 1, model.bert.encoder.layer[0].attention.self
        for place in range(2):
            at = head * _SIZE // _HEADS + place
            attention.query.weight[at, _OWN.start + place] = 5.0
            attention.key.weight[at, _ASKED.start + place] = 5.0
        speak(model, 0, head, {_IS_ASKED: READ}, loud=2.0)
    read_sign(model.qa_outputs, [0.5, 0.5])
    return opened(model, tokenizer)


# Trees: all words under the first, which is under the root: words say that themselves. The relation is the sign.


def _trees(n: int) -> Task:
    def split(name: str) -> Examples:
        sign, ids, text = signed_texts(name, n)
        words = tuple(tuple(one.split()) for one in text)
        governors = tuple((ROOT, *[0] * (len(row) - 1)) for row in words)
        relations = tuple((("bad", "good")[good],) * len(row) for good, row in zip(sign, words, strict=True))
        return Examples(ids, text, words=words, governors=governors, marks={"relation": relations})

    return made("trees", ("bad", "good"), split)


def _tree_model(tokenizer: Any) -> Encoder:
    encoder = with_parser(opened(signed(tokenizer, BertModel), tokenizer), ("bad", "good"))
    parser = encoder.model.parser
    with torch.no_grad():
        for weight in parser.parameters():
            weight.zero_()
        for part in (parser.arc_head, parser.arc_dependent):
            part[0].weight[0, FIRST] = part[0].weight[1, OPENS] = 4.0
            part[0].bias[:2] = -3.0  # who is neither has a little of both, by the norms
        last = parser.arc_weight.shape[1] - 1  # the column that is as if words had a 1
        parser.arc_weight[0, last] = 1.0  # whoever is first governs
        parser.arc_weight[1, 0] = 2.0  # what opens governs whoever is first
        parser.relation_dependent[0].weight[0, READ] = 1.0
        last = parser.relation_weight.shape[1] - 1
        parser.relation_weight[0, last, 0], parser.relation_weight[1, last, 0] = -1.0, 1.0
    return encoder


PLANTED: dict[str, Planted] = {
    "classification": Planted(_labels, _label_model),
    "regression": Planted(_scores, _score_model),
    "spans": Planted(_spans, _span_model, ("head:1.2",)),
    "trees": Planted(_trees, _tree_model),
}
"""By kind of output: one entry for each."""
