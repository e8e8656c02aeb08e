"""A model that is asked a task without some of its parts, again and again: what they leave behind is known once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertscope.core.units import Mode, Unit
from bertscope.models.judge import judge_without
from bertscope.models.references import References, reference_for
from bertscope.models.references import alone as one_of_all

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.core.predictions import Judged
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.gates import Reference
    from bertscope.models.means import Means


class WithoutParts:
    """A model, its task, and what parts that are off leave behind, by the task's validation set."""

    def __init__(self, encoder: Encoder, task: Task, mode: Mode = "zero", *, seed: int = 0) -> None:
        self.encoder, self.task, self.mode = encoder, task, mode
        self._seed = seed
        self._told: list[Reference | None] = []  # one, once it is known
        self._fitted: dict[frozenset[Unit], Means] = {}

    def judged(self, examples: Examples, sets: Sequence[Sequence[Unit]]) -> Judged:
        """These examples without each set of parts; the first is what the others are compared with."""
        reference = self._of_each(sets) if self.mode == "optimal" else self._of_all()
        return judge_without(self.encoder, self.task.output, examples, sets, mode=self.mode, reference=reference)

    def reference(self, units: Sequence[Unit], *, alone: bool) -> Reference | None:
        """What these parts leave behind: each if it `alone` is off, or all of them together."""
        if self.mode != "optimal":
            return self._of_all()
        sets = [[unit] for unit in units] if alone else [units]
        return one_of_all(self._of_each(sets), sets) if alone else self._of_each(sets)[0]

    def _of_all(self) -> Reference | None:
        """What parts leave behind whatever else is off."""
        if not self._told:
            told = self._reference_for([])
            assert not isinstance(told, Sequence), "which says something else for each set"
            self._told.append(told)
        return self._told[0]

    def _of_each(self, sets: Sequence[Sequence[Unit]]) -> list[Means]:
        """The constants that are best for each set; a set that was met before has its own."""
        known = [frozenset(units) for units in sets]
        new = {key: units for key, units in zip(known, sets, strict=True) if key not in self._fitted}
        if new:
            fitted = self._reference_for(list(new.values()))
            assert isinstance(fitted, Sequence)
            self._fitted |= dict(zip(new, fitted, strict=True))
        return [self._fitted[key] for key in known]

    def _reference_for(self, sets: Sequence[Sequence[Unit]]) -> References:
        validation, output = self.task.validation, self.task.output
        return reference_for(self.mode, self.encoder, output, validation, sets, seed=self._seed)
