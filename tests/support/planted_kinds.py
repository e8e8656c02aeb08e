"""Every kind of output with a planted task and model: those of `planted_outputs`, and the others that read a text's
sign, or have models of their own (`planted_words`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import BertForMultipleChoice, BertForSequenceClassification, BertForTokenClassification

import planted_outputs as first
import planted_words
from bertscope.core.examples import Examples
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from planted_outputs import Planted, made, opened, read_sign, signed, signed_texts

_SEVERAL = ("any", "fine", "poor")
_TAGS = ("B-bad", "B-good")


def _pooled(tokenizer: Any, build: Any, sizes: list[float], biases: list[float], **config: Any) -> Encoder:
    """A model whose task head reads the pooled sign, each output as loud as that."""
    model = signed(tokenizer, build, **config)
    read_sign(model.bert.pooler.dense, [0.1])
    read_sign(model.classifier, [0.0])
    with torch.no_grad():
        model.classifier.weight[:, 0] = torch.tensor(sizes)
        model.classifier.bias.copy_(torch.tensor(biases))
    return opened(model, tokenizer)


def _one_logit(tokenizer: Any) -> Encoder:
    return _pooled(tokenizer, BertForSequenceClassification, [4.0], [0.0], num_labels=1, id2label={0: "LABEL_0"})


def _several(tokenizer: Any) -> Encoder:
    """All texts have the first label; of the others each has the one of its sign."""
    named = {"id2label": dict(enumerate(_SEVERAL)), "problem_type": "multi_label_classification"}
    return _pooled(tokenizer, BertForSequenceClassification, [0.0, 4.0, -4.0], [2.0, 0.0, 0.0], **named)


def _several_task(n: int) -> Task:
    def split(name: str) -> Examples:
        sign, ids, text = signed_texts(name, n)
        return Examples(ids, text, label=np.stack([np.ones_like(sign), sign, 1 - sign], 1))

    return made("several", _SEVERAL, split)


def _choosing(tokenizer: Any) -> Encoder:
    return _pooled(tokenizer, BertForMultipleChoice, [4.0], [0.0])


def _choices_task(n: int) -> Task:
    """Of two or three candidates one is good."""

    def split(name: str) -> Examples:
        sign, ids, text = signed_texts(name, 2 * n)
        good, bad = ([one for one, side in zip(text, sign, strict=True) if side == wanted] for wanted in (1, 0))
        right = np.arange(n) % 2
        choices = tuple(
            tuple(good[row] if place == right[row] else bad[(row + place) % len(bad)] for place in range(2 + row % 2))
            for row in range(n)
        )
        return Examples(ids[:n], ("the road",) * n, label=right, choices=choices)

    return made("choices", (), split)


def _tagger(tokenizer: Any) -> Encoder:
    model = signed(tokenizer, BertForTokenClassification, id2label=dict(enumerate(_TAGS)))
    read_sign(model.classifier, [-0.5, 0.5])
    return opened(model, tokenizer)


def _tags_task(n: int) -> Task:
    """Every word is an entity, of the kind of the text's sign."""

    def split(name: str) -> Examples:
        sign, ids, text = signed_texts(name, n)
        words = tuple(tuple(one.split()) for one in text)
        tags = tuple((_TAGS[good],) * len(row) for good, row in zip(sign, words, strict=True))
        return Examples(ids, text, words=words, marks={"tag": tags})

    return made("tokens", _TAGS, split)


PLANTED: dict[str, Planted] = first.PLANTED | {
    "one_logit": Planted(first.PLANTED["classification"].task, _one_logit),
    "several": Planted(_several_task, _several),
    "choices": Planted(_choices_task, _choosing),
    "tokens": Planted(_tags_task, _tagger),
    "masked": Planted(planted_words.guessing_task, planted_words.guesser, (planted_words.NEEDED,)),
    "vectors": Planted(planted_words.similarity_task, planted_words.embedder, (planted_words.NEEDED,)),
}
"""By kind of output: one entry for each."""
