"""Where the traceback of a bug goes: a log of its own, which is named to whoever met the bug."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bertscope.core.harmless import harmless


def write_bug(trace: str, during: str) -> Path:
    """A new log, with what was going on and the traceback."""
    with tempfile.NamedTemporaryFile("w", prefix="bertscope-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(harmless(f"{during}\n{trace}"))
    return Path(log.name)
