"""What the whole model has above chance: what it can lose, and what margins are shares of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bertscope.core.estimate import Estimate
from bertscope.study.claims.records.evidence import data_held

if TYPE_CHECKING:
    from bertscope.core.result import Result

TENTH = 0.1
"""The share of its skill that a model may lose by what counts as no loss. No source names one: it is ours, and the
same as the rule by which subnetworks are found (Prasanna et al. keep nine tenths)."""
NO_LOSS = "a tenth of what the model has above chance, ours: a smaller loss counts as none"

_WHOLE: Mapping[str, Mapping[str, str]] = {
    "ablate": {}, "graft": {}, "truncate": {"arm": "whole"}, "freeze": {"arm": "whole"}, "lottery": {"arm": "full"}
}  # fmt: skip
"""The questions that take something away, or exchange it, and of what the whole model's `score` is there."""


def skill_of(result: Result, others: Sequence[Result]) -> Estimate | None:
    """The whole model's score above chance, with that score's interval; None where it isn't stored. What `redundancy`
    switches off is told by `ablate` of the same model and task."""
    same = [one for one in others if one.question == "ablate" and _subject(one) == _subject(result)]
    for one in [result] if result.question in _WHOLE else same:
        scores, chances = one.numbers(key="score", **_WHOLE[one.question]), one.numbers(key="chance")
        if scores and chances:
            whole, chance = Estimate.of_number(scores[0]), chances[0].value
            return whole - Estimate(chance, chance, chance)
    return None


def _subject(result: Result) -> tuple[list[str], str]:
    return list(result.models), data_held(result)
