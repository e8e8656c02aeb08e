"""Which folders in a store are ours: only those are ever deleted or replaced, and only with nothing else in them.

A step is known by its seal or, where that is gone and in older stores, by its step.json, which hashes to the folder's
name; a step being made by its mark; and what writing and deleting left when they were killed by its name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from bertscope.core import folders, scratch, seal
from bertscope.core.errors import UserError
from bertscope.core.files import write_text
from bertscope.core.step import FILE as MARKER
from bertscope.core.step import Step

BEGUN = ".format"
"""In a work folder: the format of what is being made. Gone when it is whole."""
_ID = re.compile(r"[\w-]+-[0-9a-f]{16}")
_DELETED = ".deleted"
_WRITTEN = ("*.json", "*.parquet", "*.safetensors", "*.npy", "*.onnx", "README.md", "vocab.txt", "merges.txt",
            "*.model")  # fmt: skip
"""What we, and the library, call the files in a step's folder."""


def is_step(folder: Path) -> bool:
    """Whether a folder among the stored steps is one, of whatever version, whole or damaged."""
    return _is_called(folder.name, folder) and (seal.has(folder) or step_in(folder) is not None)


def is_work(folder: Path) -> bool:
    """Whether a folder is that of a step being made, or deleted, or left by a process that was killed at that."""
    if not _is_called(folder.name.removesuffix(_DELETED), folder):
        return False
    marked = seal.has(folder) or (folder / BEGUN).is_file()
    return marked or all(scratch.is_scratch(path) for path in folder.iterdir())


def _is_called(name: str, folder: Path) -> bool:
    return bool(_ID.fullmatch(name)) and folder.is_dir()


def step_in(folder: Path) -> Step | None:
    """The step that a folder says it holds; None where that isn't the one that it is called after."""
    marker = folder / MARKER
    try:
        step = Step.from_json(json.loads(marker.read_text(encoding="utf-8"))) if marker.is_file() else None
        return step if step and step.id == folder.name else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def begin(work: Path, text: str) -> None:
    """Make a work folder with its mark in it, in one step: what a kill leaves is known as ours at any moment."""
    scratch.clear(work)
    if work.is_dir():
        write_text(work / BEGUN, text)
        return
    begun = scratch.new_name(work)
    begun.mkdir(parents=True)
    with scratch.locked(begun):
        write_text(begun / BEGUN, text)
        begun.rename(work)


def delete(folder: Path, work: Path) -> None:
    """Delete a step's folder by way of a store's `work`: what is half deleted mustn't look like a step."""
    refuse_strangers(folder)
    dying = work / f"{folder.name.removesuffix(_DELETED)}{_DELETED}"
    dying.parent.mkdir(exist_ok=True)
    if folder != dying:
        folders.remove(dying)
        if not (folder.is_symlink() or seal.has(folder)):
            write_text(folder / BEGUN, "deleted")  # an older step has no seal to be known by
        folders.move(folder, dying)
    folders.remove(dying, last=(BEGUN, seal.FILE))


def remove(folder: Path) -> None:
    """Delete a step's folder where it is; refused where it holds what isn't the step's."""
    refuse_strangers(folder)
    folders.remove(folder, last=(BEGUN, seal.FILE))


def refuse_strangers(folder: Path) -> None:
    if folder.is_dir() and (others := strangers_in(folder)):
        raise UserError(f"{folder} holds {others[0]}, which bertscope didn't write; move it elsewhere and run again")


def strangers_in(folder: Path) -> list[str]:
    """What a step's folder holds that isn't the step's: what the seals don't name or, where these are gone or can't
    be read, what isn't called like anything that we write. All that a step being made writes is its own."""
    return [] if (folder / BEGUN).is_file() else seal.strangers(folder, like=_WRITTEN, empty=False)
