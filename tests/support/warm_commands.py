"""`bertscope` in processes of its own that don't each load torch and transformers, which is most of what a short
command takes: one process loads them, and every command is a fork of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

_LOADED = """
import json, os, runpy, sys
import torch, transformers.modeling_utils
assert not any(name.partition(".")[0] == "bertscope" for name in sys.modules), "that is each command's own to load"
for line in sys.stdin:
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    asked = json.loads(line)
    os.chdir(asked["folder"])
    for stream, path in ((0, os.devnull), (1, asked["out"]), (2, asked["err"])):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), stream)
    sys.argv = ["bertscope", *asked["words"]]
    runpy.run_module("bertscope", run_name="__main__", alter_sys=True)
    sys.exit()
"""


class WarmCommands:
    """Runs commands one after the other, each from a process in which nothing of bertscope was loaded."""

    def __init__(self, scratch: Path) -> None:
        self._out, self._err = scratch / "out", scratch / "err"
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LOADED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *words: str, folder: Path) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        asked = {"words": words, "folder": str(folder), "out": str(self._out), "err": str(self._err)}
        ask, told = self._process.stdin, self._process.stdout
        assert ask and told
        print(json.dumps(asked), file=ask, flush=True)
        return int(told.readline()), *(path.read_text(encoding="utf-8") for path in (self._out, self._err))

    def __enter__(self) -> WarmCommands:
        return self

    def __exit__(self, *_: Any) -> None:
        self._process.communicate()  # the end of what it reads is its own
