"""A text that is given itself, in the place of data: `explain(model, "a text")`, `--text` without `--on`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples

_COLUMNS = ("text", "text_pair")
"""The options that say in which columns texts are, and are the texts themselves where there is no data."""


def given_text(data: Any, reading: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The data and how it is read; where a text was given in its place, that as data.

    A name of one word is no text: it would be a file that isn't there. A text that is one word, and several texts,
    are given as a list; a pair in a list is two texts.

    >>> given_text(None, {"text": "a fine film"})[0].text
    ('a fine film',)
    >>> given_text("demo/sentiment", {}), given_text(["fine"], {})
    (('demo/sentiment', {}), (['fine'], {}))
    >>> given_text([("a man", "a person")], {})[0].pair
    ('a person',)
    """
    rest = {name: value for name, value in reading.items() if name not in _COLUMNS}
    text, pair = (reading.get(name) for name in _COLUMNS)
    if data is None and text is None:
        raise UserError("nothing to read is given; name a task or a file of texts (--on), or give a text (--text)")
    if data is None:
        return _examples([text], pair), rest
    if isinstance(data, str) and _is_text(data):
        if text is not None:
            raise UserError("a text is given twice; leave out text=")
        return _examples([data], pair), rest
    if isinstance(data, list) and data and all(_is_pair(one) for one in data):
        firsts, seconds = zip(*data, strict=True)
        return Examples(tuple(map(str, range(1, len(data) + 1))), firsts, seconds), dict(reading)
    return data, dict(reading)


def _examples(texts: list[Any], pair: str | None) -> Examples:
    return Examples(("1",), tuple(texts), None if pair is None else (pair,))


def _is_text(name: str) -> bool:
    """Whether it can't be meant for a file, a folder, or a task's name."""
    if len(name.split()) == 1:
        return False
    try:
        return not name.strip() or not Path(name).exists()
    except (OSError, ValueError):  # too long for a name, or has a zero byte
        return True


def _is_pair(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and all(isinstance(text, str) for text in one)
