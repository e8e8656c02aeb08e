"""Who trains seeds generators; nobody else notices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def own_randomness(device: torch.device) -> Iterator[None]:
    """Seed freely inside the block: the caller's generators come back as they were."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield
