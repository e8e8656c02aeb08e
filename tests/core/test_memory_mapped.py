"""Pages that lie in files while nobody needs them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bertscope.core.memory_mapped import FilePages, memory_mapped


def in_memory(array: np.ndarray) -> int:
    """Bytes of this process's memory that hold it, as Linux tells."""
    start, found = array.__array_interface__["data"][0], False
    for line in Path("/proc/self/smaps").read_text(encoding="ascii").splitlines():
        if "-" in line.split()[0]:
            low, high = (int(end, 16) for end in line.split()[0].split("-"))
            found = low <= start < high
        elif found and line.startswith("Rss:"):
            return 1024 * int(line.split()[1])
    raise AssertionError("it is nowhere")


def test_what_is_kept_leaves_memory_between_turns_and_is_there_again(tmp_path):
    pages = FilePages(tmp_path)
    with pages.in_use():
        kept, beside = memory_mapped([1000, 1000], np.float64), memory_mapped([10], np.float32, in_memory=True)
        kept += np.arange(1000)
        beside[:] = 1
        assert sys.platform != "linux" or in_memory(kept) >= kept.nbytes
    assert sys.platform != "linux" or in_memory(kept) == 0
    with pages.in_use():
        kept += 1
    assert (kept == np.arange(1000) + 1).all() and (beside == 1).all()
    assert list(tmp_path.iterdir()) == [], "files have no name"


def test_outside_of_turns_nothing_lies_in_files(tmp_path):
    with FilePages(tmp_path).in_use():
        pass
    plain = memory_mapped([1000, 1000], np.float64)
    plain += 1
    assert sys.platform != "linux" or in_memory(plain) >= plain.nbytes


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the room")
def test_a_full_disk_is_told_when_room_is_asked_for(tmp_path):
    with FilePages(tmp_path).in_use(), pytest.raises(OSError, match=r"space|large"):
        memory_mapped([2**60], np.uint8)
