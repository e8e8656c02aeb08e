"""Arrays that lie in several files, as one: what is asked for is read where it lies, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class JoinedRows:
    """Rows of arrays, one array after the other; indexed as an array is: by a slice or by numbers, and further."""

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        self._parts = parts
        self._starts = np.cumsum([0, *map(len, parts)])
        self.shape = (int(self._starts[-1]), *parts[0].shape[1:])
        self.dtype = parts[0].dtype

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def __getitem__(self, key: Any) -> Any:
        """
        >>> joined = JoinedRows([np.arange(6).reshape(3, 2), np.arange(6, 10).reshape(2, 2)])
        >>> joined[2:4].tolist(), joined[np.array([4, 0])].tolist(), joined[:, 1][1:].tolist()
        ([[4, 5], [6, 7]], [[8, 9], [0, 1]], [3, 5, 7, 9])
        """
        rows, *further = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, slice) and rows == slice(None):
            return JoinedRows([part[(rows, *further)] for part in self._parts])
        parts = [part[(slice(None), *further)] for part in self._parts] if further else self._parts
        if isinstance(rows, slice):
            begin, end, step = rows.indices(len(self))
            if step == 1:
                return self._range(parts, begin, max(begin, end))
            rows = np.arange(begin, end, step)
        return self._picked(parts, np.asarray(rows))

    def _range(self, parts: Sequence[np.ndarray], begin: int, end: int) -> np.ndarray:
        """Neighbouring rows; those of one part are shown, not copied."""
        first = int(np.searchsorted(self._starts[1:], begin, side="right"))
        last = int(np.searchsorted(self._starts[1:], end, side="left"))
        some = [
            parts[at][max(begin - start, 0) : end - start]
            for at, start in enumerate(self._starts[:-1].tolist())
            if first <= at <= last
        ]
        return some[0] if len(some) == 1 else np.concatenate(some or [parts[0][:0]])

    def _picked(self, parts: Sequence[np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Rows by their numbers, in whatever shape these come."""
        rows = np.where(rows < 0, rows + len(self), rows)
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self)):
            raise IndexError(f"rows {rows.min()} to {rows.max()} of {len(self)}")
        found = np.empty((*rows.shape, *parts[0].shape[1:]), self.dtype)
        which = np.searchsorted(self._starts[1:], rows, side="right")
        for at in np.unique(which).tolist():
            mine = which == at
            found[mine] = parts[at][rows[mine] - self._starts[at]]
        return found
