"""Words for keys: what people read of a result, put there last. Code reads keys, and never these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bertscope.core import registry
from bertscope.core.model_record import ModelRecord

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.number import Number
    from bertscope.core.result import Result

Words = Mapping[str, Mapping[str, str]]
"""By what is named (a column of a table, what a number is of), each key's words."""


class ModelNames:
    """What models are called where they stand side by side: two of one name with what was done differently (seed,
    frozen layers), with when they were made where one took the other's place, or else with what they hold.

    >>> made = {"a": "2026-11-16T14:02:10", "b": "2026-11-16T14:31:50"}
    >>> models = [ModelRecord(id, "minilm", made=when) for id, when in made.items()]
    >>> [ModelNames(models).of(one) for one in models]
    ['minilm, of 14:02', 'minilm, of 14:31']
    """

    def __init__(self, models: Iterable[ModelRecord]) -> None:
        alike: dict[str, dict[str, ModelRecord]] = {}
        for record in models:
            alike.setdefault(record.name, {}).setdefault(record.id, record)
        self._further = {
            (name, id): further
            for name, same in alike.items() if len(same) > 1
            for id, further in zip(same, _told_apart(list(same.values())), strict=True)
        }  # fmt: skip

    def of(self, model: ModelRecord) -> str:
        further = self._further.get((model.name, model.id))
        return f"{model.name}, {further}" if further else model.name

    def by_key(self, models: Mapping[str, ModelRecord]) -> dict[str, str]:
        """The names of a result's models by their keys; a model that is there twice gets a number."""
        names: dict[str, str] = {}
        for key, record in models.items():
            plain, again = self.of(record), 2
            name = plain
            while name in names.values():
                name, again = f"{plain} ({again})", again + 1
            names[key] = name
        return names

    def in_result(self, result: Result) -> Result:
        """The result with its models called so; its tables and numbers call them by their keys all the same."""
        names = self.by_key(result.models)
        return replace(result, models={key: replace(one, name=names[key]) for key, one in result.models.items()})


def _told_apart(models: Sequence[ModelRecord]) -> list[str]:
    """What tells models of one name apart."""
    places = [record.source for record in models if record.source]
    done = _done_differently(models)
    if len({*places}) == len(places) and len({*done}) == len(models):
        return done
    one_day = len({record.made[:10] for record in models}) == 1
    when = [record.made[11:16] if one_day else record.made[:16].replace("T", " ") for record in models]
    told = all(when) and len({*when}) == len(models)
    return [f"of {one}" for one in (when if told else [record.id[:6] for record in models])]


def _done_differently(models: Sequence[ModelRecord]) -> list[str]:
    """What of how each was made isn't the same for all; nothing of one of which nothing was frozen or removed."""
    made = [vars(record.origin) if record.origin else {} for record in models]
    names = [name for name in ("seed", "frozen", "removed") if len({each.get(name) for each in made}) > 1]
    return [", ".join(f"{name} {each[name]}" for name in names if each.get(name) not in (None, "")) for each in made]


def model_names(models: Mapping[str, ModelRecord]) -> dict[str, str]:
    """What models are called that stand side by side in one result, by their keys."""
    return ModelNames(models.values()).by_key(models)


def names_in_all(results: Sequence[Mapping[str, ModelRecord]]) -> list[dict[str, str]]:
    """For the names of each result's models what those in the same place are called in all of them: without the data
    that each was trained on, where that makes them one; otherwise by their own names."""
    own = [{record.name: record.name for record in models.values()} for models in results]
    if len({len(models) for models in results}) > 1:
        return own
    shared: list[dict[str, str]] = [{} for _ in results]
    for records in zip(*(models.values() for models in results), strict=True):
        plain, *others = {_without_data(record) for record in records}
        for names, record in zip(shared, records, strict=True):
            names[record.name] = record.name if others else plain
    return shared if all(len({*names.values()}) == len(names) for names in shared) else own


def _without_data(record: ModelRecord) -> str:
    return record.name.replace(f" on {record.trained_on.name}", "", 1) if record.trained_on else record.name


