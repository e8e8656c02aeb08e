"""What each kind of task puts on an encoder, and what is learnt there."""

from __future__ import annotations

from typing import Any

from bertscope.data.span_task import SpanTask
from bertscope.data.task import Task
from bertscope.data.tree_task import TreeTask
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.encoder import Encoder
from bertscope.models.new_task_head import with_classifier
from bertscope.models.parser import with_parser
from bertscope.models.span_head import with_span_head
from bertscope.training.objective import Labelled
from bertscope.training.span_objective import Spans
from bertscope.training.tree_objective import Trees


def with_task_head(
    base: Encoder,
    task: Task,
    *,
    form: ClassifierForm = ClassifierForm(),  # noqa: B008 (frozen)
    dropout: float | None = None,
    **how: Any,
) -> Encoder:
    """A copy of the encoder with the fresh task head that the task needs; all as for `with_classifier`, whose
    `form` and `dropout` no other task head has."""
    if not isinstance(task, (SpanTask, TreeTask)):
        return with_classifier(base, task.labels, form=form, dropout=dropout, **how)
    return with_span_head(base, **how) if isinstance(task, SpanTask) else with_parser(base, task.labels, **how)


def objective_of(encoder: Encoder, task: Task) -> Labelled | Spans | Trees:
    """What the encoder, which has that task head, is trained for."""
    if isinstance(task, SpanTask):
        return Spans(encoder, task)
    if isinstance(task, TreeTask):
        return Trees(encoder, task)
    return Labelled(encoder, task)
