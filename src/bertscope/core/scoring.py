"""Which outputs a question that scores can be asked about: all, but for those of which its answer would mean nothing.

A question declares it (`Question.scoring`), whoever opens its inputs has it held to that (`Question.refuse_output`),
and docs/outputs.md is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from bertscope.core.errors import UserError

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.core.output import Answering


@dataclass(frozen=True)
class Scoring:
    """What a question scores, and what it doesn't."""

    asked_by: str = ""
    """The flag without which nothing is scored, such as `--together`."""
    refuses: Mapping[str, str] = field(default_factory=dict)
    """By kind of output, why the question means nothing there: one sentence, after "because"."""
    lacks: Mapping[str, str] = field(default_factory=dict)
    """By kind of output, what is left out of the answer, and why."""


class Scored(Protocol):
    """A task, as far as its output decides whether something can be asked of it."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> str: ...

    @property
    def test(self) -> Examples: ...


def kind_asked(task: Scored, model: Answering | None) -> str:
    """The kind of output that the task has, or, where a model is known, as which that model answers it."""
    return task.kind if model is None else model.form_of(task.kind, pairs=task.test.pair is not None)


def refuse_output(question: str, scoring: Scoring | None, task: Any, model: Answering | None) -> None:
    """Refuse a task whose output the question means nothing for; texts without a task have none."""
    if scoring is None or not scoring.refuses or not hasattr(task, "output"):
        return
    if (kind := kind_asked(task, model)) in scoring.refuses:
        raise UserError(
            f"{question} can't be asked of {task.name}, which is answered by {kind}, because {scoring.refuses[kind]}"
        )
