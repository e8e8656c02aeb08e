"""The page's first section: the stored results in words, a line for each question. It shows what the `claims` step
said; of several results it only picks the ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.report import ledger, sections, subjects
from bertscope.report.templates import rendered

if TYPE_CHECKING:
    from markupsafe import Markup

    from bertscope.report.finding import Finding
    from bertscope.report.subjects import PageModels


@dataclass(frozen=True)
class Sentence:
    name: str
    """What tells it from the others of its question."""
    text: str
    models: list[str]
    tasks: list[str]
    link: str | None


@dataclass(frozen=True)
class Line:
    question: str
    range: str
    """Where the results lie, if there are several."""
    sentences: list[Sentence]


def summary(findings: Sequence[Finding], models: PageModels) -> tuple[str, str, Markup] | None:
    """The stored results in words: id, heading and HTML."""
    found = ledger.found(findings)
    if found is None:
        return None
    shown, parts = ledger.shown(found, findings), subjects.parts(findings)
    by_id = {finding.step.id: finding for finding in findings}
    told = {name: by_id[step.id] for name, step in shown.items()}
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for cells in found.result.tables["summary"].to_dict("records"):
        row = {str(column): value for column, value in cells.items()}
        finding = told.get(row["input"])
        if finding is None or finding.step.id not in parts:
            rows.setdefault(row["question"], []).append(row)
    lines = [_line(question, mine, told, models) for question, mine in rows.items()]
    return ("summary", "In words", rendered("summary.html.j2", lines=lines)) if lines else None


def _line(question: str, rows: Sequence[Mapping[str, Any]], told: Mapping[str, Finding], models: PageModels) -> Line:
    sentences = [
        _sentence(name, row, told.get(row["input"]), models)
        for name, row in zip(_names(rows, told, models), rows, strict=True)
    ]
    return Line(question, _range(rows, [sentence.name for sentence in sentences]), sentences)


def _sentence(name: str, row: Mapping[str, Any], finding: Finding | None, models: PageModels) -> Sentence:
    if finding is None:
        return Sentence(name, row["sentence"], [], [], None)
    step = finding.step
    return Sentence(name, row["sentence"], models.began(step), subjects.tasks(step), step.id)


def _names(rows: Sequence[Mapping[str, Any]], told: Mapping[str, Finding], models: PageModels) -> list[str]:
    """The tasks that a result doesn't share with all others, where they tell the results apart; otherwise all of what
    they are about, and where that is the same, such as in a sweep, what they differ in."""
    found = [told.get(row["input"]) for row in rows]
    tasks = [set(subjects.tasks(one.step)) if one else set[str]() for one in found]
    common = set.intersection(*tasks) if len(tasks) > 1 else set()
    names = [", ".join(sorted(mine - common)) for mine in tasks]
    if all(names) and len(set(names)) == len(rows) > 1:
        return names
    shown = [one for one in found if one]
    return sections.names(shown, models) if len(shown) == len(rows) else [row["about"] for row in rows]


def _range(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Between which results the main number lies."""
    if len(rows) == 1:
        return ""
    (low, first), (high, last) = (
        pick(zip(rows, names, strict=True), key=lambda one: one[0]["main"]) for pick in (min, max)
    )
    over = f"Over {len(rows)} results {low['what']}"
    if low["written"] == high["written"]:
        return f"{over} is {low['written']}."
    return f"{over} goes from {low['written']} ({first}) to {high['written']} ({last})."
