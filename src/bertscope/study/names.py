"""What a study is about: models and data, by the names that its questions use.

A name that stands for several things is an axis: whatever uses the name is asked once for each of them. `tuned` rests
on `model` and on `tasks`, so a question about it is asked for each pair of them, on the task that it was tuned on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_type_hints

from bertscope.core import registry
from bertscope.core.config import as_annotated
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.planning import root as root_of
from bertscope.core.question import Question
from bertscope.core.series import Series
from bertscope.core.step import Root, Step
from bertscope.data.options import TaskOptions
from bertscope.data.pair_options import PairOptions
from bertscope.data.tasks import declared
from bertscope.models.series import series
from bertscope.study.located_yaml import Located

TRAINING = ("recipe", "epochs", "learning_rate")
"""What all trainings of a study have in common, so that they are shared."""

Chosen = Mapping[str, int]
"""Which of an axis's things is meant, for each axis."""


class Named(Protocol):
    """A model, a data set, or the answers to a question."""

    @property
    def axes(self) -> dict[str, int]:
        """How many things each axis has that it depends on."""
        ...

    def pick(self, chosen: Chosen, kind: str) -> Sequence[Step | Root | Series]:
        """What it is there, as the kind of input that is asked for."""
        ...


Thing = TypeVar("Thing", bound=Named)


@dataclass(frozen=True)
class Sources:
    """Models or data that exist: a source each, for data with how it is read."""

    name: str
    listed: Sequence[Located]
    root: Callable[..., Root]
    """From a kind and a source to the root of that kind."""

    @property
    def axes(self) -> dict[str, int]:
        return {self.name: len(self.listed)}

    def pick(self, chosen: Chosen, kind: str) -> Sequence[Root]:
        return [self.root(kind, self.listed[chosen[self.name]])]

    def limited(self, limit: Located) -> Sources:
        """Data of which at most so many rows are read."""
        return replace(self, root=partial(self.root, limit=limit))


@dataclass(frozen=True)
class Checkpoints:
    """A series of checkpoints of one training, which stands in a model's place as a whole."""

    name: str
    series: Callable[[str], Series]
    """From a kind of model to the series of roots of that kind."""

    @property
    def axes(self) -> dict[str, int]:
        return {self.name: 1}

    def pick(self, chosen: Chosen, kind: str) -> Sequence[Series]:
        return [self.series(kind)]


@dataclass(frozen=True)
class Tuned:
    """A model that the study fine-tunes: one step for each base, task and seed, shared by all who ask for it."""

    name: str
    base: Named
    task: Named
    configs: Sequence[Any]
    """One for each seed."""

    @property
    def axes(self) -> dict[str, int]:
        return self.base.axes | self.task.axes | {f"{self.name}.seed": len(self.configs)}

    def pick(self, chosen: Chosen, kind: str) -> Sequence[Step]:
        (base,), (task,) = self.base.pick(chosen, "model"), self.task.pick(chosen, "task")
        assert not isinstance(base, Series) and not isinstance(task, Series)  # no training begins with one
        return [
            registry.find("finetune").step({"base": base, "task": task}, self.configs[chosen[f"{self.name}.seed"]])
        ]


