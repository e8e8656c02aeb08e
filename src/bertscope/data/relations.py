"""Relations between words, from whatever has them.

framenet.zip, fndata-1.7/      FrameNet's frames: see frames.py
train.conllu, a folder of it   a treebank, whose heads are its relations: see treebank.py
mine.jsonl                     your own, one object a line, by words or by characters:

{"words": ["Anna", "gave", "it", "away"], "links": [{"name": "Donor", "source": [0], "target": [1, 3]}]}
{"text": "Anna gave it away", "links": [{"name": "Donor", "source": [0, 4], "target": [5, 9]}]}

What `write_examples` writes as .jsonl is read so too: second texts, heads, answers, and as marks any further lists
with a text for each word.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.examples import ROOT, Examples, Link
from bertscope.data.frames import is_framenet, read_frames
from bertscope.data.packed_files import Collection, decoded, is_collection, stream
from bertscope.data.sentences import Sentence, read_each, word_spans
from bertscope.data.table import shown
from bertscope.data.treebank import read_treebank
from bertscope.data.trees import check_tree

_JSONL = (".jsonl", ".jsonl.gz", ".jsonl.xz")
_KEYS = ("id", "text", "words", "links", "text_pair", "first_words", "heads", "answers", "label", "choices")
_LINK_KEYS = ("name", "source", "target", "frame", "core")


def read_relations(
    path: str | Path,
    *,
    limit: int | None = None,
    skip_bad: bool = False,
    few: bool = False,
    notes: list[str] | None = None,
) -> Examples:
    """Read words and the relations between them: FrameNet, a treebank or own annotation, by what the path is.

    FrameNet gives `links`, a treebank `governors`, .jsonl what its lines have; a `label` there is for `read_task` and
    is passed over. FrameNet is filtered as `read_frames` does by default. `limit` keeps the first examples; with
    `skip_bad` malformed ones are left out and counted in `notes`. Of more than can be held some are taken, if only a
    `few` are wanted.
    """
    path = Path(path)
    if path.name.lower().endswith(_JSONL):
        lines = ((number, raw) for number, raw in enumerate(stream(path), start=1) if not raw.isspace())
        parse = JsonLines(path, path.name)
        found = read_each(lines, parse, path, limit=limit, skip_bad=skip_bad, few=few, notes=notes)
        return found if parse.marked else replace(found, words=None, first_words=None)
    if is_collection(path):
        with Collection(path) as files:
            frames = is_framenet(files)
        if frames:
            return read_frames(path, limit=limit, notes=notes)
    return read_treebank(path, limit=limit, skip_bad=skip_bad, few=few, notes=notes)


class _Wrong(Exception):
    """What is wrong with a line."""


class JsonLines:
    """The lines of one file: all have a second text, or none, and likewise heads."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._first: tuple[int, Sentence] | None = None
        self.marked = False
        """Whether any line has words, or speaks of some; otherwise they are plain texts."""

    def __call__(self, numbered: tuple[int, bytes]) -> Sentence:
        number, raw = numbered
        try:
            line = _Line(json.loads(decoded(raw, self._path, number)))
            sentence = line.sentence(f"{self._name}:{number}")
            self._refuse_unlike(number, sentence)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{self._path}, line {number}: not JSON; write one object a line") from error
        except _Wrong as error:
            raise UserError(f"{self._path}, line {number}: {error}") from error
        self.marked |= line.marked
        return sentence

    def _refuse_unlike(self, number: int, sentence: Sentence) -> None:
        self._first = self._first or (number, sentence)
        before, first = self._first
        for key, one, other in (
            ("text_pair", sentence.pair, first.pair),
            ("heads", sentence.governors, first.governors),
        ):
            if (one is None) != (other is None):
                differs = f"no {key}, but line {before} has" if one is None else f"{key}, but line {before} hasn't"
                raise _Wrong(f"it has {differs}; give it in every line or in none")


