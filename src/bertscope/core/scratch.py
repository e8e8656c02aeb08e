"""Scratch files and folders: what becomes a file or a folder when it is whole.

They have names of their own, so that two processes that write to one place don't meet, and are locked as long as
their process lives, so that what a dead one left can be told and cleared.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

_NAME = re.compile(r"\..{0,24}\.[0-9a-f]{8}\.[0-9a-f]{8}\.(part|old)", re.DOTALL)


def new_name(target: Path) -> Path:
    """A name beside `target`: hidden, and short however long that of `target` is."""
    return target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}.part")


def _prefix(target: Path) -> str:
    return f".{target.name[:24]}.{sha256(os.fsencode(target.name)).hexdigest()[:8]}."


def is_scratch(path: Path) -> bool:
    """Whether a path is called as such things are."""
    return bool(_NAME.fullmatch(path.name))


def left_beside(target: Path, ending: str) -> list[Path]:
    """What was to become `target`, or was moved out of its way, of processes that live or don't."""
    prefix = _prefix(target)
    with suppress(OSError):
        return [path for path in target.parent.iterdir() if path.name.startswith(prefix) and path.suffix == ending]
    return []


def clear(target: Path) -> None:
    """Delete the scratch files and folders that dead processes left beside `target`."""
    for part in left_beside(target, ".part"):
        with locked(part) as ours:
            if ours and part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            elif ours:
                part.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Whether nobody else has this file or folder locked; then it is ours, until the block ends. The system drops the
    locks of processes that die. Where it has none, nothing is ever ours."""
    import fcntl

    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = True
        except OSError:
            ours = False
        yield ours
    finally:
        os.close(handle)
