"""Words for keys: what people read of a result, put there last. Code reads keys, and never these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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


def model_names(models: Mapping[str, ModelRecord]) -> dict[str, str]:
    """What models are called, by their keys: two of one name with when they were made, or else with what they hold; a
    model that is there twice with a number.

    >>> made = {"a": "2026-11-16T14:02:10", "b": "2026-11-16T14:31:50"}
    >>> list(model_names({id: ModelRecord(id, "minilm", made=when) for id, when in made.items()}).values())
    ['minilm, of 14:02', 'minilm, of 14:31']
    """
    apart = dict.fromkeys((record.name, record.id, record.made) for record in models.values())
    alike = Counter(name for name, *_ in apart)
    days = {name: {made[:10] for other, _, made in apart if other == name} for name in alike}
    names: dict[str, str] = {}
    for key, record in models.items():
        when = record.made[11:16] if len(days[record.name]) == 1 else record.made[:16].replace("T", " ")
        name = f"{record.name}, of {when or record.id[:6]}" if alike[record.name] > 1 else record.name
        plain, again = name, 2
        while name in names.values():
            name, again = f"{plain} ({again})", again + 1
        names[key] = name
    return names


def about(models: Mapping[str, ModelRecord], subject: Mapping[str, str]) -> str:
    """What a result is about, as headings and lists print it.

    >>> about({"1": ModelRecord("1", "pocket")}, {"task": "demo/sentiment", "seed": "0"})
    'pocket on demo/sentiment, seed 0'
    """
    task = subject.get("task", "")
    # A model that was trained on the data has it in its name already.
    told = any(record.trained_on and record.trained_on.name == task for record in models.values())
    whole = " on ".join(filter(None, [" and ".join(model_names(models).values()), "" if told else task]))
    others = [f"{key} {value}" for key, value in subject.items() if key != "task"]
    return ", ".join(filter(None, [whole, *others]))


def labelled(numbers: Sequence[Number], phrases: Mapping[str, str], words: Words) -> list[Number]:
    """The numbers with their labels: what the question calls each key, and of what it is where several share one."""
    values: dict[tuple[str, str], set[str]] = {}
    for number in numbers:
        for name, value in number.of.items():
            values.setdefault((number.key, name), set()).add(value)
    several = {place for place, found in values.items() if len(found) > 1}
    return [replace(number, label=_label(number, phrases, words, several)) for number in numbers]


def _label(number: Number, phrases: Mapping[str, str], words: Words, several: set[tuple[str, str]]) -> str:
    phrase = phrases.get(number.key, number.label)
    of = {name: words.get(name, {}).get(value, value) for name, value in number.of.items()}
    further = [
        of[name] for name in of if f"{{{name}}}" not in phrase and (number.key, name) in several
    ]  # fmt: skip
    return ", ".join([phrase.format_map(of), *further])


def in_words(result: Result, names: Mapping[str, str] | None = None) -> Result:
    """The result with names for models and words for other keys, in tables, figures and labels."""
    names = {**model_names(result.models), **(names or {})}
    names = {key: names[key] for key in result.models}
    declared = registry.find(result.question) if result.question in registry.QUESTIONS else None
    words: dict[str, Mapping[str, str]] = {**(declared.words if declared else {}), "model": names}
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
