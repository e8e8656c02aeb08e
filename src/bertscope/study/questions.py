"""The questions of a study file, and the steps that answer them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, product
from math import prod
from typing import Any

from bertscope.core import limits, registry
from bertscope.core.errors import did_you_mean
from bertscope.core.planning import ask, data_kind
from bertscope.core.question import Input, Question
from bertscope.core.shard_count import Shards, as_shards
from bertscope.core.step import Step
from bertscope.study.located_yaml import Located
from bertscope.study.names import TRAINING, Checkpoints, Chosen, Named, Names, find, settings_of


@dataclass(frozen=True)
class Answers:
    """What the study answers to one question, for those who read its results."""

    steps: list[tuple[Chosen, Step]] = field(default_factory=list)

    @property
    def axes(self) -> dict[str, int]:
        """Those but for the tasks: answers on different tasks are what one compares."""
        found: dict[str, int] = {}
        for chosen, _ in self.steps:
            found |= {axis: max(place + 1, found.get(axis, 0)) for axis, place in chosen.items() if axis != "tasks"}
        return found

    def pick(self, chosen: Chosen, kind: str) -> Sequence[Step]:
        """The answers that agree with what is chosen."""
        return [
            step for there, step in self.steps
            if all(chosen.get(axis, place) == place for axis, place in there.items())
        ]  # fmt: skip


@dataclass(frozen=True)
class StudyQuestion:
    """A question of the file: what it is asked of, on which data, and every setting of its sweep."""

    located: Located
    question: Question
    of: Sequence[Named]
    on: Named | None
    beside: Mapping[str, Sequence[Named]]
    configs: Sequence[Any]
    shards: Shards | None = None

    def ask(self) -> Iterator[tuple[Chosen, Step]]:
        """A step for each thing of each axis, and what was chosen for it."""
        axes: dict[str, int] = {}
        for thing in (*self.of, *([self.on] if self.on else []), *chain(*self.beside.values())):
            axes |= thing.axes
        axes[f"{self.question.name}.sweep"] = len(self.configs)
        with self.located.blamed():
            limits.refuse_many_steps(prod(axes.values()), self.question.name)
        for places in product(*map(range, axes.values())):
            chosen = dict(zip(axes, places, strict=True))
            with self.located.blamed():
                step = self._step(chosen)
            if step is not None:
                yield chosen, step

    def _step(self, chosen: Chosen) -> Step | None:
        """None where it compares several results and there is but one."""
        named = [one for thing in self.of for one in thing.pick(chosen, _kind(self.question))]
        if _kind(self.question) == "result" and len(named) < 2:
            return None
        kind = data_kind(self.question, self.shards)
        read = self.on.pick(chosen, kind)[0] if self.on and kind else None
        beside = {
            numbered: one for name, things in self.beside.items()
            for numbered, one in self._beside(name, things, chosen).items()
        }  # fmt: skip
        config = self.configs[chosen[f"{self.question.name}.sweep"]]
        return ask(self.question, named, read, config, beside, self.shards)  # type: ignore[arg-type]

    def _beside(self, name: str, things: Sequence[Named], chosen: Chosen) -> dict[str, Any]:
        """What is given beside, as the step has it: `rankings.0`, `rankings.1` where there may be several."""
        flag = self.question.flags[name]
        found = [one for thing in things for one in thing.pick(chosen, flag.kind)]
        if flag.many:
            return {f"{name}.{place}": one for place, one in enumerate(found)}
        if len(found) != 1:
            raise self.located.wrong(f"{name} must be one result for each model and task; there are {len(found)}")
        return {name: found[0]}


def read_questions(located: Located, names: Names, answers: Mapping[str, Answers]) -> Iterator[StudyQuestion]:
    """Each question of the list; one with several data sets, or several models one at a time, becomes several."""
    if not isinstance(located.value, list) or not located.value:
        raise located.wrong("questions must be a list, such as [patterns, ablate], or a line '- patterns' for each")
    for one in located.value:
        if isinstance(one.value, dict) and len(one.value) == 1:
            ((name, settings),) = one.value.items()
        elif isinstance(one.value, str):
            name, settings = one.value, Located(None, one.where)
        else:
            raise one.wrong("a question is its name, or its name and settings: '- ablate: {mode: zero}'")
        known = [name for name, entry in registry.QUESTIONS.items() if entry.group]
        if name not in known:
            raise one.wrong(f"no question {name!r}; {did_you_mean(name, known)}")
        if name == "claims":
            raise one.wrong("claims are checked at the end of every study; leave the question out")
        if not isinstance(settings.value, dict | bool | None):
            raise settings.wrong(f"the settings of {name} must be a mapping: '- {name}: {{of: model}}'")
        if settings.value is not False:
            given = settings.value if isinstance(settings.value, dict) else {}
            yield from _read(Located(given, one.where), name, names, answers)


def _read(located: Located, name: str, names: Names, answers: Mapping[str, Answers]) -> Iterator[StudyQuestion]:
    question = registry.find(name)
    further, reads = question.flags, question.reads
    own = [one.name for one in fields(question.config)]
    read_keys = ["on", "shards"] * (reads is not None) + ["limit"] * (reads in ("examples", "pairs"))
    keys = located.mapping(name, ["of", *read_keys, "sweep", *further, *own])
    given = _of_all_trainings(own, located, names) | {key: one for key, one in keys.items() if key in own}
    configs = [settings_of(question, given | swept) for swept in _sweep(keys.get("sweep"))]
    beside = {
        key: [_named(key, each, one.kind, names, answers) for each in _given(one, keys[key])]
        for key, one in further.items()
        if key in keys
    }
    of = keys.get("of") or _default_models(question, located, names)
    usual = "pairs" if reads == "pairs" else "tasks" if "tasks" in names.data else "corpus"
    on = keys.get("on") or Located(usual, located.where)
    if not on.several():
        raise on.wrong(f"{name} is asked on nothing; name some data")
    known = names.models if registry.is_model(_kind(question)) else answers
    for models in _side_by_side(question, of, known, names):
        for data in [find(one, names.data, "data") for one in on.several()] if reads else [None]:
            few = data.limited(keys["limit"]) if data and "limit" in keys else data
            yield StudyQuestion(located, question, models, few, beside, configs, _shards(keys))


def _shards(keys: Mapping[str, Located]) -> Shards | None:
    if "shards" not in keys:
        return None
    with keys["shards"].blamed():
        return as_shards(keys["shards"].plain())


def _given(one: Input, located: Located) -> list[Located]:
    """What is given beside: one thing, or all of a list where there may be several."""
    return located.several() if one.many else [located]


def _of_all_trainings(own: Sequence[str], located: Located, names: Names) -> dict[str, Located]:
    """What the study says of its trainings, for a question that trains encoders, which is known by its settings. One
    that compares trainings has all seeds, any other the first."""
    trains = {*TRAINING} <= {*own}
    given = {**names.training} if trains else {}
    if "seeds" in own:
        given["seeds"] = Located([Located(seed, located.where) for seed in names.seeds], located.where)
    elif trains and "seed" in own:
        given["seed"] = Located(names.seeds[0], located.where)
    return given


def _named(key: str, located: Located, kind: str, names: Names, answers: Mapping[str, Answers]) -> Named:
    """What a question is given beside what it is asked of: another's answers, a model, data, or a file."""
    if kind not in _WORDS:
        return names.file(key, located)
    if registry.is_model(kind):
        return find(located, names.models, _WORDS[kind])
    return find(located, answers if kind == "result" else names.data, _WORDS[kind])


