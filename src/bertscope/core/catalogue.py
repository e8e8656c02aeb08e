"""The old way to declare a question, until the last one has moved to `core/question.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bertscope.core import registry
from bertscope.core.question import Input, Question
from bertscope.core.registry import find as spec  # noqa: F401

_KINDS = {
    "model": "model", "models": "model", "base": "model", "before": "model", "after": "model", "task": "task",
    "examples": "examples", "data": "data", "states": "states", "train_states": "states", "against_states": "states",
    "train": "examples", "against": "examples", "hans": "examples", "sts": "task",
}  # fmt: skip
_MANY = ("models", "lotteries", "results", "tuned", "random", "untuned", "frozen", "frozen_random", "tickets", "shapes",
         "biased", "controls", "contrasted", "pairs", "spaces", "states", "train_states", "against_states")  # fmt: skip
_FLAGS = {
    "train": "Other data to train on; --on is then scored whole. By default --on is split.",
    "against": "Other data to ask the same of: is it the same out of the domain?",
    "pruned": "The folder of a stored prune, or lottery: what it pruned is cut before anything else.",
}


@dataclass(frozen=True, repr=False)
class _Declared(Question):
    function: Callable[..., Any] = print
    reader: Callable[..., Any] | None = None
    own: str = ""

    @property
    def name(self) -> str:
        return self.own

    def part(self, **opened: Any) -> Any:
        assert self.reader is not None
        return self.reader(**opened)

    def _run(self, opened: dict[str, Any]) -> Any:
        return self.function(**opened)


def question(name: str, *, inputs: tuple[str, ...], optional: tuple[str, ...] = (), plan: Any = None, reads: Any = None,
             **more: Any) -> Callable[[Callable[..., Any]], Any]:  # fmt: skip
    def one(each: str) -> Input:
        flag = _FLAGS.get(each, "") if each in optional else ""
        many = (each in _MANY and (name, each) != ("erase", "states")) or (
            each == "pruned" and name in ("lottery", "ticket")
        )
        return Input(_KINDS.get(each, "result"), many, flag, checked=each == "train")

    def declare(function: Callable[..., Any]) -> Any:
        config = type(inspect.signature(function).parameters["config"].default)
        given: dict[str, Input] = {}
        if plan is not None:
            models = [each for each in inputs if _KINDS.get(each) == "model"]
            named = models or (["models"] if "states" in inputs else ["base"])
            names = [*inputs, *inspect.signature(plan).parameters]
            data = next((each for each in ("examples", "data", "task") if each in names), None)
            given = {each: one(each) for each in (*named, *([data] if data else []))}
        about = inspect.getdoc(function) or ""
        return _Declared(
            function.__module__, about.partition("\n\n")[2], config, {each: one(each) for each in inputs},
            optional={each: one(each) for each in optional}, given=given, plan=plan, shares_pass=reads is not None,
            function=function, reader=reads, own=name, **more,
        )  # fmt: skip

    return declare


CATALOGUE = registry.QUESTIONS
