"""FrameNet's XML, as releases 1.5 and 1.7 lay it out: frame/, fulltext/ and lu/, in a zip or an unpacked folder.

Words are the spans that a sentence's part-of-speech layer (PENN or BNC) marks. Characters that the layer leaves out,
and sentences that have none, are split at spaces and punctuation.

The files aren't trusted: they must be UTF-8 and have no document type, so that there is no entity to expand and
nothing to fetch.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

from bertscope.core.errors import UserError
from bertscope.core.examples import Link
from bertscope.data.packed_files import Collection, decoded
from bertscope.data.sentences import Sentence, word_spans

Span = tuple[int, int]
"""Characters of a text: from the first to before the second."""

_SPACE = "{http://framenet.icsi.berkeley.edu}"
_POS_LAYERS = ("PENN", "BNC")
_NUMBER = re.compile(r"[0-9]{1,7}")


@dataclass
class Counts:
    """What was met on the way."""

    sentences: int = 0
    split: int = 0
    """Sentences without a part-of-speech layer, or with one whose spans overlap."""
    sets: int = 0
    """Annotation sets that mark a target."""
    repeated: int = 0
    """Those that were met before: lexical units repeat what full texts have."""
    bare: int = 0
    """Those without an element in the sentence."""
    broken: int = 0
    """Those with a span that isn't in the sentence."""


def annotation_sets(files: Collection, counts: Counts) -> Iterator[Sentence]:
    """Every annotation set with a target and an element, each element a link to the target: full texts first, then
    lexical units, in order of name."""
    core = _core_elements(files)
    seen: set[str] = set()
    for name in files.inside("fulltext", ".xml") + files.inside("lu", ".xml"):
        root = _parsed(files, name)
        for sentence in root.iter(f"{_SPACE}sentence"):
            text = sentence.findtext(f"{_SPACE}text")
            if not text:
                raise UserError(f"{files.where(name)}: a sentence has no text; get FrameNet again")
            counts.sentences += 1
            yield from _of_sentence(sentence, text, root.get("frame", ""), Path(name).stem, core, seen, counts)


def _of_sentence(
    sentence: ElementTree.Element,
    text: str,
    frame: str,
    file: str,
    core: set[tuple[str, str]],
    seen: set[str],
    counts: Counts,
) -> Iterator[Sentence]:
    sets = sentence.findall(f"{_SPACE}annotationSet")
    words = _Words(text, sets)
    counts.split += words.split
    for one in sets:
        targets = [label for label in _labels(one, "Target") if label.get("start")]
        if not targets:
            continue
        number = one.get("ID") or f"{counts.sentences}.{counts.sets}"
        counts.sets += 1
        if number in seen:
            counts.repeated += 1
            continue
        seen.add(number)
        elements = [label for label in _labels(one, "FE") if label.get("start")]  # the others are left unsaid
        try:
            target = tuple(sorted({at for label in targets for at in words.under(label)}))
            sources = [(label.get("name", ""), words.under(label)) for label in elements]
        except ValueError:
            counts.broken += 1
            continue
        evoked = one.get("frameName") or frame
        links = tuple(
            Link(element, source, target, evoked, core=(evoked, element) in core)
            for element, source in sorted(sources, key=lambda found: found[1])
            if source
        )
        if links and target:
            yield Sentence(f"{file}:{number}", text, words.words, links=links)
        else:
            counts.bare += 1


class _Words:
    """A sentence's words and where they are."""

    def __init__(self, text: str, sets: list[ElementTree.Element]) -> None:
        self._text = text
        marked = next((found for found in map(self._layer, sets) if found), [])
        self.split = not marked
        spans, end = [], 0
        for start, to in [*marked, (len(text), len(text))]:
            spans += word_spans(text, end, start)
            spans += [(start, to)] if start < to else []
            end = to
        self._starts, self._ends = [start for start, _ in spans], [to for _, to in spans]
        self.words = tuple(text[start:to] for start, to in spans)

    def under(self, label: ElementTree.Element) -> tuple[int, ...]:
        """The words that have a character of the label's span."""
        start, to = self._span(label)
        return tuple(range(bisect_right(self._ends, start), bisect_left(self._starts, to)))

    def _layer(self, one: ElementTree.Element) -> list[Span]:
        """The spans of the part-of-speech layer, if it has one that can be used."""
        for layer in _POS_LAYERS:
            try:
                spans = sorted({self._span(label) for label in _labels(one, layer)})
            except ValueError:
                return []
            apart = all(to <= start for (_, to), (start, _) in pairwise(spans))
            if spans and apart:
                return spans
        return []

    def _span(self, label: ElementTree.Element) -> Span:
        start, last = label.get("start", ""), label.get("end", "")
        if _NUMBER.fullmatch(start) and _NUMBER.fullmatch(last) and int(start) <= int(last) < len(self._text):
            return int(start), int(last) + 1
        raise ValueError("no such characters")


def _core_elements(files: Collection) -> set[tuple[str, str]]:
    """The elements of type Core, by frame and name. Core-Unexpressed isn't among them: it is for elements that a
    frame's heirs leave unsaid."""
    found: set[tuple[str, str]] = set()
    for name in files.inside("frame", ".xml"):
        root = _parsed(files, name)
        elements = [one for one in root.findall(f"{_SPACE}FE") if one.get("coreType") == "Core"]
        found |= {(root.get("name", ""), one.get("name", "")) for one in elements}
    return found


def _labels(one: ElementTree.Element, layer: str) -> list[ElementTree.Element]:
    found = (part for part in one.findall(f"{_SPACE}layer") if part.get("name") == layer)
    return [label for part in found for label in part.findall(f"{_SPACE}label")]


def _parsed(files: Collection, name: str) -> ElementTree.Element:
    where = files.where(name)
    text = decoded(files.read(name), where)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UserError(f"{where} declares a document type, which FrameNet's files don't; get FrameNet again")
    try:
        # From text, not bytes: a declared encoding could hide what was just looked for.
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UserError(f"{where}: not well-formed XML ({error}); get FrameNet again") from error
    except ValueError as error:
        raise UserError(f"{where}: not XML; get FrameNet again") from error
