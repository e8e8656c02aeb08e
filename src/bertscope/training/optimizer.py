"""The optimiser of all trainings."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn


def adamw(
    trained: Mapping[float, list[nn.Parameter]], learning_rate: float, weight_decay: float, *, on_gpu: bool
) -> torch.optim.AdamW:
    """AdamW over what is trained, by the multiple of the learning rate that it learns at, which its groups have as
    `times`; weight decay spares biases and LayerNorm, which are all one-dimensional."""
    groups = []
    for times, parameters in trained.items():
        matrices = [parameter for parameter in parameters if parameter.ndim > 1]
        vectors = [parameter for parameter in parameters if parameter.ndim <= 1]
        groups.append({"params": matrices, "weight_decay": weight_decay, "times": times})
        groups.append({"params": vectors, "weight_decay": 0.0, "times": times})
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True, capturable=on_gpu)
