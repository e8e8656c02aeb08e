"""`change`: how much each head's attention moved, from one checkpoint to another."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.head_card import HeadFact
from bertscope.core.question import EXAMPLES, MODEL, Question
from bertscope.core.series import Followed, OverSteps


@dataclass(frozen=True)
class ChangeConfig:
    """How two checkpoints' attention is compared."""

    weighted: bool = False
    """Norm-weighted attention: multiply attention by the length of the vector it moves (Kobayashi et al. 2020), so
    that looking at a token and taking nothing from it doesn't count."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the resampling; nothing else is random."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


change = Question(
    __name__,
    """Each head's maps before and after, on the same tokens: the cosine of the flattened maps, cropped to the real
    tokens, and the Jensen-Shannon divergence of each query's attention; by head, by layer, and how much of the
    change is in the last two layers. Also from which shape to which the maps changed (see `patterns`).""",
    config=ChangeConfig,
    inputs={"before": MODEL, "after": MODEL, "examples": EXAMPLES},
    version=2,
    main="cosine",
    over_steps=OverSteps(
        against=("first",),
        same={"cosine": 1.0, "divergence": 0.0, "changed_class_share": 0.0},
        followed=tuple(
            Followed(table, column, label, f"{column}_low", f"{column}_high", by)
            for table, by in (("layers", ("layer",)), ("heads", ("layer", "head")))
            for column, label in (("cosine", "cosine of the maps"), ("divergence", "divergence of the maps (bits)"))
        ),
    ),
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, section 4.3; Lin 1991, Divergence measures based "
    "on the Shannon entropy",
    numbers={
        "cosine": "cosine",
        "divergence": "divergence",
        "last_two_share": "share of the change in the last two layers",
        "last_two_even_share": "the same if all heads changed alike",
        "most_changed_layer": "layer that changed most",
        "second_most_changed_layer": "layer that changed second most",
        "changed_class_share": "maps that change class",
    },
    compared="the last two layers' share of the change in attention",
    shares_pass=True,
    sharding="sums",
    card=(
        HeadFact("heads", "cosine", "cosine of the maps", "cosine_low", "cosine_high"),
        HeadFact("heads", "divergence", "divergence of the maps", "divergence_low", "divergence_high"),
    ),
)
