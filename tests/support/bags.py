"""Models whose explanations are known: one that adds up its words' embeddings, and a BERT whose weights are the same
on every machine."""

from __future__ import annotations

from typing import Any

import torch
from transformers import BertConfig, BertForSequenceClassification, BertModel
from transformers.modeling_outputs import BaseModelOutputWithPooling

from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from device import DEVICE

_SHAPE = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
_COMMON = {"max_position_embeddings": 64, **_SHAPE}


class _Bag(BertModel):
    """Gives the sum of a text's word embeddings for a pooled vector."""

    def forward(self, input_ids: Any, attention_mask: Any, **_: Any) -> BaseModelOutputWithPooling:
        words = self.embeddings.word_embeddings(input_ids) * attention_mask[..., None]
        return BaseModelOutputWithPooling(last_hidden_state=words, pooler_output=words.sum(1))


def bag(tokenizer: Any, *, labels: int = 3, read: str = "") -> Encoder:
    """A linear model of its words; one that reads a single word looks at nothing else."""
    config = BertConfig(vocab_size=len(tokenizer), num_labels=labels, **_COMMON)
    model = BertForSequenceClassification(config)
    model.bert = _Bag(config)
    _fill(model)
    with torch.no_grad():
        if read:
            words = model.bert.embeddings.word_embeddings.weight
            words[:, 0] = 0.0
            words[tokenizer.convert_tokens_to_ids(read), 0] = 1.0
            model.classifier.weight.zero_()
            model.classifier.weight[:, 0] = torch.linspace(1.0, -1.0, labels)
    return load(model.eval().to(DEVICE), tokenizer=tokenizer)


def plain_bert(tokenizer: Any, *, labels: int = 3) -> Encoder:
    """A BERT with weights of a formula."""
    model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), num_labels=labels, **_COMMON))
    _fill(model)
    return load(model.eval().to(DEVICE), tokenizer=tokenizer)


def _fill(model: Any) -> None:
    with torch.no_grad():
        for place, parameter in enumerate(model.parameters()):
            at = torch.arange(parameter.numel(), dtype=torch.float64)
            wave = torch.sin(12.9898 * at + 78.233 * place) * 43758.5453
            noise = (wave - wave.floor() - 0.5).reshape(parameter.shape)
            parameter.copy_(noise if parameter.ndim > 1 else 0.2 * noise + (place % 2))
