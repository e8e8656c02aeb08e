"""Files with a word on each line and a tag in one of its columns: CoNLL-2003's, IOB2 files, and their like.

Blank lines part sentences; columns stand between tabs, or else between spaces. The word is the first column, or the
second after one that counts the words. The tag is the last column that speaks of entities (`O`, `B-PER`), or else the
last one. `-DOCSTART-` is no word, and lines such as `# text = ...` are comments: `sent_id` and `text` are taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bertscope.core.errors import UserError
from bertscope.data.bad_rows import WRONG_FIELDS, BadRows
from bertscope.data.packed_files import Block, blocks, decoded, stream
from bertscope.data.plain_files import Kept
from bertscope.data.tag_schemes import is_of_entities

_DOCUMENT = "-DOCSTART-"
_SPACES = re.compile(r"[ \t]+")
_NO_WORD = re.compile(r"[0-9]{1,7}[-.][0-9]{1,7}")
"""How CoNLL-U numbers what is no word of its own: `3-4 don't`, `8.1`."""
_LOOKED_AT = 2000
"""Lines of a file by which it is told."""


class TaggedWords(NamedTuple):
    """One sentence as a file has it."""

    id: str
    text: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    lines: Sequence[int]
    """The line of each word."""


class _Rows(NamedTuple):
    """A sentence's lines before it is known which column is which."""

    first: int
    comments: dict[str, str]
    cells: list[list[str]]
    lines: list[int]


def read_columns(path: Path, bad: BadRows) -> list[TaggedWords]:
    """The sentences of a file."""
    kept = Kept[_Rows](path, few=bad.few, what="sentences")
    form = _Form(path)
    for block in blocks(stream(path), path):
        if rows := _rows(block, path, form, bad):
            kept.add(rows, len(block.raw))
    if not kept.rows:
        raise UserError(f"{path} has no sentences; check that it is the right file")
    bad.not_held += kept.note()
    word = 1 if form.width > 2 and all(map(_counts_words, kept.rows)) else 0
    tag = _tag_column(kept.rows, range(word + 1, form.width))
    found = [sentence for rows in kept.rows if (sentence := _sentence(rows, path, word, tag, bad))]
    if not found:
        raise UserError(f"{path} has no sentence that can be used; mend it or give another")
    return found


def looks_like_columns(path: Path) -> bool:
    """Whether a file's lines are words with tags of entities, in sentences. Whatever is wrong with it, its reader
    will say."""
    parted, found = False, list[_Rows]()
    try:
        form, raw = _Form(path), islice(stream(path), _LOOKED_AT)
        for block in blocks(raw, path):
            parted |= bool(found)
            rows = _rows(block, path, form, BadRows())
            found += [rows] if rows else []
    except UserError:
        return False
    last = [{cells[at] for rows in found for cells in rows.cells} for at in range(1, form.width)]
    of_entities = any(len(tags) > 1 and all(map(is_of_entities, tags)) for tags in last)
    return of_entities and (parted or form.documents)


class _Form:
    """What the first line of a file that is surely a word's shows of all of them."""

    def __init__(self, path: Path) -> None:
        lines = (raw.decode(errors="replace").rstrip("\r\n") for raw in stream(path))
        first = next((line for line in lines if line.strip() and not line.startswith(("#", _DOCUMENT))), "")
        self.tabs = "\t" in first.strip()
        self.width = len(self.cells(first)) if first else 0
        self.documents = False
        """Whether it says where documents begin."""

    def is_comment(self, line: str, cells: list[str]) -> bool:
        """A word may be a #: its line then has as many columns as others have."""
        return line.startswith("#") and (len(cells) != self.width or cells[2:3] == ["="])

    def cells(self, line: str) -> list[str]:
        return line.split("\t") if self.tabs else _SPACES.split(line.strip())


def _rows(block: Block, path: Path, form: _Form, bad: BadRows) -> _Rows | None:
    """A block's rows, each with as many columns as the file's first; None of a block without any."""
    comments, found, lines = dict[str, str](), list[list[str]](), list[int]()
    for number, line in enumerate(_lines(block, path), start=block.line):
        if not line.strip():
            continue
        if line.startswith(_DOCUMENT):
            form.documents = True
            continue
        cells = form.cells(line)
        if form.is_comment(line, cells):
            key, _, value = line[1:].partition("=")
            comments[key.strip()] = value.strip()
            continue
        if form.width < 2:
            raise UserError(f"{path}, line {number}: a word without a tag; each line should have both")
        if len(cells) != form.width:
            many = f"{len(cells)} column{'s' * (len(cells) > 1)}, but the first word's line has {form.width}"
            bad.refuse(WRONG_FIELDS, f"{path}, line {number}: {many}; mend it, or part sentences by blank lines")
            return None
        found.append(cells)
        lines.append(number)
    return _Rows(block.line, comments, found, lines) if found else None


def _lines(block: Block, path: Path) -> Iterator[str]:
    for line in decoded(block.raw, path, block.line).split("\n"):
        yield line.removesuffix("\r")


def _counts_words(rows: _Rows) -> bool:
    numbers = [cells[0] for cells in rows.cells if not _NO_WORD.fullmatch(cells[0])]
    return numbers == [str(at) for at in range(1, len(numbers) + 1)]


def _tag_column(sentences: Iterable[_Rows], columns: range) -> int:
    """The last column of which most cells speak of entities, or else the last one."""
    of_entities, words = dict.fromkeys(columns, 0), 0
    for rows in sentences:
        for cells in rows.cells:
            words += 1
            for at in columns:
                of_entities[at] += is_of_entities(cells[at])
    return next((at for at in reversed(columns) if of_entities[at] > words / 2), columns[-1])


def _sentence(rows: _Rows, path: Path, word: int, tag: int, bad: BadRows) -> TaggedWords | None:
    """A sentence's words and tags; None if one is blank, and such rows are left out."""
    at = [i for i, cells in enumerate(rows.cells) if not (word and _NO_WORD.fullmatch(cells[0]))]
    words, tags = (tuple(rows.cells[i][column].strip() for i in at) for column in (word, tag))
    for i, one, other in zip(at, words, tags, strict=True):
        if not one or not other:
            what = "tag" if one else "word"
            bad.refuse(f"blank {what}", f"{path}, line {rows.lines[i]}: the {what} is blank; mend it")
            return None
    id = rows.comments.get("sent_id") or f"{path.name}:{rows.first}"
    text = rows.comments.get("text") or " ".join(words)
    return TaggedWords(id, text, words, tags, [rows.lines[i] for i in at]) if words else None
