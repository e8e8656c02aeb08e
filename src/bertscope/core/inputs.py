"""Opening what steps need: models, data, results of earlier steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bertscope.core import config as configs
from bertscope.core.catalogue import INPUT_KINDS, OPENERS, ROOTS, resolve, spec
from bertscope.core.errors import UserError
from bertscope.core.step import Root, Step

_DATA = ("task", "examples", "data")
_KEPT = ("model", *_DATA)
"""What takes time to open and no question changes."""
KEPT = 3
"""Models, and data sets, that stay open from step to step."""


class Inputs:
    """Opens the inputs of steps. What was opened once serves again, until it is forgotten.

    folder_of   where a finished step lies
    """

    def __init__(self, folder_of: Callable[[Step], Path]) -> None:
        self._folder_of = folder_of
        self._open: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def of(self, step: Step) -> dict[str, Any]:
        """What the step's function is called with. `random.0`, `random.1` make a list `random`."""
        opened: dict[str, Any] = {}
        for numbered, value in step.inputs.items():
            name, dot, _ = numbered.partition(".")
            if dot:
                opened.setdefault(name, []).append(self._opened(name, value))
            else:
                opened[name] = self._opened(name, value)
        return opened

    def read_ahead(self, steps: Iterable[Step]) -> None:
        """Open the data that these steps read: what is wrong with it is told before the first of them starts."""
        for step in steps:
            asked = spec(step.name)
            for name, value in step.inputs.items():
                name = name.partition(".")[0]
                if isinstance(value, Root) and INPUT_KINDS[name] in _DATA:
                    read = self._opened(name, value)
                    if asked.check and name in asked.inputs:
                        asked.check(read, configs.from_json(asked.config_class, step.config))
            self.forget(but=KEPT)

    def forget(self, but: int = 0) -> None:
        """Let go of everything but the `but` models and as many data sets that were used last."""
        for is_model in (True, False):
            alike = [key for key in self._open if (key[0] == "model") == is_model]
            for key in alike[: len(alike) - but]:
                del self._open[key]

    def _opened(self, name: str, value: Step | Root) -> Any:
        kind = INPUT_KINDS[name]
        if kind not in _KEPT:
            return self._opening(kind, value)
        key = (kind, value.id)
        if key not in self._open:
            self._open[key] = self._opening(kind, value)
        self._open.move_to_end(key)
        return self._open[key]

    def _opening(self, kind: str, value: Step | Root) -> Any:
        opener = resolve(OPENERS[kind])
        if isinstance(value, Step):
            return opener(str(self._folder_of(value) / kind))
        if kind in ROOTS and resolve(ROOTS[kind])(value.source, **value.options).digest != value.digest:
            raise UserError(f"{value.source} has changed since this run was planned; run the command again")
        return opener(value.source, **value.options)
