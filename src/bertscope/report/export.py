"""Every figure and table of a store as a file of its own, under names that say what it is, with an index."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import bertscope
from bertscope.core.errors import UserError
from bertscope.core.files import digest_text
from bertscope.core.folders import refuse_inside, whole_folder
from bertscope.core.registry import QUESTIONS
from bertscope.core.result import Result
from bertscope.core.store import Store
from bertscope.report.build import stored_findings
from bertscope.report.charts import FORMATS, pictures
from bertscope.report.finding import Finding
from bertscope.report.sections import names
from bertscope.report.subjects import PageModels
from bertscope.report.templates import rendered

INDEX, OTHER = "index.html", "other"
KIND = "report"
"""What its folder is, by its seal."""
_LONGEST = 80
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))}
"""Names that Windows keeps for itself."""


@dataclass(frozen=True)
class Written:
    """A figure, with its file in each format, or a table."""

    title: str
    caption: str
    files: list[str]
    """From the export's folder."""

    @property
    def picture(self) -> str | None:
        """The file that a browser can show."""
        return next((file for file in self.files if file.endswith((".svg", ".png"))), None)


@dataclass(frozen=True)
class Exported:
    question: str
    line: str
    about: str
    figures: list[Written]
    tables: list[Written]

    @classmethod
    def of(cls, question: str, about: str, figures: list[Written], tables: Sequence[Written] = ()) -> Exported:
        line = QUESTIONS[question].line if question in QUESTIONS else question
        return cls(question, line, about, figures, list(tables))


def export_report(
    store: Store | str | Path,
    out: str | Path,
    *,
    formats: Sequence[str] = FORMATS,
    announce: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write each figure of `store` in each of `formats` and each table as CSV to the folder `out`; returns the index.

    `out/patterns/pocket-on-glue-sst2/shapes-of-attention-by-layer.svg`. A folder that an export wrote is replaced.
    """
    if unknown := set(formats) - set(FORMATS):
        raise UserError(f"cannot export figures as {', '.join(sorted(unknown))}; formats are {', '.join(FORMATS)}")
    out = Path(out)
    refuse_inside(out)
    findings = stored_findings(store)
    models = PageModels(findings)
    with whole_folder(out, KIND) as scratch:
        names_taken = Names()
        exported = []
        for question, about, finding in ordered(findings, models):
            folder = question if question in QUESTIONS else f"{OTHER}/{safe_name(question)}"
            place = f"{folder}/{names_taken.new(safe_name(about), within=folder)}"
            announce(place)
            exported.append(_one(models.in_words(finding.result), about, scratch, place, formats))
        index = rendered("export.html.j2", version=bertscope.__version__, exported=exported)
        (scratch / INDEX).write_text(index, encoding="utf-8")
    return out / INDEX


def ordered(findings: Iterable[Finding], models: PageModels) -> list[tuple[str, str, Finding]]:
    """In the catalogue's order, with what each is about."""
    by_question: dict[str, list[Finding]] = {}
    for finding in findings:
        by_question.setdefault(finding.result.question, []).append(finding)
    places = {name: place for place, name in enumerate(QUESTIONS)}
    return [
        (question, about, finding)
        for question in sorted(by_question, key=lambda name: (places.get(name, len(places)), name))
        for about, finding in sorted(
            zip(names(by_question[question], models), by_question[question], strict=True),
            key=lambda pair: (pair[0], pair[1].step.id),
        )
    ]


def _one(result: Result, about: str, root: Path, place: str, formats: Sequence[str]) -> Exported:
    question, taken = result.question, Names()
    folder = root / place
    folder.mkdir(parents=True)
    figures, tables = [], []
    for figure in result.figures:
        name = taken.new(safe_name(figure.title))
        made = pictures(figure, result.tables[figure.table], formats)
        files = {ending: f"{place}/{name}.{ending}" for ending in made}
        for ending, picture in made.items():
            (root / files[ending]).write_bytes(picture)
        figures.append(Written(figure.title, figure.caption, list(files.values())))
    for title, table in result.tables.items():
        file = f"{place}/{taken.new(safe_name(title))}.csv"
        table.to_csv(root / file, index=False)
        tables.append(Written(title, f"{len(table):,} {'row' if len(table) == 1 else 'rows'}", [file]))
    return Exported.of(question, about, figures, tables)


class Names:
    """File names that are given once: the second of the same name gets a number."""

    def __init__(self) -> None:
        self._taken: set[tuple[str, str]] = set()

    def new(self, name: str, within: str = "") -> str:
        free, number = name, 2
        while (within, free) in self._taken:
            free, number = f"{name}-{number}", number + 1
        self._taken.add((within, free))
        return free


def safe_name(text: str) -> str:
    """A text as a file name that every system takes: lower-case Latin letters, digits and hyphens.

    >>> safe_name("pocket tuned on glue/sst2"), safe_name("../../etc/passwd"), safe_name("CON")
    ('pocket-tuned-on-glue-sst2', 'etc-passwd', 'con-')
    """
    letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    if not name:  # in a script of its own: a short hash tells it from others
        return f"name-{digest_text(text)[:8]}"
    if len(name) > _LONGEST:
        name = f"{name[: _LONGEST - 9].rstrip('-')}-{digest_text(text)[:8]}"
    return f"{name}-" if name in _RESERVED else name
