"""Refuse a tokenizer whose replacements would make a text explode: "a" by "aa", forty times over."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError

_MOST = 1000
"""Times as long as before is the most that a text may become; real tokenizers at most double it."""
_PARTS = re.compile(r'"(?:normalizer|decoder)"\s*:\s*(?=\{)')


def refuse_growing_texts(path: Path) -> None:
    """Look at the replacements in a tokenizer.json, without reading its vocabulary: that may have 250,000 words."""
    text = path.read_text(encoding="utf-8", errors="replace")
    for found in _PARTS.finditer(text):
        try:
            part, _ = json.JSONDecoder().raw_decode(text, found.end())
        except (ValueError, RecursionError):
            continue  # the library says what is wrong with it
        if _grows(list(_replacements(part))):
            raise UserError(
                f"the tokenizer in {path} could make a text more than {_MOST:,} times as long; copy it again"
            )


def _grows(replacements: list[tuple[str | None, str]]) -> bool:
    """Whether a text of all that is replaced grows too far; of a pattern that isn't plain text the worst is taken."""
    probe = "".join(pattern for pattern, _ in replacements if pattern)[:_MOST] or "a"
    before, times = len(probe), 1
    for pattern, content in replacements:
        if pattern:
            if len(content) > _MOST:
                return True
            probe = probe.replace(pattern, content)
        else:
            times *= max(1, len(content))
        if len(probe) * times > _MOST * before:
            return True
    return False


def _replacements(part: Any) -> Iterator[tuple[str | None, str]]:
    """What is replaced, None where a regular expression says it, and by what, in order."""
    if not isinstance(part, dict):
        return
    pattern, content = part.get("pattern"), part.get("content")
    if part.get("type") == "Replace" and isinstance(pattern, dict) and isinstance(content, str):
        plain = pattern.get("String")
        yield plain if isinstance(plain, str) and plain else None, content
    for name in ("normalizers", "decoders"):
        inside = part.get(name)
        for one in inside if isinstance(inside, list) else ():
            yield from _replacements(one)
