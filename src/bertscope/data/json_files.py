"""JSON files before they are tables: what they begin with, and arrays as a whole.

Whatever is wrong with a file that is only looked at, its reader will say.
"""

from __future__ import annotations

import codecs
import json
from itertools import islice
from pathlib import Path
from typing import Any

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.data.packed_files import unpacked
from bertscope.data.table import unpacked_suffix

_LOOKED_AT = 100
"""Lines among which one must be JSON for a file to be told."""


def parse_json(content: str) -> Any:
    """The JSON value, or None where there is none: also for numbers too long and lists too deep to be read."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def read_array(path: Path) -> list[Any]:
    """All that a JSON array holds."""
    with unpacked(path) as file:
        raw = file.read(limits.LARGEST_WHOLE + 1)
    if len(raw) > limits.LARGEST_WHOLE:
        raise UserError(f"{path} has over {limits.mebibytes(limits.LARGEST_WHOLE)}; save it as .jsonl")
    try:
        return list(json.loads(raw.removeprefix(codecs.BOM_UTF8)))
    except (ValueError, RecursionError) as error:
        line = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f"{path}{line}: not JSON; save it again, or as .jsonl") from error


def holds_array(path: Path) -> bool:
    """Whether a .json file is an array."""
    return unpacked_suffix(path) == ".json" and "".join(_first_lines(path, 1)).startswith("[")


def holds_rows(path: Path) -> bool:
    """Whether a .json file has rows: an array of objects, or an object on each line. SQuAD's is one object."""
    return holds_array(path) or "data" not in (first_object(path) or {"data": None})


def first_object(path: Path) -> dict[str, Any] | None:
    """The first object of a file of JSON lines, or of an array; None where there is none among its first lines."""
    if holds_array(path):
        with unpacked(path) as file:
            start = file.read(limits.LONGEST_ROW).decode("utf-8-sig", errors="replace")
        try:
            row, _ = json.JSONDecoder().raw_decode(start.lstrip()[1:].lstrip())
        except (ValueError, RecursionError):
            return None
        return row if isinstance(row, dict) else None
    return next((row for line in _first_lines(path, _LOOKED_AT) if isinstance(row := parse_json(line), dict)), None)


def _first_lines(path: Path, most: int) -> list[str]:
    """The first lines that aren't blank, up to so many."""
    found: list[str] = []
    try:
        with unpacked(path) as file:
            for raw in islice(iter(lambda: file.readline(limits.LONGEST_ROW), b""), _LOOKED_AT):
                line = raw.decode("utf-8-sig" if not found else "utf-8", errors="replace").strip()
                found += [line] if line else []
                if len(found) == most:
                    break
    except UserError:
        return []
    return found
