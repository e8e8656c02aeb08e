"""What a training needs room for, as far as it can be measured."""

from __future__ import annotations

from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks


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
