"""A device whose memory is a number that a test says."""

from __future__ import annotations

GB = 2**30


class Planted:
    """So many gigabytes are free, and so many are this process's."""

    name = "planted"

    def __init__(self, free: float, taken: float = 0) -> None:
        self.left, self.mine, self.given_back = int(free * GB), int(taken * GB), 0

    def free(self) -> int:
        return self.left

    def taken(self) -> int:
        return self.mine

    def take(self, size: float) -> None:
        self.left -= int(size * GB)
        self.mine += int(size * GB)

    def give_back(self) -> None:
        self.given_back += 1
