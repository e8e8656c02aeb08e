"""Where things that stay for a whole pass are kept."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from mmap import mmap
from typing import Any

import numpy as np


def memory_mapped(shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Zeros in pages of their own.

    An allocator puts what stays wherever there is room at the time, which is between things that come and go: the
    gaps that those leave get too small for the next ones, and memory grows with every batch.
    """
    count = prod(shape)
    pages = mmap(-1, max(1, count * np.dtype(dtype).itemsize))
    return np.frombuffer(pages, dtype, count).reshape(shape)
