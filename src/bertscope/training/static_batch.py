"""A batch whose tensors stay where they are, and into which other batches of the same shape are copied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from bertscope.models.batches import Batch

_ALIGNED = 16  # bytes: what the widest loads of a kernel want


def tensors_of(batch: Any) -> list[Tensor]:
    """All tensors of a batch, in an order that is the same for batches of one kind."""
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    _changed(batch, keep)
    return found


def shape_of(batch: Batch) -> tuple[Any, ...]:
    """What tells batches apart that can't be copied into each other."""
    return (type(batch), *((tensor.shape, tensor.dtype) for tensor in tensors_of(batch)))


class StaticBatch:
    """Its `batch` is on the device. What it is filled with comes from the CPU in one copy, which nobody waits for:
    the allocator of pinned memory keeps what is copied from until that is done."""

    def __init__(self, like: Batch, device: torch.device) -> None:
        tensors = tensors_of(like)
        self._places: list[slice] = []
        end = 0
        for tensor in tensors:
            self._places.append(slice(end, end + tensor.nbytes))
            end += -(-tensor.nbytes // _ALIGNED) * _ALIGNED
        self._bytes = torch.zeros(end, dtype=torch.uint8, device=device)
        each = zip(tensors, self._places, strict=True)
        views = iter([self._bytes[place].view(tensor.dtype).view(tensor.shape) for tensor, place in each])
        self.batch: Batch = _changed(like, lambda tensor: next(views))
        self.fill(like)

    def fill(self, batch: Batch) -> None:
        """Hold what a batch on the CPU holds, which has the same shape."""
        staged = torch.empty(len(self._bytes), dtype=torch.uint8, pin_memory=self._bytes.is_cuda)
        for tensor, place in zip(tensors_of(batch), self._places, strict=True):
            staged[place] = tensor.contiguous().flatten().view(torch.uint8)
        self._bytes.copy_(staged, non_blocking=True)


def _changed(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same with other tensors."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        return {name: _changed(each, change) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_changed(each, change) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _changed(getattr(value, each.name), change) for each in fields(value)})
    return value
