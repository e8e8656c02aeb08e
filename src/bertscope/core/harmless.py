"""What people and files say, shown so that it can't command a terminal: escape sequences, which move the cursor, hide
lines or rename the window, and marks that turn the order of letters around are written out as `\\u001b`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, TextIO

_WRITTEN_OUT = {
    code: f"\\u{code:04x}"
    for code in chain(
        range(0x20), range(0x7F, 0xA0),  # C0 and C1 with DEL: 0x9b begins a sequence as ESC [ does
        range(0x202A, 0x202F), range(0x2066, 0x206A),  # overrides and isolates of the direction of writing
        range(0xD800, 0xE000),  # of names that aren't UTF-8: they can't be encoded
    )
    if chr(code) not in "\n\t"
}  # fmt: skip
"""In JSON these stand for the same character: what programs read says what it said."""


def harmless(text: str) -> str:
    """The text with control characters written out, but for the ends of lines and tabs.

    >>> harmless("good\\x1b[2J \\u202edoog")
    'good\\\\u001b[2J \\\\u202edoog'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_WRITTEN_OUT)


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


@contextmanager
def harmless_output() -> Iterator[None]:
    """Show harmlessly whatever anybody writes in this block: prints, warnings, tracebacks, libraries. Only what
    `core.console` draws may move the cursor or have a colour."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(HarmlessStream, before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
