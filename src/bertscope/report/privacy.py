"""What a page says to everybody: names of models, files and stores, and not where on somebody's disk they lie, nor
the command, the machine's system or its user. Results keep all of it; a private page shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any

from bertscope.core import lineage
from bertscope.core.step import Step

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result
    from bertscope.report.finding import Finding

SHARED = ("created", "seconds", "commit", "python", "processors", "threads", "device", "packages", "settings", "auto")
"""What of a result's provenance everybody may know; whatever else is noted one day is private. Settings are a
question's own, from which sentences are made: numbers and choices, no paths."""
_PLACES = ("root", "base", "tokenizer")
"""Of how a model or data is read, what may be a path; a column, or a word, may only look like one."""
_WORD = r"[^/\\\s'\"`,;()]+"
_BETWEEN = "and|or|in|of|to|from|with|for|is|are|was|has|by|on|at|as|but|not|than"
_PART = rf"(?:{_WORD}(?:(?<![.:]) (?!(?:{_BETWEEN})\b){_WORD}){{1,3}}(?=[/\\])|{_WORD})"
"""A part of a path, also `My Documents`, where more of the path follows and no word of a sentence lies between."""
_PATH = re.compile(
    r"(?<![\w<>./\\@~-])(?:file:(?://[^/\s]*)?)?"
    rf"(?:~?(?:/{_PART}){{2,}}/?|(?:[A-Za-z]:|\\{{2,4}}{_WORD})(?:[/\\]{{1,2}}{_PART})+[/\\]*)"
)
"""A path in a sentence of ours. A `/` between words, an address or a token such as `</s>` is none."""
_LONGEST_LABEL = 200
"""Characters; what is longer is a text."""


def own_name(source: str) -> str:
    """Names and hub ids as they are; of a path that leads out of the working folder its last part.

    >>> [own_name(one) for one in ("pocket", "glue/rte", "runs/tuned", "/home/jo/tuned", "../jo/reviews.csv")]
    ['pocket', 'glue/rte', 'runs/tuned', 'tuned', 'reviews.csv']
    >>> own_name("glue/rte@/data/GLUE/RTE"), own_name(r"C:\\Users\\jo\\tuned")
    ('glue/rte', 'tuned')
    """
    known, _, place = source.partition("@")  # a task that is known by name, and where it lies
    if _leads_away(place) and not _leads_away(known):
        return known
    parts = _parts(source)
    return parts[-1] if parts and _leads_away(source) else source


