"""What a training needs room for: measured where it can be, and estimated before it begins."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from bertscope.core.bucketing import rounded
from bertscope.core.room import Share, room
from bertscope.models.encoder import Encoder

if TYPE_CHECKING:
    from bertscope.training.course import Course
    from bertscope.training.objective import Objective

_SINGLE = 4  # bytes of a number
_AND_GRADIENTS = 1.25  # of what is kept for the backward pass: what that pass itself makes and lets go
_LIBRARIES = 128 * 2**20  # bytes that they take for themselves when they are first called
_TRIED_AND_RECORDED = 2  # a step is tried with memory of its own, before it is recorded with that of the graphs


class KeptForBackward(saved_tensors_hooks):
    """Counts the bytes that the forward passes inside the block keep for the backward pass.

    What is kept twice counts once, and weights don't count: they are there anyway.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__(self._pack, lambda tensor: tensor)
        self._there = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}
        self._kept: dict[int, int] = {}

    @property
    def bytes(self) -> int:
        return sum(self._kept.values())

    def _pack(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._there:
            self._kept[storage.data_ptr()] = storage.nbytes()
        return tensor


class _Weighed(Protocol):
    activations: int


@contextmanager
def weighing(model: nn.Module, told: _Weighed) -> Iterator[None]:
    """Tell how many bytes the block keeps for the backward pass, where no block before kept more."""
    kept = KeptForBackward(model)
    with kept:
        yield
    told.activations = max(told.activations, kept.bytes)


def largest_step(course: Course, objective: Objective) -> tuple[int, int]:
    """Of the step that needs most: how many rows it has, and how many tokens the longest of them."""
    (things, longest), tokens = course.largest, objective.tokens
    each = 1 if tokens is None else math.ceil(len(tokens) / len(objective.lengths))  # as many rows has a thing
    return each * things, longest


def kept_for_backward(encoder: Encoder, rows: int, tokens: int) -> int:
    """About how many bytes a step with so many rows of so many tokens keeps for its backward pass, in single
    precision: in each layer and in the embeddings what linear maps, norms, dropout and activation read; attention
    maps three times, as where no quicker way to attend is at hand."""
    wide, inner = 12 * encoder.hidden_size, 2 * np.array(encoder.neuron_counts)
    maps = 3 * np.array(encoder.head_counts) * tokens
    words = encoder.model.config.vocab_size if encoder.task_head == "masked-lm" else 0
    return int(_SINGLE * rows * tokens * (wide + (wide + inner + maps).sum() + 2 * words))


def still_to_take(
    encoder: Encoder, trained: Sequence[nn.Parameter], rows: int, tokens: int, *, keeps_best: bool
) -> int:
    """About how many bytes of a GPU a training takes beyond its model: gradients, AdamW's two moments, the best
    weights if they are kept, and its largest step, of so many rows of so many tokens, as often as it is in memory."""
    weights = sum(tensor.nbytes for tensor in (*encoder.model.parameters(), *encoder.model.buffers()))
    step = kept_for_backward(encoder, rows, rounded(tokens)) * _AND_GRADIENTS * _TRIED_AND_RECORDED
    return 3 * sum(one.nbytes for one in trained) + weights * keeps_best + int(step) + _LIBRARIES


class Gpu:
    """A GPU's memory, as the driver and torch's allocator tell it."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    @property
    def name(self) -> str:
        known = getattr(torch.cuda.get_device_properties(self._device), "uuid", self._device.index or 0)
        return f"{socket.gethostname()}-{known}"

    def free(self) -> int:
        return torch.cuda.mem_get_info(self._device)[0]

    def taken(self) -> int:
        return torch.cuda.memory_reserved(self._device)

    def give_back(self) -> None:
        torch.cuda.empty_cache()


@contextmanager
def room_on(device: torch.device, more: int) -> Iterator[Share | None]:
    """Wait for room on a GPU that other processes of a run use, too; elsewhere there is nothing to wait for."""
    if device.type != "cuda":
        yield None
        return
    with room(Gpu(device), more) as share:
        yield share
