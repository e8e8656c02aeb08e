"""Stored results as the page's template needs them: plain words, numbers written out, tables and charts packed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bertscope.core import null_panel, registry, tinted
from bertscope.core.differences import differences
from bertscope.core.number import Number
from bertscope.core.question import Question
from bertscope.core.registry import QUESTIONS
from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from bertscope.report import head_card, packed, subjects
from bertscope.report.columns import explained
from bertscope.report.layout import reserved_size
from bertscope.report.privacy import Hidden, own_name
from bertscope.report.row_card import PageRows
from bertscope.report.subjects import PageModels
from bertscope.report.values import NOTHING, texts

ROWS = 200
"""How many rows of a table the page prints; the CSV has them all."""
_PAPER = 40, 12
"""How many rows and columns a table may have to be printed."""
_CARDS, _FIRST = 8, 4
"""How many numbers stand on cards of their own; of more, only the first."""


@dataclass(frozen=True)
class Finding:
    """A finished step and its result."""

    step: Step
    result: Result
    private: bool = False
    """Whether it is for the eyes of its maker alone: with paths, the command and the machine."""

    def words(self, text: str) -> str:
        """A text about the step, as its readers may have it."""
        return text if self.private or not text else Hidden(self).words(text)


@dataclass(frozen=True)
class Card:
    name: str
    value: str
    unit: str
    interval: str | None
    n: str | None
    hint: str | None = None
    """Which direction is better, for the number that stands for the whole result."""


@dataclass(frozen=True)
class Picture:
    title: str
    caption: str
    reserved: dict[str, Any]
    """What it will take of the page (see `layout`)."""
    heads: bool
    """Whether what it draws are heads, which have a card."""
    texts: str = ""
    """Of texts with coloured words, which are no chart: their HTML."""


@dataclass(frozen=True)
class Table:
    name: str
    total: int
    columns: int
    words: dict[str, str]
    """What its columns mean, where their names don't say it."""

    @property
    def on_paper(self) -> bool:
        """Whether a printed page can hold it; others would bury the rest, or break their numbers in two."""
        return self.total <= _PAPER[0] and self.columns <= _PAPER[1]


@dataclass(frozen=True)
class NullPanel:
    """How often the question finds something where there is nothing: what its p-values are worth."""

    verdict: str
    """As the panel's own `verdict` has it."""
    line: str
    null: str
    """Where there is nothing to find: the question's own words."""
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Answer:
    """One result: one subject's answer to a question."""

    id: str
    about: str
    models: list[str]
    tasks: list[str]
    one_seed: bool
    main: Card | None
    cards: list[Card]
    numbers: list[Card]
    """The rest of many, for a list."""
    null: NullPanel | None
    pictures: list[Picture]
    tables: list[Table]
    notes: list[str]
    origin: list[tuple[str, str]]
    data: str
    """Its tables, charts and what the head card needs, packed."""
    entry: dict[str, Any]
    """What the page's scripts must know of it before they unpack anything."""


@dataclass(frozen=True)
class Section:
    id: str
    heading: str
    cite: str | None
    answers: list[Answer]
    parts: list[Answer]
    """Results that other answers were made of, folded where there are many."""
    finds: bool
    """Whether it answers something, rather than keep what other questions read."""

    @property
    def everything(self) -> list[Answer]:
        return self.answers + self.parts

    @property
    def with_heads(self) -> bool:
        """Whether an answer says anything for the head card."""
        return any(answer.entry["shape"] for answer in self.everything)


def sections(findings: Sequence[Finding], models: PageModels, rows: PageRows) -> list[Section]:
    """One section per question, in the catalogue's order; questions it no longer has come last, by name."""
    places = {name: place for place, name in enumerate(QUESTIONS)}

    by_question: dict[str, list[Finding]] = {}
    for finding in findings:
        question = finding.result.question
        if question not in QUESTIONS or QUESTIONS[question].group:  # the steps of an experiment are in its answer
            by_question.setdefault(question, []).append(finding)
    ordered = sorted(by_question, key=lambda question: (places.get(question, len(places)), question))
    parts = subjects.parts(findings)
    return [_section(question, by_question[question], parts, models, rows) for question in ordered]


def _section(question: str, findings: list[Finding], parts: set[str], models: PageModels, rows: PageRows) -> Section:
    declared = registry.still_declared(question)
    heading = QUESTIONS[question].line.removesuffix(".") if question in QUESTIONS else question
    named = zip(names(findings, models), findings, strict=True)
    ordered = sorted(named, key=lambda pair: (_counted(pair[0]), pair[1].step.id))
    everything = [
        _answer(finding, name, heading, declared, finding.step.id in parts, models, rows) for name, finding in ordered
    ]
    return Section(
        f"question-{question}", heading, declared.cite if declared else None,
        answers=[answer for answer in everything if answer.id not in parts],
        parts=[answer for answer in everything if answer.id in parts],
        finds=declared is None or declared.keeps != "states",
    )  # fmt: skip


def names(findings: Sequence[Finding], models: PageModels) -> list[str]:
    """What each result is about; where several share models and subject, with what they differ in."""
    about = [(list(each.result.models), each.result.subject) for each in findings]
    apart = differences([each.step for each in findings], about)
    return [
        ", ".join(filter(None, [models.about(each.result), each.words(differing)])) or each.step.id
        for each, differing in zip(findings, apart, strict=True)
    ]


