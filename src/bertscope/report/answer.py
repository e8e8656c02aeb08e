"""One stored result as the page's template needs it: plain words, numbers written out, tables and charts packed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bertscope.core import null_panel, tinted
from bertscope.core.consequence import Consequence, consequences_of
from bertscope.core.number import Number
from bertscope.core.question import Question
from bertscope.core.result import Result
from bertscope.core.step import Root
from bertscope.report import head_card, packed, subjects
from bertscope.report.columns import explained
from bertscope.report.finding import Finding
from bertscope.report.first_screen import figure_id
from bertscope.report.layout import reserved_size
from bertscope.report.privacy import own_name
from bertscope.report.row_card import PageRows
from bertscope.report.subjects import PageModels
from bertscope.report.values import NOTHING, texts, with_ends

_PAPER = 40, 12
"""How many rows and columns a table may have to be printed."""
_CARDS = 4
"""How many numbers stand on cards of their own, the main one first; the others are folded."""
_NOTES = 1
"""How many notes stand open."""


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
    id: str
    """Its place on the page; empty where it has no key."""
    number: int
    """Which of its result's figures it is."""
    title: str
    reading: str
    """What it shows, in a sentence."""
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
    says: str
    """It in a sentence: what follows from it, or else what it is."""
    cards: list[Card]
    numbers: list[Card]
    """The rest of many, for a list."""
    null: NullPanel | None
    first: Picture | None
    """The figure that shows what it says."""
    pictures: list[Picture]
    """The others."""
    tables: list[Table]
    notes: list[str]
    more_notes: list[str]
    origin: list[tuple[str, str]]
    data: str
    """Its tables, charts and what the head card needs, packed."""
    entry: dict[str, Any]
    """What the page's scripts must know of it before they unpack anything."""
    result: Result
    """What it is made of, in the page's words."""


def answer_of(
    finding: Finding, name: str, heading: str, declared: Question | None, part: bool, named: PageModels,
    rows: PageRows,
) -> Answer:  # fmt: skip
    """The answer of one step; `part`: to a question that another answer is made of."""
    step, left_out = finding.step, rows.left_out(finding.step.id)
    result = named.in_words(_without(finding.result, left_out))
    main, cards = _cards(result.headline, declared)
    models, tasks = named.began(step) or [one.name for one in result.models.values()], _tasks(finding)
    with_heads = head_card.about_heads(result, declared)
    charts = [packed.figure(result, figure) if figure.kind != tinted.KIND else {} for figure in result.figures]
    follows = sorted(consequences_of(finding.result), key=lambda one: (one.is_open, -one.weight))
    says = finding.words(follows[0].text if follows else _statement(finding.result, declared))
    pictures = _pictures(finding, result, charts, with_heads, follows, says)
    tables = {table: rows.table(step.id, table, frame) for table, frame in result.tables.items()}
    data = {"tables": tables, "figures": charts, "heads": with_heads, "maps": head_card.maps(result, declared)}
    entry = {"id": step.id, "heading": heading, "about": name, "models": models, "tasks": tasks,
             "facts": head_card.facts(result, declared), "shape": head_card.shape(result, declared),
             "rows": rows.facts(step.id), "part": part}  # fmt: skip
    cards.sort(key=lambda card: card is not main)
    own = declared.columns if declared else {}
    null = _null(result, declared)
    notes = [*(result.notes[1:] if null else result.notes),  # the first is the panel's, which is shown above
             *(f"its table {table} isn't on this page; an export has it" for table in left_out)]  # fmt: skip
    return Answer(
        id=step.id, about=name, models=models, tasks=tasks, one_seed=subjects.one_seed(step), main=main,
        says=says, cards=cards[:_CARDS], numbers=cards[_CARDS:], null=null,
        first=next(iter(pictures), None), pictures=pictures[1:],
        tables=[Table(table, len(frame), len(frame.columns),
                      explained(table, frame.columns, result.figures, own.get(table, {})))
                for table, frame in result.tables.items()],
        notes=notes[:_NOTES], more_notes=notes[_NOTES:],
        origin=_origin(finding), data=packed.pack(data), entry=entry, result=result,
    )  # fmt: skip


def _pictures(
    finding: Finding, result: Result, charts: Sequence[Mapping[str, Any]], with_heads: Sequence[str],
    follows: Sequence[Consequence], says: str,
) -> list[Picture]:  # fmt: skip
    """First the one that shows what the answer says; each with what is said of it."""
    lead = next((one.figure for one in follows), "")
    first = next((place for place, figure in enumerate(result.figures) if figure.key and figure.key == lead), 0)
    readings = {one.figure: finding.words(one.text) for one in reversed(follows) if one.figure}
    found = [
        Picture(figure_id(finding.step.id, figure.key) if figure.key else "", place, figure.title,
                says if place == first else readings.get(figure.key, ""), figure.caption,
                reserved_size(charts[place]["spec"]) if charts[place] else {},
                heads=figure.table in with_heads and head_card.draws_heads(figure, result),
                texts="" if charts[place] else tinted.tinted_html(figure, result.tables[figure.table]))
        for place, figure in enumerate(result.figures)
    ]  # fmt: skip
    return sorted(found, key=lambda one: one.number != first)


def _statement(result: Result, declared: Question | None) -> str:
    """A result in a sentence that says what its number is; nothing of one that another version stored."""
    if declared is None or getattr(declared, "version", None) != result.version:
        return ""
    try:
        statement = declared.sentence(result)
    except (LookupError, ValueError):
        return ""
    return statement.sentence if statement else ""


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
    cards = [card_of(number, better if number is main else None) for number in numbers]
    chosen = next((card for card, number in zip(cards, numbers, strict=True) if number is main), None)
    return chosen or (cards[0] if cards else None), cards


def card_of(number: Number, hint: str | None = None) -> Card:
    """A number, written out."""
    exact = number.value, number.low, number.high
    value, low, high = ("0" if one == 0 else text for one, text in zip(exact, with_ends(*exact), strict=True))
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
