"""Locks of steps: who holds one alone makes the step. The system drops those of a process that dies."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bertscope.core.files import explained


class Busy(Exception):
    """Another process holds the lock: it is making the step."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock while the block lasts; raises `Busy` while somebody else does."""
    from filelock import FileLock, Timeout

    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise Busy(path.stem) from None
        except NotImplementedError as error:  # how the library says that the file system has no locks
            raise OSError(errno.ENOLCK, str(error)) from error
    try:
        yield
    finally:
        lock.release()


def is_held(lock: Path) -> bool:
    """Whether some process holds it."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EROFS):
            raise
        return _is_held_by_others(lock)


def _is_held_by_others(lock: Path) -> bool:
    """The same of a lock that we may read alone: a store can be looked at that isn't ours."""
    import fcntl

    with lock.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
