"""`circuit`: how few parts do what the whole model does, if the best are kept by a ranking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bertscope.core.config import check_choices, check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, TASK, Input, Question
from bertscope.core.ranking import COMPUTED, WORDS, ComputedRanking, RanksBy
from bertscope.core.scoring import Scoring

Kind = Literal["head", "mlp", "both"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class CircuitConfig:
    """Which rankings are followed, and what is left of parts that are off."""

    units: tuple[Kind, ...] = ("head", "mlp")
    """What to rank: head (the MLPs stay on), mlp (the heads stay on), both (heads and MLPs together)."""
    by: tuple[ComputedRanking, ...] = COMPUTED
    """How parts are ranked on the validation set. loss, kl: what the part's absence alone does to the loss, and to
    predictions; gradient: the size of the loss's gradient at its gate, as in `importance`; integrated: that gradient
    with its sign, over gates that open together from 0 to 1."""
    mode: Literal["mean", "optimal", "position", "zero", "uniform"] = "mean"
    """What a part that is off leaves behind. From the validation set, mean: its average output; optimal: constants
    fitted for each set of parts so that predictions move least; position: its average output at each position. zero:
    nothing; uniform: a head attends equally to every token, and an MLP leaves nothing."""
    steps: int = 10
    """In how many steps the number of kept parts goes from none to all."""
    random: int = 5
    """How many random orders to compare the rankings with."""
    nodes: int = 16
    """For integrated: at how many points between 0 and 1 the gradient is taken; twice and four times as many if the
    sum misses more than 1% of what it should be."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the random orders and the resampling."""

    def __post_init__(self) -> None:
        check_known("kind of part", self.units, KINDS)
        if not self.units:
            raise UserError(f"no parts to rank; name some of {', '.join(KINDS)}")
        check_choices(self)
        check_least(self, steps=2, random=3, nodes=1, repeats=100, seed=0)


circuit = Question(
    __name__,
    """Parts are ranked on the validation set, in several ways; stored results that rank them can be added. By each
    ranking the best k are kept and the rest is off: the test set's score, and how far predictions are from the
    whole model's (KL), over k. The area under each curve has a paired bootstrap interval and stands beside that of
    random orders. The smallest circuit is the one from which on the validation set's score stays within a tenth of
    the skill above chance; the test set then says whether it is as good as the whole model.""",
    config=CircuitConfig,
    inputs={"model": MODEL, "task": TASK},
    optional={
        "rankings": Input(
            "result",
            many=True,
            flag="Folders of stored results that rank the model's heads or MLPs (ablate, graft, importance, patch "
            "...), to follow their orders too.",
        )
    },
    scoring=Scoring(),
    version=3,
    main="faithful_area",
    better="higher",
    numbers={
        "score": "score of the whole model",
        "chance": "chance",
        "size": "{kind} in the smallest circuit, by {ranking}",
        "change": "change of the score with that circuit alone, test ({kind} by {ranking})",
        "area": "area of the score, {kind} by {ranking}",
        "faithful_area": "area of faithfulness, {kind} by {ranking}",
        "more_than_random": "area of the score, {kind} by {ranking}: more than in random order",
        "more_faithful": "area of faithfulness, {kind} by {ranking}: more than in random order",
        "reliability": "reliability of the ranking of {kind} by {ranking}",
        "missed": "integrated gates: what their sum misses",
    },
    words={
        "kind": {"head": "heads", "mlp": "MLPs", "both": "heads and MLPs"},
        "ranking": WORDS,
        "other": WORDS,
        "verdict": {"as_good": "as good"},
    },
    compared="the share of heads that the smallest circuit keeps",
    cite="Wang et al. 2023, Interpretability in the wild; Conmy et al. 2023, Towards automated circuit discovery; Li "
    "and Janson 2024, Optimal ablation for interpretability; Sundararajan et al. 2017, Axiomatic attribution",
    card=(
        HeadFact("parts", "value", "value by which it is ranked", by=("ranking",), where={"kind": "head"},
                 beside={"rank": "rank"}, middle=0.0),
    ),
    ranks={
        by: RanksBy("parts", "value", {"ranking": by}, {"ranking": by}, split="validation") for by in COMPUTED
    },
    columns={
        "curves": {
            "low, high": "ends of the 95% interval; in random order the lowest and the highest",
            "loss_low, loss_high": "the same of the loss",
            "kl_low, kl_high": "the same of the divergence",
            "faithful": "1 - divergence / that with all parts of the kind off",
            "faithful_low, faithful_high": "the same of it",
        },
        "areas": {
            "more_low, more_high": "over examples, against these random orders",
            "one_more_low, one_more_high": "over examples and random orders: against one more of them",
        },
        "smallest": {
            "change": "of the test set's score, against the whole model",
            "margin": "how far it may be away and be as good: a tenth of the skill above chance",
        },
    },
)  # fmt: skip
