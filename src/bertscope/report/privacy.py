"""What a page says to everybody: names of models, files and stores, and not where on somebody's disk they lie, nor
the command, the machine's system or its user. Results keep all of it; a private page shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from bertscope.core import lineage
from bertscope.core.step import Step

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result
    from bertscope.report.sections import Finding

SHARED = ("created", "seconds", "commit", "python", "processors", "threads", "device", "packages")
"""What of a result's provenance everybody may know; whatever else is noted one day is private."""
_AT_LEAST_TWO_PARTS = re.compile(r"(?<![\w<>./\\:@~-])(?:~?(?:/[^/\s'\"`,;()]+){2,}/?|[A-Za-z]:\\[^\s'\"`,;()]+)")
"""A path in a sentence of ours. A `/` between words, an address or a token such as `</s>` is none."""


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
    return _path(source).name or source if _leads_away(source) else source


class Hidden:
    """Puts names in the place of the paths that some steps and their results know of, wherever they stand."""

    def __init__(self, *findings: Finding) -> None:
        sources = (one for finding in findings for one in _sources(finding.step, finding.result))
        known = {place if _leads_away(place := one.partition("@")[2]) else one for one in sources}
        telling = sorted((one for one in known if _leads_away(one) and _is_deep(one)), key=len, reverse=True)
        below = [rf"(?<!\w){re.escape(one)}(?:[/\\][^\s'\"`,;()]*|(?![^\s'\"`,;()]))" for one in _here()]
        self._known = re.compile("|".join([*map(re.escape, telling), *below]) or "(?!)")

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
        return self._known.sub(lambda found: own_name(found[0]), value) if isinstance(value, str) else value

    def words(self, text: str) -> str:
        """What we say: any path is hidden."""
        return _AT_LEAST_TWO_PARTS.sub(lambda found: own_name(found[0]), self.value(text))

    def table(self, frame: pd.DataFrame) -> pd.DataFrame:
        changed = {}
        for column in frame.columns:
            if not (frame[column].dtype == object or str(frame[column].dtype) in ("str", "string", "category")):
                continue
            texts = [one for one in frame[column].dropna().unique() if isinstance(one, str)]
            shown = {one: hidden for one in texts if (hidden := self.value(one)) != one}
            if shown:
                changed[column] = frame[column].map(lambda cell, shown=shown: shown.get(cell, cell))
        return frame.assign(**changed) if changed else frame


def _leads_away(source: str) -> bool:
    """Whether it is a path from the root of a disk, from somebody's home or from above the working folder."""
    return source.startswith(("/", "~", "..", "\\\\")) or PureWindowsPath(source).is_absolute()


def _is_deep(path: str) -> bool:
    """Whether it names a folder and something in it: `/data` tells nothing, and `..` may end a sentence."""
    return len([part for part in _path(path).parts if part not in ("/", "\\", "..", "~")]) > 1


def _path(source: str) -> PurePath:
    return PureWindowsPath(source) if "\\" in source else PurePosixPath(source)


def _here() -> Iterator[str]:
    """Where we are, and who we are: what lies there says it."""
    for folder in (Path.cwd, Path.home):
        try:
            found = folder()
        except (OSError, RuntimeError):  # it was deleted, or nobody knows whose process this is
            continue
        if found != found.parent:
            yield str(found)


def _sources(step: Step, result: Result) -> Iterator[str]:
    """Where the step's inputs lie, and what its settings and those under it name."""
    for root in lineage.roots(step):
        yield root.source
        yield from _strings(root.options)
    for one in (step, *lineage.ancestors(step)):
        yield from _strings(one.config)
    for record in result.models.values():
        yield from (each.source for each in record.descent())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings(list(value.values()))
    elif isinstance(value, Iterable):
        for one in value:
            yield from _strings(one)
