"""Where a result comes from: versions, commit, machine, command, time. Recorded beside it, never its identity."""

from __future__ import annotations

import functools
import os
import platform
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
    here = Path(__file__).resolve().parents[3]
    if not (here / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True, text=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def _torch_facts() -> dict[str, Any]:
    torch = sys.modules.get("torch")  # asked only if the run loaded it: provenance costs no import
    if torch is None:
        return {}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"threads": torch.get_num_threads(), "device": device}
