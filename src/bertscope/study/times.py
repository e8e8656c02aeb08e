"""How long a run will still take, from how long its steps took."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

from bertscope.core.errors import UserError
from bertscope.core.result import describe
from bertscope.core.step import Step
from bertscope.core.store import Store


class Times:
    """Seconds by name of step."""

    def __init__(self) -> None:
        self._of: dict[str, list[float]] = {}

    @classmethod
    def of_stored(cls, steps: Iterable[Step], store: Store) -> Times:
        """What the stored ones among these steps took when they were made."""
        times = cls()
        for step in steps:
            try:
                times.add(step.name, float(describe(store.path(step) / "result")["provenance"]["seconds"]))
            except (UserError, KeyError):
                continue  # not stored, or it doesn't say
        return times

    def add(self, name: str, seconds: float) -> None:
        self._of.setdefault(name, []).append(seconds)

    def expected(self, name: str) -> float | None:
        """The mean of the steps of that name, else of all; None if nothing is known."""
        known = self._of.get(name) or [one for seconds in list(self._of.values()) for one in seconds]
        return fmean(known) if known else None

    def left(
        self, waiting: Iterable[str], running: Iterable[tuple[str, float]] = (), *, slots: int = 1
    ) -> float | None:
        """Seconds until these names are made, `slots` at a time; of those running it is given how long they have."""
        whole = [(self.expected(name), 0.0) for name in waiting]
        whole += [(self.expected(name), passed) for name, passed in running]
        if any(expected is None for expected, _ in whole):
            return None
        return sum(max(0.0, (expected or 0.0) - passed) for expected, passed in whole) / max(1, slots)
