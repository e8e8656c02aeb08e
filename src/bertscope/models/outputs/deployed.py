"""A model as whoever deploys it calls it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


class Deployed(nn.Module):
    """A library's model that takes and gives tensors in an order."""

    def __init__(self, model: nn.Module, reads: Sequence[str], gives: Sequence[str]) -> None:
        super().__init__()
        self.model, self._reads, self._gives = model, tuple(reads), tuple(gives)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        found = self.model(**dict(zip(self._reads, inputs, strict=True)))
        return tuple(found[name] for name in self._gives)
