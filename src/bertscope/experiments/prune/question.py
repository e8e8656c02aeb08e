"""`prune`: how small a part of a fine-tuned model still does its task?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, TASK, Input, Question
from bertscope.core.ranking import WORDS
from bertscope.core.scoring import Scoring

METHODS = {"s": "structured", "m": "magnitude"}


@dataclass(frozen=True)
class PruneConfig:
    """What is pruned, in what steps, and when to stop."""

    method: Literal["s", "m"] = "s"
    """s: prune whole heads and MLPs, the least important first; m: prune single weights, the smallest first."""
    threshold: float = 0.9
    """The share of the full model's score that must remain."""
    rule: Literal["chance", "paper"] = "chance"
    """What --threshold is a share of. chance: the score above a constant answer's; paper: the plain score, which
    lets a constant answer pass if the model is weak."""
    share: float = 0.1
    """How much is pruned per step. s: this share of all heads, and one MLP; m: this share of the remaining weights.
   """
    importance: Literal["example", "token", "cumulative"] = "example"
    """For s: how importance is measured; see `importance`."""
    stop: Literal["paper", "smallest", "tested"] = "paper"
    """Which mask to keep. paper: the last one before the first that fails; smallest: the smallest that passes, even
    if larger ones fail; tested: a mask passes if it is above the threshold for certain (one-sided test at .05)."""
    force: bool = False
    """Continue even if the full model isn't clearly above chance."""
    order: Literal["recomputed", "gradient", "loss", "kl", "integrated", "random"] = "recomputed"
    """For s: in which order parts are pruned. recomputed: by importance, measured again after each step, as in the
    paper; gradient: the same measured once, on the full model; loss, kl, integrated: measured once, as in `circuit`,
    where a part that is off leaves nothing; random. --ranking takes the order from a stored result instead."""
    seed: int = 0
    """Seed of the random order."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, seed=0)
        if self.method == "m" and self.order != "recomputed":
            raise UserError(f"order {self.order} is for heads and MLPs; weights (method m) go by their size")
        for name in ("threshold", "share"):
            if not 0 < (value := getattr(self, name)) < 1:
                raise UserError(f"{name} is {value}; it must be between 0 and 1")


prune = Question(
    __name__,
    """Parts are pruned step by step, without training in between, for as long as the validation set's score stays
    above the threshold; the last mask that passed is kept, and scored on the test set. How much is left has an
    interval: where other validation rows would have stopped, on the same path. Every step is written to `out`, so
    that a run that was killed can continue.""",
    config=PruneConfig,
    inputs={"model": MODEL, "task": TASK},
    optional={
        "ranking": Input(
            "result",
            flag="The folder of a stored result that ranks the model's heads and MLPs (ablate, circuit, graft, "
            "importance ...): parts are pruned in its order.",
        )
    },
    scoring=Scoring(),
    version=3,
    main="left",
    better="lower",
    numbers={
        "left": "left",
        "heads": "heads",
        "mlps": "MLPs",
        "score": "{arm}, test",
        "above_bar": "above what must be reached, test",
        "chance": "chance",
        "fixed": "rows fixed, test",
        "broken": "rows broken, test",
    },
    columns={
        "changed_by_label": {
            "a": "of the full model",
            "b": "of the pruned one",
            "low, high": "95% interval of the change, paired",
        },
        "versus": {"flips": "the share of rows that get another answer"},
    },
    words={
        "phase": {"heads_and_mlps": "heads and MLPs", "mlps": "MLPs"},
        "order": WORDS,
    },
    compared="the share of the blocks' weights that still does the task",
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning",
    keeps="iterations",
    card=(HeadFact("survivors", "survives", "survives pruning", where={"kind": "head"}),),
)
