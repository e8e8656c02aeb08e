"""What follows from `states`: nothing yet; other questions read what it keeps."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    return []
