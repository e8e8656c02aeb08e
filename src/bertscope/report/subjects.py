"""What a result rests on: the models and data at the beginning of its steps, among which the page's switch chooses,
and the results that it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bertscope.core import lineage, registry
from bertscope.core.errors import UserError
from bertscope.core.question import DATA, Question
from bertscope.core.step import Step

if TYPE_CHECKING:
    from bertscope.report.sections import Finding

LEDGER = "claims"
_FEW = 3
"""Up to so many parts of a question stand among its answers."""


def models(step: Step) -> list[str]:
    """The pretrained models (or folders) it began with, whatever became of them on the way."""
    return sorted({_named(root.source) for root in lineage.roots(step, "model")})


def tasks(step: Step) -> list[str]:
    """The tasks and corpora it read, in training or in measuring."""
    return sorted({_named(root.source.partition("@")[0]) for root in lineage.roots(step, *DATA)})


def one_seed(step: Step) -> bool:
    """Whether it is an experiment over trainings of which there is only one."""
    seeds = step.config.get("seeds")
    return isinstance(seeds, (list, tuple)) and len(seeds) == 1


def declared(question: str) -> Question | None:
    """What the question's code says about itself; a stored result outlives its code and is shown without it."""
    try:
        return registry.find(question)
    except (UserError, ImportError, AttributeError):
        return None


def parts(findings: Sequence[Finding]) -> set[str]:
    """The ids of results that others were made of, such as an experiment's trainings: where a question has many, they
    would bury its answers. An experiment is never a part, though another may read it."""
    under = {one.id for finding in findings if finding.step.name != LEDGER for one in lineage.ancestors(finding.step)}
    used = [finding.step for finding in findings if finding.step.id in under]
    planned = {name for name in {step.name for step in used} if getattr(declared(name), "plan", None)}
    counts = Counter(step.name for step in used)
    return {step.id for step in used if step.name not in planned and counts[step.name] > _FEW}


def _named(source: str) -> str:
    """Names and hub ids as they are; of a path, which says where somebody's files lie, the last part."""
    return Path(source).name if Path(source).is_absolute() else source
