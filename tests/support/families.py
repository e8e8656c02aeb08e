"""A tiny random classifier of every family, and of every kind of trouble within one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForSequenceClassification

from pocket_facts import PIECES

_COMMON = {
    "vocab_size": PIECES, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 64, "pad_token_id": 0, "initializer_range": 0.3,
    "num_labels": 3,
}  # fmt: skip
_NAMED = {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3, "mask_token_id": 4}
_DISTIL = {"dim": 24, "n_layers": 3, "n_heads": 4, "hidden_dim": 40}

CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {},
    "roberta": {},
    "xlm-roberta": {},
    "camembert": {},
    "distilbert": _DISTIL,
    "electra": {"embedding_size": 16},
    "albert": {"embedding_size": 16},
    "ernie": {},
    "modernbert": _NAMED | {"local_attention": 4, "global_attn_every_n_layers": 2},
    "nomic_bert": {},
    "gte": {"type_vocab_size": 2},
    "jina_embeddings_v3": {"type_vocab_size": 2},
    "eurobert": _NAMED | {"num_key_value_heads": 2, "classifier_pooling": "bos"},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "conv_kernel_size": 3},
    "mpnet": {},
    "roformer": {"embedding_size": 16},
    "ultrabert": _NAMED | {"num_key_value_heads": 2, "head_dim": 6, "sliding_window": 2},
    "data2vec-text": {},
    "roberta-prelayernorm": {},
    "xlm-roberta-xl": {"type_vocab_size": 2},
    "megatron-bert": {},
    "rembert": {"input_embedding_size": 16, "output_embedding_size": 16},
}


UNEVEN = ("heads:1", "head:2.2", "neuron:2.7", "neuron:2.40", "mlp:3")
"""Parts that can be cut out of any of them, but for ALBERT, whose layers lose the same."""
ALIKE = tuple(f"{kind}:{layer}.{number}" for kind, number in (("head", 2), ("neuron", 7)) for layer in (1, 2, 3))

_UNLIKE = {"bert", "distilbert", "albert", "modernbert", "deberta-v2", "mpnet"}
"""Families as unlike each other as they come."""
MARKED = [pytest.param(name, marks=() if name in _UNLIKE else pytest.mark.slow) for name in CONFIGS]
"""All families; those that are much like another of them are left to `make test-all`."""


def tiny_config(name: str, **changes: Any) -> Any:
    """The config of a tiny model of that family, where this transformers has it."""
    if name not in CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no {name}")
    common = {
        k: v
        for k, v in _COMMON.items()
        if name != "distilbert" or not k.startswith(("hidden", "num_h", "num_a", "inter"))
    }
    return AutoConfig.for_model(name, **common | CONFIGS[name] | changes)


def tiny_model(name: str, form: Any = AutoModelForSequenceClassification, **changes: Any) -> Any:
    """A model of that family with weights large enough that every part matters."""
    config = tiny_config(name, **changes)
    generator = torch.Generator().manual_seed(11)
    model = form.from_config(config).eval()
    with torch.no_grad():  # families start their weights differently: give them all the same spread, biases too
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(noise * 0.3 if parameter.ndim > 1 else parameter + noise * 0.1)
    return model
