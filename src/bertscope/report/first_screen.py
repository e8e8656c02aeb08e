"""The page's first screen: what follows from all that was found, for the model that most of it is about.

A sentence for each theme with a small picture, where it is shown, and what to do next. It says what the questions say
(`consequence.py` beside each); here it is only ranked, and named as the page may name it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from bertscope.core import lineage, registry
from bertscope.core.consequence import HEADINGS, Consequence, is_new, named_data, next_command
from bertscope.core.question import DATA
from bertscope.core.subject import Subject, subject_of
from bertscope.core.words import about
from bertscope.report import small_pictures, subjects
from bertscope.report.privacy import own_name
from bertscope.report.subjects import PageModels
from bertscope.report.templates import rendered

if TYPE_CHECKING:
    from markupsafe import Markup

    from bertscope.core.model_record import ModelRecord
    from bertscope.report.finding import Finding

_IN_STORE = re.compile(r"[\w.-]+/steps/[\w.-]+/model$")
"""Where a store keeps a model that it trained."""
_NOT_TOLD = ("root", "without", "at_random")
"""Of how data is read: where it lies, and what only experiments leave out."""
_MOST = 60
"""Pairs of a model and a task that get a screen of their own, for the switch."""


@dataclass(frozen=True)
class Sentence:
    heading: str
    text: str
    is_open: bool
    command: str
    link: str
    """The place on the page that shows it."""
    question: str
    """Whose answer it is, in words."""
    picture: Markup | str


@dataclass(frozen=True)
class Screen:
    """What is said of one model."""

    name: str
    models: list[str]
    tasks: list[str]
    """What the page's switch goes by."""
    results: int
    is_random: bool
    sentences: list[Sentence]
    next: str
    """What to do next, as a command."""
    reason: str
    """What that command asks; empty where it asks nothing."""


def first_screen(findings: Sequence[Finding], models: PageModels) -> tuple[str, str, Markup] | None:
    """The sentences for the page's model, and for what else its switch can choose: id, heading and HTML."""
    screens = list(_screens(findings, models))
    return ("first", "In short", rendered("first_screen.html.j2", screens=screens)) if screens else None


def in_lines(findings: Sequence[Finding]) -> list[str]:
    """The same for a terminal: of the page's model, without pictures."""
    first = next(_screens(findings, PageModels(findings)), None)
    if first is None:
        return []
    lines = [first.name]
    for one in first.sentences:
        lines.append(f"  {one.heading} {'(open) ' if one.is_open else ''}{one.text}")
        lines += [f"    {one.command}"] * bool(one.command and one.command != first.next)
    return [*lines, *([f"  What to do next: {first.next}"] if first.next else [])]


def _screens(findings: Sequence[Finding], models: PageModels) -> Iterator[Screen]:
    """The page's own first; then those of pairs of a model and a task that say something else."""
    whole = subject_of(findings)
    first = whole and _screen(whole, findings, models)
    if not first:
        return
    yield first
    told = {tuple(one.text for one in first.sentences)}
    pairs = sorted({
        (model, task) for one in findings for model in models.began(one.step) for task in subjects.tasks(one.step)
    })  # fmt: skip
    for model, task in pairs[:_MOST]:
        chosen = [
            one for one in findings if model in models.began(one.step) and task in subjects.tasks(one.step)
        ]  # fmt: skip
        subject = subject_of(chosen)
        screen = subject and _screen(subject, chosen, models, model, task)
        if screen and (said := tuple(one.text for one in screen.sentences)) not in told:
            told.add(said)
            yield screen


def _screen(
    subject: Subject, findings: Sequence[Finding], named: PageModels, model: str = "", task: str = ""
) -> Screen | None:
    said = subject.says(findings)
    if not said:
        return None
    bearing = [one for one in findings if subject.is_told_by(one)]
    record = named.find(subject.model.id) or subject.model
    fill = _Names(subject, bearing)
    asked = {one.result.question for one in bearing}
    sentences = [_sentence(one, finding, fill, asked) for one, finding in said]
    began = {name for one in bearing for name in named.began(one.step)}
    after = next_command((one for one, _ in said), asked, bool(fill.base))
    return Screen(
        about({record.id: record}, {"task": subject.task}), [model] if model else sorted(began),
        [task] if task else [own_name(subject.task)], len(bearing), subject.model.is_random, sentences,
        fill(after), _asks(after),
    )  # fmt: skip


def _sentence(one: Consequence, finding: Finding, fill: _Names, asked: Collection[str]) -> Sentence:
    result = finding.result
    shown = any(figure.key == one.figure for figure in result.figures)
    return Sentence(
        HEADINGS[one.theme], finding.words(one.text), one.is_open,
        fill(one.command) if is_new(one.command, asked, bool(fill.base)) else "",
        figure_id(finding.step.id, one.figure) if one.figure and shown else finding.step.id,
        registry.QUESTIONS[result.question].line.removesuffix("."),
        small_pictures.drawn(one.picture) if one.picture else "",
    )  # fmt: skip


def _asks(command: str) -> str:
    """The question of a command, in a line."""
    name = "".join(command.split()[1:2])
    return registry.QUESTIONS[name].line if name in registry.QUESTIONS else ""


def figure_id(step: str, key: str) -> str:
    """The place of a figure on the page."""
    return f"{step}-{key}"


class _Names:
    """Puts in a command how the model, its base (empty: unknown) and its data are named, as the page may say it."""

    def __init__(self, subject: Subject, bearing: Sequence[Finding]) -> None:
        self._private = any(one.private for one in bearing)
        roots = [root for one in bearing for root in lineage.roots(one.step, "model")]
        self._where = {root.digest: root.source for root in roots}
        origin = subject.model.origin
        # What nobody made is what a training begins with.
        base = origin.base if origin else None if subject.model.is_one_training else subject.model
        self._model, self.base = self._place(subject.model), self._place(base) if base else ""
        source, options = _data(subject.task, bearing)
        self._data = named_data(self._source(source), options) if source else ""

    def __call__(self, command: str) -> str:
        named = {"{model}": self._model, "{base}": self.base}
        for key, name in named.items():
            command = command.replace(key, shlex.quote(name) if name else key.strip("{}").upper())
        return command.replace("{data}", self._data or "DATA")

    def _place(self, record: ModelRecord) -> str:
        """What was made here and lies nowhere has a name that opens nothing."""
        known = "" if record.origin else record.name
        return self._source(self._where.get(record.id, "") or record.source or known)

    def _source(self, source: str) -> str:
        if self._private:
            return source
        path = source.replace("\\", "/")
        if found := _IN_STORE.search(path):  # a store may lie anywhere: from its own folder on
            return str(PurePosixPath(found[0]))
        return own_name(source)


def _data(task: str, bearing: Iterable[Finding]) -> tuple[str, dict[str, Any]]:
    """Where the task's data is found, or else what it is called; and how it is read, by what was read most of. Where
    it lies on this machine isn't told."""
    roots = [root for one in bearing for root in lineage.roots(one.step, *DATA)]
    fitting = [root for root in roots if task in (root.source, own := own_name(root.source), PurePosixPath(own).stem)]
    if not fitting:
        return task, {}
    most = min(fitting, key=lambda root: "limit" in root.options)
    return most.source, {name: value for name, value in most.options.items() if name not in _NOT_TOLD}
