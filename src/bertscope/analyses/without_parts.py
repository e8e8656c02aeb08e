"""A model that is asked a task without some of its parts, again and again: what they leave behind is known once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bertscope.core.units import Mode, Unit
from bertscope.models.judge import judge_without
from bertscope.models.means import Means
from bertscope.models.references import reference_for

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.core.predictions import Judged
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.gates import Reference


class WithoutParts:
    """A model, its task, and what parts that are off leave behind, by the task's validation set."""

    def __init__(self, encoder: Encoder, task: Task, mode: Mode = "zero", *, seed: int = 0) -> None:
        self.encoder, self.task, self.mode = encoder, task, mode
        self._seed = seed
        self._same: tuple[Reference | None] | None = None
        self._fitted: dict[frozenset[Unit], Means] = {}

    def judged(self, examples: Examples, sets: Sequence[Sequence[Unit]]) -> Judged:
        """These examples without each set of parts; the first is what the others are compared with."""
        reference = self._of_each(sets) if self.mode == "optimal" else self._of_all()
        return judge_without(self.encoder, self.task.output, examples, sets, mode=self.mode, reference=reference)

    def reference(self, units: Sequence[Unit], *, alone: bool) -> Reference | None:
        """What these parts leave behind: each if it `alone` is off, or all of them together."""
        if self.mode != "optimal":
            return self._of_all()
        if not alone:
            return self._of_each([units])[0]
        each = self._of_each([[unit] for unit in units])
        heads, mlps = each[0].heads.clone(), each[0].mlps.clone()
        for unit, own in zip(units, each, strict=True):
            if unit.kind == "head":
                heads[unit.layer_index, unit.index] = own.heads[unit.layer_index, unit.index]
            else:
                mlps[unit.layer_index] = own.mlps[unit.layer_index]
        return Means(heads, mlps)

    def _of_all(self) -> Reference | None:
        """What parts leave behind whatever else is off."""
        if self._same is None:
            self._same = (self._told([]),)  # type: ignore[assignment]
        return self._same[0]  # type: ignore[index]

    def _of_each(self, sets: Sequence[Sequence[Unit]]) -> list[Means]:
        """The constants that are best for each set; a set that was met before has its own."""
        known = [frozenset(units) for units in sets]
        new = {key: units for key, units in zip(known, sets, strict=True) if key not in self._fitted}
        if new:
            self._fitted |= dict(zip(new, self._told(list(new.values())), strict=True))  # type: ignore[arg-type]
        return [self._fitted[key] for key in known]

    def _told(self, sets: Sequence[Sequence[Unit]]) -> Reference | Sequence[Means] | None:
        validation, output = self.task.validation, self.task.output
        return reference_for(self.mode, self.encoder, output, validation, sets, seed=self._seed)
