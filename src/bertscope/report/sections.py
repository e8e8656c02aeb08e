"""The page's sections: for each question its answers, that of the page's own model first."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bertscope.core import registry
from bertscope.core.differences import differences
from bertscope.core.progress import progress
from bertscope.core.registry import QUESTIONS
from bertscope.report import subjects
from bertscope.report.answer import Answer, answer_of
from bertscope.report.finding import Finding
from bertscope.report.row_card import PageRows
from bertscope.report.subjects import PageModels
from bertscope.report.together import Together, together
from bertscope.report.told_apart import told_apart

ROWS = 200
"""How many rows of a table the page prints; the CSV has them all."""


@dataclass(frozen=True)
class Section:
    id: str
    heading: str
    cite: str | None
    answers: list[Answer]
    """The first stands open, unless what it shows stands side by side with the others; these are folded to a line."""
    parts: list[Answer]
    """Results that other answers were made of, folded where there are many."""
    finds: bool
    """Whether it answers something, rather than keep what other questions read."""
    together: Together | None
    """What its answers share, side by side."""

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
    found = []
    with progress("drawing answers", sum(map(len, by_question.values()))) as bar:
        for question in ordered:
            found.append(_section(question, by_question[question], parts, models, rows, nearness))
            bar.advance(len(by_question[question]))
    return found


def _section(
    question: str, findings: list[Finding], parts: set[str], models: PageModels, rows: PageRows,
    nearness: Callable[[Finding], int],
) -> Section:  # fmt: skip
    declared = registry.still_declared(question)
    heading = QUESTIONS[question].line.removesuffix(".") if question in QUESTIONS else question
    named = zip(names(findings, models), _further(findings), findings, strict=True)
    ordered = sorted(named, key=lambda one: (nearness(one[2]), counted(one[0]), one[2].step.id))
    everything = [
        answer_of(finding, name, heading, declared, finding.step.id in parts, models, rows)
        for name, _, finding in ordered
    ]
    answers = [answer for answer in everything if answer.id not in parts]
    further = [words for _, words, finding in ordered if finding.step.id not in parts]
    told = told_apart([answer.result for answer in answers], [answer.about for answer in answers], further)
    return Section(
        f"question-{question}", heading, declared.cite if declared else None, answers,
        parts=[answer for answer in everything if answer.id in parts],
        finds=declared is None or declared.keeps != "states",
        together=together(answers, told, f"question-{question}", declared.main if declared else ""),
    )  # fmt: skip


def names(findings: Sequence[Finding], models: PageModels) -> list[str]:
    """What each result is about; where several share models and subject, with what they differ in."""
    return [
        ", ".join(filter(None, [models.about(each.result), differing])) or each.step.id
        for each, differing in zip(findings, _further(findings), strict=True)
    ]


def _further(findings: Sequence[Finding]) -> list[str]:
    """What results differ in that share models and subject."""
    about = [(list(each.result.models), each.result.subject) for each in findings]
    apart = differences([each.step for each in findings], about)
    return [each.words(differing) for each, differing in zip(findings, apart, strict=True)]


def counted(text: str) -> list[str | int]:
    """A sorting key by which seed 2 comes before seed 10, and step 15 before step 1,200."""
    parts = re.split(r"(\d+(?:,\d{3})*)", text)
    return [int(part.replace(",", "")) if place % 2 else part for place, part in enumerate(parts)]
