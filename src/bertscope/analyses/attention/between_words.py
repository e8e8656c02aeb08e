"""From maps between tokens to what words give each other, and to what tokens receive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from bertscope.models.words import NO_WORD

if TYPE_CHECKING:
    from bertscope.analyses.attention.view import View


def received(view: View, maps: Tensor) -> Tensor:
    """[row, head, key] of maps [row, head, query, key]: the attention each token gets, averaged over the queries."""
    mean = view.real / view.lengths[:, None]
    return (mean[:, None, None] @ maps)[:, :, 0]


def between_words(view: View, maps: Tensor) -> Tensor:
    """[row, to, from, head] of maps [row, head, query, key]: attention from a word is the mean over its pieces, to
    another the sum over them.

    What a word gives itself is left out: 0. The largest over `to` is quick to find in this layout.
    """
    rows, heads, _, tokens = maps.shape
    queries, shares, starts = view.once(_queries_of_words, heads)
    # Of the two products with `in_word` this saves the first: most means are over one piece.
    from_words = embedding_bag(queries, maps.reshape(-1, tokens), starts, mode="sum", per_sample_weights=shares).view(
        rows, view.word_count * heads, tokens
    )
    between = view.in_word.transpose(1, 2) @ from_words.transpose(1, 2)
    between = between.unflatten(2, (view.word_count, heads))
    between.diagonal(dim1=1, dim2=2).zero_()
    return between


def most_attended(words: Tensor) -> Tensor:
    """[row, from, head]: which word gets most of [row, to, from, head], the first of equals; `NO_WORD` if none does.

    torch looks for the place of a maximum cell by cell. Here all cells but the largest fall far below 0, and then
    each by its place.
    """
    most = words.amax(1)
    place = torch.arange(words.shape[1], device=words.device, dtype=words.dtype)[:, None, None]
    first = -torch.add(-place, words - most[:, None], alpha=2.0**100).amax(1)
    return torch.where(most > 0, first, NO_WORD).long()


def _queries_of_words(view: View, heads: int) -> tuple[Tensor, Tensor, Tensor]:
    """Which rows of maps [row x head x query, key] are each word's, for each [row, word, head] end to end; the share
    of each in its word; and where each word's begin."""
    (row, token, size, before, place), (pieces, first) = view.once(_pieces_in_order)
    head = torch.arange(heads, device=row.device)
    query = (row * heads + head) * view.words.shape[1] + token  # [piece, head]
    # A word's first head has its pieces in this order, then its second has: nothing is sorted.
    at = before * (heads - 1) + place + head * size
    queries = torch.empty_like(query).flatten().scatter_(0, at.flatten(), query.flatten())
    shares = (1 / size).expand(-1, heads).flatten()
    return queries, shares, (first * heads + pieces * head).flatten()


def _pieces_in_order(view: View) -> tuple[Tensor, Tensor]:
    """[(row, token, pieces of its word, pieces of the words before, place), piece, 1] of all words' pieces, word by
    word; and [(pieces, pieces of the words before), row x word, 1]."""
    row, token = view.word_tokens
    word = row * view.word_count + view.host.words.numpy()[row, token]
    order = np.argsort(word, kind="stable")
    row, token, word = row[order], token[order], word[order]
    pieces = np.bincount(word, minlength=len(view.rows) * view.word_count)
    before = np.cumsum(pieces) - pieces
    of_pieces = np.stack([row, token, pieces[word], before[word], np.arange(len(word))])
    return view.send(of_pieces)[..., None], view.send(np.stack([pieces, before]))[..., None]
