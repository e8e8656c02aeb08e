"""What becomes of rows that can't be used, or held: the first is refused, or they are left out and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from bertscope.core.errors import UserError

BLANK_TEXT = "blank text"
WRONG_FIELDS = "wrong number of fields"
NO_AGREEMENT = "no label agreed on"
"""Reasons that a task may declare; see `tasks.Declared.drops`."""


class BadRows:
    """Reasons are few and short: "blank text", "broken JSON". Messages say where, and what to do."""

    def __init__(self, *, skip: bool = False, expected: Collection[str] = (), few: bool = False) -> None:
        self.skip = skip
        self.few = few
        """Whether only some rows are wanted in the end: of a file that can't be held, some are then read."""
        self.expected = expected
        """Reasons that the task itself declares: such rows are always left out, and counted."""
        self.counts: Counter[str] = Counter()
        self.not_held: list[str] = []
        """What a reader must know about files that can't be held."""

    def refuse(self, reason: str, message: str, rows: int = 1) -> None:
        """Stop with this message, or count the rows: they are then left out by the caller."""
        if not (self.skip or reason in self.expected):
            raise UserError(f"{message} (--skip-bad leaves such rows out)")
        self.counts[reason] += rows

    def notes(self) -> tuple[str, ...]:
        """What a reader must know about what was left out, the most frequent reason first."""
        total = self.counts.total()
        if not total:
            return tuple(self.not_held)
        counted = ", ".join(f"{reason}: {rows:,}" for reason, rows in self.counts.most_common())
        return (f"{total:,} row{'s' * (total > 1)} left out ({counted})", *self.not_held)