_WORDS = {"model": "model", "scorer": "model", "result": "question asked above", "examples": "data"}


def _kind(question: Question) -> str:
    return question.asked_of[question.named[0]].kind


def _default_models(question: Question, located: Located, names: Names) -> Located:
    """What a question is asked of if nothing is said: one that compares models of both, one that needs a classifier
    of the tuned one, an experiment of the base."""
    inputs = question.named
    if _kind(question) == "result":
        raise located.wrong(f"say of which question's answers: {question.name}: {{of: lottery}}")
    if _kind(question) not in _WORDS:
        raise located.wrong(f"say of which files: {question.name}: {{of: [one.txt, other.txt.xz]}}")
    both = ["model", *(["tuned"] if "tuned" in names.models else [])]
    if inputs == ["models"] or len(inputs) > 1:
        return Located([Located(name, located.where) for name in both], located.where)
    return Located("tuned" if inputs == ["model"] and "task" in question.inputs else "model", located.where)


def _side_by_side(question: Question, of: Located, known: Mapping[str, Named], names: Names) -> Iterator[list[Named]]:
    """The models that are read together: all of the list where the question takes several, else each in turn. What
    has no names in a study is named by its path."""
    inputs, word = question.named, _WORDS.get(_kind(question))
    found = [find(one, known, word) if word else names.file(one.word("a file"), one) for one in of.several()]
    if not found:
        raise of.wrong(f"{question.name} is asked of nothing; name a model")
    if question.takes_several:
        yield found
    elif len(inputs) > 1:
        if len(found) != len(inputs) and not (len(found) == 1 and isinstance(found[0], Checkpoints)):
            raise of.wrong(f"{question.name} takes {len(inputs)} models ({', '.join(inputs)}), not {len(found)}")
        yield found
    else:
        for one in found:
            yield [one]


def _sweep(located: Located | None) -> Iterator[dict[str, Located]]:
    """Every combination of the values that are listed for each setting; one without any if there is no sweep."""
    listed = {} if located is None else located.mapping("sweep")
    for name, one in listed.items():
        if not isinstance(one.value, list) or not one.value:
            raise one.wrong(f"sweep: {name} must be a list of the values to try")
    if located is not None:
        with located.blamed():
            limits.refuse_many_steps(prod(len(one.value) for one in listed.values()), "the sweep")
    for values in product(*(one.value for one in listed.values())):
        yield dict(zip(listed, values, strict=True))
