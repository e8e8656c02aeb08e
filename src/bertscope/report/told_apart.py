"""Answers to one question side by side: what each is called there, and what their models are called in all of them.

A base and what was made of it are the same two things in every answer, though the second has another name in each:
`pocket tuned on demo/sentiment` here, `pocket tuned on demo/topics` there. Side by side both are `pocket tuned`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bertscope.core.result import Result
from bertscope.core.words import names_in_all

APART = " · "
"""Between the parts of a name; over a panel, each stands on a line of its own."""


@dataclass(frozen=True)
class Told:
    """One answer beside the others."""

    label: str
    """What tells it from them."""
    models: dict[str, str]
    """For the name of each of its models, what those in the same place are called in all answers."""

    def words(self, text: str) -> str:
        """A text about it, with the names of all answers."""
        for own in sorted(self.models, key=len, reverse=True):
            text = text.replace(own, self.models[own])
        return text


def told_apart(results: Sequence[Result], names: Sequence[str], further: Sequence[str]) -> list[Told]:
    """What each is called beside the others: the models, data and settings that aren't the same for all. `names` are
    their whole names, `further` what else tells those apart that are about the same models and data."""
    models = names_in_all([result.models for result in results])
    own = [{name: name for name in each} for each in models]
    labels = next(filter(_distinct, (_labels(results, each, further) for each in (models, own))), names)
    return [Told(label, shared) for label, shared in zip(labels, models, strict=True)]


def _labels(
    results: Sequence[Result], models: Sequence[Mapping[str, str]], further: Sequence[str]
) -> list[str]:  # fmt: skip
    called = [list(each.values()) for each in models]
    joined = [" and ".join(_differing(each, called)) for each in called]
    keys = dict.fromkeys(key for result in results for key in result.subject)
    subject = [[_said(key, result.subject.get(key, "")) for result in results] for key in keys]
    telling = [field for field in (joined, *subject, further) if len({*field}) > 1]
    # What has none of it, such as no weighting, is called by its data.
    pairs = zip(results, called, strict=True)
    otherwise = [result.subject.get("task") or " and ".join(each) for result, each in pairs]
    told = [APART.join(filter(None, parts)) for parts in zip(*telling, strict=True)] or [""] * len(results)
    return [label or plain for label, plain in zip(told, otherwise, strict=True)]


def _differing(own: Sequence[str], called: Sequence[Sequence[str]]) -> list[str]:
    """Of an answer's models those that aren't called the same in all; all, where answers have more or fewer."""
    if len({len(each) for each in called}) > 1:
        return list(own)
    return [name for name, *all in zip(own, *called, strict=True) if len({*all}) > 1]


def _said(key: str, value: str) -> str:
    return value if key == "task" or not value else f"{key} {value}"


def _distinct(labels: Iterable[str]) -> bool:
    labels = list(labels)
    return len({*labels}) == len(labels) and all(labels)
