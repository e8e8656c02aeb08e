"""Pickled weights to safetensors, in a process of its own: `python -m bertscope.models.unpickle SOURCE TARGET`.

A pickle is a program. torch's reader (`weights_only`) runs nothing of it but what makes tensors, lists and dicts:
that is what keeps a hostile file out. Should the reader have a hole, the process around it refuses, as far as Python
is asked, to open a socket, to start a program and to write a file. Code that gets past Python isn't held by that,
only by the network that the process has left, where the system lets it.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertscope.core.errors import in_a_line

REFUSED = 4
"""The exit code where the file isn't weights: the line on standard error says why."""
_CLOSED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.",
           "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
           "shutil.", "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "ctypes.")  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NEW_NETWORK = 0x40000000
"""Linux: a network of its own, in which there is nothing."""


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    import torch
    from safetensors.torch import save_file

    _leave_the_network()
    sys.addaudithook(_refuse)
    try:
        held = torch.load(source, map_location="cpu", weights_only=True)
        # Some tensors share memory, or are views: in a file each is a tensor of its own.
        tensors = {name: tensor.detach().clone().contiguous() for name, tensor in _tensors(held, torch).items()}
    except Exception as error:
        _leave(_reason(error))
    save_file(tensors, target, metadata={"format": "pt"})  # what its own errors say is of the disk


def _leave_the_network() -> None:
    """Where the system lets us, which it does for root: nothing that runs in Python could undo that."""
    if sys.platform == "linux":
        unshare = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
        if unshare is not None:
            unshare(_NEW_NETWORK)


def _refuse(event: str, args: tuple[Any, ...]) -> None:
    """Python asks before it opens a socket, starts a program or writes a file; the answer can't be taken back."""
    writes = event == "open" and isinstance(args[2], int) and bool(args[2] & _WRITING)
    if writes or event.startswith(_CLOSED):
        raise PermissionError(f"{event} is closed to a file of weights")


def _tensors(held: Any, torch: Any) -> dict[str, Any]:
    if not isinstance(held, Mapping) or not held:
        raise ValueError(f"it holds a {type(held).__name__}, not weights by their names")
    for name, tensor in held.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
            raise ValueError(f"it holds {name!r}, a {type(tensor).__name__}, beside weights")
    return dict(held)


def _reason(error: Exception) -> str:
    """What torch's reader would not do, in a few words."""
    if asked := re.search(r"GLOBAL ([\w.]+)", str(error)):
        return f"it asks for {asked[1]}, which no weights need"
    if found := re.search(r"Unsupported \w+ \S+", str(error)):
        return f"it holds what no weights need ({found[0]})"
    return "it breaks off" if isinstance(error, EOFError) else in_a_line(error)


def _leave(line: str) -> None:
    print(line, file=sys.stderr)
    raise SystemExit(REFUSED)


if __name__ == "__main__":
    main()
