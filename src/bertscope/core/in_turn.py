"""What a question opens itself, when its turn comes: of many models, one or two are in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class InTurn:
    """A model that isn't open yet."""

    open: Callable[[], Any]
