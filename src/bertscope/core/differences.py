"""What tells results apart that say the same of themselves: five prunings of one model on one task, say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bertscope.core.files import canonical_json
from bertscope.core.step import Root, Step


def differences(steps: Sequence[Step], subjects: Sequence[Mapping[str, str]]) -> list[str]:
    """For each step what it differs in from the others of its question and subject; nothing where it is the only one.

    Settings, how the data is read, and what the model or the data holds; if these are the same, what differs in the
    steps that they rest on; if nothing does, the question's version.

    >>> tuned = [Step("finetune", 1, {"frozen": layers, "seed": 0}, {}) for layers in ("", "1-2")]
    >>> kept = [Step("states", 1, {"pool": "word"}, {"model": one}) for one in tuned]
    >>> differences([*tuned, *kept], [{"model": "pocket"}] * 4)
    ['frozen none', 'frozen 1-2', 'frozen none', 'frozen 1-2']
    """
    said = [""] * len(steps)
    for facts in (_own, _under, _version):
        groups: dict[str, list[int]] = {}
        for at, (step, subject) in enumerate(zip(steps, subjects, strict=True)):
            groups.setdefault(canonical_json([step.name, dict(subject), said[at]]), []).append(at)
        for alike in groups.values():
            if len(alike) > 1:
                _tell(said, alike, [facts(steps[at]) for at in alike])
    return said


def _tell(said: list[str], places: Sequence[int], facts: Sequence[Mapping[str, str]]) -> None:
    """Add to what is said of these places the facts that aren't the same for all of them."""
    keys = dict.fromkeys(key for each in facts for key in each)
    differing = [key for key in keys if len({each.get(key) for each in facts}) > 1]
    for at, each in zip(places, facts, strict=True):
        said[at] = ", ".join(filter(None, [said[at], *(f"{key} {each.get(key, 'none')}" for key in differing)]))


def _own(step: Step) -> dict[str, str]:
    """A step's settings, how its data is read, and by a few signs what its models and data hold."""
    facts = {key: _in_words(value) for key, value in step.config.items()}
    for name, value in step.inputs.items():
        if isinstance(value, Root):
            facts |= {key: _in_words(option) for key, option in value.options.items()}
            name = name.partition(".")[0]
            facts[name] = "+".join(filter(None, [facts.get(name), value.digest[:8]]))
    return facts


def _under(step: Step) -> dict[str, str]:
    """The facts of all the steps that it rests on; where several say different things, all of them."""
    facts: dict[str, dict[str, None]] = {}
    for needed in step.before():
        for key, value in [*_own(needed).items(), *_under(needed).items()]:
            facts.setdefault(key, {})[value] = None
    return {key: "+".join(values) for key, values in facts.items()}


def _version(step: Step) -> dict[str, str]:
    return {"version": str(step.version)}


def _in_words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    return "none" if value in ("", None) else str(value)
