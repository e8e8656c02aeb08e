"""Plain text: a sentence or a paragraph a line."""

from __future__ import annotations

from pathlib import Path

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.statement import number_of
from bertscope.data.packed_files import decoded, stream
from bertscope.data.plain_files import Kept
from bertscope.data.sentences import check_limit


def read_text(
    path: str | Path, *, limit: int | None = None, few: bool = False, notes: list[str] | None = None
) -> Examples:
    """Read a text file, also one packed as .gz or .xz, into one example a line. An id is the file's name and the
    line.

    Space around a line is left out. Blank lines are skipped, and counted in `notes`. `limit` keeps the first lines
    that aren't blank, and reads no further. Of more than can be held some are taken, if only a `few` are wanted.
    """
    check_limit(limit)
    path = Path(path)
    kept = Kept[tuple[int, str]](path, few=few, what="lines")
    blank = 0
    for number, raw in enumerate(stream(path), start=1):
        text = decoded(raw, path, number).strip()
        if not text:
            blank += 1
            continue
        kept.add((number, text), len(raw))
        if number - blank == limit:
            break
    if not kept.rows:
        raise UserError(f"{path} has no text; put a sentence or a paragraph on each line")
    if notes is not None:
        notes += [*kept.note(), *([number_of(blank, "blank line skipped", "blank lines skipped")] if blank else [])]
    ids, texts = zip(*((f"{path.name}:{number}", text) for number, text in kept.rows), strict=True)
    return Examples(ids, texts)
