"""Where things that stay for a whole pass are kept: in pages of their own, or in files while nobody needs them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from math import prod
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any
from weakref import WeakSet

import numpy as np

_IN_FILES: ContextVar[FilePages | None] = ContextVar("_IN_FILES", default=None)


def memory_mapped(shape: Sequence[int], dtype: Any, *, in_memory: bool = False) -> np.ndarray:
    """Zeros in pages of their own, which may lie in a file (`FilePages`) unless they are to be `in_memory`.

    An allocator puts what stays wherever there is room at the time, which is between things that come and go: the
    gaps that those leave get too small for the next ones, and memory grows with every batch.
    """
    count, in_files = prod(shape), None if in_memory else _IN_FILES.get()
    size = max(1, count * np.dtype(dtype).itemsize)
    return np.frombuffer(in_files.pages(size) if in_files else mmap.mmap(-1, size), dtype, count).reshape(shape)


class FilePages:
    """Pages that lie in files without a name, which are gone with their process. What takes turns with others has
    them in memory for its turn alone; between turns the system may write them to the disk.

    folder   on whose disk the files are
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._all: WeakSet[mmap.mmap] = WeakSet()

    def pages(self, size: int) -> mmap.mmap:
        with TemporaryFile(dir=self._folder) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)  # a full disk is told now: a page without one is a crash
            else:
                file.truncate(size)
            found = mmap.mmap(file.fileno(), size)
        self._all.add(found)
        return found

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """What is mapped in this block lies in files, and leaves memory at its end."""
        before = _IN_FILES.set(self)
        try:
            yield
        finally:
            _IN_FILES.reset(before)
            for one in self._all:
                if hasattr(mmap, "MADV_DONTNEED"):
                    one.madvise(mmap.MADV_DONTNEED)  # of a shared file nothing is lost
