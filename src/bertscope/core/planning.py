"""What a question is asked of, and the step that asks it: what a command and a study's line have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.question import DATA, Question
from bertscope.core.series import Series
from bertscope.core.shard_count import Shards, as_shards
from bertscope.core.step import Root, Step


def ask(
    question: Question,
    named: Sequence[Step | Root | Series],
    data: Root | None,
    config: Any,
    beside: Mapping[str, Step | Root],
    shards: Shards | None = None,
) -> Step:
    """The step that answers the question for these models or results and this data, in so many shards, or such large
    ones, where that is said; of a series, the step that follows its answers. Loads no torch."""
    if any(isinstance(one, Series) for one in named):
        if question.over_steps and question.over_steps.at_once:
            models, steps = _in_order(question, named)
            return ask(question, models, data, replace(config, steps=steps), beside, shards)
        over_series = registry.resolve(registry.SERVICES["over_series"])
        return over_series(question, named, lambda *models: ask(question, models, data, config, beside, shards))
    models = [one for one in named if not isinstance(one, Series)]
    if shards is not None:
        return registry.resolve(registry.SERVICES["in_shards"])(question, models, data, config, beside, shards)
    if question.plan:
        return question.plan(*models, *([] if data is None else [data]), config, **beside)
    names = question.named
    if question.takes_several:
        names = [f"{names[0]}.{place}" for place in range(len(models))]
    read = {} if data is None or question.reads is None else {question.reads: data}
    return question.step(dict(zip(names, models, strict=True)) | read | dict(beside), config)


def _in_order(question: Question, named: Sequence[Step | Root | Series]) -> tuple[list[Step | Root], tuple[int, ...]]:
    """What the training began with and the checkpoints behind it, with their steps."""
    match named:
        case [*_, Series() as found] if found.trainings:
            raise UserError(f"{question.name} is asked of one training at a time; name the checkpoints of one")
        case [Series() as found]:
            return [*found], found.steps[1:]
        case [first, Series() as found] if not isinstance(first, Series):
            return [first, *found], found.steps
    raise UserError(f"{question.name} of a series takes one model before it, its base; name these two alone")


def planned(
    question: Question,
    named: Sequence[Any],
    on: Any,
    config: Any,
    reading: Mapping[str, Any],
    beside: Mapping[str, Any],
    base: str | None = None,
    shards: Shards | None = None,
) -> Step:
    """The step that answers the question for what the user named, or holds: models or results, data and how it is
    read. `base` is what models were fine-tuned from of which that isn't recorded."""
    shards = as_shards(shards)
    kind_read = data_kind(question, shards)
    asked_of = question.asked_of
    kind = asked_of[question.named[0]].kind
    told = {"base": base} if base and registry.is_model(kind) else {}
    roots = [_named_root(kind, source, told) for source in named]
    data = root(kind_read, on, **reading) if kind_read else None
    further = {
        numbered: _further_root(question.flags[name].kind, source, reading)
        for name, given in beside.items()
        if given is not None
        for numbered, source in _numbered(question, name, given).items()
    }
    return ask(question, roots, data, config, further, shards)


def data_kind(question: Question, shards: Shards | None) -> str | None:
    """As which kind its data is read; None where it reads none. In shards, texts a window at a time."""
    if shards is not None and not question.sharding:
        refused = "what it keeps of texts doesn't add up" if question.reads else "it reads no texts"
        known = [name for name in registry.QUESTIONS if registry.find(name).sharding]
        raise UserError(
            f"{question.name} can't be asked in shards, since {refused}; leave out --shards (it is for "
            f"{', '.join(known)})"
        )
    if question.reads is None:
        return None
    return "corpus" if shards is not None else question.asked_of[question.reads].kind


def _named_root(kind: str, source: Any, told: Mapping[str, Any]) -> Root | Series:
    """The identity of a model or a result; of a series, that of each checkpoint."""
    found = series_in(kind, source)
    return found.rooted(lambda one: root(kind, one, **told)) if found else root(kind, source, **told)


def series_in(kind: str, source: Any) -> Series | None:
    """The series that stands in a model's place; None of what names a model, or something else."""
    return registry.resolve(registry.SERVICES["series"])(source) if registry.is_model(kind) else None


def _numbered(question: Question, name: str, given: Any) -> dict[str, Any]:
    """What is given beside, as its step has it: `rankings.0`, `rankings.1` where there may be several."""
    if not question.flags[name].many:
        return {name: given}
    several = given if isinstance(given, list | tuple) else [given]
    return {f"{name}.{place}": one for place, one in enumerate(several)}


def root(kind: str, source: Any, /, **reading: Any) -> Root:
    """The identity of what a user names, or holds."""
    return registry.resolve(registry.KINDS[kind].root)(source, **reading)


def _further_root(kind: str, source: Any, reading: Mapping[str, Any]) -> Root:
    """A stored result, a file, or a corpus, of which as much is said as of the first one."""
    if kind not in DATA:
        return root(kind, source)
    return root(kind, source, **registry.resolve(registry.SERVICES["second_corpus"])(source, reading))
