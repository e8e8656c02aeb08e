"""The page's first section: the stored results in words, a line for each question. It shows what the `claims` step
said; of several results it only picks the ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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

    @property
    def models(self) -> list[str]:
        return sorted({name for sentence in self.sentences for name in sentence.models})

    @property
    def tasks(self) -> list[str]:
        return sorted({name for sentence in self.sentences for name in sentence.tasks})


def summary(findings: Sequence[Finding]) -> tuple[str, str, Markup] | None:
    """The stored results in words: id, heading and HTML."""
    found = ledger.found(findings)
    if found is None:
        return None
    steps, parts = ledger.shown(found, findings), subjects.parts(findings)
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in found.result.tables["summary"].to_dict("records"):
        step = steps.get(row["input"])
        if step is None or step.id not in parts:
            rows.setdefault(row["question"], []).append(row)
    lines = [Line(question, _range(mine), _sentences(mine, steps)) for question, mine in rows.items()]
    return ("summary", "In words", rendered("summary.html.j2", lines=lines)) if lines else None


def _sentences(rows: Sequence[Mapping[str, Any]], steps: Mapping[str, Step]) -> list[Sentence]:
    made = []
    for name, row in zip(_names(rows), rows, strict=True):
        step = steps.get(row["input"])
        models, tasks = (subjects.models(step), subjects.tasks(step)) if step else ([], [])
        made.append(Sentence(name, row["sentence"], models, tasks, step.id if step else None))
    return made


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The task, where that tells all of them apart; otherwise all of what they are about."""
    tasks = [row.get("task") or "" for row in rows]
    return tasks if all(tasks) and len(set(tasks)) == len(rows) else [row["about"] for row in rows]


def _range(rows: Sequence[Mapping[str, Any]]) -> str:
    """Between which results the main number lies; nothing where a ledger of an older version doesn't tell."""
    if len(rows) == 1 or "main" not in rows[0]:
        return ""
    low, high = (pick(zip(rows, _names(rows), strict=True), key=lambda one: one[0]["main"]) for pick in (min, max))
    said = f"Over {len(rows)} results {low[0]['what']}"
    if low[0]["written"] == high[0]["written"]:
        return f"{said} is {low[0]['written']}."
    return f"{said} goes from {low[0]['written']} ({low[1]}) to {high[0]['written']} ({high[1]})."
