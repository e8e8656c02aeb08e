"""`overlap`: do lotteries on different tasks find the same heads and MLPs?"""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.head_card import HeadFact
from bertscope.core.question import RESULTS, Question


@dataclass(frozen=True)
class OverlapConfig:
    """Nothing to choose: what survived is compared."""


overlap = Question(
    __name__,
    """What survived structured pruning with each seed of each lottery is compared, pair by pair: the share of their
    union that two masks have in common (Jaccard), within a task and between tasks, beside what two random sets of
    these sizes would share.""",
    config=OverlapConfig,
    inputs={"lotteries": RESULTS},
    version=1,
    main="overlap",
    numbers={"overlap": "{parts}, {tasks}", "overlap_by_chance": "{parts}, {tasks}, by chance"},
    words={"parts": {"mlps": "MLPs"}, "tasks": {"different": "between tasks", "same": "within a task"}},
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning, section 4.2",
    card=(
        HeadFact(
            "survival", "share", "share of tasks and seeds with which it survives", where={"kind": "head"}, middle=0.0
        ),
    ),
)
