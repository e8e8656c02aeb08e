"""Corpus files as readers meet them: plain or packed, alone, in a folder or in a zip.

Whatever the disk or the packing refuses becomes one clear line, and nothing is read without a bound: a line, a
sentence or a packed file may be damaged, or may never end.
"""

from __future__ import annotations

import codecs
import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bertscope.core.errors import UserError
from bertscope.core.harmless import is_utf8
from bertscope.data.table import shown

LONGEST = 1 << 20
"""Bytes that one line, or the lines of one sentence, may have."""
LARGEST = 1 << 28
"""Bytes that one file in a folder or zip may have."""
_DEEPEST = 3
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_DAMAGE = (EOFError, NotImplementedError, ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error)


class Block(NamedTuple):
    """Lines of a file between two blank ones."""

    line: int
    """The number of the first."""
    raw: bytes


class Collection:
    """The files of a folder or a zip: its own, and those at most two folders down. Use it in a `with` block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None
        if path.exists() and not is_collection(path):
            raise UserError(f"{path} is no folder and no .zip; give the folder it is in")
        with _explained(path):
            if path.is_dir():
                levels = ("/".join("*" * depth) for depth in range(1, _DEEPEST + 1))
                found = (file for level in levels for file in path.glob(level) if file.is_file())
                self.names = sorted(file.relative_to(path).as_posix() for file in found)
            else:
                self._zip = zipfile.ZipFile(path)
                self.names = sorted({name for name in self._zip.namelist() if not name.endswith("/")})

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        if self._zip is not None:
            self._zip.close()

    def ending(self, suffix: str) -> list[str]:
        found = [name for name in self.names if name.endswith(suffix)]
        # Sentences are called by their files, and what they are called is written down.
        if strange := next((name for name in found if not is_utf8(name)), None):
            raise UserError(f"{self.path} has a file whose name isn't UTF-8: {strange!r}; rename it")
        return found

    def inside(self, folder: str, suffix: str) -> list[str]:
        """The files that lie in a folder of this name, wherever that is."""
        return [name for name in self.ending(suffix) if name.split("/")[-2:-1] == [folder]]

    def where(self, name: str) -> str:
        """A file as messages name it."""
        return f"{self.path}: {name if name.isprintable() else shown(name)}" if self._zip else str(self.path / name)

    def read(self, name: str) -> bytes:
        """A file's content, without a byte order mark."""
        where = self.where(name)
        with _explained(where):
            if self._zip is None:
                file = self.path / name
                size, locked = file.stat().st_size, False
            else:
                entry = self._zip.getinfo(name)
                size, locked = entry.file_size, bool(entry.flag_bits & 1)
            if size > LARGEST:
                raise UserError(f"{where} has {size >> 20:,} MiB, over {LARGEST >> 20}; split it")
            if locked:
                raise UserError(f"{where} is locked with a password; unpack the zip and give the folder")
            raw = self._zip.read(name) if self._zip else file.read_bytes()
        return raw.removeprefix(codecs.BOM_UTF8)


def is_collection(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() == ".zip"


def stream(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked where its name ends in .gz or .xz; a byte order mark is left out."""
    if not path.exists():
        raise UserError(f"no file {path}; check the path")
    with _explained(path), _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
        number = 0
        while line := file.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                raise UserError(f"{path}, line {number}: over {LONGEST >> 20} MiB long; break it into lines")
            yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line


def blocks(lines: Iterable[bytes], where: str | Path) -> Iterator[Block]:
    """Lines in groups, as blank ones part them."""
    gathered: list[bytes] = []
    size = first = 0
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            if gathered:
                yield Block(first, b"".join(gathered))
            gathered, size = [], 0
            continue
        if not gathered:
            first = number
        gathered.append(line)
        size += len(line)
        if size > LONGEST:
            raise UserError(
                f"{where}: the sentence at line {first} goes on for over {LONGEST >> 20} MiB; "
                "put blank lines between sentences"
            )
    if gathered:
        yield Block(first, b"".join(gathered))


def decoded(raw: bytes, where: str | Path, line: int = 1) -> str:
    """The text of some lines, of which the first is number `line`."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line + raw.count(b"\n", 0, error.start)
        raise UserError(f"{where}, line {bad}: not valid UTF-8; save the file as UTF-8") from error


@contextmanager
def _explained(where: str | Path) -> Iterator[None]:
    try:
        yield
    except (OSError, *_DAMAGE) as error:
        reason = getattr(error, "strerror", None) or "the packed data is damaged; get the file again"
        raise UserError(f"cannot read {where}: {reason}") from error
