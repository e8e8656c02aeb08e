"""`patch`: activations of one text's run in the place of another's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from bertscope.core.config import check_choices, check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, PAIRS, Question
from bertscope.core.ranking import RanksBy

PartKind = Literal["layer", "heads", "mlp", "head", "head_at"]
KINDS: tuple[PartKind, ...] = get_args(PartKind)
Direction = Literal["denoise", "noise"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
NODES = 5
"""Points between two texts at which the gradient is taken."""
AFFORDABLE = 30_000
"""Runs up to which all activations of a kind are patched one by one: activations x pairs."""
SAMPLED = 48
"""Activations of a kind that are patched where that would be more."""
SHOWN = 3
"""Pairs that are drawn word by word."""


@dataclass(frozen=True)
class PatchConfig:
    """Which activations are put in the place of others."""

    units: tuple[PartKind, ...] = KINDS
    """Which activations to patch: layer (each layer's output at the tokens of each role), heads (all heads of a
    layer, at all tokens), mlp (each MLP's output, at all tokens), head (each head's output, at all tokens), head_at
    (the same at the tokens of each role)."""
    directions: tuple[Direction, ...] = DIRECTIONS
    """denoise: the corrupted text with one activation of the clean one; noise: the reverse."""
    exact: Literal["auto", "all", "sample", "none"] = "auto"
    """Which activations are patched one by one, rather than by the gradient alone. auto: all of a kind, or 48 if its
    activations times the pairs are more than 30,000; all; sample: 48 of each kind, from large to small by the
    gradient; none."""
    sample: int = 200
    """At most this many pairs are patched, of those that can be, chosen by a hash of their ids."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    permutations: int = 9999
    """Random swaps behind each p-value."""
    null: bool = False
    """Also report how often the tests find something where there is nothing to find, what a text of another pair
    with the same answer gives, and what the same activations carry in a model with random weights. About twice the
    work."""
    seed: int = 0
    """Seed of the resampling, of which pairs, activations and unrelated texts are drawn, and of the random weights.
   """

    def __post_init__(self) -> None:
        check_known("kind of activation", self.units, KINDS)
        check_known("direction", self.directions, DIRECTIONS)
        if not self.units or not self.directions:
            what = ("activations", KINDS) if not self.units else ("directions", DIRECTIONS)
            raise UserError(f"no {what[0]} to patch; name some of {', '.join(what[1])}")
        check_choices(self)
        check_least(self, sample=1, repeats=100, permutations=99, seed=0)
        if self.null and self.exact == "none":
            raise UserError("the null is about activations that are patched one by one; leave out exact none")


def _fact(direction: str, label: str) -> HeadFact:
    return HeadFact(
        "patches", "share", label, "low", "high",
        where={"kind": "head", "role": "all", "direction": direction},
        beside={"p_holm": "p (Holm)", "gradient": "by the gradient"}, middle=0.0,
    )  # fmt: skip


patch = Question(
    __name__,
    """Pairs of texts are used that have equally many tokens and that the model answers differently. One text is run
    with one activation taken from the other's run: what a layer, a head or an MLP puts out, at all tokens or at
    those of a role (those that differ, those before and after them, [CLS], [SEP]). Measured is the logit of the
    clean text's answer minus that of the corrupted one's; the share is how far it moves from the one run to the
    other, as a ratio of means over pairs with a bootstrap interval. p compares the pair's own text with a text of
    an unrelated pair that has the same length and is answered as the patched text is: exchanged pair by pair,
    corrected by Holm's method. Also given: what all activations would do by the gradient, plain and averaged over 5
    points between the texts.""",
    config=PatchConfig,
    inputs={"model": MODEL, "pairs": PAIRS},
    version=2,
    main="most",
    numbers={
        "pairs": "pairs patched",
        "left_out": "pairs left out: {why}",
        "between": "logit difference of the clean run minus that of the corrupted run",
        "most": "largest share of it that one {kind} carries ({unit} at {role}; {direction})",
        "found": "activations that do more than an unrelated text's (p < .05, Holm): {kind}, {direction}",
        "tested": "pairs with an unrelated pair of the same answers and length",
        "taken_over": "first layer from which [CLS] carries more than the tokens that differ",
        "agreement": "rank correlation of {method} with patching one by one: {kind}, {direction}",
        "overlap": "share of the ten largest that are among the ten largest by {method}: {kind}, {direction}",
        "reliability": "reliability of the ranking: {kind}, {direction}",
    },
    words={
        "kind": {
            "layer": "layer at a role's tokens", "heads": "layer's heads", "mlp": "MLP",
            "head_at": "head at a role's tokens",
        },
        "role": {
            "all": "all tokens", "changed": "changed tokens", "before": "tokens before", "after": "tokens after",
            "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]",
        },
        "why": {
            "unequal": "tokens not at the same places", "long": "longer than the model reads",
            "no_mask": "no mask to guess", "same": "the same answer to both", "sampled": "more than are asked for",
        },
        "method": {"gradient": "the gradient", "integrated": "integrated gradients"},
    },
    compared="the largest share that one head carries",
    null="the texts that give activations are both of unrelated pairs, with the same answer and of the same length",
    reference="what a text of an unrelated pair gives that is answered as the pair's own, and the same of random "
    "weights",
    cite="Vig et al. 2020, Investigating gender bias in language models using causal mediation analysis; Meng et al. "
    "2022, Locating and editing factual associations in GPT; Nanda 2023, Attribution patching; Hanna et al. 2024, "
    "Have faith in faithfulness",
    ranks={
        one: RanksBy("patches", "share", {"role": "all", "direction": one}, {"direction": one}, split="pairs")
        for one in ("denoise", "noise")
    },
    card=(
        _fact("denoise", "of the difference between clean and corrupted, carried by it"),
        _fact("noise", "of that, lost with the corrupted text's"),
    ),
)  # fmt: skip
