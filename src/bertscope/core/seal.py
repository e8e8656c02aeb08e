"""Seals: what bertscope wrote to a folder, file by file.

`seal.json` is written last. It holds the size and the SHA-256 of every file of the folder, what the folder is (a
step's id, `model`, `result` ...) and a digest of itself. By it a folder of ours is told from everybody else's, and
what was changed, cut short or lost since is found before it is used. A folder inside that has a seal of its own is
held by that seal's digest, so that nothing is hashed twice.

A seal finds damage, and edits by hand. It is no signature: who can write the folder can write another seal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

from bertscope.core import scratch
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_file, stamp, write_text

FILE = "seal.json"
_LARGEST = 100_000_000
"""Bytes of a seal: those of a million files."""
_OF_SYSTEMS = (".DS_Store", "Thumbs.db", "desktop.ini", ".nfs*")
"""What file managers and file systems leave in folders: nobody's work."""


class SealError(Exception):
    """What is wrong with a sealed folder, in words that follow its name: "model.safetensors was changed"."""


@dataclass(frozen=True)
class Seal:
    of: str
    """What the folder is: a step's id, or a kind of folder."""
    files: Mapping[str, tuple[int, str]]
    """Size and digest, by the path from the folder."""
    growing: tuple[str, ...] = field(default=())
    """Files that belong to the folder and are still being written."""

    def text(self) -> str:
        record = {
            "of": self.of,
            "files": {name: list(self.files[name]) for name in sorted(self.files)},
            "growing": list(self.growing),
        }
        record["seal"] = hashlib.sha256(canonical_json(record).encode()).hexdigest()
        return json.dumps(record, indent=1, ensure_ascii=False) + "\n"

    def inner(self) -> Iterator[str]:
        """The folders inside that have seals of their own."""
        return (name.removesuffix(f"/{FILE}") for name in self.files if name.endswith(f"/{FILE}"))


def write(folder: Path, of: str, growing: tuple[str, ...] = ()) -> None:
    """Seal all that the folder holds now, but for what is still `growing`."""
    names = {name for name in files_in(folder) if name not in growing and Path(name).name[0] != "."}
    inner = {str(Path(name).parent) for name in names if Path(name).name == FILE}
    held = {name for name in names if Path(name).name == FILE or not inner & set(map(str, Path(name).parents))}
    sealed = {name: ((folder / name).stat().st_size, digest_file(folder / name)) for name in held}
    write_text(folder / FILE, Seal(of, sealed, growing).text())


