"""Calling a question: `ablate(model, data, units=["head"])`.

What it is asked of comes first, then keywords, which are looked up in this order: what else the question can be
given (`train=`, `pruned=`), its settings (the fields of its config), how the data is read (`limit=`, `text=`,
`label=` ...; its seed is `data_seed=`), and what every question takes:

    store       the answer is looked for in this store, and kept there; experiments have `bertscope-store` otherwise
    tokenizer   of a transformers model, where its config doesn't say where that is
    base        what models were fine-tuned from (a folder, a hub id) of which that isn't recorded
    shards      the texts are read in so many parts (64), or in parts of that size ("64MB"), each a step of the store
                (`bertscope-store`, if none is given)
    workers     processes of this machine that make these steps; 0 is this one
    out         a folder for what a question keeps (a model, hidden states); with `resume` it goes on from there

Settings come by keyword or as a whole, `config=AblateConfig(...)`, never both.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.series import Series
from bertscope.core.shard_count import Shards, as_shards

if TYPE_CHECKING:
    from bertscope.core.question import Question

_POSITIONAL, _KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY


@dataclass
class Call:
    """What a question was called with, sorted."""

    inputs: dict[str, Any]
    """What it is asked of, by the names of `asked_of`."""
    beside: dict[str, Any]
    config: Any
    reading: dict[str, Any] = field(default_factory=dict)
    """How the data is read, as `read_task` takes it."""
    store: Any = None
    tokenizer: Any = None
    base: str | None = None
    """What models were fine-tuned from of which that isn't recorded."""
    shards: Shards | None = None
    """In how many shards the texts are read, or in how large ones; None: in one pass."""
    workers: int = 0
    kept: dict[str, Any] = field(default_factory=dict)
    """`out` and `resume`, of a question that keeps a folder."""

    @property
    def is_of_series(self) -> bool:
        given = [one for value in self.inputs.values() for one in (value if isinstance(value, list) else [value])]
        return any(isinstance(one, Series) for one in given)


