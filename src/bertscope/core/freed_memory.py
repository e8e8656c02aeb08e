"""Memory that isn't needed any more goes back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back_memory() -> None:
    """Return freed memory to the system. Small things that stay (a kernel for each new shape of batch) lie between
    the large ones of a batch, so that those of the next window don't fit where these were, and memory would grow."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)
