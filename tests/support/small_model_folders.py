"""Model folders of a few kilobytes, to be changed and opened: one of each kind of file that opening a model reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    AutoConfig,
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "text", "good", "bad", "the", "was", ".", "##s", "##ed")
ROWS = 20
_WEIGHTS = "model.safetensors"
_SIZES = {
    "vocab_size": ROWS, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 24, "pad_token_id": 0, "initializer_range": 0.3, "num_labels": 3,
}  # fmt: skip
_OWN = {
    "bert": {},
    "roberta": {},
    "distilbert": {"dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 12},
    "albert": {"embedding_size": 4},
    "electra": {"embedding_size": 4},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
    "modernbert": {"bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3, "local_attention": 4},
    "nomic_bert": {},
    "mpnet": {},
    "roformer": {"embedding_size": 4},
}
FAMILIES = tuple(_OWN)


def small_tokenizer() -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, mask_token="[MASK]", **special)


def small_folder(folder: Path, family: str = "bert", **changes: Any) -> Path:
    """A classifier of that family with random weights and its tokenizer, as the library writes them."""
    sizes = {name: size for name, size in _SIZES.items() if family != "distilbert" or not _is_named_otherwise(name)}
    config = AutoConfig.for_model(family, **sizes | _OWN[family] | changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = AutoModelForSequenceClassification.from_config(config)
    model.save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    return folder


def small_masked_folder(folder: Path) -> Path:
    """A BERT that guesses masked words, with a pooler, as bert-base-uncased has one."""
    whole = small_folder(folder.with_name(f"{folder.name}-classifier"))
    AutoModelForMaskedLM.from_pretrained(whole).save_pretrained(folder)
    small_tokenizer().save_pretrained(folder)
    pooler = {name: held for name, held in load_file(whole / _WEIGHTS).items() if "pooler" in name}
    save_file(load_file(folder / _WEIGHTS) | pooler, folder / _WEIGHTS)
    return folder


def small_sharded_folder(folder: Path) -> Path:
    """The same, its weights in several files with an index."""
    small_folder(folder / "whole")
    model = AutoModelForSequenceClassification.from_pretrained(folder / "whole")
    model.save_pretrained(folder / "sharded", max_shard_size="2KB")
    small_tokenizer().save_pretrained(folder / "sharded")
    return folder / "sharded"


def edit(path: Path, **changes: Any) -> None:
    """Change some keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _is_named_otherwise(name: str) -> bool:
    return name.startswith(("hidden", "num_hidden", "num_attention", "intermediate"))
