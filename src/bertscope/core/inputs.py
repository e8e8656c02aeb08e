"""Opening what steps need: models, data, results of earlier steps."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from bertscope.core import config as configs
from bertscope.core import registry
from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json
from bertscope.core.in_turn import InTurn
from bertscope.core.question import DATA
from bertscope.core.seal import refuse_damaged
from bertscope.core.step import Root, Step

KEPT = 3
"""Models, and data sets, that stay open from step to step."""


Blamed = Callable[["Step | Root"], AbstractContextManager[None]]


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
        question, models = registry.find(step.name), []
        for numbered, value in step.inputs.items():
            name, dot, _ = numbered.partition(".")
            known = question.input(name)
            one: Any = (
                InTurn(partial(self._opening, known.kind, value))
                if known.in_turn
                else self._opened(known.kind, value)
            )
            if registry.is_model(known.kind):
                models.append((one, not (isinstance(value, Root) and value.held is not None)))
            if dot:
                opened.setdefault(name, []).append(one)
            else:
                opened[name] = one
        if len(models) > 1:
            registry.resolve(registry.SERVICES["bring_together"])(models)
        return opened

    def preflight(self, steps: Iterable[Step], blamed: Blamed = lambda _: nullcontext()) -> None:
        """Open the data that these steps read, and run their questions' checks: what is wrong is told before the
        first of them starts.

        `blamed` is the context in which a data set is opened, or a step's check is run.
        """
        for kind, root, checks in _data_of(steps):
            with blamed(root):
                read = self._opened(kind, root)
            for step in _asking_differently(checks):
                question = registry.find(step.name)
                with blamed(step):
                    question.refuse_output(read)
                    if question.check and any(
                        value.id == root.id and question.checks(name) for name, value in step.inputs.items()
                    ):
                        question.check(read, configs.from_json(question.config, step.config))
            self.forget(but=KEPT)

    def forget(self, but: int = 0) -> None:
        """Let go of everything but the `but` models and as many data sets that were used last."""
        for is_model in (True, False):
            alike = [key for key in self._open if (key[0] not in DATA) == is_model]
            for key in alike[: max(0, len(alike) - but)]:
                del self._open[key]

    def _opened(self, kind: str, value: Step | Root) -> Any:
        if kind not in DATA and not registry.is_model(kind):
            return self._opening(kind, value)
        key = (registry.KINDS[kind].folder or kind, value.id)  # what takes time to open and no question changes
        if key not in self._open:
            self._open[key] = self._opening(kind, value)
        self._open.move_to_end(key)
        return self._open[key]

    def _opening(self, kind: str, value: Step | Root) -> Any:
        known = registry.KINDS[kind]
        opener = registry.resolve(known.open)
        if isinstance(value, Step):
            folder = self._folder_of(value)
            refuse_damaged(folder, value.id, within=(known.folder or kind,))
            return opener(str(folder / (known.folder or kind)))
        if known.root and registry.resolve(known.root)(value.given, **value.options).digest != value.digest:
            raise UserError(f"{value.source} has changed since this run was planned; run the command again")
        return opener(value.given, **value.options)


def _asking_differently(steps: Iterable[Step]) -> Iterable[Step]:
    """One of those that ask the same of the data: of which model, and with which seed, makes no difference there."""
    found: dict[str, Step] = {}
    for step in steps:
        settings = {key: value for key, value in step.config.items() if key != "seed"}
        found.setdefault(canonical_json([step.name, settings]), step)
    return found.values()


def _data_of(steps: Iterable[Step]) -> Iterator[tuple[str, Root, list[Step]]]:
    """The data that some steps read, each once, as which kind, and the steps whose questions have a check of it.

    What is checked comes first: a check says most clearly what is wrong. Then whole tasks; their texts alone, or
    fewer of them, have nothing to add and are left out.
    """
    found: dict[tuple[str, str], tuple[str, Root, list[Step]]] = {}
    for step in steps:
        question = registry.find(step.name)
        for name, value in step.inputs.items():
            kind = question.input(name).kind
            if isinstance(value, Root) and kind in DATA:
                _, _, checks = found.setdefault((kind, value.id), (kind, value, []))
                refuses = question.scoring is not None and bool(question.scoring.refuses)
                checks += [step] if refuses or (question.check and question.checks(name)) else []
    read = set[str]()
    for kind, root, checks in sorted(found.values(), key=lambda one: (not one[2], one[0] != "task")):
        whole = {key: value for key, value in root.options.items() if key != "limit"}
        rows = canonical_json([root.digest, whole])
        if checks or rows not in read:
            read.add(rows)
            yield kind, root, checks
