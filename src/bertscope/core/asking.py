"""What a question is asked of, and the step that asks it: what a command and a study's line have in common."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from bertscope.core.catalogue import INPUT_KINDS, Spec
from bertscope.core.step import Root, Step

SEVERAL = ("models", "lotteries")
"""Inputs of which there may be many."""
BESIDE = ("fit", "against", "pruned")
"""What a question can be given, by name, beside what it must have: other corpora, a stored result."""


def named_inputs(spec: Spec) -> list[str]:
    """What the user names one after the other: models, or results. What reads hidden states reads any number of
    models'; an experiment has one base."""
    models = [name for name in spec.inputs if INPUT_KINDS[name] == "model"]
    if models or "states" in spec.inputs:
        return models or ["models"]
    if spec.plan is not None:
        return ["base"]
    return [name for name in spec.inputs if INPUT_KINDS[name] == "result"]


def data_input(spec: Spec) -> str | None:
    """What the question reads: a task, any texts, or either; None if it reads results alone. Where an experiment's
    trainings read it and the question itself doesn't, the plan has it."""
    names = [*spec.inputs, *(inspect.signature(spec.plan).parameters if spec.plan else ())]
    return next((name for name in ("examples", "data", "task") if name in names), None)


def beside_inputs(spec: Spec) -> list[str]:
    """Those of `BESIDE` that this question takes."""
    return [name for name in spec.optional if name in BESIDE]


def ask(
    spec: Spec, named: Sequence[Step | Root], read: Root | None, config: Any, beside: Mapping[str, Step | Root]
) -> Step:
    """The step that answers the question for these models or results and this data. Loads no torch."""
    names, reads = named_inputs(spec), data_input(spec)
    data = {} if reads is None or read is None else {reads: read}
    if spec.plan:
        return spec.plan(*named, *data.values(), config, **beside)
    if names[0] in SEVERAL:
        names = [f"{names[0]}.{place}" for place in range(len(named))]
    return spec.step(dict(zip(names, named, strict=True)) | data | dict(beside), config)
