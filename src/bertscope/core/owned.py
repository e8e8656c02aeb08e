"""Which folders in a store are ours: only those are ever deleted or replaced, and only with nothing else in them."""

from __future__ import annotations

import re
from pathlib import Path

from bertscope.core import folders, registry, seal
from bertscope.core.errors import UserError
from bertscope.core.step import FILE as MARKER

BEGUN = ".format"
"""In a work folder: the format of what is being made. Gone when it is whole."""
_ID = re.compile(r"([\w-]+)-[0-9a-f]{16}")
_DELETED = ".deleted"
_EARLIER = "hidden"
"""What an earlier version called the folder of hidden states."""


def is_step(folder: Path) -> bool:
    """Whether a folder among the stored steps is one, of whatever version, whole or damaged."""
    return _is_named(folder.name, folder) and any((folder / name).is_file() for name in (seal.FILE, MARKER))


def is_work(folder: Path) -> bool:
    """Whether a folder is that of a step being made, or deleted, or left by a process that was killed at that."""
    if folder.name.endswith(_DELETED):
        return _is_named(folder.name.removesuffix(_DELETED), folder)
    return _is_named(folder.name, folder) and (
        any((folder / name).is_file() for name in (seal.FILE, BEGUN)) or not any(folder.iterdir())
    )


def _is_named(name: str, folder: Path) -> bool:
    return bool(_ID.fullmatch(name)) and folder.is_dir() and not folder.is_symlink()


def dying(folder: Path, work: Path) -> Path:
    """Where a folder goes that is being deleted: what is half deleted mustn't look like a step."""
    return work / f"{folder.name.removesuffix(_DELETED)}{_DELETED}"


def remove(folder: Path) -> None:
    """Delete a step's folder; refused where it holds what isn't the step's."""
    refuse_strangers(folder)
    folders.remove(folder)


def refuse_strangers(folder: Path) -> None:
    if folder.is_dir() and (others := strangers_in(folder)):
        raise UserError(f"{folder} holds {others[0]}, which bertscope didn't write; move it elsewhere and run again")


def strangers_in(folder: Path) -> list[str]:
    """What a step's folder holds that isn't the step's: what its seal doesn't name or, where that can't be read, what
    isn't called like anything that steps have. All that a step being made writes is its own."""
    if (folder / BEGUN).is_file() or folder.name.endswith(_DELETED):
        return []
    try:
        if seal.read(folder) is not None:
            return seal.strangers(folder)
    except seal.SealError:
        pass
    names = {MARKER, seal.FILE, "result", _EARLIER}
    if found := _ID.fullmatch(folder.name):
        question = registry.still_declared(found[1])
        names |= {question.keeps} if question and question.keeps else set()
    return sorted(path.name for path in folder.iterdir() if path.name not in names)
