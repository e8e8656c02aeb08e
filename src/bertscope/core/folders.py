"""Folders that appear whole or not at all, sealed, and never in the place of anything that isn't ours."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bertscope.core import scratch, seal
from bertscope.core.errors import UserError
from bertscope.core.files import check_writable, explained, followed, refuse_other, settle

_TRIES = 100
"""How often a folder is put in place where others put theirs at the same time."""


@contextmanager
def whole_folder(target: Path, kind: str, *, growing: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield a scratch folder that is sealed as this `kind` and becomes `target` when the block ends well, and
    vanishes when it doesn't. The seal leaves out the files that are still `growing` then.

    An existing `target` is replaced only if it is empty, or a folder of this kind as we wrote it.
    """
    with explained(target):
        target = followed(target)
        refuse_foreign(target, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        recover(target)
        with _scratch(target) as folder:
            yield folder
            seal.write(folder, kind, growing)
            _put_in_place(folder, target, kind)


def refuse_foreign(target: Path, kind: str) -> None:
    """Refuse to write over anything but a missing or empty folder, or one of this kind that is as we wrote it."""
    with explained(target):
        target = followed(target)
        refuse_other(target, "folder")
        before: int | None = -1
        while (why := _foreign_because(target, kind)) and before != (before := _which(target)):
            pass  # another process may have put its folder there while we looked
        if why:
            raise UserError(f"cannot write {target}: {why}; choose an empty or new folder")


def _foreign_because(target: Path, kind: str) -> str:
    try:
        if not target.is_dir() or not any(target.iterdir()):
            return ""
        if not seal.has(target):
            return "it holds things that bertscope didn't write"
        if wrong := seal.flaw(target):
            return f"it isn't as bertscope wrote it ({wrong})"
        if (sealed := seal.read(target)) and sealed.of != kind:
            return f"it is another thing of bertscope's ({sealed.of}, not {kind})"
        others = seal.strangers(target)
    except FileNotFoundError:
        return "it comes and goes"
    return f"it holds {others[0]}, which bertscope didn't write" if others else ""


def _which(target: Path) -> int | None:
    """The number that the system knows a folder by, whatever it is called."""
    try:
        return target.stat().st_ino
    except FileNotFoundError:
        return None


def check_folder(target: Path, kind: str) -> None:
    """Refuse a folder that couldn't be written later, before hours are spent on what goes there."""
    refuse_foreign(target, kind)
    check_writable(target)


def refuse_inside(target: Path) -> None:
    """Refuse to put something of the user's inside what we wrote, or in the place of the folder that they are in."""
    target = Path(os.path.realpath(target))
    if target == Path.cwd():
        raise UserError(f"cannot write {target}: it is the folder that you are in; name one inside it")
    for above in target.parents:
        if is_store(above) or seal.has(above):
            raise UserError(f"cannot write {target}: {above} is bertscope's own; choose a place outside of it")


STORE = "store.json"
"""Marks the folder of a store."""


def is_store(folder: Path) -> bool:
    return bool(store_token(folder))


def store_token(folder: Path) -> str:
    """What tells a store from others; nothing where there is no store."""
    marker = folder / STORE
    try:
        if not marker.is_file() or marker.stat().st_size > 1000:
            return ""
        return str(json.loads(marker.read_text(encoding="utf-8"))["store"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def move(folder: Path, target: Path) -> None:
    """Rename a folder; where `target` lies on another disk, copy it there first, so that it appears whole all the
    same."""
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with _scratch(target) as copy:
            shutil.copytree(folder, copy, dirs_exist_ok=True)
            settle(copy)
            copy.rename(target)
        shutil.rmtree(folder, ignore_errors=True)


def linked_folder(folder: Path, target: Path) -> None:
    """The same files in a new or empty folder, which take no room of their own where the disk can do that: for files
    that are never written to, only replaced."""
    shutil.copytree(folder, target, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk, or one without links
        shutil.copy2(source, target)


def remove(folder: Path, last: tuple[str, ...] = (seal.FILE,)) -> None:
    """Delete a folder of ours, and what it is known by `last`: what a kill leaves of it is still known as ours. Of a
    link only the link goes: what it leads to was put there by somebody."""
    if folder.is_symlink():
        folder.unlink()
    elif folder.is_dir():
        for path in folder.iterdir():
            if path.name not in last:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(folder)


def recover(target: Path) -> None:
    """Finish what runs began that were killed while they put `target` in place, and clear what they left."""
    for old in scratch.left_beside(target, ".old"):
        part = old.with_suffix(".part")
        with scratch.locked(part) as ours:
            if not ours and part.exists():
                continue  # its process lives
            if not os.path.lexists(target):
                (part if part.exists() else old).rename(target)
            shutil.rmtree(old, ignore_errors=True)
    scratch.clear(target)


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """A folder beside `target` with a name of its own, locked as long as this process needs it."""
    while True:
        folder = scratch.new_name(target)
        folder.mkdir()
        with scratch.locked(folder):
            if not folder.exists():  # somebody took it for a dead process's before it was locked
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return


def _put_in_place(folder: Path, target: Path, kind: str) -> None:
    """Rename the finished `folder` to `target`, moving an older `target` out of the way first."""
    old = folder.with_suffix(".old")
    with suppress(FileNotFoundError):
        folder.chmod(target.stat().st_mode)
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            target.rename(old)
        if why := _foreign_because(old, kind):  # somebody put something there meanwhile
            old.rename(target)
            raise UserError(f"cannot write {target}: {why}; choose an empty or new folder")
        try:
            folder.rename(target)
            break
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                with suppress(OSError):
                    old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)  # another process put its folder there in between
    else:
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(target))
    shutil.rmtree(old, ignore_errors=True)
