"""What one would write with transformers alone: the baselines. Eval mode, inference mode, its default attention."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np
import torch
from transformers import BatchEncoding

from benchmarks.options import BATCH, Options
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.new_task_head import with_classifier

Padding = Literal["max_length", "longest"]
LONGEST = 128  # tokens: what a padded baseline pads to


@cache
def classifier(device: str) -> Encoder:
    """pocket with a fresh classifier for two labels."""
    return with_classifier(load("pocket", device=device), ("negative", "positive"))


def plain_model(options: Options) -> Any:
    """The same weights as an ordinary transformers model that bertscope never touches."""
    return copy.deepcopy(classifier(options.device).model).eval()


def batches(
    tokenizer: Any, texts: Sequence[str], padding: Padding, device: str, size: int = BATCH
) -> list[BatchEncoding]:
    """Texts in file order, `size` at a time, each batch padded to 128 or to its longest text."""
    return [
        tokenizer(
            list(texts[start : start + size]),
            padding=padding, truncation=True, max_length=LONGEST, return_tensors="pt",
        ).to(device)
        for start in range(0, len(texts), size)
    ]  # fmt: skip


@torch.inference_mode()
def logits(model: Any, inputs: Sequence[BatchEncoding]) -> np.ndarray:
    return torch.cat([model(**batch).logits for batch in inputs]).cpu().numpy()
