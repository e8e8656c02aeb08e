"""What tells results apart that say the same of themselves: five prunings of one model on one task, say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bertscope.core.files import canonical_json
from bertscope.core.step import Root, Step


def differences(steps: Sequence[Step], subjects: Sequence[tuple[Iterable[str], Mapping[str, str]]]) -> list[str]:
    """For each step what it differs in from the others of its question, models (by their ids) and subject; nothing
    where it is the only one.

    Settings, how the data is read, and what the model or the data holds; if these are the same, what differs in the
    steps that they rest on; if nothing does, the question's version.

    >>> tuned = [Step("finetune", 1, {"frozen": layers, "seed": 0}, {}) for layers in ("", "1-2")]
    >>> kept = [Step("states", 1, {"pool": "word"}, {"model": one}) for one in tuned]
    >>> differences([*tuned, *kept], [(["1a2b"], {"task": "demo/sentiment"})] * 4)
    ['frozen none', 'frozen 1-2', 'frozen none', 'frozen 1-2']
    """
    found = [""] * len(steps)
    for facts_of in (_own_facts, _facts_below, _version):
        groups: dict[str, list[int]] = {}
        for at, (step, (models, subject)) in enumerate(zip(steps, subjects, strict=True)):
            groups.setdefault(canonical_json([step.name, list(models), dict(subject), found[at]]), []).append(at)
        for alike in groups.values():
            if len(alike) > 1:
                _add_differing(found, alike, [facts_of(steps[at]) for at in alike])
    return found


def _add_differing(found: list[str], places: Sequence[int], facts: Sequence[Mapping[str, str]]) -> None:
    """Add to what was found at these places the facts that aren't the same for all of them."""
    keys = dict.fromkeys(key for each in facts for key in each)
    differing = [key for key in keys if len({each.get(key) for each in facts}) > 1]
    for at, each in zip(places, facts, strict=True):
        found[at] = ", ".join(filter(None, [found[at], *(f"{key} {each.get(key, 'none')}" for key in differing)]))


def _own_facts(step: Step) -> dict[str, str]:
    """A step's settings, how its data is read, and by a few signs what its models and data hold."""
    facts = {key: _in_words(value) for key, value in step.config.items()}
    for name, value in step.inputs.items():
        if isinstance(value, Root):
            facts |= {key: _in_words(option) for key, option in value.options.items()}
            name = name.partition(".")[0]
            facts[name] = "+".join(filter(None, [facts.get(name), value.digest[:8]]))
    return facts


def _facts_below(step: Step) -> dict[str, str]:
    """The facts of all the steps that it rests on; where several say different things, all of them. What rests on
    the same steps in another order, or more often, is told apart too: so it is no walk over `lineage.ancestors`."""
    facts: dict[str, dict[str, None]] = {}
    for needed in step.before():
        for key, value in [*_own_facts(needed).items(), *_facts_below(needed).items()]:
            facts.setdefault(key, {})[value] = None
    return {key: "+".join(values) for key, values in facts.items()}


def _version(step: Step) -> dict[str, str]:
    return {"version": str(step.version)}


def _in_words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "none"
    return "none" if value in ("", None) else str(value)