def read(folder: Path) -> Seal | None:
    """The folder's seal; None where it has none, or one that isn't ours. One that can't be read, or was changed, is a
    `SealError`."""
    path = folder / FILE
    try:
        if not path.is_file():
            return None
    except PermissionError:  # a folder that can't be entered can't be told to be ours
        return None
    except OSError as error:
        raise SealError(f"{FILE} can't be read ({error.strerror})") from error
    try:
        return _read(path, stamp(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SealError(f"{FILE} can't be read ({error.strerror})") from error


def has(folder: Path) -> bool:
    """Whether a folder has a seal of ours, whole or damaged."""
    try:
        return read(folder) is not None
    except SealError:
        return True


@lru_cache(maxsize=20_000)
def _read(path: Path, stamp: tuple[int, ...]) -> Seal | None:
    """A seal is asked for many times in a run; a file of the same size and time is the same."""
    if stamp[2] > _LARGEST:
        raise SealError(f"{FILE} has over {_LARGEST:,} bytes")
    try:
        text = path.read_text(encoding="utf-8")
        record = json.loads(text)
        if not isinstance(record, dict) or len({"of", "files", "growing", "seal"} & record.keys()) < 2:
            return None
        files = {_inside(name): _size_and_digest(*one) for name, one in record["files"].items()}
        seal = Seal(str(record["of"]), files, tuple(map(_inside, record["growing"])))
        changed = seal.text() != text
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise SealError(f"{FILE} can't be read ({' '.join(str(error).split())[:80]})") from error
    if changed:
        raise SealError(f"{FILE} was changed")
    return seal


def _inside(name: Any) -> str:
    """A path of a file in the folder; one that leads out of it is refused."""
    parts = name.split("/") if isinstance(name, str) else [""]
    if {"", ".", ".."} & set(parts) or "\0" in name or "\\" in name:
        raise ValueError(f"{name!r} is no file of the folder")
    name.encode()  # half a character is no name either: ValueError
    return name


def _size_and_digest(size: Any, digest: Any) -> tuple[int, str]:
    if not isinstance(size, int) or not isinstance(digest, str):
        raise ValueError(f"{size!r} is no size, or {digest!r} no digest")
    return size, digest


_known_bad: dict[tuple[Path, tuple[int, ...], str], str] = {}
"""What is wrong with files whose digests were asked for: who asks for sizes alone is told it too."""


def flaw(folder: Path, of: str | None = None, *, within: tuple[str, ...] | None = None) -> str:
    """What is wrong with a sealed folder; nothing if it is as it was written.

    of       what the folder must be
    within   the files and folders of it whose digests are compared; all by default. Names and sizes always are.
    """
    try:
        seal = read(folder)
        if seal is None:
            return f"it has no {FILE}"
        if of is not None and seal.of != of:
            return f"it is {seal.of!r} by its {FILE}"
        _check(folder, seal, within)
    except SealError as error:
        return str(error)
    except OSError as error:
        return f"it can't be read ({error})"
    return ""


def _check(folder: Path, seal: Seal, within: tuple[str, ...] | None) -> None:
    for name, (size, digest) in seal.files.items():
        path = folder / name
        try:
            now = stamp(path)
        except (FileNotFoundError, NotADirectoryError):
            raise SealError(f"{_shown(name)} is missing") from None
        except OSError as error:
            raise SealError(f"{_shown(name)} can't be read ({error.strerror})") from error
        if not path.is_file():
            raise SealError(f"{name} is no file any more")
        if now[2] != size:
            raise SealError(f"{name} has {now[2]:,} bytes and had {size:,}")
        # A seal inside is small, and what it says is relied on.
        asked = within is None or path.name == FILE or any(f"{name}/".startswith(f"{one}/") for one in within)
        if asked and (wrong := _wrong_with(path, digest)):
            _known_bad[path, now, digest] = wrong
        if wrong := _known_bad.get((path, now, digest), ""):
            raise SealError(f"{name} {wrong}")
    for name in seal.growing:
        if not _is_file(folder / name):
            raise SealError(f"{_shown(name)} is missing")
    for name in seal.inner():
        inside = read(folder / name)
        if inside is None:
            raise SealError(f"{name}/{FILE} is missing")
        below = None if within is None else tuple(_below(within, name))
        try:
            _check(folder / name, inside, None if below and "" in below else below)
        except SealError as error:
            raise SealError(f"{name}/{error}") from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the name is too long
        return False


def _shown(name: str) -> str:
    """A file's name for a message: one that no file can have may be of any length."""
    return name if len(name) <= 255 else f"{name[:100]}..."


def _wrong_with(path: Path, digest: str) -> str:
    try:
        return "" if digest_file(path) == digest else "was changed"
    except OSError as error:
        return f"can't be read ({error.strerror})"


def _below(within: tuple[str, ...], folder: str) -> Iterator[str]:
    """Those of the names that lie in a folder, as seen from there; the folder itself, or one around it, is ''."""
    for one in within:
        if one == folder or folder.startswith(f"{one}/"):
            yield ""
        elif one.startswith(f"{folder}/"):
            yield one.removeprefix(f"{folder}/")


def strangers(folder: Path, like: tuple[str, ...] = (), *, empty: bool = True) -> list[str]:
    """What lies in a folder that the seals in it don't name, `empty` folders too. In folders whose seals are gone or
    can't be read, files that are called `like` these are known as well."""
    known, unreadable = _named(folder)
    return sorted(
        name
        for name in files_in(folder, empty=empty)
        if name not in known
        and not (_lies_in(name, unreadable) and any(fnmatch(Path(name).name, one) for one in like))
        and not any(scratch.is_scratch(Path(part)) for part in name.split("/"))
    )


def _lies_in(name: str, places: set[str]) -> bool:
    return any(not place or name.startswith(f"{place}/") for place in places)


def _named(folder: Path) -> tuple[set[str], set[str]]:
    """What the seals in a folder name, and the folders in it whose seals can't be read, itself being ''. Links
    aren't followed: they may lead back here."""
    try:
        seal = read(folder)
    except SealError:
        seal = None
    if seal is None:
        return set(), {""}
    known, unreadable = {FILE, *seal.files, *seal.growing}, set()
    for name in seal.inner():
        if _behind_link(folder, name):
            continue
        inside, dark = _named(folder / name)
        known |= {f"{name}/{one}" for one in inside}
        unreadable |= {f"{name}/{one}".removesuffix("/") for one in dark}
    return known, unreadable


def _behind_link(folder: Path, name: str) -> bool:
    return Path(os.path.realpath(folder / name)) != Path(os.path.realpath(folder)) / name


def files_in(folder: Path, *, empty: bool = False) -> list[str]:
    """The files in a folder and below, by their paths from it, and whatever else isn't a folder; on demand also
    folders in which there is nothing. Links are not followed."""
    found = []
    for path in folder.rglob("*"):
        junk = any(fnmatch(path.name, like) for like in _OF_SYSTEMS)
        if not junk and (path.is_symlink() or not path.is_dir() or (empty and not any(path.iterdir()))):
            found.append(path.relative_to(folder).as_posix())
    return [name for name in found if name != FILE] if not empty else found


def refuse_damaged(
    folder: Path,
    of: str | None = None,
    *,
    within: tuple[str, ...] | None = None,
    cure: str = "make it again, or restore it from a copy",
) -> None:
    """Refuse a folder that isn't as we wrote it; one inside a sealed folder must be the one that was sealed there."""
    wrong = flaw(folder, of, within=within)
    if not wrong and has(folder.parent):
        wrong = flaw(folder.parent, within=(f"{folder.name}/{FILE}",))
    if wrong:
        raise UserError(f"{folder} is damaged: {wrong}; {cure}")


def refuse_changed(folder: Path, names: tuple[str, ...] = ("*",)) -> None:
    """Refuse a folder of the user's that we wrote and in which files called like `names` were changed since; one
    without a seal isn't ours to judge."""
    try:
        if seal := read(folder):
            read_ones = {name: one for name, one in seal.files.items() if any(fnmatch(name, like) for like in names)}
            _check(folder, replace(seal, files=read_ones), None)
    except SealError as wrong:
        raise UserError(
            f"{folder} isn't as bertscope wrote it: {wrong}; restore it from a copy, or delete its {FILE} if the "
            "change is yours"
        ) from wrong