def call(question: Question, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Answer a question in memory, or through a store where one is given or the question needs one."""
    asked = sort_arguments(question, args, kwargs)
    if asked.store is None and asked.shards is None and not question.needs_store and not asked.is_of_series:
        if asked.workers:
            raise UserError("workers make steps of a store; give shards= or store= too, or leave out workers=")
        return _in_memory(question, asked)
    return registry.resolve(registry.SERVICES["stored_answer"])(question, asked)


def sort_arguments(question: Question, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    """What was given, each where it belongs; what doesn't belong anywhere, or is missing, is refused."""
    args, kwargs = _with_series(question, args, kwargs)
    names = [*question.asked_of, "config"]
    if len(args) > len(names):
        several = f"; give several {names[0]} as a list" if question.asked_of and question.takes_several else ""
        raise UserError(f"{question.name} is asked of {_listed(question)}; {len(args)} given{several}")
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in given:
            raise UserError(f"{question.name} is given {name} twice")
        given[name] = value
    settings, reading = _settings(question), _reading(question)
    beside = question.flags if question.needs_store else question.optional
    known = {*names, *settings, *reading, *beside, *_common(question)}
    for name in given:
        if name not in known:
            raise UserError(f"{question.name} takes no {name}=; {_cure(name, known, question)}")
    _refuse_idle_tokenizer(question, given)
    how = _how(given, reading)
    if question.takes_text:
        assert question.reads is not None
        read = registry.resolve(registry.SERVICES["given_text"])
        given[question.reads], how = read(_plain(given.get(question.reads)), how)
    both = bool(question.named) and isinstance(given.get(question.named[0]), Series)
    needed = [name for name in question.asked_of if not (both and name in question.named[1:])]
    missing = [name for name in needed if given.get(name) is None]
    if missing:
        raise UserError(f"{question.name} is asked of {_listed(question)}; {' and '.join(missing)} not given")
    # A name that an input has too is the setting where it is spelled and no config is given, otherwise the input.
    whole = given.get("config") is not None
    own = {name for name in settings if name in given}
    own -= {name for name in beside if whole or not isinstance(given.get(name), str | Path | None)}
    return Call(
        inputs={name: _plain(given.get(name)) for name in question.asked_of},
        beside={name: _plain(given[name]) for name in beside if given.get(name) is not None and name not in own},
        config=_config(question, given, {name: settings[name] for name in settings if name in own}),
        reading=how,
        store=given.get("store"),
        tokenizer=given.get("tokenizer"),
        base=_plain(given.get("base")) if "base" in _common(question) else None,
        shards=as_shards(given.get("shards")),
        workers=configs.as_given("workers", given.get("workers", 0), int),
        kept={name: given[name] for name in ("out", "resume") if name in given},
    )


def _with_series(
    question: Question, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """What was given, with a series where one is named in a model's place. In the place of the first of two models it
    stands for both: each of its checkpoints is compared with one of its ends."""
    models = [name for name in question.named if registry.is_model(question.asked_of[name].kind)]
    if question.over_steps is None or not models:
        return args, dict(kwargs)
    named = registry.resolve(registry.SERVICES["series"])

    def find(one: Any) -> Any:
        """Also of several models, where the question takes a series among them."""
        if question.takes_several and isinstance(one, list | tuple):
            return [named(each) or each for each in one]
        return named(one)

    args = [find(one) or one if place < len(models) else one for place, one in enumerate(args)]
    if args and isinstance(args[0], Series):
        args[1:1] = [None] * (len(models) - 1)
    return args, {name: find(value) or value if name in models else value for name, value in kwargs.items()}


def _refuse_idle_tokenizer(question: Question, given: Mapping[str, Any]) -> None:
    """Refuse a tokenizer where every model has its own: it would change nothing."""
    if given.get("tokenizer") is None:
        return
    models: list[Any] = []
    for name, one in question.asked_of.items():
        if registry.is_model(one.kind):
            models += given[name] if isinstance(given.get(name), list | tuple) else [given.get(name)]
    if models and all(hasattr(one, "record") for one in models):
        raise UserError(f"{question.name} is given an Encoder, which has its tokenizer; leave out tokenizer=")


class CallSignature:
    """The signature of a question's call, for `inspect.signature`, notebooks and help; made when it is looked at."""

    def __get__(self, question: Question | None, owner: type) -> inspect.Signature:
        if question is None:
            raise AttributeError("__signature__")  # the class has its own
        asked = [inspect.Parameter(name, _POSITIONAL) for name in question.asked_of]
        listed: dict[str, tuple[Any, Any]] = {}
        for name in question.flags:
            listed[name] = (None, inspect.Parameter.empty)
        for one in fields(question.config):
            listed[one.name] = (one.default, _settings(question)[one.name])
        for name, (default, hint) in _reading(question).items():
            listed[name] = (default, hint)
        for name, default in _common(question).items():
            listed[name] = (default, inspect.Parameter.empty)
        config = inspect.Parameter("config", _POSITIONAL, default=None)
        further = [
            inspect.Parameter(name, _KEYWORD, default=default, annotation=hint)
            for name, (default, hint) in listed.items()
        ]
        return inspect.Signature([*asked, config, *further])


def _in_memory(question: Question, asked: Call) -> Any:
    """Nothing is written. A plan would make the step's inputs from what was given: hidden states of models, in
    their order; who computes in memory takes the models themselves."""
    inputs = dict(zip(question.inputs, asked.inputs.values(), strict=True))
    how: dict[str, dict[str, Any]] = {}
    for name, value in {**inputs, **asked.beside}.items():
        kind = question.input(name).kind
        if kind == "states" or registry.is_model(kind):
            told = {"tokenizer": asked.tokenizer, "base": asked.base}
            how[name] = {name: value for name, value in told.items() if value is not None}
        elif name == question.reads:
            how[name] = asked.reading
        elif kind == "examples" and asked.reading:
            how[name] = registry.resolve(registry.SERVICES["second_corpus"])(value, asked.reading)
    return question.measured({**inputs, "config": asked.config, **asked.beside, **asked.kept}, how)


def _settings(question: Question) -> dict[str, Any]:
    """The config's fields and their types."""
    hints = get_type_hints(question.config)
    return {one.name: hints[one.name] for one in fields(question.config)}


def _reading(question: Question) -> dict[str, tuple[Any, Any]]:
    """How data is read, where it reads any: defaults and types. A setting of the same name comes first."""
    if question.reads is None:
        return {}
    options = registry.reading_options(question.asked_of[question.reads].kind)
    hints, taken = get_type_hints(options), {*question.asked_of, *_settings(question)}
    return {one.name: (one.default, hints[one.name]) for one in fields(options) if one.name not in taken}


def _common(question: Question) -> dict[str, Any]:
    """What every question of its kind takes, and what it is if it isn't given."""
    has_models = any(registry.is_model(one.kind) for one in question.asked_of.values())
    return {
        "store": None,
        **({"tokenizer": None} if has_models else {}),
        **({"base": None} if has_models and "base" not in question.asked_of else {}),
        **({"shards": None, "workers": 0} if question.sharding else {}),
        **({"out": None, "resume": True} if question.keeps else {}),
    }


def _config(question: Question, given: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    whole = given.get("config")
    if whole is not None and not isinstance(whole, question.config):
        cure = f"; give several {question.named[0]} as a list" if question.asked_of and question.takes_several else ""
        raise UserError(
            f"{question.name} takes config={question.config.__name__}(...), not a {type(whole).__name__}; all but "
            f"{_listed(question)} goes by keyword{cure}"
        )
    if whole is not None and settings:
        raise UserError(f"{question.name} is given config= and {next(iter(settings))}=; give one of them")
    if whole is not None:
        configs.refuse_bare_text(whole)
        return whole
    return question.config(**{name: configs.as_given(name, given[name], hint) for name, hint in settings.items()})


def _how(given: Mapping[str, Any], reading: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    found = {name: configs.as_given(name, given[name], hint) for name, (_, hint) in reading.items() if name in given}
    if "data_seed" in found:
        found["seed"] = found.pop("data_seed")
    return found


def _plain(value: Any) -> Any:
    """A path as the name that it is, also in a list."""
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value)) if any(isinstance(one, Path) for one in value) else value
    return str(value) if isinstance(value, Path) else value


def _listed(question: Question) -> str:
    return ", ".join(question.asked_of) or "nothing"


def _cure(name: str, known: set[str], question: Question) -> str:
    if name in ("data", "on") and question.reads is not None:
        return f"its data is {question.reads}=, or comes without a keyword"
    if name == "shards":
        return "it can't be asked in shards"
    if name == "out":
        return "save what it gives: result.save(folder)"
    if question.reads is None and name in {one.name for one in fields(_options())}:
        return "it reads results alone"
    return did_you_mean(name, known)


def _options() -> type:
    return registry.resolve(registry.SERVICES["reading_options"])
