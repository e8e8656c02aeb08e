"""Checkpoints of a made-up training, in folders as a Trainer writes them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import BertForMaskedLM

from bertscope.models.encoder import Encoder
from bertscope.models.load import load

STEPS = (0, 10, 20, 30, 40, 50, 60)


def moved(encoder: Encoder, layer: int | None, size: float, seed: int = 3) -> Encoder:
    """A copy whose weights were moved by so many times their own size at random: all of a layer's (counted from 1),
    or all of the encoder's."""
    other = copy.deepcopy(encoder)
    generator = torch.Generator().manual_seed(seed)
    modules = other.model.base_model if layer is None else other.layers[layer - 1]
    with torch.no_grad():
        for weight in modules.parameters():
            noise = torch.randn(weight.shape, generator=generator).to(weight.device)
            weight.add_(size * weight.std(correction=0) * noise)
    return other


def guessing(encoder: Encoder) -> Encoder:
    """A BERT of the same shape that guesses masked words, with random weights of its own."""
    torch.manual_seed(7)
    model = BertForMaskedLM(copy.deepcopy(encoder.model.config)).eval().to(encoder.device)
    return load(model, tokenizer=encoder.tokenizer)


def keep(encoders: Sequence[Encoder], folder: Path, steps: Sequence[int] = STEPS) -> Path:
    """Write each to `checkpoint-STEP` there."""
    for step, encoder in zip(steps, encoders, strict=True):
        encoder.save(folder / f"checkpoint-{step}")
    return folder


def jumping(encoder: Encoder, folder: Path, layer: int, at: int, steps: Sequence[int] = STEPS) -> Path:
    """A training in which one layer changes, at the checkpoint of that place (counted from 1), and nothing else."""
    after = moved(encoder, layer, 1.0)
    return keep([encoder if place < at else after for place in range(1, len(steps) + 1)], folder, steps)


def drifting(encoder: Encoder, folder: Path, steps: Sequence[int] = STEPS) -> Path:
    """A training in which all weights change, the more the later."""
    sizes = [0.3 * place / (len(steps) - 1) for place in range(len(steps))]
    return keep([moved(encoder, None, size) for size in sizes], folder, steps)
