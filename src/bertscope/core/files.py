"""Files and folders that appear whole or not at all.

Everything the package writes goes through here, so that a full disk, Ctrl-C or kill -9 never leaves half a
result behind and never harms what existed before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from bertscope.core.errors import FullDiskError, UserError


@dataclass(frozen=True)
class FolderKind:
    """What tells a folder that we wrote from everybody else's."""

    marker: str
    """A file that is always there."""
    mark: str
    """A text in it that only we write."""
    names: tuple[str, ...]
    """What else may lie beside it."""

    def owns(self, folder: Path) -> bool:
        marker = folder / self.marker
        known = all(any(fnmatch(path.name, name) for name in self.names) for path in folder.iterdir())
        return known and marker.is_file() and self.mark in marker.read_text(encoding="utf-8", errors="replace")


_REASONS = {
    errno.ENOENT: "the folder it should go to can't be made",
    errno.ENOSPC: "the disk is full; free some space and run again",
    errno.EDQUOT: "the disk quota is used up; free some space and run again",
    errno.EACCES: "permission denied; choose a place you may write to",
    errno.EPERM: "permission denied; choose a place you may write to",
    errno.EROFS: "the file system is read-only; choose a place you may write to",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder, not a file",
    errno.ENAMETOOLONG: "the name is too long",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals about `path` into one clear line; let every other error through."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        full = "No space left" in str(error)  # safetensors puts the system's error into words of its own
        number = errno.ENOSPC if full else error.errno if isinstance(error, OSError) else None
        if number not in _REASONS:
            raise
        kind = FullDiskError if number in (errno.ENOSPC, errno.EDQUOT) else UserError
        raise kind(f"cannot write {path}: {_REASONS[number]}") from error


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in one step: readers see the old file or the new one, never a part."""
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with scratch.open("w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: Path, kind: FolderKind) -> Iterator[Path]:
    """Yield a scratch folder that becomes `target` when the block ends well and vanishes when it doesn't.

    An existing `target` is replaced only if it is empty or ours; anything else is somebody's and is refused.
    """
    with explained(target):
        refuse_foreign(target, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        scratch = _beside(target, "part")
        shutil.rmtree(scratch, ignore_errors=True)  # of a run that was killed
        scratch.mkdir()
        try:
            yield scratch
            put_in_place(scratch, target)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def refuse_foreign(target: Path, kind: FolderKind) -> None:
    """Refuse to write over a file, or over a folder that we didn't write."""
    with explained(target):
        if target.is_file():
            raise UserError(f"cannot write {target}: it is a file, not a folder; choose another place")
        if target.is_dir() and any(target.iterdir()) and not kind.owns(target):
            raise UserError(
                f"cannot write {target}: it holds things that bertscope didn't write; choose an empty or new one"
            )


def refuse_existing(target: Path) -> None:
    """Refuse to write over a file: it may be the very one that is read."""
    if os.path.lexists(target):
        raise UserError(f"{target} exists; name another file or remove it")


def check_file(target: Path, mark: str) -> None:
    """Refuse a file that couldn't be written later, or that exists and isn't ours: it lacks `mark` near its top."""
    if target.is_dir():
        raise UserError(f"cannot write {target}: {_REASONS[errno.EISDIR]}")
    if target.exists() and not is_marked(target, mark):
        raise UserError(f"cannot write {target}: that file is not a page of bertscope; choose another name")
    check_writable(target)


def is_marked(file: Path, mark: str) -> bool:
    """Whether a file has this text near its top."""
    with file.open("rb") as stream:
        return mark.encode() in stream.read(4096)


def check_writable(target: Path) -> None:
    """Refuse a place that couldn't be written later, before hours are spent on what goes there."""
    parent = next(folder for folder in target.absolute().parents if folder.exists())
    if not parent.is_dir():
        raise UserError(f"cannot write {target}: {_REASONS[errno.ENOTDIR]}")
    if not os.access(parent, os.W_OK):
        raise UserError(f"cannot write {target}: {_REASONS[errno.EACCES]}")


def need_room(folder: Path, size: int) -> None:
    """Refuse to begin what needs that many bytes where there are fewer: not every library notices a full disk."""
    if shutil.disk_usage(folder).free < size:
        raise FullDiskError(f"cannot write {folder}: {_REASONS[errno.ENOSPC]}")


def put_in_place(scratch: Path, target: Path) -> None:
    """Rename the finished `scratch` to `target`, moving an older `target` out of the way first."""
    old = _beside(target, "old")
    if target.exists():
        target.rename(old)
    scratch.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def settle(folder: Path) -> None:
    """Have the system write all that a folder holds to the disk: a power cut after this loses nothing of it."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def sync(path: Path) -> None:
    """Have the system write a file, or a folder's list of names, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def recover(target: Path) -> None:
    """Finish what a run that was killed between the two renames of `put_in_place` began."""
    old, scratch = _beside(target, "old"), _beside(target, "part")
    if old.exists() and not target.exists():
        (scratch if scratch.exists() else old).rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}.{what}")


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no spaces, no NaN. What identities are hashed from."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_files(paths: Iterable[Path]) -> str:
    """The digest of some files' names and contents: where they lie doesn't matter, what they hold does."""
    whole = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{path.name}:{content}\n".encode())
    return whole.hexdigest()[:16]
