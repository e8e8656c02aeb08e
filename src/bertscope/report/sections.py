"""The page's sections: for each question its answers, that of the page's own model first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertscope.core import registry
from bertscope.core.differences import differences
from bertscope.core.registry import QUESTIONS
from bertscope.report import subjects
from bertscope.report.answer import Answer, answer_of
from bertscope.report.finding import Finding
from bertscope.report.row_card import PageRows
from bertscope.report.subjects import PageModels

ROWS = 200
"""How many rows of a table the page prints; the CSV has them all."""


@dataclass(frozen=True)
class Section:
    id: str
    heading: str
    cite: str | None
    answers: list[Answer]
    """The first stands open, the others are folded to a line."""
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


def _alike(finding: Finding) -> int:
    return 0


def sections(
    findings: Sequence[Finding], models: PageModels, rows: PageRows, nearness: Callable[[Finding], int] = _alike
) -> list[Section]:
    """One section per question, in the catalogue's order; questions it no longer has come last, by name. Of a
    question's answers the first is that of the least `nearness`."""
    places = {name: place for place, name in enumerate(QUESTIONS)}

    by_question: dict[str, list[Finding]] = {}
    for finding in findings:
        question = finding.result.question
        if question not in QUESTIONS or QUESTIONS[question].group:  # the steps of an experiment are in its answer
            by_question.setdefault(question, []).append(finding)
    ordered = sorted(by_question, key=lambda question: (places.get(question, len(places)), question))
    parts = subjects.parts(findings)
    return [_section(question, by_question[question], parts, models, rows, nearness) for question in ordered]


def _section(
    question: str, findings: list[Finding], parts: set[str], models: PageModels, rows: PageRows,
    nearness: Callable[[Finding], int],
) -> Section:  # fmt: skip
    declared = registry.still_declared(question)
    heading = QUESTIONS[question].line.removesuffix(".") if question in QUESTIONS else question
    named = zip(names(findings, models), findings, strict=True)
    ordered = sorted(named, key=lambda pair: (nearness(pair[1]), _counted(pair[0]), pair[1].step.id))
    everything = [
        answer_of(finding, name, heading, declared, finding.step.id in parts, models, rows)
        for name, finding in ordered
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
