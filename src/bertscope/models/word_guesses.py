"""What a masked-word head says of last states: its own model's, or those of another model of the same width."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutputWithPooling

from bertscope.core.errors import UserError
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import at_least_single
from bertscope.models.masked_words import guessed
from bertscope.models.outputs.masked_words import GuessedWords

_AT_ONCE = 1 << 24
"""Logits that are held at a time: a vocabulary can have 250,000 pieces."""


def refuse_without_head(encoder: Encoder) -> None:
    """Refuse a model that has nothing on top that guesses words."""
    if encoder.task_head != GuessedWords.task_head:
        raise UserError(
            f"{encoder.name} doesn't guess masked words (it is: {encoder.task_head}); name a pretrained model with "
            "its masked-word head first, then what was fine-tuned from it"
        )


def refuse_other_width(encoder: Encoder, head: Encoder) -> None:
    """Refuse a model whose states another's head can't read, or which reads other pieces."""
    if encoder.hidden_size != head.hidden_size:
        widths = f"{encoder.hidden_size} hidden units, and {head.name} {head.hidden_size}"
        raise UserError(
            f"{encoder.name} has no masked-word head of its own and {widths}: that head can't read it; name the "
            "model that it was fine-tuned from first"
        )
    if encoder.tokenizer.get_vocab() != head.tokenizer.get_vocab():
        raise UserError(
            f"{encoder.name} has no masked-word head of its own, and other pieces than {head.name}; give the model "
            "that it was fine-tuned from first"
        )


def last_states(encoder: Encoder, inputs: dict[str, Tensor], at: Tensor) -> Tensor:
    """[row, d]: the last layer's state at one token of each row."""
    states = encoder.model.base_model(**inputs).last_hidden_state
    return states[torch.arange(len(at), device=at.device), at]


def log_p(head: Encoder, states: Tensor, right: Tensor) -> np.ndarray:
    """[row]: log p of the right pieces, by this model's masked-word head, of these states [row, d]."""
    return judged(head, states, right)[0]


def judged(head: Encoder, states: Tensor, right: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """[row] each: the same, and whether the right piece is the likeliest."""
    found, hits = [], []
    size = max(1, _AT_ONCE // head.model.config.vocab_size)
    for some, pieces in zip(states.split(size), right.split(size), strict=True):
        with _given(head, some):
            # A head reads one token at a time: all are the tokens of one text to it.
            logits = at_least_single(guessed(head.model(input_ids=pieces[None]))[0])
        found.append((logits.gather(1, pieces[:, None])[:, 0] - logits.logsumexp(1)).double().cpu().numpy())
        hits.append((logits.argmax(1) == pieces).cpu().numpy())
    return np.concatenate(found), np.concatenate(hits)


@contextmanager
def _given(encoder: Encoder, states: Tensor) -> Iterator[None]:
    """Let the encoder's last states be these, whatever it is asked."""
    base = encoder.model.base_model

    def forward(*_: Any, **__: Any) -> BaseModelOutputWithPooling:
        # The pooler's is read by those who were also trained on next sentences.
        every, pooled = cast(Any, states[None]), cast(Any, states[:1])
        return BaseModelOutputWithPooling(last_hidden_state=every, pooler_output=pooled)

    base.forward = forward
    try:
        yield
    finally:
        del base.forward
