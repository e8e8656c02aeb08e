"""Texts with words masked, as a model reads them; and the guesses that a masked language model makes there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from bertscope.core.examples import NOTHING, Examples
from bertscope.core.masking import masked_words, word_spans
from bertscope.models.batches import WINDOW, Tokens, tokenise
from bertscope.models.words import NO_WORD

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def mask_words(tokenizer: Any, examples: Examples, max_length: int) -> tuple[Tokens, np.ndarray]:
    """The tokens of the texts with [MASK] in the place of the masked words' pieces, and what stood there [token],
    `NOTHING` where nothing is masked. A piece that reaches into a masked word is masked as a whole."""
    tokens = tokenise(tokenizer, examples, max_length)
    row = np.repeat(np.arange(len(tokens)), tokens.lengths)
    inside = _in_marked_words if examples.words is not None else _in_plain_words
    masked = inside(tokens, examples, row) & ~tokens.special
    ids = tokens.fields["input_ids"]
    shown = np.where(masked, tokenizer.mask_token_id, ids).astype(ids.dtype)
    return replace(tokens, fields=tokens.fields | {"input_ids": shown}), np.where(masked, ids, NOTHING)


def typed_masks(tokens: Tokens, pieces: np.ndarray, mask: int) -> tuple[Tokens, np.ndarray]:
    """What `mask_words` gave, but for texts in which masks are typed: these alone are masked there, and what stood in
    their place, which nobody knows, is a mask."""
    ids = tokens.fields["input_ids"]
    typed = (ids == mask) & (pieces == NOTHING)
    row = np.repeat(np.arange(len(tokens)), tokens.lengths)
    has = (np.bincount(row, typed, len(tokens)) > 0)[row]
    plain = np.where(has & (pieces != NOTHING), pieces, ids).astype(ids.dtype)
    own = np.where(typed, mask, NOTHING)
    return replace(tokens, fields=tokens.fields | {"input_ids": plain}), np.where(has, own, pieces)


def right_pieces(tokenizer: Any, examples: Examples, max_length: int) -> np.ndarray:
    """[example, most]: the pieces of each example's masked words in their order, `NOTHING` behind the last."""
    rows, places, pieces = [], [], []
    for first in range(0, len(examples), WINDOW):
        texts = examples.take(range(first, min(first + WINDOW, len(examples))))
        tokens, right = mask_words(tokenizer, texts, max_length)
        at = np.flatnonzero(right != NOTHING)
        row = np.repeat(np.arange(len(tokens)), tokens.lengths)[at]
        before = np.searchsorted(row, np.arange(len(tokens)))  # masked pieces of all rows above
        rows.append(first + row)
        places.append(np.arange(len(at)) - before[row])
        pieces.append(right[at])
    row, place = (np.concatenate(each).astype(np.int64) for each in (rows, places))
    found = np.full((len(examples), int(place.max(initial=0)) + 1), NOTHING, dtype=np.int64)
    found[row, place] = np.concatenate(pieces)
    return found


def guesses(encoder: Encoder, inputs: Mapping[str, Tensor], masked: Tensor) -> Tensor:
    """What a masked language model says of the masked tokens alone, [masked token, vocabulary], row by row. These are
    where `masked` [row, token] holds, or the tokens of these numbers, counted through all rows."""
    if not hasattr(encoder.model, "get_output_embeddings"):  # an ONNX file gives all that it has
        return _those(guessed(encoder.model(**inputs)), masked)
    with _guessing_only(encoder, masked):
        return guessed(encoder.model(**inputs))


def guessed(output: Any) -> Tensor:
    """The guesses among what a model gives: one that was also trained on next sentences calls them otherwise."""
    return output.prediction_logits if "prediction_logits" in output else output.logits


@contextmanager
def _guessing_only(encoder: Encoder, masked: Tensor) -> Iterator[None]:
    """Let the model guess the masked tokens alone: the layer over the vocabulary is a good part of a pass."""
    to_words = encoder.model.get_output_embeddings()

    def those(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (_those(args[0], masked), *args[1:])

    hook = to_words.register_forward_pre_hook(those)
    try:
        yield
    finally:
        hook.remove()


def _those(states: Tensor, masked: Tensor) -> Tensor:
    return states[masked] if masked.dtype == torch.bool else states.flatten(0, 1)[masked]


def _in_marked_words(tokens: Tokens, examples: Examples, row: np.ndarray) -> np.ndarray:
    """[token]: whether it is of a masked word, where the source marks words."""
    assert examples.words is not None
    sizes = np.array([len(words) for words in examples.words])
    starts = np.cumsum(sizes) - sizes
    chosen = np.zeros(sizes.sum() + 1, bool)
    for start, words in zip(starts, masked_words(examples), strict=True):
        chosen[start + words] = True
    return np.where(tokens.words == NO_WORD, False, chosen[starts[row] + np.maximum(tokens.words, 0)])


def _in_plain_words(tokens: Tokens, examples: Examples, row: np.ndarray) -> np.ndarray:
    """[token]: whether it has a character of a masked word."""
    pairs = examples.pair or ("",) * len(examples)
    sizes = np.array([(len(text), len(pair)) for text, pair in zip(examples.text, pairs, strict=True)])
    starts = (np.cumsum(sizes) - sizes.ravel()).reshape(-1, 2)  # [example, text of the pair]
    chosen = np.zeros(sizes.sum(), bool)
    for start, text, pair, words in zip(starts, examples.text, pairs, masked_words(examples), strict=True):
        spans = [start[0] + np.array(span) for span in word_spans(text)]
        spans += [start[1] + np.array(span) for span in word_spans(pair)]
        for word in words:
            chosen[slice(*spans[word])] = True
    before = np.concatenate([[0], np.cumsum(chosen)])  # masked characters before each
    first, last = (starts[row, tokens.segments][:, None] + tokens.spans).T
    return before[last] > before[first]
