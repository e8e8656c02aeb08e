"""What a result's models were trained on, from the step that made it: by what the task is, not by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bertscope.core import registry
from bertscope.core.step import Root, Step
from bertscope.study.claims.evidence import TUNED

if TYPE_CHECKING:
    from bertscope.core.result import Result

TREES, SPANS, INFERENCE = "trees", "spans", "inference"
_THREE_WAYS = {"entailment", "neutral", "contradiction"}


def lesson(source: str, options: Mapping[str, Any]) -> str:
    """What is learned from data that is read so: trees, spans (answers to questions), inference in three classes, or
    else what kind of task it is; empty where only its rows would tell.

    >>> lesson("/data/ewt", {"kind": "trees"}), lesson("glue/mnli@/data/MNLI", {}), lesson("demo/qa", {})
    ('trees', 'inference', 'spans')
    """
    from bertscope.data import demo
    from bertscope.data.tasks import declared

    name = source.partition("@")[0]
    kind: str = options.get("kind", "")
    labels: tuple[str, ...] = ()
    if name in demo.NAMES:
        kind, labels = demo.kind_and_labels(name)
    elif not kind and (known := declared(name)):
        kind, labels = SPANS if known.kind == "answers" else known.kind, known.labels
    return INFERENCE if set(labels) == _THREE_WAYS else kind


def lessons(result: Result, names: Sequence[str]) -> dict[str, str]:
    """What each of a result's models learned in fine-tuning, in the order in which the question was given them;
    without the result's step, what the name of a known task tells."""
    models = _models(Step.from_json(result.provenance["step"])) if "step" in result.provenance else []
    known = dict(zip(names, models, strict=False))
    found = {}
    for name in names:
        _, tuned, task = name.rpartition(TUNED)
        model = known.get(name)
        trained = model.inputs.get("task") if isinstance(model, Step) else None
        if isinstance(trained, Root):
            found[name] = lesson(trained.source, trained.options)
        else:
            found[name] = lesson(task, {}) if tuned else ""
    return found


def _models(step: Step) -> list[Step | Root]:
    """The models that a step reads, or whose states it reads."""
    found = []
    question = registry.find(step.name)
    for name, value in step.inputs.items():
        role = name.partition(".")[0]
        if question.input(role).kind == "model":
            found.append(value)
        elif role == "states" and isinstance(value, Step):
            found.append(value.inputs["model"])
    return found
