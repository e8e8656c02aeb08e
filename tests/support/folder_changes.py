"""Ways to change a file of a model folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Change = Callable[[Path], None]
TOO_DEEP = "[" * 100_000


def holds(name: str, content: bytes | str) -> Change:
    return lambda folder: write(folder / name, content)


def write(path: Path, content: bytes | str) -> None:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def recoded(encoding: str) -> Change:
    return lambda folder: write(
        folder / "config.json", (folder / "config.json").read_text().replace("LABEL_0", "größer").encode(encoding)
    )


def without(*names: str) -> Change:
    def change(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return change


def replaced(name: str, make: Callable[[Path], object]) -> Change:
    """Something else in a file's place."""

    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        make(folder / name)

    return change


def truncated(name: str, share: float) -> Change:
    return lambda folder: write(
        folder / name, (folder / name).read_bytes()[: int(share * (folder / name).stat().st_size)]
    )
