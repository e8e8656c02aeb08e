"""The page's first section: the stored results in words, a line for each question. It shows what the `claims` step
said; of several results it only picks the ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.core.differences import differences
from bertscope.report import ledger, subjects
from bertscope.report.templates import rendered

if TYPE_CHECKING:
    from markupsafe import Markup

    from bertscope.core.step import Step
    from bertscope.report.sections import Finding


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


def summary(findings: Sequence[Finding]) -> tuple[str, str, Markup] | None:
    """The stored results in words: id, heading and HTML."""
    found = ledger.found(findings)
    if found is None:
        return None
    steps, parts = ledger.shown(found, findings), subjects.parts(findings)
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for cells in found.result.tables["summary"].to_dict("records"):
        row = {str(column): value for column, value in cells.items()}
        step = steps.get(row["input"])
        if step is None or step.id not in parts:
            rows.setdefault(row["question"], []).append(row)
    lines = [_line(question, mine, steps) for question, mine in rows.items()]
    return ("summary", "In words", rendered("summary.html.j2", lines=lines)) if lines else None


def _line(question: str, rows: Sequence[Mapping[str, Any]], steps: Mapping[str, Step]) -> Line:
    sentences = _sentences(rows, steps)
    return Line(question, _range(rows, [sentence.name for sentence in sentences]), sentences)


def _sentences(rows: Sequence[Mapping[str, Any]], steps: Mapping[str, Step]) -> list[Sentence]:
    sentences = []
    for name, row in zip(_names(rows, steps), rows, strict=True):
        step = steps.get(row["input"])
        models, tasks = (subjects.models(step), subjects.tasks(step)) if step else ([], [])
        sentences.append(Sentence(name, row["sentence"], models, tasks, step.id if step else None))
    return sentences


def _names(rows: Sequence[Mapping[str, Any]], steps: Mapping[str, Step]) -> list[str]:
    """The tasks that a result doesn't share with all others, where they tell the results apart; otherwise all of what
    they are about, and where that is the same, such as in a sweep, what they differ in."""
    tasks = [set(subjects.tasks(steps[row["input"]])) if row["input"] in steps else set[str]() for row in rows]
    common = set.intersection(*tasks) if len(tasks) > 1 else set()
    names = [", ".join(sorted(mine - common)) for mine in tasks]
    if all(names) and len(set(names)) == len(rows) > 1:
        return names
    about = [row["about"] for row in rows]
    if any(row["input"] not in steps for row in rows):
        return about
    apart = differences([steps[row["input"]] for row in rows], [{"about": one} for one in about])
    return [", ".join(filter(None, pair)) for pair in zip(about, apart, strict=True)]


def _range(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Between which results the main number lies; nothing where a ledger of an older version doesn't tell."""
    if len(rows) == 1 or "main" not in rows[0]:
        return ""
    (low, first), (high, last) = (
        pick(zip(rows, names, strict=True), key=lambda one: one[0]["main"]) for pick in (min, max)
    )
    over = f"Over {len(rows)} results {low['what']}"
    if low["written"] == high["written"]:
        return f"{over} is {low['written']}."
    return f"{over} goes from {low['written']} ({first}) to {high['written']} ({last})."
