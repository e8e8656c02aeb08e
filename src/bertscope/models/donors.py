"""Other texts, whose heads' and MLPs' outputs take the place of a part's own: what `resample` leaves.

A row that is read gets one donor, a row of the validation set that is another: [CLS] gets what [CLS] got there, [SEP]
what [SEP] got, each other token what a random other token got. Which, follows from a hash of the row's own tokens,
the seed and the draw: neither the batch nor its padding shows, and every part of a text has the same donor.

The donors are few and their outputs are kept, rather than run beside each batch: a pass over 64 rows is all the work
there is, whatever the number of texts, parts and draws, and gates need nothing but a look-up, so that a plain forward
pass takes them like any other mode. What is kept doesn't grow with anything: at most 64 x 128 tokens, 0.6 GB for a
bert-base and, with texts of 25 tokens, 0.1 GB.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.hashing import hashed
from bertscope.core.output import Output
from bertscope.models.batches import Batch, Tokens, group_by_budget, pad, tokenise
from bertscope.models.observe import Seen, default_budget
from bertscope.models.outputs.kinds import model_output
from bertscope.models.part_outputs import by_layer, places, real_tokens, show_parts

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

DRAWS = 5
"""Donors of each text, one after the other; what is measured is their mean."""
DONORS = 64
"""Rows that can be donors."""
TOKENS = 128
"""Tokens that are kept of a donor: of a longer one [CLS], [SEP] and random others."""
_GOLDEN, _FIRST, _SECOND = (
    number - 2**64 for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)  # as in core/hashing.py, with a sign


@dataclass(frozen=True)
class Donors:
    """What each head and MLP puts out at the tokens of some rows: entries, end to end."""

    heads: Tensor  # [layer, entry, head, d]
    mlps: Tensor  # [layer, entry, hidden]
    rows: DonorRows
    special: Tensor
    """The ids of the tokens that open and close texts."""
    seed: int

    def __len__(self) -> int:
        return len(self.rows.keys)

    def entries(self, inputs: Mapping[str, Any], draw: int) -> Tensor | None:
        """[row, token]: which entry a token gets in a draw."""
        ids, rows = inputs.get("input_ids"), self.rows
        if ids is None:
            raise UserError("mode 'resample' goes by a text's tokens: call the model with input_ids")
        real = real_tokens(inputs)
        place = places(real)
        key = row_keys(ids, real, self.seed)
        donor = self._donors(key, draw)
        luck = _positive(mixed(mixed(key, draw)[:, None], place))
        found = rows.first[donor][:, None] + luck % rows.count[donor][:, None]
        opens, closes = _special(ids, real, self.special)
        start = rows.opens[donor][:, None]
        found = torch.where(opens & (start >= 0), start, found)
        ends = rows.ends[donor][:, None]  # the first [SEP] gets the first, and so on; what is left gets the last
        nth = (closes.cumsum(1) - 1).clamp_min(0).minimum((ends - 1).clamp_min(0))
        return torch.where(closes & (ends > 0), rows.closes[donor][:, None] + nth, found)

    def _donors(self, key: Tensor, draw: int) -> Tensor:
        """[row]: another row than itself, and in each of a few draws another."""
        same = self.rows.keys == key[:, None]
        there = same.any(1)
        own = torch.where(there, same.int().argmax(1), len(self))
        other = (_positive(mixed(key, -1)) + draw) % (len(self) - there.long())
        return other + (other >= own)


@dataclass(frozen=True)
class DonorRows:
    """Where donors' entries are, [donor] each. Those of one follow each other: what opens, what closes, the rest."""

    keys: Tensor
    first: Tensor
    """Its first entry that is neither [CLS] nor [SEP], or where there is none its first,"""
    count: Tensor
    """and how many there are from it on."""
    opens: Tensor
    """Its [CLS]; -1 where it has none."""
    closes: Tensor
    """Its first [SEP],"""
    ends: Tensor
    """and how many it has."""


def donors(encoder: Encoder, examples: Examples, output: Output | None, seed: int) -> Donors:
    """See `Encoder.donors`."""
    if not len(examples):
        raise UserError("there are no examples to read")
    tokens, keys = _chosen(encoder, examples, output, seed)
    if len(keys) < 2:
        raise UserError("mode 'resample' takes a part's output on another text: give two different ones at least")
    special = _opening_and_closing(encoder)
    kept = _Kept(special, seed)
    show_parts(encoder, _batches(encoder, tokens), kept.update, total=len(keys), label="reading other texts")
    back = np.argsort(np.concatenate(kept.at))  # batches are by length
    count, opens, ends = (np.concatenate(each) for each in (kept.lengths, kept.opens, kept.ends))
    first, own = np.cumsum(count) - count, count - opens - ends
    rows = {
        "first": np.where(own > 0, first + opens + ends, first),
        "count": np.where(own > 0, own, count),
        "opens": np.where(opens > 0, first, -1),
        "closes": first + opens,
        "ends": ends,
    }
    placed = {name: torch.from_numpy(each[back]).to(encoder.device) for name, each in rows.items()}
    return Donors(
        by_layer(encoder, [torch.cat(layer) for layer in kept.heads]),
        torch.stack([torch.cat(layer) for layer in kept.mlps]),
        DonorRows(torch.from_numpy(keys).to(encoder.device), **placed),
        torch.tensor(special, device=encoder.device),
        seed,
    )


