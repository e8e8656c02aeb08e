"""Computing an answer: from what a question is given to its result, with where that came from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.in_turn import InTurn
from bertscope.core.provenance import capture

if TYPE_CHECKING:
    from bertscope.core.question import Question
    from bertscope.core.result import Result


def measured(question: Question, given: Mapping[str, Any], how: Mapping[str, Mapping[str, Any]] | None) -> Any:
    """The answer from inputs and settings by name; `how` says of an input how it is opened, None that what has no
    name is open. Where the result came from is recorded."""
    config = given.get("config") or question.config()
    if not isinstance(config, question.config):
        raise UserError(f"{question.name} takes config={question.config.__name__}(...), not {config!r}")
    configs.refuse_bare_text(config)
    started = time.perf_counter()
    there = {name: value for name, value in given.items() if value is not None} | {"config": config}
    opened = {
        name: _opened(question, name, value, None if how is None else how.get(name, {}))
        for name, value in there.items()
    }
    if len(models := list(_models(question, opened, there))) > 1:
        registry.resolve(registry.SERVICES["bring_together"])(models)
    for data in (opened[name] for name in opened if question.takes(name) and question.reads_data(name)):
        question.refuse_output(data, opened.get("model"))
    answered = _answered(question, opened)
    result = answered.result if question.keeps else answered
    result.provenance = capture(time.perf_counter() - started) | result.provenance
    return answered


def _answered(question: Question, opened: dict[str, Any]) -> Any:
    """By a pass over the texts, by adding up those of their shards, or however else it is measured."""
    if "sums" in opened:
        return registry.resolve(registry.SERVICES["added_up"])(question, opened)
    if question.shares_pass:
        return question.part(**opened).alone()
    answered = question.function("measure")(**opened)
    with_notes(answered.result if question.keeps else answered, opened)
    return answered


def _opened(question: Question, name: str, value: Any, how: Mapping[str, Any] | None) -> Any:
    if not question.takes(name):
        return value
    one = question.input(name)
    if one.many:
        several = value if isinstance(value, list | tuple) else [value]
        waits = [one.in_turn and isinstance(each, str | Path) for each in several]
        return [
            InTurn(partial(registry.opened, one.kind, each, how)) if later else registry.opened(one.kind, each, how)
            for each, later in zip(several, waits, strict=True)
        ]
    return registry.opened(one.kind, value, how)


def _models(question: Question, opened: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[Any, bool]]:
    """The models among what was opened, and whether only its name was given of each."""
    for name, value in given.items():
        if question.takes(name) and registry.is_model(question.input(name).kind):
            named = value if isinstance(value, list | tuple) else [value]
            found = opened[name] if question.input(name).many else [opened[name]]
            for one, each in zip(found, named, strict=True):
                yield one, isinstance(each, str | Path)


def with_notes(result: Result, inputs: Mapping[str, Any]) -> Result:
    """The result, with what is to be known of how its models were opened."""
    for value in inputs.values():
        for one in value if isinstance(value, list) else [value]:
            result.notes += [note for note in getattr(one, "opening_notes", ()) if note not in result.notes]
    return result
