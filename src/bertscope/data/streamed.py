"""A corpus that is read a window of texts at a time: its size doesn't matter, only that of a window.

corpus.txt, corpus.txt.gz         a text a line
corpus.jsonl.xz                   own annotation, or texts alone
treebank.conllu                   a treebank
corpus.parquet                    a column of texts
parts/*.jsonl.gz, '**/*.txt'      all files of that pattern, in the order of their names
hub:owner/name                    a data set of the hub: see streamed_hub.py

Somebody has to count first. `StreamedTexts.divide` goes through all rows once and notes where each window begins
(`Division`); then any window is read without what lies before it. What a reader of the whole
corpus knows and a reader of a window can't, such as which marks any of its words has, is noted with it.
"""

from __future__ import annotations

import glob
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from bertscope.core import limits
from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.statement import number_of
from bertscope.core.step import Root
from bertscope.data.division import Division
from bertscope.data.plain_files import Kept, digest_plain, explained, named
from bertscope.data.row_files import ENDINGS, ColumnRows, ObjectLines, Row, RowFile, Trees, row_file
from bertscope.data.sentences import Sentence, to_examples
from bertscope.data.source_kinds import CORPUS_OPTIONS, Part, Source
from bertscope.data.table import unpacked_suffix

_COLUMNS = ("text", "text_pair", "id")
"""What may be said of columns besides."""


@dataclass(frozen=True)
class StreamedTexts(Source):
    """Files of texts, of which nothing is read before it is asked for."""

    def divide(self, window: int) -> Division:
        """Go through all rows once. What is malformed is refused here, or with `skip_bad` counted."""
        reading = _Reading(self)
        places, numbers = array("q"), array("Q")
        for place, row, sentence in reading.sentences():
            if not reading.texts % window:
                places.extend((place, row.at, row.line))
            reading.note(row, sentence)
            if reading.has_own_id(place, row, sentence):
                numbers.append(int.from_bytes(blake2b(sentence.id.encode(), digest_size=8).digest(), "big"))
        self._refuse_repeated(np.frombuffer(numbers, np.uint64))
        reading.refuse_nothing()
        at = np.frombuffer(places, np.int64).reshape(-1, 3).copy()
        return reading.division(window, at)

    def read(self, division: Division, windows: range) -> Iterator[tuple[int, Examples]]:
        """Some windows in turn, each with the place of its first text in the corpus."""
        found = self._sentences(division, windows)
        for window in windows:
            texts = division.of_windows(range(window, window + 1))
            yield texts.start, _examples(list(islice(found, len(texts))), division)

    def whole(self, division: Division, windows: range) -> Examples:
        """Some windows at once."""
        texts = len(division.of_windows(windows))
        return _examples(list(islice(self._sentences(division, windows), texts)), division)

    def _sentences(self, division: Division, windows: range) -> Iterator[Sentence]:
        """All texts from the first of these windows on."""
        if windows:
            file, at, line = division.places[windows.start].tolist()
            yield from (sentence for *_, sentence in _Reading(self).sentences(file, at, line))

    def examples(self, split: Part) -> Examples:
        self._refuse_split(split)
        reading, options = _Reading(self), self.options
        kept = Kept[Sentence](self.name, few=options.limit is not None, what="texts")
        for _, row, sentence in reading.sentences():
            reading.note(row, sentence)
            kept.add(sentence, len(sentence.text) + len(sentence.pair or ""))
        reading.refuse_nothing()
        whole = reading.division(max(1, reading.texts), np.zeros((1, 3), np.int64))
        found = replace(_examples(kept.rows, whole), notes=(*kept.note(), *whole.notes))
        if options.limit is not None and options.limit < len(found):
            order = np.random.default_rng(options.seed).permutation(len(found))
            found = found.take(np.sort(order[: options.limit]))
        return found

    def examples_root(self, split: Part) -> Root:
        self._refuse_split(split)
        self._refuse_options()
        with explained(self.name):
            found = digest_plain([file.path for file in self.files])
        return Root("examples", str(Path(self.name).absolute()), found, self.options.given())

    @property
    def has_columns(self) -> bool:
        return isinstance(self.files[0], ColumnRows)

    @property
    def size(self) -> int:
        """Bytes, as the files lie there: packed ones have more."""
        with explained(self.name):
            return sum(file.path.stat().st_size for file in self.files)

    @property
    def shown(self) -> str:
        """What results call it."""
        return Path(self.name).name

    @cached_property
    def files(self) -> list[RowFile]:
        """The files, in the order in which they are read; ids begin with their names, or with as much of their paths
        as tells them apart."""
        paths = files_of_pattern(self.name) if is_pattern(self.name) else [Path(self.name)]
        endings = {unpacked_suffix(path) for path in paths}
        if not endings <= {*ENDINGS} or len(endings) > 1:
            listed = ", ".join(sorted(endings))
            raise UserError(f"{named(self.name)}: give files of one kind of {', '.join(ENDINGS)}, not of {listed}")
        names = [path.name for path in paths]
        if len({*names}) < len(names):
            names = [path.relative_to(fixed_part(self.name)).as_posix() for path in paths]
        return [row_file(path, name, self.options) for path, name in zip(paths, names, strict=True)]

    def _refuse_split(self, split: Part) -> None:
        if split != "test":
            raise UserError(f"{self.name} has no splits; leave out --split {split}")

    def _refuse_options(self) -> None:
        known = (*CORPUS_OPTIONS, *(_COLUMNS if self.has_columns else ()))
        for name in self.options.given():
            if name not in known:
                flag = name.replace("_", "-")
                raise UserError(f"{self.name} is no task with columns and labels; leave out --{flag}")

    def _refuse_repeated(self, numbers: np.ndarray) -> None:
        """Its id decides which resamples a text is in: one that is there twice can't be told apart from afar."""
        if len(np.unique(numbers)) < len(numbers):
            raise UserError(f"{named(self.name)} calls several texts by one id; in shards each needs its own")


