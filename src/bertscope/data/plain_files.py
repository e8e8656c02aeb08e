"""Files before they are opened: what is no plain file could hang whoever reads it, or never end."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.core.files import digest_files, kind_of
from bertscope.core.limits import mebibytes
from bertscope.data.table import shown

_CURES = {
    errno.EACCES: "give yourself the right to read it",
    errno.ELOOP: "mend the link",
    errno.ENAMETOOLONG: "check the path",
    errno.EIO: "it is no file of data, or the disk is failing",
}
_GOLDEN, _LAST = 0x9E3779B97F4A7C15, 2**64 - 1  # 2**64 over the golden ratio
Row = TypeVar("Row")


def refuse_special(path: Path) -> int:
    """Refuse what is no plain file, or isn't there; the size of what is."""
    with explained(path):
        try:
            found = path.stat()
        except FileNotFoundError:
            if path.is_symlink():
                raise UserError(
                    f"{named(path)} is a link to {named(path.readlink())}, which isn't there; mend it"
                ) from None
            raise UserError(f"no file {named(path)}; check the path") from None
    if (kind := kind_of(found.st_mode)) != "file":
        raise UserError(f"{named(path)} is a {kind}, not a plain file; give the file itself")
    return found.st_size


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A plain file, open to be read."""
    if not refuse_special(path):  # the system's own files have no size either, and some never end
        yield BytesIO()
        return
    with explained(path), path.open("rb") as file:
        yield file


def read_whole(path: Path, most: int, cure: str = "split it") -> bytes:
    """All that a plain file holds, if it isn't too much."""
    too_large = UserError(f"{named(path)} has over {mebibytes(most)}; {cure}")
    if refuse_special(path) > most:
        raise too_large
    with opened(path) as file:
        raw = file.read(most + 1)  # it may grow
    if len(raw) > most:
        raise too_large
    return raw


def digest_plain(paths: Iterable[Path]) -> str:
    """`digest_files` of files that are plain ones."""
    paths = list(paths)
    for path in paths:
        refuse_special(path)
    with explained(paths[0] if paths else ""):
        return digest_files(paths)


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn the operating system's refusals into one clear line."""
    try:
        yield
    except OSError as error:
        cure = _CURES.get(error.errno or 0, "check the path")
        raise UserError(f"cannot read {named(path)}: {error.strerror or error}; {cure}") from error


def named(path: str | Path) -> str:
    """A path for a message: as it is, unless it is as long as no name can be, or would break the line."""
    name = str(path)
    return name if name.isprintable() and len(name) <= 300 else shown(name)


class Kept(Generic[Row]):
    """Rows as they are read, as many as are held at once.

    More are refused. Where only a `few` are wanted in the end, half of them are let go instead, and from there on
    only half are taken, and so on (`is_taken`).
    """

    def __init__(self, where: str | Path, *, few: bool, what: str = "rows", most: int | None = None) -> None:
        self.rows: list[Row] = []
        self._most = limits.MOST_ROWS if most is None else most
        self._where, self._few, self._what = where, few, what
        self._met = self._size = 0
        self._every = 1

    def add(self, row: Row, size: int) -> None:
        """Take in the next row, which has that many bytes or characters in the file."""
        self._met += 1
        if self._every == 1 or is_taken(self._met, self._every):
            self.rows.append(row)
            self._size += size
            if len(self.rows) > self._most or self._size > limits.MOST_HELD:
                self._make_room()

    def passes_over(self) -> bool:
        """Whether the next row isn't among those that are taken any more: it is counted, and needn't be parsed."""
        over = self._every > 1 and not is_taken(self._met + 1, self._every)
        self._met += over
        return over

    def note(self) -> tuple[str, ...]:
        """What a reader must know, if not all were taken."""
        if self._every == 1:
            return ()
        return (every_nth(self._where, self._met, self._what, self._every),)

    def _make_room(self) -> None:
        if not self._few:
            many = f"{self._most:,} {self._what}"
            over = many if len(self.rows) > self._most else mebibytes(limits.MOST_HELD)
            raise too_many(self._where, over)
        before, self._every = self._every, 2 * self._every
        places = (place for place in range(1, self._met + 1) if is_taken(place, before))
        self._size //= 2
        self.rows = [row for row, place in zip(self.rows, places, strict=True) if is_taken(place, self._every)]


def is_taken(place: Any, every: int) -> Any:
    """Whether a row, counted from 1, is among the one in `every`, a power of 2, that are read of a large file; or of
    each of an array of uint64.

    Its place times the golden ratio, without the whole part, has to lie under 1 / `every`: that spreads them evenly
    over a file, which may be sorted, and over any period in which its labels take turns.
    """
    return (place * _GOLDEN & _LAST) <= _LAST // every


def too_many(where: str | Path, over: str) -> UserError:
    return UserError(
        f"{where} has over {over}, more than are held in memory at once; use some of it with --limit, or split it"
    )


def every_nth(where: str | Path, met: int, what: str, nth: int) -> str:
    """The note on a source that was too large to be held."""
    return f"{Path(where).name} has {met:,} {what}, more than are held at once: one in {nth} was read"
