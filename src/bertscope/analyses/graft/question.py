"""`graft`: tuned weights in a base model and base weights in a tuned one, part by part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bertscope.core.config import check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.ranking import RanksBy
from bertscope.core.scoring import Scoring
from bertscope.core.series import Followed, OverSteps

PartKind = Literal["layer", "attention", "mlp", "head", "kind", "bottom_up", "top_down"]
KINDS: tuple[PartKind, ...] = get_args(PartKind)
TOP_DOWN = "top_down"
"""The array of what each example has to do with the score's share that the layers from each on give, [layer, n]: its
mean over examples is the share."""
PERMUTED = 50
"""Draws of a permuted change: as many as a null panel needs to decide."""


@dataclass(frozen=True)
class GraftConfig:
    """Which weights are exchanged."""

    units: tuple[PartKind, ...] = KINDS
    """What to exchange: layer (each one), attention and mlp (of each layer), head (each one), kind (embeddings, all
    attention, all MLPs, all LayerNorms), bottom_up (embeddings and the layers up to each), top_down (the layers from
    each on)."""
    steps: int = 15
    """Steps along the straight line from base to tuned, and half as far beyond."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    permutations: int = 9999
    """Random swaps behind each p-value."""
    null: bool = False
    """Also measure what a meaningless change of the same size does in each layer: fine-tuning's change, permuted
    within each tensor, 50 times. Costs 50 more passes for each layer."""
    seed: int = 0
    """Seed of the resampling and the permuted changes; nothing else is random."""

    def __post_init__(self) -> None:
        check_known("kind of part", self.units, KINDS)
        if not self.units:
            raise UserError(f"no weights to exchange; name some of {', '.join(KINDS)}")
        check_least(self, steps=3, repeats=100, permutations=99, seed=0)
        if self.null and "layer" not in self.units:
            raise UserError("the null is about layers; leave layer among the units")


def _fact(direction: str, label: str) -> HeadFact:
    return HeadFact(
        "grafts", "share", label, "share_low", "share_high", where={"kind": "head", "direction": direction},
        beside={"p_holm": "p (Holm)", "moved": "moved"}, middle=0.0,
    )  # fmt: skip


graft = Question(
    __name__,
    """The tuned model's task head is kept throughout. *Enough*: tuned weights in one part and the base's elsewhere;
    *needed*: the reverse. The loss and the score of each are compared with those without the exchange on the same
    examples: a paired bootstrap interval and a paired permutation test, corrected by Holm's method, and the change
    as a share of the difference between the base under the tuned task head and the tuned model. Also given: how far
    the part's weights moved, and the loss on the straight line from base to tuned.""",
    config=GraftConfig,
    inputs={"base": MODEL, "model": MODEL, "task": TASK},
    scoring=Scoring(),
    version=3,
    main="enough_half",
    numbers={
        "score": "score of the tuned model",
        "base_score": "score of the base under the tuned task head",
        "chance": "chance",
        "loss": "loss of the tuned model",
        "base_loss": "loss of the base under the tuned task head",
        "enough_half": "layers from the top that give half of what was learnt",
        "most_enough": "largest share of what was learnt that one {kind} gives ({unit})",
        "most_needed": "largest share of it that is lost without one {kind} ({unit})",
        "barrier": "barrier of the loss between base and tuned",
        "moved_and_needed": "correlation of how far each {kind} moved with how much it is needed",
        "reliability": "reliability of the ranking, each {kind}, {direction}",
        "layers_above_permuted": "layers that give more than a permuted change (p < .05, Holm)",
    },
    words={
        "kind": {"mlp": "MLP", "kind": "kind of weights", "bottom_up": "from below", "top_down": "from above"},
        "unit": {"attention": "all attention", "mlp": "all MLPs", "norm": "all LayerNorms"},
        "direction": {"enough": "enough", "needed": "needed"},
    },
    compared="how many layers from the top give half of what was learnt",
    null="what fine-tuning changed in a layer is permuted within each tensor",
    reference="what that permuted change gives, as a column",
    over_steps=OverSteps(
        against=("first",),
        followed=(
            Followed(
                "grafts", "share", "share of what was learnt", "share_low", "share_high", ("layer", "direction"),
                {"kind": "layer"},
            ),
        ),
    ),
    cite="Panigrahi et al. 2023, Task-specific skill localization in fine-tuned language models; Frankle et al. "
    "2020, Linear mode connectivity and the lottery ticket hypothesis",
    ranks={
        one: RanksBy("grafts", "share", {"direction": one}, {"direction": one}) for one in ("needed", "enough")
    },
    card=(_fact("enough", "of what was learnt, given by it alone"), _fact("needed", "of that, lost without it")),
)  # fmt: skip
