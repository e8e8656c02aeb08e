"""A store whose results bear on claims: planted, as if their steps had run."""

from __future__ import annotations

from pathlib import Path

from bertscope.core.result import Result
from bertscope.core.step import Root, Step
from planted_claims import PLANTED
from planted_page import id_of
from planted_results import SURE
from stored_steps import put_step


def put(store: Path, result: Result, **config) -> Step:
    """The result as if its step had run."""
    inputs = {"model": Root("model", "pocket", id_of("pocket")), "task": Root("task", "toy", "1" * 16)}
    step = Step(result.question, result.version, config, inputs)
    result.provenance = {"created": "2026-11-15T10:00:00+00:00"}
    put_step(store, step, result)
    return step


def filled(store: Path) -> Path:
    for claim_id, value in (("m-random-worse", 0.1), ("bias-costs", 0.05), ("a-head-off-improves", 0.0)):
        put(store, PLANTED[claim_id](value, SURE if value else 0.1)[0])
    return store
