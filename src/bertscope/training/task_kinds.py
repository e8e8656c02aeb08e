"""What each kind of task puts on an encoder."""

from __future__ import annotations

from typing import Any

from bertscope.data.task import Task
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.classifier import Classifier
from bertscope.models.outputs.kinds import MODEL_OUTPUTS
from bertscope.models.outputs.sentence_vectors import WITHOUT_SCORES


def has_new_head(task: Task) -> bool:
    """Whether what the task needs on top of an encoder begins untrained."""
    return MODEL_OUTPUTS[task.kind].task_head not in WITHOUT_SCORES


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
    kind = MODEL_OUTPUTS[task.kind]
    if issubclass(kind, Classifier):
        how |= {"form": form, "dropout": dropout}
    return kind.build(base, task.output, **how)
