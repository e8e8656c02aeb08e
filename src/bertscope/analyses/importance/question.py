"""`importance`: how much the loss feels each head, MLP and neuron, by gradient, and whether that can be believed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bertscope.core.config import check_choices, check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.ranking import RanksBy
from bertscope.core.scoring import Scoring
from bertscope.core.series import Followed, OverSteps
from bertscope.core.units import Mode

GatedKind = Literal["head", "mlp", "neuron"]
KINDS: tuple[GatedKind, ...] = get_args(GatedKind)
IMPORTANCE, NORMALISED, ABLATION = "importance", "normalised_importance", "effect_alone"
"""By what parts are put in order."""
_ORDERS = {NORMALISED: "normalised importance", ABLATION: "effect alone"}
_EFFECTS = {"rise": "the loss's rise", "size": "the size of the loss's change", "drop": "the score's drop"}


@dataclass(frozen=True)
class ImportanceConfig:
    """Which gradients are taken, and how they are set against switching parts off."""

    form: Literal["example", "token", "cumulative"] = "example"
    """What is averaged. example: the size of each example's gradient at the gate, as the papers define it; token:
    the sum of the sizes of its tokens' gradients, as in Michel's code; cumulative: what scripts get that never clear
    the gradient between batches, to compare with old results."""
    units: tuple[GatedKind, ...] = ("head", "mlp")
    """The kinds of parts: head, mlp, neuron (of the MLPs)."""
    faithful: bool = True
    """Also switch heads and MLPs off, one at a time on the validation set, and one after the other on the test set,
    to see whether the gradient ranks them as their absence does. This takes far longer than the gradients."""
    mode: Mode = "zero"
    """What a head that is off leaves behind. zero: nothing, as the gate's gradient assumes; uniform: equal attention
    to every token. From the validation set, mean: its average output; position: its average output at each position;
    resample: its output on another text, mean of 5 draws; optimal: constants fitted for each set of parts so that
    predictions move least. With uniform and zero an MLP leaves nothing, otherwise the same as heads."""
    steps: int = 10
    """In how many steps all parts of a kind are switched off, one after the other."""
    random: int = 3
    """How many random orders to compare the order of importance with."""
    batch_size: int = 32
    """Batch size for the cumulative form, which depends on it; the other forms don't."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the random orders, the resampling and the other texts (resample)."""

    def __post_init__(self) -> None:
        check_known("kind of part", self.units, KINDS)
        if not self.units:
            raise UserError(f"no parts to measure; name some of {', '.join(KINDS)}")
        check_choices(self)
        if self.form == "cumulative" and "neuron" in self.units:
            raise UserError("the cumulative form is for comparison with old results, which have no neurons; choose "
                            "example or token")  # fmt: skip
        check_least(self, steps=2, random=2, batch_size=1, repeats=100, seed=0)


importance = Question(
    __name__,
    """Each part has a gate, which multiplies its output; its importance is the expected size of the loss's gradient
    at that gate, on the validation set. Whether that can be believed is tested: by the rank correlation with what
    switching each part off alone does to loss and score, and by the test set's score and loss when parts are
    switched off one after the other, in the order of importance, of their effects alone, and at random. Each
    ranking has its reliability: would other texts have ranked the parts alike?""",
    config=ImportanceConfig,
    inputs={"model": MODEL, "task": TASK},
    scoring=Scoring(),
    version=2,
    main="rank_correlation",
    better="higher",
    numbers={
        "rank_correlation": "Spearman with {effect} ({kind}s)",
        "score": "score",
        "area": "area, {kind}s (order: {order})",
        "loss_area": "area of the loss, {kind}s (order: {order})",
        "reliability": "reliability of the ranking of {kind}s by {ranked_by}",
        "highest_importance": "most important {kind} ({unit})",
        "neurons_with_half": "share of neurons with half of the importance",
        "loss": "loss",
    },
    words={
        "kind": {"mlp": "MLP"},
        "effect": _EFFECTS,
        "order": _ORDERS,
        "ranked_by": _ORDERS | _EFFECTS,
    },
    over_steps=OverSteps(
        followed=(Followed("parts", "importance", "importance", by=("layer", "head"), where={"kind": "head"}),)
    ),
    cite="Michel et al. 2019, Are Sixteen Heads Really Better than One?; Prasanna et al. 2020, When BERT Plays the "
    "Lottery, All Tickets Are Winning",
    card=(
        HeadFact("parts", "importance", "importance", "low", "high", where={"kind": "head"}, middle=0.0),
        HeadFact("parts", "normalised", "importance, normalised in its layer", where={"kind": "head"}, middle=0.0),
        HeadFact(
            "parts", "rise", "rise of the loss without it", "rise_low", "rise_high", where={"kind": "head"},
            middle=0.0,
        ),
    ),
    ranks={
        "importance": RanksBy("parts", "importance", reliability={"ranked_by": "importance"}, split="validation"),
    },
    columns={
        "curves": {
            "low, high": "ends of the 95% interval; in random order the lowest and the highest",
            "loss_low, loss_high": "the same of the loss",
        },
        "agreement": {
            "reliability": "of the ranking by importance: Spearman between halves of the texts, stepped up",
            "effect_reliability": "of the ranking by the effect",
        },
        "neurons_by_layer": {"low, high": "between them are eight tenths of the layer's neurons"},
    },
)  # fmt: skip
