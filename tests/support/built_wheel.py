"""The package, built as `make wheel` does it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def build(checkout: Path, out: Path) -> Path:
    pytest.importorskip("hatchling")  # not on the bare GPU machine
    call = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run(call, cwd=checkout, capture_output=True, check=True)
    (wheel,) = out.glob("*.whl")
    return wheel
