"""Into how many shards a corpus is divided: a number, or as many as the size of one makes."""

from __future__ import annotations

import re
from math import ceil
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.limits import MOST_STEPS

Shards = int | str
"""How many there are, or how large each is: `64MB`."""
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([kMGT])B")
_UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def as_shards(given: Any) -> Shards | None:
    """What somebody wrote, checked.

    >>> as_shards("64"), as_shards("1.5GB"), as_shards(None)
    (64, '1.5GB', None)
    """
    if given is None or (type(given) is int and 1 <= given < MOST_STEPS):
        return given
    if isinstance(given, str) and given.isascii() and given.isdigit() and len(given) < 10:
        return as_shards(int(given))
    if isinstance(given, str) and (found := _SIZE.fullmatch(given)) and float(found[1]) > 0:
        return given
    raise UserError(
        f"shards is {given!r}; give a number from 1 to {MOST_STEPS - 1:,}, or the size of one, such as 64MB"
    )


def count_of(shards: Shards, total: int) -> int:
    """How many shards there are of so many bytes in all.

    >>> count_of(8, 10**9), count_of("64MB", 10**9), count_of("1GB", 10)
    (8, 16, 1)
    """
    if isinstance(shards, int):
        return shards
    found = _SIZE.fullmatch(shards)
    assert found is not None, "it was checked"
    count = max(1, ceil(total / (float(found[1]) * _UNITS[found[2]])))
    if count >= MOST_STEPS:
        raise UserError(f"shards of {shards} are {count:,}, more than {MOST_STEPS - 1:,}; give a larger size")
    return count
