"""Plain text: a sentence or a paragraph a line."""

from __future__ import annotations

from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.data.packed_files import decoded, stream
from bertscope.data.sentences import check_limit


def read_text(path: str | Path, *, limit: int | None = None, notes: list[str] | None = None) -> Examples:
    """Read a text file, also one packed as .gz or .xz, into one example a line. An id is the file's name and the
    line.

    Space around a line is left out. Blank lines are skipped, and counted in `notes`. `limit` keeps the first lines
    that aren't blank, and reads no further.
    """
    check_limit(limit)
    path = Path(path)
    lines: list[int] = []
    texts: list[str] = []
    blank = 0
    for number, raw in enumerate(stream(path), start=1):
        text = decoded(raw, path, number).strip()
        if not text:
            blank += 1
            continue
        lines.append(number)
        texts.append(text)
        if len(texts) == limit:
            break
    if not texts:
        raise UserError(f"{path} has no text; put a sentence or a paragraph on each line")
    if blank and notes is not None:
        notes.append(f"{blank:,} blank lines skipped")
    return Examples(ids=tuple(f"{path.name}:{number}" for number in lines), text=tuple(texts))