def _counted(text: str) -> list[str | int]:
    """A sorting key by which seed 2 comes before seed 10."""
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", text))]


def _answer(
    finding: Finding, name: str, heading: str, declared: Question | None, part: bool, named: PageModels,
    rows: PageRows,
) -> Answer:  # fmt: skip
    step, left_out = finding.step, rows.left_out(finding.step.id)
    result = named.in_words(_without(finding.result, left_out))
    main, cards = _cards(result.headline, declared)
    models, tasks = named.began(step) or [one.name for one in result.models.values()], _tasks(finding)
    with_heads = head_card.about_heads(result, declared)
    charts = [packed.figure(result, figure) if figure.kind != tinted.KIND else {} for figure in result.figures]
    pictures = [
        Picture(figure.title, figure.caption, reserved_size(chart["spec"]) if chart else {},
                heads=figure.table in with_heads and head_card.draws_heads(figure, result),
                texts="" if chart else tinted.tinted_html(figure, result.tables[figure.table]))
        for figure, chart in zip(result.figures, charts, strict=True)
    ]  # fmt: skip
    tables = {table: rows.table(step.id, table, frame) for table, frame in result.tables.items()}
    data = {"tables": tables, "figures": charts, "heads": with_heads, "maps": head_card.maps(result, declared)}
    entry = {"id": step.id, "heading": heading, "about": name, "models": models, "tasks": tasks,
             "facts": head_card.facts(result, declared), "shape": head_card.shape(result, declared),
             "rows": rows.facts(step.id), "part": part}  # fmt: skip
    first = len(cards) if len(cards) <= _CARDS else _FIRST
    own = declared.columns if declared else {}
    null = _null(result, declared)
    return Answer(
        id=step.id, about=name, models=models, tasks=tasks, one_seed=subjects.one_seed(step), main=main,
        cards=cards[:first], numbers=cards[first:], null=null, pictures=pictures,
        tables=[Table(table, len(frame), len(frame.columns),
                      explained(table, frame.columns, result.figures, own.get(table, {})))
                for table, frame in result.tables.items()],
        notes=[*(result.notes[1:] if null else result.notes),  # the first is the panel's, which is shown above
               *(f"its table {table} isn't on this page; an export has it" for table in left_out)],
        origin=_origin(finding), data=packed.pack(data), entry=entry,
    )  # fmt: skip


def _without(result: Result, tables: Sequence[str]) -> Result:
    """The result without tables that no figure draws."""
    drawn = {figure.table for figure in result.figures}
    kept = {key: frame for key, frame in result.tables.items() if key in drawn or key not in tables}
    return replace(result, tables=kept)


def _null(result: Result, declared: Question | None) -> NullPanel | None:
    if not (verdict := null_panel.verdict(result)):
        return None
    table = result.tables[null_panel.TABLE]
    rows = zip(*(texts(table[column]) for column in table.columns), strict=True)
    null = declared.null if declared else ""
    return NullPanel(verdict, null_panel.in_words(result), null, list(table.columns), [list(row) for row in rows])


def _tasks(finding: Finding) -> list[str]:
    """The tasks by which a reader finds the result; its own word, where its step says nothing."""
    own = finding.result.subject.get("task")
    return subjects.tasks(finding.step) or ([own] if own else [])


def _cards(numbers: Sequence[Number], declared: Question | None) -> tuple[Card | None, list[Card]]:
    """The card of the number that stands for the whole result, and all cards."""
    main = next((number for number in numbers if declared and number.key == declared.main), None)
    better = f"{declared.better} is better" if declared and declared.better else None
    cards = [_card(number, better if number is main else None) for number in numbers]
    chosen = next((card for card, number in zip(cards, numbers, strict=True) if number is main), None)
    return chosen or (cards[0] if cards else None), cards


def _card(number: Number, hint: str | None) -> Card:
    exact = number.value, number.low, number.high
    value, low, high = ("0" if one == 0 else text for one, text in zip(exact, texts(exact), strict=True))
    interval = None if NOTHING in (low, high) else f"{low} to {high}"
    n = None if number.n is None else f"{number.n:,}"
    return Card(number.label, value, _unit(number), interval, n, hint)


def _unit(number: Number) -> str:
    """What it is a value of, unless it is called so; a ratio has a sign of its own."""
    return {"x": "×"}.get(number.unit, "" if number.unit == number.key else number.unit)


def _origin(finding: Finding) -> list[tuple[str, str]]:
    """What a reader needs to repeat the step: what went in, with which settings, on what. Where it lay, the command
    and the machine's system are private."""
    step, provenance = finding.step, dict(finding.result.provenance)
    packages = provenance.pop("packages", {})
    named = (lambda source: source) if finding.private else own_name
    inputs = {
        name: named(value.source) if isinstance(value, Root) else value.id for name, value in step.inputs.items()
    }
    facts = [
        ("step", step.id),
        *inputs.items(),
        ("settings", finding.words(", ".join(f"{key} = {value}" for key, value in step.config.items()))),
        *((key, str(value)) for key, value in provenance.items() if value is not None),
        ("packages", ", ".join(f"{name} {version}" for name, version in packages.items())),
    ]
    return [(key, text) for key, text in facts if text]
