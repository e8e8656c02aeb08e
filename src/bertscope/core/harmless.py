"""What people and files say, shown so that it can't command a terminal: escape sequences, which move the cursor, hide
lines or rename the window, and marks that turn the order of letters around are written out as `\\u001b`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

_COMMANDING = re.compile(
    "["
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tabs and ends of lines, DEL, C1: 0x9b begins a sequence as ESC [ does
    r"\u202a-\u202e\u2066-\u2069"  # overrides and isolates of the direction of writing
    r"\ud800-\udfff"  # of names that aren't UTF-8: they can't be encoded
    "]"
)


def harmless(text: str) -> str:
    """The text with control characters written out, but for the ends of lines and tabs.

    >>> harmless("good\\x1b[2J \\u202edoog")
    'good\\\\u001b[2J \\\\u202edoog'
    """
    # In JSON this stands for the same character: what programs read says what it said.
    return _COMMANDING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """The same in one line, however many the text has: nobody's file name is another message.

    >>> one_line("no file a\\nbertscope: all is well")
    'no file a bertscope: all is well'
    """
    return harmless(" ".join(text.split("\n")))


def is_utf8(name: str) -> bool:
    """Whether what the system calls so can be written down: names of other bytes come as lone surrogates."""
    return name.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in name)


class HarmlessStream:
    """A stream that shows whatever it is given harmlessly."""

    def __init__(self, stream: Any) -> None:
        self.behind: TextIO = stream

    def write(self, text: str) -> int:
        self.behind.write(harmless(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.behind, name)


def _nowhere() -> TextIO:
    """What stands for a stream that was closed before the start, as services do: nobody reads it."""
    return Path(os.devnull).open("w", encoding="utf-8")


@contextmanager
def harmless_output() -> Iterator[None]:
    """Show harmlessly whatever anybody writes in this block: prints, warnings, tracebacks, libraries. Only what
    `core.console` draws may move the cursor or have a colour."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (HarmlessStream(_nowhere() if stream is None else stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