class Hidden:
    """Puts names in the place of the paths that some steps and their results know of, wherever they stand."""

    def __init__(self, *findings: Finding) -> None:
        sources = (one for finding in findings for one in _sources(finding.step, finding.result))
        known = {place if _leads_away(place := one.partition("@")[2]) else one for one in sources}
        telling = sorted((one for one in known if _leads_away(one) and _is_deep(one)), key=len, reverse=True)
        below = [
            rf"(?<!\w)(?:file:(?://)?)?{re.escape(one)}(?:(?:[/\\]{_PART})+[/\\]?|[/\\]?(?![\w-]|\.\w))"
            for one in _here()
        ]
        self._known = re.compile("|".join([*map(re.escape, telling), *below]) or "(?!)")
        self._results = [finding.result for finding in findings]

    def result(self, result: Result) -> Result:
        """The result as everybody may read it."""
        return replace(
            result,
            tables={key: self.table(frame) for key, frame in result.tables.items()},
            headline=[
                replace(one, label=self.words(one.label), of={key: self.value(what) for key, what in one.of.items()})
                for one in result.headline
            ],
            figures=[
                replace(figure, title=self.words(figure.title), caption=self.words(figure.caption),
                        where={column: self.value(value) for column, value in figure.where.items()},
                        labels={column: self.words(label) for column, label in figure.labels.items()})
                for figure in result.figures
            ],
            models={key: replace(one, name=self.words(one.name)) for key, one in result.models.items()},
            subject={key: self.words(value) for key, value in result.subject.items()},
            notes=[self.words(note) for note in result.notes],
            provenance={key: value for key, value in result.provenance.items() if key in SHARED},
        )  # fmt: skip

    def value(self, value: Any) -> Any:
        """A cell of a table: only paths that are known are hidden there, for a text may speak of others."""
        return self._known.sub(lambda found: _named(found[0]), value) if isinstance(value, str) else value

    def words(self, text: str) -> str:
        """What we say: any path is hidden, but for labels that look like one, such as `/people/person/religion`."""
        text = self.value(text)
        if not _PATH.search(text):
            return text
        return self._paths.sub(lambda found: found["label"] or own_name(found[0]), text)

    @cached_property
    def _paths(self) -> re.Pattern[str]:
        """Paths, and what looks like one and is a value of the data: whatever a cell or column of a table holds, or a
        number is of. What is known to be a path was hidden before."""
        cells = (one for result in self._results for frame in result.tables.values() for one in _cells(frame))
        others = (what for result in self._results for number in result.headline for what in number.of.values())
        alike = {
            one for one in (*cells, *others) if len(one) <= _LONGEST_LABEL and _leads_away(one) and _is_deep(one)
        }
        labels = "|".join(map(re.escape, sorted(alike, key=len, reverse=True))) or "(?!)"
        return re.compile(rf"(?<![\w/\\])(?P<label>{labels})(?![\w/\\-]|\.\w)|{_PATH.pattern}")

    def table(self, frame: pd.DataFrame) -> pd.DataFrame:
        changed = {}
        for column in frame.columns:
            shown = {one: hidden for one in _texts(frame[column]) if (hidden := self.value(one)) != one}
            if shown:
                changed[column] = frame[column].map(lambda cell, shown=shown: shown.get(cell, cell))
        return frame.assign(**changed) if changed else frame


def _cells(frame: pd.DataFrame) -> Iterator[str]:
    """The texts of a table, and what its columns are called."""
    for column in frame.columns:
        yield from (str(column), *_texts(frame[column]))


def _texts(column: pd.Series) -> list[str]:
    """The texts of a column, each once."""
    if not (column.dtype == object or str(column.dtype) in ("str", "string", "category")):
        return []
    return [one for one in column.dropna().unique() if isinstance(one, str)]


def _leads_away(source: str) -> bool:
    """Whether it is a path from the root of a disk, from somebody's home or from above the working folder."""
    return source.startswith(("/", "~", "..", "\\\\", "file:/")) or PureWindowsPath(source).is_absolute()


def _is_deep(path: str) -> bool:
    """Whether it names a folder and something in it: `/data` tells nothing, and `..` may end a sentence."""
    return len([part for part in _parts(path) if part not in ("..", "~")]) > 1


def _parts(path: str) -> list[str]:
    return [part for part in re.split(r"[/\\]+", path) if part]


def _named(path: str) -> str:
    """What is said in the place of a path that is known: a home's own name would be that of whose it is."""
    return "~" if _parts(path.removeprefix("file:")) in map(_parts, _homes()) else own_name(path)


def _here() -> Iterator[str]:
    """Where we are, and who we are: what lies there says it."""
    yield from _folder(Path.cwd)
    yield from _homes()


def _homes() -> Iterator[str]:
    yield from _folder(Path.home)


def _folder(which: Callable[[], Path]) -> Iterator[str]:
    try:
        found = which()
    except (OSError, RuntimeError):  # it was deleted, or nobody knows whose process this is
        return
    if found != found.parent:
        yield str(found)


def _sources(step: Step, result: Result) -> Iterator[str]:
    """Where the step's inputs lie, and the models that its result is about."""
    for root in lineage.roots(step):
        yield root.source
        yield from (str(root.options[name]) for name in _PLACES if root.options.get(name))
    for record in result.models.values():
        yield from (each.source for each in record.descent())
