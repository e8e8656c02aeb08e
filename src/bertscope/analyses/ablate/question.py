"""`ablate`: what the model loses when a head, an MLP, a layer or any named set of parts is switched off."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from bertscope.core.config import check_choices, check_known, check_least
from bertscope.core.errors import UserError
from bertscope.core.head_card import HeadFact
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.ranking import RanksBy
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring
from bertscope.core.series import Followed, OverSteps
from bertscope.core.units import Mode, Unit

PartKind = Literal["head", "heads", "mlp", "layer"]
KINDS: tuple[PartKind, ...] = get_args(PartKind)
DRAWS_OF_PARTS = 8
"""Random parts in each head's place: as many as an interval over draws needs."""
FLIPS, FLIPS_OF_A_ROW = 200_000, 50
"""How many lines the table of flips has at most, and of how many parts of a row it tells."""
_SET = re.compile(r"(?P<name>[\w -]+)=(?P<units>[^=]+)")


@dataclass(frozen=True)
class AblateConfig:
    """What to switch off, and what to leave in its place."""

    units: tuple[PartKind, ...] = KINDS
    """The kinds of parts to switch off: head (each one), heads (all of a layer), mlp, layer (skipped whole)."""
    sets: tuple[str, ...] = ()
    """Parts to switch off together, each set with a name: top=head:12.1+head:12.2 both=mlp:3+mlp:4."""
    mode: Mode = "uniform"
    """What a head that is off leaves behind. uniform: equal attention to every token, as in Dark Secrets; zero:
    nothing, as in Michel et al. From the validation set, mean: its average output; position: its average output at
    each position; resample: its output on another text, mean of 5 draws (5 times the work); optimal: the constant
    with which predictions move least (some 10 times the work). With uniform and zero an MLP leaves nothing,
    otherwise the same as heads; a layer that is off passes its input on."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    permutations: int = 9999
    """Random swaps behind each p-value; accuracy's is exact and needs none, except with mode resample."""
    null: bool = False
    """Also report how often the tests find something where there is nothing to find, what the parts cost in a model
    with random weights, and what random parts cost in the heads' place. About ten times the work."""
    seed: int = 0
    """Seed of the resampling, the random weights, the random parts and the other texts (resample); the model's
    predictions have nothing random in them otherwise."""

    def __post_init__(self) -> None:
        check_known("kind of part", self.units, KINDS)
        if not self.units and not self.sets:
            raise UserError(f"no parts to switch off; name some of {', '.join(KINDS)}")
        named_sets(self.sets)
        check_choices(self)
        check_least(self, repeats=100, permutations=99, seed=0)


def named_sets(written: Sequence[str]) -> dict[str, list[Unit]]:
    """The sets of parts that are written as `name=head:3.7+mlp:5`.

    >>> named_sets(["top=head:12.1+mlp:3"])
    {'top': [Unit(kind='head', layer=12, number=1), Unit(kind='mlp', layer=3, number=None)]}
    """
    sets: dict[str, list[Unit]] = {}
    for text in written:
        match = _SET.fullmatch(text.strip())
        if match is None:
            raise UserError(f"{text!r} names no set of parts; write it like top=head:12.1+mlp:3")
        name = match["name"].strip()
        if name in sets:
            raise UserError(f"two sets are called {name!r}; give each a name of its own")
        sets[name] = [Unit.parse(unit) for unit in match["units"].split("+")]
    return sets


_BY_LOSS = HeadFact(
    "effects", "loss_rise", "rise of the loss without it", "loss_low", "loss_high",
    beside={"loss_p": "p", "loss_p_holm": "p (Holm)", "kl": "KL", "flips": "flips", "random_part": "a random part"},
    middle=0.0,
)  # fmt: skip

ablate = Question(
    __name__,
    """Each part, or named set of parts, is switched off alone, and the model's score and loss on the test set are
    compared with those of the whole model: the same examples, a paired bootstrap interval, and a paired test
    (McNemar's for accuracy, by permutation otherwise) corrected for the number of parts of that kind (Holm). Also
    given: how far predictions move and how many flip, which of them flip without which part, and how reliable each
    ranking of parts is. Where the score's reliability is under .5, the loss is told first.""",
    config=AblateConfig,
    inputs={"model": MODEL, "task": TASK},
    scoring=Scoring(),
    version=6,
    main="score",
    null="whole and ablated outputs are exchanged row by row at random",
    reference="the same of random weights, and what a random part of the same rank and norm costs in a head's place",
    numbers={
        "score": "score",
        "chance": "chance",
        "loss": "loss",
        "reliability": "reliability of the ranking, each {kind} by its {measure}",
        "most_loss_rise": "largest rise of the loss without one {kind} ({unit})",
        "lowest_score": "lowest without one {kind} ({unit})",
        "highest_score": "highest without one {kind} ({unit})",
        "loss_rise_without": "rise of the loss without {unit}",
        "change_without": "change without {unit}",
        "parts_needed": "parts it needs (p < .05, Holm)",
        "parts_that_harm": "parts that harm (p < .05, Holm)",
        "parts_better_without": "parts without which the score is higher",
        "heads_above_random": "heads that raise the loss more than random parts (p < .05, Holm)",
    },
    words={
        "kind": {"heads": "layer's heads", "mlp": "MLP"},
        "measure": {"metric": "score"},
        "told_by": {"metric": "score"},
    },
    compared="the most that one head costs",
    over_steps=OverSteps(
        followed=(
            Followed(
                "effects", "loss_rise", "rise of the loss without it", "loss_low", "loss_high", ("layer", "head"),
                {"kind": "head"},
            ),
            Followed(
                "effects", "loss_rise", "rise of the loss without the layer's MLP", "loss_low", "loss_high",
                where={"kind": "mlp"}, key="mlps_loss_rise",
            ),
        )
    ),
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT; Michel et al. 2019, Are Sixteen Heads Really "
    "Better than One?",
    card=(
        replace(_BY_LOSS, where={"kind": "head", "told_by": "loss"}),
        HeadFact(
            "effects", "effect", "change of the score without it", "low", "high", where={"kind": "head"},
            beside={"p": "p", "p_holm": "p (Holm)"}, middle=0.0,
        ),
        replace(_BY_LOSS, where={"kind": "head", "told_by": "metric"}),
    ),
    row_card=(RowFact("flips", "unit", "another prediction without", shown="list"),),
    ranks={"loss": RanksBy("effects", "loss_rise", reliability={"measure": "loss"})},
)  # fmt: skip
