"""What is explained of a classifier, by the library alone: a text's tokens and words, a label above the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertscope.models.words import NO_WORD


def tokens_of(encoder: Any, text: str, pair: str | None = None) -> tuple[Any, np.ndarray]:
    """A text's ids, and each token's word, by the tokenizer itself."""
    coded = encoder.tokenizer(text, pair, return_tensors="pt")
    words = [NO_WORD if word is None else word for word in coded.word_ids()]
    first = max((w for w, s in zip(words, coded.sequence_ids(), strict=True) if s == 0), default=-1) + 1
    words = [word + first if side == 1 else word for word, side in zip(words, coded.sequence_ids(), strict=True)]
    return coded.to(encoder.device), np.array(words)


def margin(logits: Any, label: int) -> Any:
    """The label's logit minus the mean of the others'."""
    others = [place for place in range(logits.shape[-1]) if place != label]
    return logits[..., label] - logits[..., others].mean(-1)
