"""Files that appear whole or not at all, and digests of them.

Everything the package writes goes through here, or through `folders`, so that a full disk, Ctrl-C or kill -9 never
leaves half a result behind and never harms what existed before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from bertscope.core import scratch
from bertscope.core.errors import FullDiskError, UserError

_REASONS = {
    errno.ENOENT: "the folder it should go to can't be made",
    errno.ENOSPC: "the disk is full; free some space and run again",
    errno.EDQUOT: "the disk quota is used up; free some space and run again",
    errno.EACCES: "permission denied; choose a place you may write to",
    errno.EPERM: "permission denied; choose a place you may write to",
    errno.EROFS: "the file system is read-only; choose a place you may write to",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder, not a file",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
    errno.ELOOP: "its links lead in a circle; choose another place",
    errno.EXDEV: "it lies on another disk than what goes there; choose another place",
    errno.EEXIST: "something that is no folder is in the way; choose another place",
    errno.EIO: "the disk doesn't answer as it should; choose another place",
    errno.ENOTEMPTY: "another program writes there at the same time; run again",
    errno.EBUSY: "another program uses it; run again, or choose another place",
    errno.ENOLCK: "its file system has no locks, or none left; choose another place",
    errno.ENOSYS: "its file system can't do that; choose another place",
    errno.EOPNOTSUPP: "its file system can't do that; choose another place",
    errno.ESTALE: "the file system was mounted anew; run again",
    errno.EFBIG: "the file would be larger than its file system allows; choose another place",
    errno.EMFILE: "too many files are open; raise the limit ('ulimit -n') and run again",
}
_NO_FSYNC = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EACCES, errno.EPERM)
"""What file systems say that can't write a file's or a folder's state out when they are asked to."""
_SETTLED = 2.0
"""Seconds: a file that was changed less long ago may be changed again without its time telling it."""


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


def write_text(path: Path, text: str, *, replace: bool = True) -> None:
    """Write `text` to `path` in one step: readers see the old file or the new one, never a part. Without `replace` a
    file that is there stays."""
    with explained(path):
        path = followed(path)
        refuse_other(path, "file")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = scratch.new_name(path)
        try:
            with part.open("x", encoding="utf-8") as stream, scratch.locked(part):
                stream.write(text)
                stream.flush()
                fsync(stream.fileno())
                if replace or not _link(part, path):
                    part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _link(part: Path, path: Path) -> bool:
    """Give a file a second name, unless that is taken; False where the file system has no such links."""
    try:
        os.link(part, path)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def followed(path: Path) -> Path:
    """Where a path leads: what is written there must not take the place of a link. One that leads nowhere is
    refused."""
    for link in filter(Path.is_symlink, (path, *path.absolute().parents)):
        try:
            link.stat()  # fails where it leads in a circle, or to nothing: to a disk that isn't there, perhaps
        except FileNotFoundError:
            there = os.path.realpath(link)
            raise UserError(f"cannot write {path}: {link} is a link to {there}, which isn't there; mend it") from None
    return Path(os.path.realpath(path))


def refuse_other(path: Path, wanted: Literal["file", "folder"]) -> None:
    """Refuse what is neither missing nor what is wanted: a device, a pipe, a socket, a folder where a file goes."""
    try:
        found = kind_of(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    if found != wanted:
        raise UserError(f"cannot write {path}: it is a {found}, not a {wanted}; choose another place")


def kind_of(mode: int) -> str:
    """What lies at a path, in a word, by what the system says of it (`st_mode`)."""
    kinds = {"file": stat.S_ISREG, "folder": stat.S_ISDIR, "pipe": stat.S_ISFIFO, "socket": stat.S_ISSOCK}
    return next((name for name, is_one in kinds.items() if is_one(mode)), "device")


def refuse_existing(target: Path) -> None:
    """Refuse to write over a file: it may be the very one that is read."""
    if os.path.lexists(target):
        raise UserError(f"{target} exists; name another file or remove it")


def check_file(target: Path, mark: str) -> None:
    """Refuse a file that couldn't be written later, or that exists and isn't ours: it lacks `mark` near its top."""
    with explained(target):
        target = followed(target)
        refuse_other(target, "file")
        scratch.clear(target)
        if target.exists() and not is_marked(target, mark):
            raise UserError(f"cannot write {target}: that file is not a page of bertscope; choose another name")
        check_writable(target)


def is_marked(file: Path, mark: str) -> bool:
    """Whether a file has this text near its top."""
    with file.open("rb") as stream:
        return mark.encode() in stream.read(4096)


def check_writable(target: Path) -> None:
    """Refuse a place that couldn't be written later, before hours are spent on what goes there."""
    with explained(target):
        target = followed(target)
        parent = next(folder for folder in target.absolute().parents if folder.exists())
        if not parent.is_dir():
            raise UserError(f"cannot write {target}: {_REASONS[errno.ENOTDIR]}")
        if not os.access(parent, os.W_OK):
            raise UserError(f"cannot write {target}: {_REASONS[errno.EACCES]}")


def need_room(folder: Path, size: int) -> None:
    """Refuse to begin what needs that many bytes where there are fewer: not every library notices a full disk."""
    if shutil.disk_usage(folder).free < size:
        raise FullDiskError(f"cannot write {folder}: {_REASONS[errno.ENOSPC]}")


def settle(folder: Path) -> None:
    """Have the system write all that a folder holds to the disk: a power cut after this loses nothing of it."""
    for path in (*folder.rglob("*"), folder):
        sync(path)


def sync(path: Path) -> None:
    """Have the system write a file, or a folder's list of names, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fsync(handle)
    finally:
        os.close(handle)


def fsync(handle: int) -> None:
    """Have the system write an open file to the disk. Where its file system can't, what was computed is kept all the
    same."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def canonical_json(value: Any) -> str:
    """One text for one value: sorted keys, no spaces, no NaN. What identities are hashed from."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digest_files(paths: Iterable[Path]) -> str:
    """The digest of some files' names and contents: where they lie doesn't matter, what they hold does."""
    whole = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.name):
        whole.update(f"{path.name}:{digest_file(path)}\n".encode())
    return whole.hexdigest()[:16]


Stamp = tuple[int, int, int, int]


def stamp(path: Path) -> Stamp:
    """What tells a file from what it was before, unless it was written twice within a moment."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


_digests: dict[Stamp, str] = {}


def digest_file(path: Path) -> str:
    """The SHA-256 of a file, read once in a process as long as it stays as it is."""
    known = stamp(path)
    if known in _digests:
        return _digests[known]
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if time.time() - known[-1] / 1e9 > _SETTLED:
        _digests[known] = digest
    return digest