class _Line:
    """One line's object: its texts and words, and what it says of them."""

    def __init__(self, parsed: Any) -> None:
        if not isinstance(parsed, dict):
            raise _Wrong(f"the line must be an object with {', '.join(_KEYS)}")
        for key, value in parsed.items():
            if "words" not in parsed or not _are_marks(value) or not key.strip():
                _refuse_key(key, _KEYS, "the line")
        self._object = parsed
        self.text = _string(parsed.get("text", ""), "text")
        self.pair = _string(parsed["text_pair"], "text_pair") if "text_pair" in parsed else None
        if self.pair is not None and not self.pair.strip():
            raise _Wrong("text_pair is blank; fill it in")
        self.marked = "words" in parsed or "links" in parsed
        self._spans: list[tuple[int, int]] | None = None
        """Where the words are in the text, if they aren't given but split."""
        if "words" in parsed:
            self._take_words(parsed["words"])
        else:
            self._split_texts()

    def sentence(self, name: str) -> Sentence:
        return Sentence(
            _string(self._object.get("id", name), "id"),
            self.text,
            self.words,
            self._marks(),
            self._governors(),
            self._links(),
            self.pair,
            None if self.pair is None else self.first_words,
            self._answers(),
        )

    def _take_words(self, words: Any) -> None:
        if not isinstance(words, list) or not words:
            raise _Wrong("words must be a list of at least one word; fill it in, or give text alone")
        self.words = tuple(_string(word, "words") for word in words)
        if not all(word.strip() for word in self.words):
            raise _Wrong("a word is blank; leave it out")
        self.first_words = self._object.get("first_words", len(words) if self.pair is None else None)
        if type(self.first_words) is not int or not 0 <= self.first_words <= len(words):
            raise _Wrong(
                f"first_words must say how many of the {len(words)} words are in text, the others in text_pair"
            )
        if self.pair is None and "first_words" in self._object:
            raise _Wrong("first_words is for two texts; give text_pair too")
        self.text = self.text or " ".join(self.words[: self.first_words])
        if not self.text:
            raise _Wrong("text is blank; fill it in")

    def _split_texts(self) -> None:
        if not self.text.strip():
            raise _Wrong("it has neither words (a list of strings) nor text; give one")
        for key in ("first_words", "heads"):
            if key in self._object:
                raise _Wrong(f"{key} counts words; give words too")
        self._spans = word_spans(self.text)
        self.words = tuple(self.text[start:end] for start, end in self._spans)
        self.first_words = len(self.words)
        if self.pair is not None:
            self.words += tuple(self.pair[start:end] for start, end in word_spans(self.pair))

    def _marks(self) -> dict[str, list[str]]:
        """The lists that say something of each word, whatever they are called."""
        found = {}
        for key, value in self._object.items():
            if key in _KEYS:
                continue
            if len(value) != len(self.words):
                raise _Wrong(
                    f"{shown(key)} has {len(value)} marks, but there are {len(self.words)} words; give each one"
                )
            found[_string(key, "a key")] = [_string(mark, shown(key)) for mark in value]
        return found

    def _governors(self) -> tuple[int, ...] | None:
        """Each word's governor. Several sentences have several roots, but no word may be its own ancestor."""
        governors = self._object.get("heads")
        if "heads" not in self._object:
            return None
        count = len(self.words)
        if not isinstance(governors, list) or len(governors) != count or any(type(at) is not int for at in governors):
            raise _Wrong(f"heads must be a list of {count} numbers, one for each word")
        if not all(ROOT <= at < count for at in governors):
            raise _Wrong(f"heads must be from 0 to {count - 1}, or {ROOT} where a word has none")
        root = governors.index(ROOT) if ROOT in governors else 0
        if check_tree([root if at == ROOT and word != root else at for word, at in enumerate(governors)]):
            raise _Wrong("heads go round in a circle; mend them")
        return tuple(governors)

    def _answers(self) -> tuple[tuple[int, int], ...] | None:
        answers = self._object.get("answers")
        if "answers" not in self._object:
            return None
        if self.pair is None:
            raise _Wrong("answers are spans of text_pair; give it too")
        if not isinstance(answers, list) or not all(self._is_span(answer, self.pair) for answer in answers):
            raise _Wrong(
                f"answers must be a list of [start, end], characters of text_pair from 0 to {len(self.pair)}"
            )
        return tuple((start, end) for start, end in answers)

    def _links(self) -> tuple[Link, ...] | None:
        links = self._object.get("links")
        if "links" not in self._object:
            return None
        if not isinstance(links, list):
            raise _Wrong('links must be a list, such as [{"name": "Agent", "source": [0], "target": [3]}]')
        if links and self._spans is not None and self.pair is not None:
            raise _Wrong("links between two texts are counted in words; give words and first_words")
        return tuple(map(self._link, links))

    def _link(self, value: Any) -> Link:
        if not isinstance(value, dict):
            raise _Wrong(f"a link must be an object with {', '.join(_LINK_KEYS)}")
        for key in value:
            _refuse_key(key, _LINK_KEYS, "a link")
        name = _string(value.get("name", ""), "a link's name")
        core = value.get("core", True)
        if not name:
            raise _Wrong("a link has no name; give it one")
        if not isinstance(core, bool):
            raise _Wrong(f"core of the link {shown(name)} must be true or false")
        frame = _string(value.get("frame", ""), "a link's frame")
        return Link(name, self._at(value, "source", name), self._at(value, "target", name), frame, core)

    def _at(self, link: dict[str, Any], end: str, name: str) -> tuple[int, ...]:
        """The words that one end of a link means."""
        given = link.get(end)
        whose = f"{end} of the link {shown(name)}"
        if not isinstance(given, list) or not given or any(type(at) is not int for at in given):
            raise _Wrong(f"the {whose} must be a list of numbers, such as [0, 1]")
        if self._spans is None:
            return self._numbered(given, whose)
        if not self._is_span(given, self.text):
            raise _Wrong(f"the {whose} must be [start, end], characters from 0 to {len(self.text)}")
        found = [at for at, (start, to) in enumerate(self._spans) if start < given[1] and given[0] < to]
        if not found:
            raise _Wrong(f"the {whose} has no word in its characters")
        return tuple(found)

    @staticmethod
    def _is_span(given: Any, text: str) -> bool:
        if not isinstance(given, list) or len(given) != 2 or any(type(at) is not int for at in given):
            return False
        return bool(0 <= given[0] < given[1] <= len(text))

    def _numbered(self, given: Sequence[int], whose: str) -> tuple[int, ...]:
        outside = [at for at in given if not 0 <= at < len(self.words)]
        if outside:
            raise _Wrong(
                f"the {whose} has word {shown(str(outside[0]))}, but the words are 0 to {len(self.words) - 1}"
            )
        return tuple(sorted(set(given)))


def _are_marks(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(mark, str) for mark in value)


def _refuse_key(key: str, known: Sequence[str], what: str) -> None:
    if key not in known:
        raise _Wrong(f"{what} has an unknown key {shown(key)}; {did_you_mean(key, known)}")


def _string(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"{what} must be text, not {shown(json.dumps(value))}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _Wrong(f"{what} has half of a surrogate pair; write the whole character") from error
    return value
