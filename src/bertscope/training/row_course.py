"""How each training row's label fared over the epochs (Swayamdipta et al. 2020, dataset cartography).

An epoch's probability is the one that the training step itself had, before it learnt from the row, with dropout: so
it costs no pass of its own. Only rows with one label are followed: of those p(label) is what the loss is made of.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

FOLLOWED = ("classification", "one_logit", "choices")
"""The kinds of outputs of which a row has one label, and its loss is -log p(label)."""


@dataclass
class RowCourse:
    """Of each training row, epoch by epoch."""

    rows: int
    device: torch.device
    p: list[np.ndarray] = field(default_factory=list)
    """For each epoch [row]: the probability of its label."""
    right: list[np.ndarray] = field(default_factory=list)
    """For each epoch [row]: whether its label was the likeliest."""

    def __post_init__(self) -> None:
        # A step adds to what is here: those that fill a batch up, and count for nothing, add nothing.
        self.now = torch.zeros(2, self.rows, device=self.device)
        """[2, row]: the probabilities of this epoch so far, and whether it was right."""

    def begin(self) -> None:
        self.now.zero_()

    def add(self, things: Tensor, loss: Tensor, right: Tensor, weight: Tensor | None) -> None:
        """Take in a batch: the losses of these rows, whether they were right, and what they count for."""
        found = torch.stack([(-loss.detach()).exp().to(self.now.dtype), right.to(self.now.dtype)])
        self.now.index_add_(1, things, found if weight is None else found * weight)

    def close(self) -> None:
        """The epoch is over."""
        p, right = self.now.cpu().numpy()
        self.p.append(p.copy())
        self.right.append(right > 0)

    def tensors(self) -> dict[str, Tensor]:
        """All of it, to be saved."""
        found = {"p": np.stack(self.p), "right": np.stack(self.right).astype(np.uint8)} if self.p else {}
        return {name: torch.from_numpy(each) for name, each in found.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        self.p = list(tensors["p"].cpu().numpy())
        self.right = list(tensors["right"].cpu().numpy().astype(bool))
