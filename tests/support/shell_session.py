"""The shell commands of a page of the docs, run as a reader would: in order, in one folder, by the command that is
installed."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from doc_pages import HERE, code_blocks

SERVES = re.compile(r"^bertscope (explore|report serve)\b")
"""Commands that stay until somebody ends them; they have said an address by then."""
_ADDRESS = re.compile(r"https?://[\w.:]+/\S*")
_MOST = 1800  # seconds that any one command may take


@dataclass(frozen=True)
class Ran:
    """A command that was run."""

    line: str
    code: int
    said: str
    """Standard output and error, as they came."""
    wall: float
    processor: float
    """Seconds."""


def commands(page: Path) -> list[str]:
    """The page's commands, but for those in blocks that aren't to be run; continued lines are one."""
    blocks = [code for code, runs in code_blocks(page, "sh") if runs]
    lines = [line.strip() for code in blocks for line in code.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def session(page: Path, folder: Path) -> Iterator[Ran]:
    """Run them in this folder, without the hub and without a browser of ours."""
    bins = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    around = os.environ | {
        "PATH": bins, "PYTHONPATH": str(HERE / "src"), "HF_HUB_OFFLINE": "1", "BROWSER": "true", "COLUMNS": "100"
    }  # fmt: skip
    for line in commands(page):
        yield _run(line, folder, around)


def _run(line: str, folder: Path, around: dict[str, str]) -> Ran:
    began, before = time.perf_counter(), _spent()
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(
            ["bash", "-e", "-c", f"exec {line}"], cwd=folder, env=around, stdout=told, stderr=subprocess.STDOUT
        )
        code = _served(process, told.fileno()) if SERVES.match(line) else process.wait(_MOST)
        told.seek(0)
        said = told.read()
    return Ran(line, code, said, time.perf_counter() - began, _spent() - before)


def _served(process: subprocess.Popen[bytes], told: int) -> int:
    """Wait until it says where it is to be found, then end it as Ctrl-C does: that is no failure."""
    while process.poll() is None:
        if _ADDRESS.search(os.pread(told, 1_000_000, 0).decode()):
            process.send_signal(signal.SIGINT)
            process.wait(60)
            return 0
        time.sleep(0.2)
    return process.returncode or 1


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(pages: list[str]) -> None:
    """Each page in an empty folder; what its commands say, and how long they take."""
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            for ran in session(Path(page), Path(folder)):
                print(f"\n$ {ran.line}\n{ran.said.rstrip()}")
                print(f"--- exit {ran.code}, {ran.wall:.0f} s, {ran.processor:.0f} s of a processor", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
