"""A file that is to be written: never over one that exists, which may be the source itself."""

from __future__ import annotations

import os
from pathlib import Path

from bertscope.core.errors import UserError


def refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        raise UserError(f"{path} exists; name another file or remove it")
