"""Where a result comes from: versions, commit, machine, command, time. Recorded beside it, never its identity."""

from __future__ import annotations

import functools
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

_PACKAGES = (
    "bertscope", "torch", "transformers", "tokenizers", "numpy", "pandas", "scikit-learn", "scipy", "onnxruntime",
)  # fmt: skip


def capture(seconds: float) -> dict[str, Any]:
    """What a reader needs to judge and repeat a run that has just taken `seconds`."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        **_torch_facts(),
        "packages": _versions(),
    }


@functools.cache
def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # run from a bare checkout, as on the GPU machine
    return found


@functools.cache
def _commit() -> str | None:
    """The commit of the checkout this package runs from; None for an installed package."""
    return described(Path(__file__).resolve().parents[3])


def described(checkout: Path) -> str | None:
    """The commit of a checkout, and whether files were changed since; None where there is none."""
    if not (checkout / ".git").exists():
        return None
    # Not `describe --dirty`, which takes the lock of the index whatever it is told: status, told so, only looks. A
    # commit that somebody makes meanwhile isn't refused.
    look = ["git", "--no-optional-locks", "-C", str(checkout), "status", "--porcelain=v2", "--branch", "-uno"]
    try:
        said = subprocess.run(look, capture_output=True, text=True, errors="replace", timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search("^# branch.oid ([0-9a-f]{12})", said, re.MULTILINE)
    changed = any(not line.startswith("#") for line in said.splitlines())
    return found[1] + ("-dirty" if changed else "") if found else None


def _torch_facts() -> dict[str, Any]:
    torch = sys.modules.get("torch")  # asked only if the run loaded it: provenance costs no import
    if torch is None:
        return {}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"threads": torch.get_num_threads(), "device": device}
