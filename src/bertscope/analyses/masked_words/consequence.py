"""What follows from `masked-words`: nothing by itself; it is a score to set beside another's."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    return []