class _Kept:
    """What is kept of donors, in the order in which they are read."""

    def __init__(self, special: list[int], seed: int) -> None:
        self._special, self._seed = special, seed
        self.at: list[np.ndarray] = []
        self.lengths: list[np.ndarray] = []
        self.opens: list[np.ndarray] = []
        self.ends: list[np.ndarray] = []
        self.heads: list[list[Tensor]] = []
        self.mlps: list[list[Tensor]] = []

    def update(self, batch: Batch, seen: Seen) -> None:
        ids, real = batch.inputs["input_ids"], batch.inputs["attention_mask"]
        opens, closes = _special(ids, real, torch.tensor(self._special, device=ids.device))
        luck = _positive(mixed(row_keys(ids, real, self._seed)[:, None], places(real)))
        # What opens first, then what closes in its order, then the rest by luck; padding last.
        column = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        rank = torch.where(opens, -2 * ids.shape[1], torch.where(closes, column - ids.shape[1], luck))
        order = torch.where(real.bool(), rank, torch.iinfo(torch.long).max).argsort(dim=1, stable=True)
        length = real.sum(1).clamp_max(TOKENS)
        row, place = (column < length[:, None]).nonzero(as_tuple=True)
        token = order[row, place]
        for kept, shown in ((self.heads, seen.contexts), (self.mlps, seen.mlps)):
            kept.extend([] for _ in shown[len(kept) :])
            for layer, output in zip(kept, shown, strict=True):
                layer.append(output[row, token].clone())
        self.at.append(batch.rows)
        self.lengths.append(length.cpu().numpy())
        self.opens.append(opens.sum(1).cpu().numpy())
        self.ends.append(closes.sum(1).minimum(length - opens.sum(1)).cpu().numpy())


def _chosen(encoder: Encoder, examples: Examples, output: Output | None, seed: int) -> tuple[Tokens, np.ndarray]:
    """The donors' tokens and keys: different rows of some of the examples, at random."""
    some = np.sort(np.argsort(hashed(examples.ids, seed), kind="stable")[: 2 * DONORS])
    few = examples.take(some)
    tokens = (
        tokenise(encoder.tokenizer, few, encoder.max_length)
        if output is None
        else model_output(encoder, output).rows(few).tokens
    )
    padded = pad(tokens, np.arange(len(tokens)), pad_id=encoder.tokenizer.pad_token_id or 0)
    keys = row_keys(padded.inputs["input_ids"], padded.inputs["attention_mask"], seed).numpy()
    keys, at = np.unique(keys, return_index=True)  # in their order, which is random
    at = at[:DONORS]
    places = np.concatenate([np.arange(tokens.starts[row], tokens.starts[row] + tokens.lengths[row]) for row in at])
    return tokens.at(places, tokens.lengths[at]), keys[:DONORS]


def _batches(encoder: Encoder, tokens: Tokens) -> Iterator[Batch]:
    for rows in group_by_budget(tokens.lengths, default_budget(encoder)):
        yield pad(tokens, rows, pad_id=encoder.tokenizer.pad_token_id or 0, device=encoder.device)


def _opening_and_closing(encoder: Encoder) -> list[int]:
    named = ("cls_token_id", "sep_token_id", "bos_token_id", "eos_token_id")
    ids = (getattr(encoder.tokenizer, name, None) for name in named)
    return sorted({one for one in ids if one is not None})


def _special(ids: Tensor, real: Tensor, special: Tensor) -> tuple[Tensor, Tensor]:
    """[row, token]: whether it opens its row ([CLS], in the first place), and whether it closes a text in it."""
    found = torch.isin(ids, special) & real.bool()
    first = (real.cumsum(1) == 1) & real.bool()
    return found & first, found & ~first


def row_keys(ids: Tensor, real: Tensor, seed: int) -> Tensor:
    """[row]: a hash of its tokens and the seed, int64, whatever the padding."""
    each = mixed(mixed(ids.long(), seed), places(real))
    return (each * real).sum(1)


def mixed(key: Tensor, number: Tensor | int) -> Tensor:
    """`core.hashing.mixed` of tensors of int64, bit by bit."""
    z = key + (torch.as_tensor(number, device=key.device) + 1) * _GOLDEN
    z = (z ^ _shifted(z, 30)) * _FIRST
    z = (z ^ _shifted(z, 27)) * _SECOND
    return z ^ _shifted(z, 31)


def _shifted(z: Tensor, by: int) -> Tensor:
    """To the right, with zeros behind: a sign would come along."""
    return (z >> by) & (2 ** (64 - by) - 1)


def _positive(z: Tensor) -> Tensor:
    return z & (2**62 - 1)
