"""The one error class for the user's mistakes, and the exit codes of the command line."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

EXIT_BUG = 1
EXIT_USER = 2
EXIT_FAILED = 3
EXIT_INTERRUPTED = 130
EXIT_UNREAD = 141
"""Whoever read the output went away before its end: what shells tell of a program that the system ends for that."""


class UserError(Exception):
    """A mistake the user can mend. The message is one line: what was wrong, where, and what to do."""


class BugError(Exception):
    """A step failed by no mistake of the user's. The message is one line; its traceback is a note of it."""

    def __init__(self, reason: str, trace: str, log: Path) -> None:
        super().__init__(f"{reason} (a bug of bertscope; details: {log})")
        self.reason, self.trace, self.log = reason, trace, log
        self.add_note(trace)


class FullDiskError(UserError):
    """No room is left: whatever comes next couldn't be written either."""


_CURES = {
    errno.EACCES: "choose a place that you may read and write",
    errno.EPERM: "choose a place that you may read and write",
    errno.EROFS: "choose a place that you may write to",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "mend the links, or choose another place",
    errno.EIO: "the disk doesn't answer as it should; choose another place",
    errno.ESTALE: "the file system was mounted anew; run again",
    errno.ENOLCK: "the file system has no locks; choose another place",
    errno.EMFILE: "raise the limit ('ulimit -n') and run again",
    errno.ENOSPC: "free some space and run again",
    errno.EDQUOT: "free some space and run again",
}


def in_a_line(error: BaseException) -> str:
    """What an error of somebody else's says, short enough to stand in a message of ours.

    >>> in_a_line(ValueError("no\\tnumber\\nat all")), in_a_line(ValueError())
    ('no number', 'ValueError')
    """
    said, *_ = str(error).strip().splitlines() or [type(error).__name__]
    return "".join(letter if letter.isprintable() else " " for letter in said)[:160]


def refused_by_system(error: BaseException) -> str | None:
    """What a user is told whom the operating system refuses something, where that is no mistake of ours."""
    cure = _CURES.get(error.errno or 0) if isinstance(error, OSError) else None
    return f"{error}; {cure}" if cure else None


def is_full(error: BaseException) -> bool:
    """Whether it says that there is no room: whatever comes next couldn't be written either."""
    return isinstance(error, FullDiskError) or (
        isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    )


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The end of an error message about an unknown word: a suggestion, or the list of what is known. Names that begin
    alike ask for a higher `cutoff`.

    >>> did_you_mean("hedas", ["heads", "layers"])
    "did you mean 'heads'?"
    >>> did_you_mean("xyz", ["heads", "layers"])
    'known: heads, layers'
    """
    known = sorted(known)
    close = get_close_matches(word, known, n=1, cutoff=cutoff)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
