"""`prune`: how small a part of a fine-tuned model still does its task?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bertscope.core.catalogue import question
from bertscope.core.config import check_choices
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.result import Result

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

METHODS = {"s": "structured", "m": "magnitude"}


@dataclass(frozen=True)
class PruneConfig:
    """What is pruned, in what steps, and when to stop."""

    method: Literal["s", "m"] = "s"
    """s: whole heads and MLPs, the least important first; m: single weights, the smallest first."""
    threshold: float = 0.9
    """The share of the full model's score that must remain."""
    rule: Literal["chance", "paper"] = "chance"
    """What the share is of. chance: of the score above a constant answer's; paper: of the plain score, which on a
    weak model lets a constant answer pass."""
    share: float = 0.1
    """How much goes in a step: s: of all heads, and one MLP; m: of the weights that remain."""
    importance: Literal["example", "token", "cumulative"] = "example"
    """s: how importance is measured; see `importance`."""
    force: bool = False
    """Go on where the full model isn't clearly above chance."""

    def __post_init__(self) -> None:
        check_choices(self)
        for name in ("threshold", "share"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UserError(f"{name} is {value}; it must be between 0 and 1")


@dataclass(frozen=True)
class Pruned:
    result: Result


@question(
    "prune",
    inputs=("model", "task"),
    version=1,
    main="left",
    better="lower",
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning",
    keeps="iterations",
    card=(HeadFact("survivors", "survives", "survives pruning", where={"kind": "head"}),),
)
def prune(
    model: Encoder | str,
    task: Task | str,
    config: PruneConfig = PruneConfig(),  # noqa: B008 (frozen)
    *,
    out: str | Path | None = None,
) -> Pruned:
    """How small a part of a fine-tuned model still does its task?

    Step by step parts are pruned, without training in between, for as long as the validation set's score stays above
    the threshold; the last mask that passed is kept, and scored on the test set. Every step is written to `out`,
    so that a run that was killed goes on.
    """
    from bertscope.data.read import read_task
    from bertscope.experiments.prune.measure import Pruning
    from bertscope.models.load import load

    model = load(model) if isinstance(model, str) else model
    task = read_task(task) if isinstance(task, str) else task
    return Pruned(Pruning(model, task, config, None if out is None else Path(out)).result())
