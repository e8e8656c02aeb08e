"""From the CPU to where a model is, without waiting for what the device still does."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def sent(values: np.ndarray | Tensor, device: Any) -> Tensor:
    """The same on the device. A GPU copies from pinned memory when it gets there; the allocator of that memory keeps
    what is copied until then."""
    here = torch.from_numpy(values) if isinstance(values, np.ndarray) else values
    if torch.device(device).type != "cuda" or here.is_cuda:
        return here.to(device)
    return here.contiguous().pin_memory().to(device, non_blocking=True)
