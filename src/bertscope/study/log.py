"""What a run did, line by line, in `STORE/logs/DATE.log`. Several processes may write to it at once."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path


class Log:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "logs" / f"{datetime.now():%Y-%m-%d}.log"

    def write(self, line: str, more: str = "") -> None:
        """Add a line, and lines under it. A log that can't be written is no reason to stop."""
        under = "".join(f"    {one}\n" for one in more.splitlines())
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(f"{datetime.now().isoformat(timespec='seconds')}  {os.getpid():>7}  {line}\n{under}")
