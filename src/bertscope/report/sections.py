"""Stored results as the page's template needs them: plain words, numbers written out, charts as JSON."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.core.catalogue import CATALOGUE, Spec, spec
from bertscope.core.errors import UserError
from bertscope.core.figure import Figure
from bertscope.core.result import Number, Result
from bertscope.core.step import Root, Step
from bertscope.report.charts import draw
from bertscope.report.panels import size
from bertscope.report.values import NOTHING, plain, texts

if TYPE_CHECKING:
    import pandas as pd

ROWS = 200
"""How many rows of a table the page prints; the CSV has them all."""
LONG = 50_000
"""A CSV of more letters is packed: a sheet of attention maps has a row per cell, and shrinks to a seventh."""


@dataclass(frozen=True)
class Finding:
    """A finished step and its result."""

    step: Step
    result: Result


@dataclass(frozen=True)
class Card:
    name: str
    value: str
    interval: str | None
    n: str | None
    hint: str | None = None
    """Which direction is better, for the number that stands for the whole result."""


@dataclass(frozen=True)
class Picture:
    title: str
    caption: str
    spec: str
    width: int
    height: int


@dataclass(frozen=True)
class Cell:
    text: str
    sort: float | str | None
    """Numeric columns: the value before rounding, to sort by, or "" where there is none."""


@dataclass(frozen=True)
class Table:
    name: str
    columns: list[tuple[str, bool]]
    """Each column's name, and whether it holds numbers."""
    rows: list[list[Cell]]
    total: int
    csv: str
    """The whole table, as a string in JSON; if `packed`, as gzip in base64."""
    packed: bool


@dataclass(frozen=True)
class Answer:
    """One result: one subject's answer to a question."""

    id: str
    about: str
    main: Card | None
    cards: list[Card]
    pictures: list[Picture]
    tables: list[Table]
    notes: list[str]
    origin: list[tuple[str, str]]


@dataclass(frozen=True)
class Section:
    id: str
    heading: str
    cite: str | None
    answers: list[Answer]


def sections(findings: Sequence[Finding]) -> list[Section]:
    """One section per question, in the catalogue's order; questions it no longer has come last, by name."""
    places = {name: place for place, name in enumerate(CATALOGUE)}

    by_question: dict[str, list[Finding]] = {}
    for finding in findings:
        question = finding.result.question
        if question not in CATALOGUE or CATALOGUE[question].command:  # the steps of an experiment are in its answer
            by_question.setdefault(question, []).append(finding)
    ordered = sorted(by_question, key=lambda question: (places.get(question, len(places)), question))
    return [_section(question, by_question[question]) for question in ordered]


def script_json(value: Any) -> str:
    """JSON that can stand inside a script element: no text in it can end the element."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")


def _section(question: str, findings: list[Finding]) -> Section:
    declared = _declared(question)
    heading = CATALOGUE[question].line.removesuffix(".") if question in CATALOGUE else question
    named = zip(_names(findings), findings, strict=True)
    ordered = sorted(named, key=lambda pair: (_counted(pair[0]), pair[1].step.id))
    answers = [_answer(finding, name, declared) for name, finding in ordered]
    return Section(f"question-{question}", heading, declared.cite if declared else None, answers)


def _declared(question: str) -> Spec | None:
    """What the question's code says about itself; a stored result outlives its code and is shown without it."""
    try:
        return spec(question)
    except (UserError, ImportError, AttributeError):
        return None


def _names(findings: list[Finding]) -> list[str]:
    """What each result is about; where several share a subject, with the settings in which they differ."""
    names = []
    for finding in findings:
        alike = [other.step.config for other in findings if other.result.subject == finding.result.subject]
        differing = [
            f"{key} {value}"
            for key, value in finding.step.config.items()
            if any(config.get(key) != value for config in alike)
        ]
        names.append(", ".join(filter(None, [finding.result.about, *differing])) or finding.step.id)
    return names


def _counted(text: str) -> list[str | int]:
    """A sorting key by which seed 2 comes before seed 10."""
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", text))]


def _answer(finding: Finding, name: str, declared: Spec | None) -> Answer:
    result = finding.result
    cards = [_card(number, declared) for number in result.headline]
    main = next((card for card in cards if declared and card.name == declared.main), cards[0] if cards else None)
    return Answer(
        id=finding.step.id,
        about=name,
        main=main,
        cards=cards,
        pictures=[_picture(figure, result.tables[figure.table]) for figure in result.figures],
        tables=[_table(table, frame) for table, frame in result.tables.items()],
        notes=result.notes,
        origin=_origin(finding),
    )


def _card(number: Number, declared: Spec | None) -> Card:
    value, low, high = texts([number.value, number.low, number.high])
    interval = None if NOTHING in (low, high) else f"{low} to {high}"
    main = declared and declared.better and number.name == declared.main
    return Card(
        number.name, value, interval, None if number.n is None else f"{number.n:,}",
        f"{declared.better} is better" if declared and main else None,
    )  # fmt: skip


def _picture(figure: Figure, table: pd.DataFrame) -> Picture:
    chart = draw(figure, table).to_dict()
    del chart["$schema"], chart["config"]  # the page says what it is and brings the theme's config
    return Picture(figure.title, figure.caption, script_json(chart), *size(chart))


def _table(name: str, frame: pd.DataFrame) -> Table:
    shown = frame.head(ROWS)
    columns, cells = [], []
    for column in frame.columns:
        values = [plain(value) for value in shown[column]]
        kinds = {type(value) for value in values if value is not None}
        numeric = bool(kinds) and kinds <= {int, float}
        written = zip(texts(values), values, strict=True)
        cells.append([Cell(text, ("" if value is None else value) if numeric else None) for text, value in written])
        columns.append((str(column), numeric))
    rows = [list(row) for row in zip(*cells, strict=True)]
    csv = frame.to_csv(index=False)
    packed = len(csv) > LONG
    whole = b64encode(gzip.compress(csv.encode(), mtime=0)).decode() if packed else script_json(csv)
    return Table(name, columns, rows, len(frame), whole, packed)


def _origin(finding: Finding) -> list[tuple[str, str]]:
    """Everything a reader needs to repeat the step: what went in, with which settings, on what."""
    step, provenance = finding.step, dict(finding.result.provenance)
    packages = provenance.pop("packages", {})
    inputs = {name: value.source if isinstance(value, Root) else value.id for name, value in step.inputs.items()}
    facts = [
        ("step", step.id),
        *inputs.items(),
        ("settings", ", ".join(f"{key} = {value}" for key, value in step.config.items())),
        *((key, str(value)) for key, value in provenance.items() if value is not None),
        ("packages", ", ".join(f"{name} {version}" for name, version in packages.items())),
    ]
    return [(key, text) for key, text in facts if text]
