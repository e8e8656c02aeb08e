"""Plain text to learn a language from: documents, read a line at a time, from any number of files of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.files import digest_text
from bertscope.core.step import Root
from bertscope.data import demo
from bertscope.data.packed_files import decoded, stream
from bertscope.data.plain_files import digest_plain, named
from bertscope.data.streamed import files_of_pattern, is_pattern

LONGEST = 50_000
"""Characters after which a document ends with its line, so that a file without blank lines is many, too."""

_OF_A_DOCUMENT = 20  # sentences of the demo language


@dataclass(frozen=True)
class Documents:
    """The documents of a file, or of all files that a pattern stands for: blank lines part them, files end them."""

    name: str
    """What reports call the text: the file's name."""
    files: tuple[Path, ...]
    digest: str

    @property
    def likely_size(self) -> int:
        """About how many characters there are: packed text is to a quarter of its size."""
        return sum(path.stat().st_size * (4 if path.suffix.lower() in (".gz", ".xz") else 1) for path in self.files)

    def __iter__(self) -> Iterator[list[str]]:
        """Each document's lines."""
        for path in self.files:
            lines: list[str] = []
            size = 0
            for number, raw in enumerate(stream(path), start=1):
                if b"\0" in raw:
                    raise UserError(f"{named(path)}, line {number}: a zero byte, so it is no text; give plain text")
                text = decoded(raw, named(path), number).strip()
                if text:
                    lines.append(text)
                    size += len(text)
                if lines and (not text or size >= LONGEST):
                    yield lines
                    lines, size = [], 0
            if lines:
                yield lines


class _DemoText(Documents):
    """`demo/language`, whose sentences are made when they are read and have nothing to do with each other."""

    @property
    def likely_size(self) -> int:
        return sum(map(len, self._sentences))

    def __iter__(self) -> Iterator[list[str]]:
        for first in range(0, len(self._sentences), _OF_A_DOCUMENT):
            yield list(self._sentences[first : first + _OF_A_DOCUMENT])

    @property
    def _sentences(self) -> tuple[str, ...]:
        from bertscope.data.language.text import sentences

        return sentences()


def open_documents(source: Any) -> Documents:
    """A text file, also packed as .gz or .xz, a pattern of such files, or `demo/language`. None of its text is read
    yet."""
    if isinstance(source, Documents):
        return source
    if source == demo.TEXT:
        from bertscope.data.language.text import VERSION

        return _DemoText(demo.TEXT, (), digest_text(f"{demo.TEXT}-{VERSION}"))
    if isinstance(source, str) and source in (*demo.NAMES, *demo.PAIRED):
        raise UserError(f"{source} is no plain text; in the demo language there is {demo.TEXT}")
    if not isinstance(source, str | Path):
        raise UserError(
            f"can't read {type(source).__name__} as plain text; give a file, or a pattern such as 'a/*.gz'"
        )
    files = tuple(files_of_pattern(source)) if is_pattern(source) else (Path(source).expanduser(),)
    return Documents(Path(source).name, files, digest_plain(files))


def documents_root(source: Any) -> Root:
    """The identity of what `open_documents` would open, by content."""
    found = open_documents(source)
    named = isinstance(source, str | Path)
    where = str(Path(source).absolute()) if named and source != demo.TEXT else found.name
    return Root("documents", where, found.digest, held=None if named else found)


def is_held_out(lines: Sequence[str], share: float) -> bool:
    """Whether a document is among the share that nothing is learnt from. Its first line decides it: the same article
    in two files is on one side."""
    return int.from_bytes(sha256(lines[0].encode()).digest()[:8], "big") < share * 2**64