class Names:
    """The models and data that the file declares, and the settings that it gives to all of its questions."""

    def __init__(self, keys: Mapping[str, Located]) -> None:
        self._roots: dict[str, Root] = {}  # hashing a large model takes a while: once is enough
        self.places: dict[str, Located] = {}
        """Where the file names each root, by its id and by its source."""
        self.reading = {
            option: keys[key] for key, option in (("root", "root"), ("limit", "limit"), ("data_seed", "seed"))
            if key in keys
        }  # fmt: skip
        self.seeds = (
            settings_of(registry.find("scratch"), {"seeds": keys["seeds"]}).seeds if "seeds" in keys else (0,)
        )
        self._told = {"base": keys["base"].word("base")} if "base" in keys else {}
        self.training = keys["training"].mapping("training", TRAINING) if "training" in keys else {}
        settings_of(registry.find("finetune"), self.training)  # refuses what can't work
        self.data = {
            name: Sources(name, located.several(), self._data_root)
            for name, located in _declared(keys, ("tasks", "corpus", "pairs"), "data").items()
        }
        self.models: dict[str, Named] = {}
        self._named = _declared(keys, ("model",), "models")
        for name, located in self._named.items():
            self.models[name] = (
                self._tuned(name, located)
                if isinstance(located.value, dict)
                else Sources(name, located.several(), self._model_root)
            )
            if name == "model" and "tasks" in self.data:
                self.models["tuned"] = self._tuned("tuned", Located({}, located.where))
        for name, located in _declared(keys, ("model", *self.models), "series", only=True).items():
            self.models[name] = Checkpoints(name, partial(self._series, located))

    def _tuned(self, name: str, whole: Located) -> Tuned:
        known = [field.name for field in fields(registry.find("finetune").config)]
        keys = whole.mapping(f"the model {name}", ["base", "task", *known])
        base, task = keys.get("base", Located("model", whole.where)), keys.get("task", Located("tasks", whole.where))
        if isinstance(base.value, str) and base.value in self._named.keys() - self.models.keys():
            raise base.wrong(f"no model {base.value!r} is named above {name}, which begins with it; put it first")
        settings = self.training | {key: one for key, one in keys.items() if key not in ("base", "task", "seed")}
        seeds = keys["seed"].several() if "seed" in keys else [Located(self.seeds[0], whole.where)]
        configs = [settings_of(registry.find("finetune"), settings | {"seed": seed}) for seed in seeds]
        return Tuned(name, find(base, self.models, "model"), find(task, self.data, "data"), configs)

    def _series(self, located: Located, kind: str) -> Series:
        listed = [one.word("a checkpoint, or a pattern of them") for one in located.several()]
        with located.blamed():
            found = series(listed if isinstance(located.value, list) else listed[0])
            return found.rooted(lambda one: self._model_root(kind, Located(one, located.where)))

    def file(self, name: str, located: Located) -> Sources:
        """A file that one question reads: it is named by its path."""
        return Sources(name, [located], self._file_root)

    def _file_root(self, kind: str, located: Located) -> Root:
        return self._once(kind, located.word("a file"), {}, located)

    def _model_root(self, kind: str, located: Located) -> Root:
        as_model = kind if registry.is_model(kind) else "model"
        return self._once(as_model, located.word("a model"), self._told, located)

    def _data_root(self, kind: str, located: Located, limit: Located | None = None) -> Root:
        keys = located.value if isinstance(located.value, dict) else {"source": located}
        reading = _READING.get(kind, TaskOptions)
        known = [field.name for field in fields(reading)]
        Located(keys, located.where).mapping("a data set", ["source", *known])
        if "source" not in keys:
            raise located.wrong("a data set needs its source: source: reviews.csv")
        source = keys["source"].word("a data set's source")
        given = {key: one for key, one in self.reading.items() if key != "root" or declared(source.partition("@")[0])}
        given |= {key: one for key, one in keys.items() if key != "source"} | ({"limit": limit} if limit else {})
        return self._once(kind, source, {key: _option(key, one, reading) for key, one in given.items()}, located)

    def _once(self, kind: str, source: str, options: dict[str, Any], located: Located) -> Root:
        key = repr((kind, source, sorted(options.items())))
        if key not in self._roots:
            with located.blamed():
                root = self._roots[key] = root_of(kind, source, **options)
            self.places[root.id] = located
            self.places.setdefault(root.source, located)
        return self._roots[key]


def find(located: Located, names: Mapping[str, Thing], what: str) -> Thing:
    """The model, the data or the answers of that name."""
    name = located.word(f"the name of {what}")
    if name not in names:
        known = did_you_mean(name, names) if names else "it names none"
        raise located.wrong(f"no {what} {name!r} in this study; {_NEEDS.get((what, name), known)}")
    return names[name]


_NEEDS = {
    ("model", "model"): "add one: model: pocket",
    ("model", "tuned"): "it is model fine-tuned on tasks: add both, such as model: pocket and tasks: demo/sentiment",
    ("data", "tasks"): "add some: tasks: demo/sentiment",
    ("data", "pairs"): "add some: pairs: demo/minimal",
    ("data", "corpus"): "add some: tasks: demo/sentiment, or corpus: demo/corpus",
}
"""What the file has to say for a question to be asked of a model, or on data, that it is asked of if nothing else is
said."""


def settings_of(question: Question, given: Mapping[str, Located]) -> Any:
    """A question's config from what the file says, each setting checked with its line."""
    hints = get_type_hints(question.config)
    own = [field.name for field in fields(question.config)]
    for key, one in given.items():
        if key not in own:
            raise one.wrong(f"{question.name} has no setting {key!r}; {did_you_mean(key, own)}")
    values = {key: _fitted(key, one, hints[key]) for key, one in given.items()}
    try:
        return question.config(**values)
    except UserError as error:
        named = re.findall(r"\w+", str(error).replace("-", "_"))
        blamed = [one for key, one in given.items() if key in named] or list(given.values())
        raise blamed[0].wrong(str(error)) from error


_READING: Mapping[str, type] = {"pairs": PairOptions}
"""How data is read that isn't read as tasks are."""


def _option(key: str, located: Located, reading: type) -> Any:
    """How data is read, in one respect."""
    value = _fitted(key, located, get_type_hints(reading)[key])
    with located.blamed():
        if key == "root" and value is not None and not Path(value).is_dir():
            raise UserError(f"no folder {value}; root is the one in which tasks known by name lie")
        if key in ("limit", "seed"):
            TaskOptions.of({key: value})
    return value


def _declared(keys: Mapping[str, Located], own: Sequence[str], others: str, only: bool = False) -> dict[str, Located]:
    """What the file says under its own keys, unless `only` the others are wanted, and under the names that it makes
    up; what is empty is left out."""
    made_up = keys[others].mapping(others) if others in keys else {}
    for name, located in made_up.items():
        if name in own or not re.fullmatch(r"[\w-]+", name):
            raise located.wrong(f"{name!r} can't be a name of your own: {_why_not(name, own)}")
    every = {name: keys[name] for name in own if name in keys and not only} | made_up
    return {name: one for name, one in every.items() if one.value not in (None, [])}


def _why_not(name: str, own: Sequence[str]) -> str:
    return "it is a key of the file, or another model's" if name in own else "use letters, digits, _ and -"


def _fitted(key: str, located: Located, hint: Any) -> Any:
    with located.blamed():
        return as_annotated(key, located.plain(), hint)
