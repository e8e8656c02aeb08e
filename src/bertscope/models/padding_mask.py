"""The mask that keeps attention from padding, made without waiting."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.masking_utils import eager_mask, sdpa_mask


def padding_mask(
    *, attention_mask: Tensor | None = None, dtype: torch.dtype = torch.float32, **how: Any
) -> Tensor | None:
    """Padding as a mask that is added to the scores, as the library makes it. On a GPU the library would wait to be
    told whether there is any, and leave the mask out if not; here it is 0 then."""
    how["attention_mask"] = attention_mask
    if attention_mask is None or not attention_mask.is_cuda:
        return eager_mask(dtype=dtype, **how)
    allowed = sdpa_mask(**how | {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})
    assert allowed is not None, "what isn't skipped is made"
    return torch.where(allowed, allowed.new_zeros((), dtype=dtype), torch.finfo(dtype).min)
