"""Masks drawn on the device: whole words, never special tokens, as many and as often as is said."""

from __future__ import annotations

import torch

from bertscope.training.device_masking import Pieces, masked
from device import DEVICE

# [PAD] [UNK] [CLS] [SEP] [MASK], ten words, five pieces that go on with one.
SPECIAL, CONTINUES = torch.arange(20) < 5, torch.arange(20) >= 15


def pieces(*, whole: bool = True) -> Pieces:
    return Pieces(SPECIAL.to(DEVICE), (CONTINUES & whole).to(DEVICE), 4, 5)


def rows(n: int = 4000) -> torch.Tensor:
    """[CLS] the rest of a word, six words of 1, 2, 3, 1, 2 and 1 pieces, [SEP], a word, [SEP]."""
    row = [2, 15, 5, 6, 16, 7, 17, 18, 8, 9, 19, 10, 3, 11, 3]
    return torch.tensor(row, device=DEVICE).repeat(n, 1)


WORDS = [[2], [3, 4], [5, 6, 7], [8], [9, 10], [11], [13]]


def test_words_are_masked_as_a_whole():
    torch.manual_seed(0)
    ids = rows()
    found = masked(ids, pieces(), 4)
    chosen = torch.zeros(ids.shape, device=DEVICE).scatter_(1, found.places, found.weight)
    counts = chosen.sum(1)
    assert counts.max() == 4 and (counts >= 2).all(), "a word that doesn't fit leaves at most two places unused"
    for word in WORDS:
        assert (chosen[:, word].std(1, correction=0) == 0).all(), "all of a word or none of it"
    others = [place for place in range(15) if place not in {one for word in WORDS for one in word}]
    assert chosen[:, others].sum() == 0, "special tokens, and what goes on with one, never"
    assert torch.equal(found.begins.sum(1), sum(chosen[:, word[0]] for word in WORDS).long())
    alone = chosen[:, [2, 8, 11, 13]].mean(0)
    assert (alone - alone.mean()).abs().max() < 0.03, "words of a size are masked equally often"


def test_pieces_are_masked_each_for_itself():
    torch.manual_seed(0)
    ids = rows()
    found = masked(ids, pieces(whole=False), 4)
    assert found.weight.min() == 1
    share = torch.zeros(ids.shape, device=DEVICE).scatter_(1, found.places, 1.0).mean(0)
    real = ~SPECIAL.to(DEVICE)[ids[0]]
    assert (share[real] - 4 / real.sum()).abs().max() < 0.03 and share[~real].max() == 0


def test_what_stands_there_instead_is_as_in_bert():
    torch.manual_seed(0)
    ids = rows()
    found = masked(ids, pieces(whole=False), 4)
    instead = found.shown.gather(1, found.places)
    assert torch.equal(found.right, ids.gather(1, found.places))
    elsewhere = torch.ones(ids.shape, dtype=torch.bool, device=DEVICE).scatter_(1, found.places, False)
    assert torch.equal(found.shown[elsewhere], ids[elsewhere])
    masks, kept = (instead == 4).float().mean(), (instead == found.right).float().mean()
    assert abs(masks - 0.8) < 0.015
    assert abs(kept - (0.1 + 0.1 / 15)) < 0.015, "a tenth, and where the random piece is the right one"
    assert instead.min() >= 4


def test_a_row_with_too_few_pieces_masks_what_there_is():
    ids = torch.tensor([[2, 5, 3, 3, 3, 3]], device=DEVICE)
    found = masked(ids, pieces(), 3)
    assert found.weight.sum() == 1 and found.places[0, 0] == 1
    assert torch.equal(found.shown[0, [0, 2, 3, 4, 5]], ids[0, [0, 2, 3, 4, 5]])