def about(models: Mapping[str, ModelRecord], subject: Mapping[str, str]) -> str:
    """What a result is about, as headings and lists print it.

    >>> about({"1": ModelRecord("1", "pocket")}, {"task": "demo/sentiment", "seed": "0"})
    'pocket on demo/sentiment, seed 0'
    """
    task = subject.get("task", "")
    # Models that were trained on the data have it in their names already.
    trained = [record.trained_on for record in models.values() if record.trained_on]
    told = bool(trained) and all(data.name == task for data in trained)
    whole = " on ".join(filter(None, [" and ".join(_listed(models)), "" if told else task]))
    others = [f"{key} {value}" for key, value in subject.items() if key != "task"]
    return ", ".join(filter(None, [whole, *others]))


def _listed(models: Mapping[str, ModelRecord]) -> list[str]:
    """The models' names; of a training's checkpoints, where they are many, the first step and the last."""
    names = model_names(models)
    along: dict[str, list[str]] = {}
    for key, record in models.items():
        training, _, step = names[key].rpartition(", step ")
        if record.origin and record.origin.step is not None and step == f"{record.origin.step:,}":
            along.setdefault(training, []).append(key)
    for training, keys in along.items():
        if len(keys) > 2:
            first, last = (names[key].rpartition(" ")[2] for key in (keys[0], keys[-1]))
            names[keys[0]] = f"{training}, steps {first} to {last}"
            names = {key: name for key, name in names.items() if key not in keys[1:]}
    return list(names.values())


def labelled(numbers: Sequence[Number], phrases: Mapping[str, str], words: Words) -> list[Number]:
    """The numbers with their labels: what the question calls each key, and of what it is where several share one."""
    values: dict[tuple[str, str], set[str]] = {}
    for number in numbers:
        for name, value in number.of.items():
            values.setdefault((number.key, name), set()).add(value)
    several = {place for place, found in values.items() if len(found) > 1}
    return [replace(number, label=_label(number, phrases, words, several)) for number in numbers]


def _label(number: Number, phrases: Mapping[str, str], words: Words, several: set[tuple[str, str]]) -> str:
    phrase = phrases.get(number.key, "")
    models = words.get("model", {})  # under whatever name a number is of one: `model`, `against`
    of = {name: words.get(name, {}).get(value, models.get(value, value)) for name, value in number.of.items()}
    further = [
        of[name] for name in of if f"{{{name}}}" not in phrase and (number.key, name) in several
    ]  # fmt: skip
    return ", ".join([phrase.format_map(of) or number.label, *further])


def in_words(result: Result, names: Mapping[str, str] | None = None) -> Result:
    """The result with names for models and words for other keys, in tables, figures and labels."""
    names = {**model_names(result.models), **(names or {})}
    names = {key: names[key] for key in result.models}
    declared = registry.still_declared(result.question)
    followed = registry.still_declared(result.subject.get("question", ""))  # whose answers these tables are made of
    words: dict[str, Mapping[str, str]] = {
        **(followed.words if followed else {}), **(declared.words if declared else {}), "model": names,
    }  # fmt: skip
    shown = replace(
        result,
        tables={key: _table(frame, names, words) for key, frame in result.tables.items()},
        headline=labelled(result.headline, declared.numbers if declared else {}, words),
        figures=[
            replace(figure, where={name: _value(value, name, names, words) for name, value in figure.where.items()})
            for figure in result.figures
        ],
        models={key: replace(record, name=names[key]) for key, record in result.models.items()},
    )
    return shown


def _table(frame: pd.DataFrame, names: Mapping[str, str], words: Words) -> pd.DataFrame:
    changed = {}
    for column in frame.columns:
        known = {**names, **words.get(column, {})}
        if frame[column].dtype == object or str(frame[column].dtype) in ("str", "string", "category"):
            held = set(frame[column].dropna().unique()) & set(known)
            if held:
                changed[column] = frame[column].map(lambda value, known=known: known.get(value, value))
    return frame.assign(**changed)


def _value(value: Any, column: str, names: Mapping[str, str], words: Words) -> Any:
    return {**names, **words.get(column, {})}.get(value, value) if isinstance(value, str) else value
