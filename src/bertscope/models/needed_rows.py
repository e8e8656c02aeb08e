"""The last layer, computed only for the rows that are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from bertscope.models.batches import Batch
    from bertscope.models.encoder import Encoder


@contextmanager
def first_token_only(encoder: Encoder) -> Iterator[None]:
    """Spare the last layer the work on rows that a classifier of the first token doesn't read.

    Its output projection and its MLP get the first token alone; what they put out is added to every row, of which the
    first is right and the others are never looked at. Open it after gates, so that those see all rows. Where the
    classifier reads more, or one block serves several layers, or the only layer may be followed by a convolution over
    the rows (DeBERTa's), nothing happens.
    """
    one_vector = encoder.task_head in ("classifier", "multiple-choice")
    reads_first = one_vector and encoder.family.reads_first_token(encoder.model.config)
    if not reads_first or encoder.n_layers < 2 or encoder.layers.count(last := encoder.layers[-1]) > 1:
        yield
        return
    _, projection, mlp, _ = encoder.parts(last)
    hooks = [module.register_forward_pre_hook(_first_row) for module in (projection, mlp)]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def first_tokens(batch: Batch) -> Tensor:
    """[row, token]: each row's first token alone."""
    first = torch.zeros_like(batch.special)
    first[:, 0] = True
    return first


def _first_row(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (args[0][:, :1], *args[1:])
