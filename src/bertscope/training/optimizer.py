"""The optimiser of all trainings."""

from __future__ import annotations

import torch
from torch import nn


def adamw(
    trained: list[nn.Parameter], learning_rate: float, weight_decay: float, *, on_gpu: bool
) -> torch.optim.AdamW:
    """AdamW over what is trained; weight decay spares biases and LayerNorm, which are all one-dimensional."""
    matrices = [parameter for parameter in trained if parameter.ndim > 1]
    vectors = [parameter for parameter in trained if parameter.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True, capturable=on_gpu)
