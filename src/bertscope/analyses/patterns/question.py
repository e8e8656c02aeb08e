"""`patterns`: the shape of every head's attention, over a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.head_card import HeadFact, HeadMaps
from bertscope.core.question import EXAMPLES, MODELS, Question

MEASURES = {
    "to_special": "attention to [CLS] and [SEP]", "entropy": "entropy, bits", "distance": "distance, tokens",
}  # fmt: skip
"""What is measured of every map, beside its class, and what it is called."""


@dataclass(frozen=True)
class PatternsConfig:
    """How maps are told apart."""

    classifier: Literal["features", "cnn"] = "features"
    """What names a map's shape. features: a small net over twenty closed-form numbers of the map; cnn: the paper's
    network over the map as a picture, which costs many times the forward pass."""
    weighted: bool = False
    """Take attention times the length of the vector it moves (Kobayashi et al. 2020) instead of attention alone."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Of the resampling."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, repeats=100, seed=0)


patterns = Question(
    __name__,
    """Every map, of every head on every example, is called vertical, diagonal, vertical+diagonal, block or
    heterogeneous. Given are the share of each class, by model, layer and head; each head's commonest class and how
    constant it is; the entropy of its attention, how far it looks, and how much of it goes to [CLS] and [SEP].
    Several checkpoints are read side by side.""",
    config=PatternsConfig,
    inputs={"models": MODELS, "examples": EXAMPLES},
    version=2,
    main="heterogeneous",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, section 4.1",
    numbers={
        "vertical": "vertical",
        "diagonal": "diagonal",
        "vertical_diagonal": "vertical + diagonal",
        "block": "block",
        "heterogeneous": "heterogeneous",
        "mostly_on_special": "over half on [CLS] and [SEP]",
    },
    compared="the share of heterogeneous maps",
    shares_pass=True,
    card=(
        HeadMaps("head_maps", array="maps", tokens="map_tokens"),
        HeadFact("heads", "class", "shape", by=("checkpoint",), beside={"consistency": "consistency"}),
        *(
            HeadFact("heads", column, label, f"{column}_low", f"{column}_high", by=("checkpoint",))
            for column, label in MEASURES.items()
        ),
    ),
)
