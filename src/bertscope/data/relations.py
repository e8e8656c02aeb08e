"""Relations between words, from whatever has them.

framenet.zip, fndata-1.7/      FrameNet's frames: see frames.py
train.conllu, a folder of it   a treebank, whose heads are its relations: see treebank.py
mine.jsonl                     your own, one object a line, by words or by characters:

{"words": ["Anna", "gave", "it", "away"], "links": [{"name": "Donor", "source": [0], "target": [1, 3]}]}
{"text": "Anna gave it away", "links": [{"name": "Donor", "source": [0, 4], "target": [5, 9]}]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import Examples, Link
from bertscope.data.frames import is_framenet, read_frames
from bertscope.data.sentences import Sentence, read_each, word_spans
from bertscope.data.sources import Collection, decoded, is_collection, stream
from bertscope.data.table import shown
from bertscope.data.treebank import read_treebank

_JSONL = (".jsonl", ".jsonl.gz", ".jsonl.xz")
_KEYS = ("id", "text", "words", "links")
_LINK_KEYS = ("name", "source", "target", "frame", "core")


def read_relations(
    path: str | Path, *, limit: int | None = None, skip_bad: bool = False, notes: list[str] | None = None
) -> Examples:
    """Read words and the relations between them: FrameNet, a treebank or own annotation, by what the path is.

    FrameNet and .jsonl give `links`, a treebank gives `heads`. FrameNet is filtered as `read_frames` does by default.
    `limit` keeps the first examples; with `skip_bad` malformed ones are left out and counted in `notes`.
    """
    path = Path(path)
    if path.name.lower().endswith(_JSONL):
        lines = ((number, raw) for number, raw in enumerate(stream(path), start=1) if not raw.isspace())
        return read_each(
            lines, lambda line: _annotated(*line, path), path, limit=limit, skip_bad=skip_bad, notes=notes
        )
    if is_collection(path):
        with Collection(path) as files:
            frames = is_framenet(files)
        if frames:
            return read_frames(path, limit=limit, notes=notes)
    return read_treebank(path, limit=limit, skip_bad=skip_bad, notes=notes)


def _annotated(number: int, raw: bytes, path: Path) -> Sentence:
    """One line of own annotation."""
    try:
        return _Line(json.loads(decoded(raw, path, number))).sentence(f"{path.name}:{number}")
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}, line {number}: not JSON; write one object a line") from error
    except _Wrong as error:
        raise UserError(f"{path}, line {number}: {error}") from error


class _Wrong(Exception):
    """What is wrong with a line."""


class _Line:
    """One line's object: its words, and a way to say which of them a link means."""

    def __init__(self, said: Any) -> None:
        self._said = _object(said, _KEYS, "the line")
        text = _string(self._said.get("text", ""), "text")
        words = self._said.get("words")
        self._spans: list[tuple[int, int]] | None = None
        if words is None:
            self._spans = word_spans(text)
            words = [text[start:end] for start, end in self._spans]
        if not isinstance(words, list) or not words:
            raise _Wrong("it has neither words (a list of strings) nor text; give one")
        self.words = tuple(_string(word, "words") for word in words)
        if not all(word.strip() for word in self.words):
            raise _Wrong("a word is blank; leave it out")
        self.text = text or " ".join(self.words)

    def sentence(self, name: str) -> Sentence:
        links = self._said.get("links", [])
        if not isinstance(links, list):
            raise _Wrong('links must be a list, such as [{"name": "Agent", "source": [0], "target": [3]}]')
        return Sentence(
            _string(self._said.get("id", name), "id"), self.text, self.words, links=tuple(map(self._link, links))
        )

    def _link(self, said: Any) -> Link:
        link = _object(said, _LINK_KEYS, "a link")
        name = _string(link.get("name", ""), "a link's name")
        core = link.get("core", True)
        if not name:
            raise _Wrong("a link has no name; give it one")
        if not isinstance(core, bool):
            raise _Wrong(f"core of the link {shown(name)} must be true or false")
        frame = _string(link.get("frame", ""), "a link's frame")
        return Link(name, self._at(link, "source", name), self._at(link, "target", name), frame, core)

    def _at(self, link: dict[str, Any], end: str, name: str) -> tuple[int, ...]:
        """The words that one end of a link means."""
        given = link.get(end)
        whose = f"{end} of the link {shown(name)}"
        if not isinstance(given, list) or not given or any(type(at) is not int for at in given):
            raise _Wrong(f"the {whose} must be a list of numbers, such as [0, 1]")
        if self._spans is None:
            return self._numbered(given, whose)
        if len(given) != 2 or not 0 <= given[0] < given[1] <= len(self.text):
            raise _Wrong(f"the {whose} must be [start, end], characters from 0 to {len(self.text)}")
        found = [at for at, (start, to) in enumerate(self._spans) if start < given[1] and given[0] < to]
        if not found:
            raise _Wrong(f"the {whose} has no word in its characters")
        return tuple(found)

    def _numbered(self, given: Sequence[int], whose: str) -> tuple[int, ...]:
        outside = [at for at in given if not 0 <= at < len(self.words)]
        if outside:
            raise _Wrong(
                f"the {whose} has word {shown(str(outside[0]))}, but the words are 0 to {len(self.words) - 1}"
            )
        return tuple(sorted(set(given)))


def _object(said: Any, known: Sequence[str], what: str) -> dict[str, Any]:
    if not isinstance(said, dict):
        raise _Wrong(f"{what} must be an object with {', '.join(known)}")
    for key in said:
        if key not in known:
            raise _Wrong(f"{what} has an unknown key {shown(key)}; {did_you_mean(key, known)}")
    return said


def _string(said: Any, what: str) -> str:
    if not isinstance(said, str):
        raise _Wrong(f"{what} must be text, not {shown(json.dumps(said))}")
    try:
        said.encode()
    except UnicodeEncodeError as error:
        raise _Wrong(f"{what} has half of a surrogate pair; write the whole character") from error
    return said
