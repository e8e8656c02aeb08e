"""What results are about and rest on: their models, by names that tell all on the page apart; the models and data at
the beginning of their steps, among which the page's switch chooses; and the results that they were made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bertscope.core import lineage, registry
from bertscope.core.model_record import ModelRecord
from bertscope.core.question import DATA
from bertscope.core.step import Root, Step
from bertscope.core.words import ModelNames
from bertscope.report.privacy import own_name

if TYPE_CHECKING:
    from bertscope.core.result import Result
    from bertscope.report.finding import Finding

LEDGER, COURSES = "claims", ("course", "courses")
_FEW = 3
"""Up to so many parts of a question stand among its answers."""


class PageModels:
    """What the models of some results are called, where these stand on one page."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        findings = list(findings)
        measured = [record for finding in findings for record in finding.result.models.values()]
        self._names = ModelNames(measured)
        self._records: dict[str, ModelRecord] = {}
        # Of a model that has several names, such as a base in a training that drew its weights anew, the plainest.
        for record in sorted((one for each in measured for one in each.descent()), key=lambda one: one.name):
            self._records.setdefault(record.id, record)
        roots = [root for finding in findings for root in lineage.roots(finding.step, "model")]
        self._other_names = ModelNames(map(_record, roots))

    def in_words(self, result: Result) -> Result:
        """The result as the page shows it."""
        return result.in_words(self._names.by_key(result.models))

    def about(self, result: Result) -> str:
        """What it is about."""
        return self._names.in_result(result).about

    def find(self, id: str) -> ModelRecord | None:
        """The model of that id, as it is called here; None if no result is about it."""
        record = self._records.get(id)
        return record and replace(record, name=self._names.of(record))

    def began(self, step: Step) -> list[str]:
        """The pretrained models (or folders) that a step began with, whatever became of them on the way."""
        return sorted({self._root_name(root) for root in lineage.roots(step, "model")})

    def _root_name(self, root: Root) -> str:
        known = self.find(root.digest)
        return known.name if known else self._other_names.of(_record(root))


def _record(root: Root) -> ModelRecord:
    """All that a step says of a model that it began with."""
    return ModelRecord(root.digest, own_name(root.source), source=root.source)


def tasks(step: Step) -> list[str]:
    """The tasks and corpora it read, in training or in measuring."""
    return sorted({own_name(root.source) for root in lineage.roots(step, *DATA)})


def one_seed(step: Step) -> bool:
    """Whether it is an experiment over trainings of which there is only one."""
    seeds = step.config.get("seeds")
    return isinstance(seeds, (list, tuple)) and len(seeds) == 1


def parts(findings: Sequence[Finding]) -> set[str]:
    """The ids of results that others were made of, such as an experiment's trainings, or the answers that a series
    follows: where a question has many, they would bury its answers. An experiment is never a part, though another may
    read it."""
    under = {one.id for finding in findings if finding.step.name != LEDGER for one in lineage.ancestors(finding.step)}
    used = [finding.step for finding in findings if finding.step.id in under]
    planned = {name for name in {step.name for step in used} if getattr(registry.still_declared(name), "plan", None)}
    counts = Counter(step.name for step in used)
    followed = {one.id for finding in findings if finding.step.name in COURSES for one in finding.step.before()}
    return {
        step.id for step in used
        if (step.name not in planned or step.id in followed) and counts[step.name] > _FEW
    }  # fmt: skip
