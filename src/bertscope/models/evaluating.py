"""How models are run when they are measured, and vectors compared: where, without dropout, in full precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder


def best_device() -> torch.device:
    """The GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def at_least_single(values: Tensor) -> Tensor:
    """The same in single precision where a training has them in half; a model in double keeps its digits."""
    return values if values.dtype == torch.float64 else values.float()


@contextmanager
def evaluating(encoders: Sequence[Encoder]) -> Iterator[None]:
    """Dropout off, and on again for models that had it on; full float32 products."""
    training = [encoder.model for encoder in encoders if encoder.model.training]
    for model in training:
        model.eval()
    try:
        with full_precision():
            yield
    finally:
        for model in training:
            model.train()


@contextmanager
def full_precision() -> Iterator[None]:
    """Full float32 products on a GPU too, whatever the caller allows."""
    precision, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        torch.backends.cudnn.allow_tf32 = convolutions


@contextmanager
def frozen(encoder: Encoder) -> Iterator[None]:
    """No gradients of weights: they would cost as much again, and nobody reads them."""
    trained = [parameter for parameter in encoder.model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_()