class _Reading:
    """One way through a corpus, and what is noted on it."""

    def __init__(self, source: StreamedTexts) -> None:
        self._source, self._files = source, source.files
        self.texts = self._bad = self._blank = 0
        self._first_bad = ""
        self._like: tuple[str, bool, bool] | None = None  # where the first text is, whether it has a second, a tree
        self._marks = dict[str, None]()
        self._linked = self._answered = False

    def sentences(self, file: int = 0, at: int = 0, line: int = 1) -> Iterator[tuple[int, Row, Sentence]]:
        """The texts from a row on, each with its file's place."""
        for place in range(file, len(self._files)):
            one = self._files[place]
            with explained(one.path):
                for row in one.rows(at, line):
                    if (sentence := self._parsed(one, row)) is not None:
                        self._path = one.path
                        yield place, row, sentence
            at, line = 0, 1

    def _parsed(self, file: RowFile, row: Row) -> Sentence | None:
        try:
            found = file.parse(row)
        except UserError as error:
            if not self._source.options.skip_bad:
                raise
            self._bad, self._first_bad = self._bad + 1, self._first_bad or str(error)
            return None
        self._blank += found is None
        return found

    def note(self, row: Row, sentence: Sentence) -> None:
        """Take down what has to be known of the whole."""
        self.texts += 1
        where = f"{self._path}, line {row.line}"
        self._like = self._like or (where, sentence.pair is not None, sentence.governors is not None)
        first, *like = self._like
        if like != [sentence.pair is not None, sentence.governors is not None]:
            raise UserError(f"{where}: not like {first}: give a second text, and heads, in every text or in none")
        self._marks |= {kind: None for kind, marks in sentence.marks.items() if any(marks)}
        self._linked |= sentence.links is not None
        self._answered |= sentence.answers is not None

    def has_own_id(self, place: int, row: Row, sentence: Sentence) -> bool:
        return sentence.id != f"{self._files[place].name}:{row.line}"

    def refuse_nothing(self) -> None:
        if not self.texts:
            nothing = f"{named(self._source.name)} has no text; check that it is the right file"
            raise UserError(self._first_bad or nothing)

    def division(self, window: int, places: np.ndarray) -> Division:
        objects = [file for file in self._files if isinstance(file, ObjectLines)]
        return Division(
            texts=self.texts,
            window=window,
            places=places,
            name=self._source.shown,
            notes=tuple(self._notes()),
            annotated=isinstance(self._files[0], Trees) or any(file.lines.marked for file in objects),
            marks=tuple(self._marks),
            linked=self._linked,
            answered=self._answered,
        )

    def _notes(self) -> Iterator[str]:
        if self._bad:
            total = f"{self._bad:,} of {self._bad + self.texts:,}"
            yield f"{total} sentences are malformed and left out; the first: {self._first_bad}"
        if self._blank and not isinstance(self._files[0], ObjectLines):
            what = "blank row" if self._source.has_columns else "blank line"
            yield f"{number_of(self._blank, what, f'{what}s')} skipped"


def _examples(sentences: Sequence[Sentence], division: Division) -> Examples:
    """Some texts as columns, with all the columns that the whole corpus has."""
    found = to_examples(sentences)
    nothing: dict[str, Any] = {"words": None, "first_words": None}
    blank = tuple(("",) * len(one.words) for one in sentences)
    return replace(
        found,
        **({} if division.annotated else nothing),
        marks={kind: found.marks.get(kind, blank) for kind in division.marks},
        links=found.links or ((),) * len(found) if division.linked else None,
        answers=found.answers or ((),) * len(found) if division.answered else None,
        name=division.name,
        notes=division.notes,
    )


def is_pattern(name: str | Path) -> bool:
    """Whether it stands for all files that are called alike: `parts/*.txt`, which itself is no file."""
    return glob.has_magic(str(name)) and not Path(name).exists()


def fixed_part(name: str | Path) -> Path:
    """The folder that a pattern looks in.

    >>> fixed_part("/data/parts-*/**/*.txt").as_posix(), fixed_part("*.txt").as_posix()
    ('/data', '.')
    """
    parents = reversed(Path(name).parents)
    return [folder for folder in parents if not glob.has_magic(str(folder))][-1]


def files_of_pattern(name: str | Path) -> list[Path]:
    """The files that a pattern stands for, in the order of their names."""
    folder = fixed_part(name)
    with explained(name):
        found = sorted(path for path in folder.glob(str(Path(name).relative_to(folder))) if path.is_file())
    if not found:
        raise UserError(f"no file is called like {named(name)}; check the pattern, and put it in quotes")
    if len(found) > limits.MOST_FILES:
        raise UserError(f"{named(name)} stands for over {limits.MOST_FILES:,} files; give fewer at a time")
    return found
