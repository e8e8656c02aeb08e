"""The one way to draw on a terminal: rich's console, which shows texts harmlessly and may itself use colours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from rich import console as rich_console
from rich.segment import Segment
from rich.text import Text

from bertscope.core.harmless import HarmlessStream, harmless


class Console(rich_console.Console):
    """Tables, bars and lines: what is in them commands nothing, whoever wrote it, and is no markup."""

    def __init__(self, *, markup: bool = False, highlight: bool = False, emoji: bool = False, **how: Any) -> None:
        super().__init__(markup=markup, highlight=highlight, emoji=emoji, **how)

    @property
    def file(self) -> IO[str]:
        """The terminal itself: what is written there was made harmless as it was drawn."""
        stream = super().file
        while isinstance(stream, HarmlessStream):
            stream = getattr(stream.behind, "rich_proxied_file", stream.behind)
        return stream

    @file.setter
    def file(self, stream: IO[str]) -> None:
        self._file = stream

    def on_broken_pipe(self) -> None:
        """Whoever read it went away: that is the command's end to tell, as where it is printed."""
        raise BrokenPipeError

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else harmless(text), style, control)

    def render_str(self, text: str, **how: Any) -> Text:
        """Strings are made harmless before their room is reckoned: columns stay straight."""
        return super().render_str(harmless(text), **how)
