"""`prune`: how small a part of a fine-tuned model still does its task?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, TASK, Input, Question
from bertscope.core.scoring import Scoring

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
    stop: Literal["paper", "smallest", "tested"] = "paper"
    """Which mask is kept. paper: the last one before the first that fails; smallest: the smallest that passes, though
    larger ones fail; tested: a mask passes if it is above the threshold for certain (one-sided test at .05)."""
    force: bool = False
    """Go on where the full model isn't clearly above chance."""
    order: Literal["recomputed", "gradient", "loss", "kl", "integrated", "random"] = "recomputed"
    """s: in what order parts go. recomputed: by importance, measured again after each step, as the paper has it;
    gradient: the same measured once, on the full model; loss, kl, integrated: once, as in `circuit`, each part
    leaving nothing; random. --ranking takes the order from a stored result instead."""
    seed: int = 0
    """Of the random order."""

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
    """Step by step parts are pruned, without training in between, for as long as the validation set's score stays
    above the threshold; the last mask that passed is kept, and scored on the test set. What is left has an interval:
    where other rows of the validation set would have stopped, on the same path. Every step is written to `out`, so
    that a run that was killed goes on.""",
    config=PruneConfig,
    inputs={"model": MODEL, "task": TASK},
    optional={
        "ranking": Input(
            "result",
            flag="The folder of a stored result that ranks the model's heads and MLPs (ablate, circuit, graft, "
            "importance ...): parts go in its order.",
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
        "order": {"kl": "divergence", "loss": "rise of the loss", "integrated": "integrated gates"},
    },
    compared="the share of the blocks' weights that still does the task",
    cite="Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning",
    keeps="iterations",
    card=(HeadFact("survivors", "survives", "survives pruning", where={"kind": "head"}),),
)
