"""Where the real data lies, for tests that run only where it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[3] / "shared"
DATA = (_BESIDE if _BESIDE.is_dir() else Path(os.environ.get("BERTSCOPE_SHARED", _BESIDE))) / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the real data isn't here")
