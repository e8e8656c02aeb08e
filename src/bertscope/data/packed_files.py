"""Corpus files as readers meet them: plain or packed, alone, in a folder or in a zip.

Whatever the disk or the packing refuses becomes one clear line, and nothing is read without a bound: a line, a
sentence or a packed file may be damaged, or may never end. What is packed is counted as it is unpacked: what its
header says of its size is anybody's word.
"""

from __future__ import annotations

import codecs
import gzip
import lzma
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from shlex import quote
from typing import Any, BinaryIO, NamedTuple

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.core.harmless import is_utf8
from bertscope.core.limits import mebibytes
from bertscope.data.plain_files import explained, named, opened, read_whole, refuse_special
from bertscope.data.table import shown

_DEEPEST = 3
_PIECE = 1 << 12  # packed bytes at a time: a packing may make megabytes of them
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
_DAMAGE = (
    EOFError, NotImplementedError, ValueError, gzip.BadGzipFile, lzma.LZMAError, struct.error, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip


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
        self._read = 0
        with _explained(path):
            if path.is_dir():
                self.names = sorted(plain_names(path))
                return
            if path.exists() and not is_collection(path):
                raise UserError(f"{path} is no folder and no .zip; give the folder it is in")
            self._most_unpacked, _ = _most_unpacked(refuse_special(path))
            self._zip = zipfile.ZipFile(path)
            self.names = sorted({name for name in self._zip.namelist() if not name.endswith("/")})
            if len(self.names) > limits.MOST_FILES:
                raise _too_many_files(path)

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
        if self._zip is None:
            raw = read_whole(self.path / name, limits.LARGEST_WHOLE)
        else:
            with _explained(where):
                raw = self._unpacked(self._zip, self._zip.getinfo(name), where)
        self._read += len(raw)
        if self._read > limits.MOST_HELD:
            raise UserError(f"{self.path} has over {mebibytes(limits.MOST_HELD)} in its files; give a part of it")
        return raw.removeprefix(codecs.BOM_UTF8)

    def _unpacked(self, whole: zipfile.ZipFile, entry: zipfile.ZipInfo, where: str) -> bytes:
        if entry.flag_bits & 1:
            raise UserError(f"{where} is locked with a password; unpack the zip and give the folder")
        if entry.file_size > limits.LARGEST_WHOLE:
            raise UserError(f"{where} has over {mebibytes(limits.LARGEST_WHOLE)}; split it")
        most, most_lines = _most_unpacked(entry.compress_size)
        pieces, size, lines = [], 0, 0
        with whole.open(entry) as file:
            while piece := file.read(_PIECE):
                pieces.append(piece)
                size += len(piece)
                lines += piece.count(b"\n")
                if size > most or self._read + size > self._most_unpacked:
                    raise _unpacks_too_much(where)
                if lines > most_lines:
                    raise _unpacks_to_too_many_lines(where)
        return b"".join(pieces)


def files_of(path: Path) -> list[Path]:
    """The files that are read where a path is given: those of a folder, or the one itself."""
    return [path / name for name in plain_names(path)] if path.is_dir() else [path]


def plain_names(folder: Path) -> Iterator[str]:
    """The plain files of a folder, and of those at most two folders down; a folder that is met again, by a link, is
    passed over."""
    met = set[tuple[int, int]]()
    count = 0

    def unreadable(error: OSError) -> None:
        if error.filename == str(folder):
            raise error

    for at, folders, files in os.walk(folder, onerror=unreadable, followlinks=True):
        place = Path(at)
        found = place.stat()
        if (found.st_dev, found.st_ino) in met:
            folders.clear()
            continue
        met.add((found.st_dev, found.st_ino))
        inside = place.relative_to(folder)
        if len(inside.parts) + 1 >= _DEEPEST:
            folders.clear()
        folders.sort()  # so that which of two ways to a folder counts is always the same
        for name in files:
            count += 1
            if count > limits.MOST_FILES:
                raise _too_many_files(folder)
            if (place / name).is_file():
                yield (inside / name).as_posix()


def _too_many_files(path: Path) -> UserError:
    return UserError(f"{path} has over {limits.MOST_FILES:,} files; give the folder in it that holds the corpus")


def _most_unpacked(packed: int) -> tuple[int, int]:
    """The bytes, and the lines, that so many packed bytes may become."""
    return (
        max(limits.UNPACKED_FREELY, limits.MOST_TIMES_UNPACKED * packed),
        max(limits.LINES_UNPACKED_FREELY, limits.MOST_LINES_PER_PACKED_BYTE * packed),
    )


def _unpacks_too_much(where: str | Path) -> UserError:
    free, times = mebibytes(limits.UNPACKED_FREELY), limits.MOST_TIMES_UNPACKED
    return UserError(
        f"{where} unpacks to over {free} and to over {times:,} times its packed size, as no text does; unpack it "
        "yourself if it is what you want"
    )


def _unpacks_to_too_many_lines(where: str | Path) -> UserError:
    free, each = limits.LINES_UNPACKED_FREELY, limits.MOST_LINES_PER_PACKED_BYTE
    return UserError(
        f"{where} unpacks to over {free:,} lines and to over {each} for each of its bytes, as no text does; unpack "
        "it yourself if it is what you want"
    )


def too_long(path: Path, number: int) -> UserError:
    """A line that is too long for a corpus, and how to be rid of such lines: `--skip-bad` is for rows."""
    unpack = {".gz": "gzip -dc", ".xz": "xz -dc"}.get(path.suffix.lower())
    name = f"shorter-{path.stem if unpack else path.name}"
    others = f"{unpack or 'cat'} {quote(named(path))} | LC_ALL=C awk 'length < {limits.LONGEST_LINE}' > {quote(name)}"
    return UserError(
        f"{path}, line {number}: over {mebibytes(limits.LONGEST_LINE)} long; break it into lines, or leave such "
        f"lines out: {others}"
    )


def is_collection(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() == ".zip"


def stream(path: Path) -> Iterator[bytes]:
    """The lines of a file, unpacked where its name ends in .gz or .xz; a byte order mark is left out."""
    opener = _OPENERS.get(path.suffix.lower())
    with opened(path) as packed, _explained(path):
        most, most_lines = _most_unpacked(path.stat().st_size) if opener else (math.inf, math.inf)
        file = opener(packed, "rb") if opener else packed
        number = size = 0
        while line := file.readline(limits.LONGEST_LINE + 1):
            number += 1
            size += len(line)
            if len(line) > limits.LONGEST_LINE:
                raise too_long(path, number)
            if size > most:
                raise _unpacks_too_much(path)
            if number > most_lines:
                raise _unpacks_to_too_many_lines(path)
            yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """A plain file, open to be read as `stream` reads it, but not by lines."""
    opener = _OPENERS.get(path.suffix.lower())
    with opened(path) as packed:
        yield BufferedReader(_Bounded(opener(packed, "rb"), path)) if opener else packed


class _Bounded(RawIOBase):
    """What a packed file holds, as far as it may unpack."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._left, self._lines_left = _most_unpacked(path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        with _explained(self._path):
            piece = self._file.read(min(len(buffer), _PIECE))
        self._left -= len(piece)
        self._lines_left -= piece.count(b"\n")
        if self._left < 0:
            raise _unpacks_too_much(self._path)
        if self._lines_left < 0:
            raise _unpacks_to_too_many_lines(self._path)
        buffer[: len(piece)] = piece
        return len(piece)


def blocks(lines: Iterable[bytes], where: str | Path) -> Iterator[Block]:
    """Lines in groups, as blank ones part them."""
    return (block for _, block in blocks_at(((0, number, line) for number, line in enumerate(lines, 1)), where))


def blocks_at(lines: Iterable[tuple[int, int, bytes]], where: str | Path) -> Iterator[tuple[int, Block]]:
    """The same of lines that are given with where they begin and their number; each group with where it begins."""
    gathered: list[bytes] = []
    size = first = begins = 0
    for at, number, line in lines:
        if line.isspace():
            if gathered:
                yield begins, Block(first, b"".join(gathered))
            gathered, size = [], 0
            continue
        if not gathered:
            first, begins = number, at
        gathered.append(line)
        size += len(line)
        if size > limits.LONGEST_LINE:
            raise UserError(
                f"{where}: the sentence at line {first} goes on for over {mebibytes(limits.LONGEST_LINE)}; "
                "put blank lines between sentences"
            )
    if gathered:
        yield begins, Block(first, b"".join(gathered))


def decoded(raw: bytes, where: str | Path, line: int = 1) -> str:
    """The text of some lines, of which the first is number `line`."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        bad = line + raw.count(b"\n", 0, error.start)
        raise UserError(f"{where}, line {bad}: not valid UTF-8; save the file as UTF-8") from error


@contextmanager
def _explained(where: str | Path) -> Iterator[None]:
    """`explained`, also what the packing refuses."""
    with explained(where):
        try:
            yield
        except MemoryError as error:
            raise UserError(
                f"cannot read {named(where)}: it needs more memory than there is; unpack it yourself"
            ) from error
        except _DAMAGE as error:
            raise UserError(f"cannot read {named(where)}: the packed data is damaged; get the file again") from error
