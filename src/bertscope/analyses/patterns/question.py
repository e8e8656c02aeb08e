"""`patterns`: the shape of every head's attention, over a corpus."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.head_card import HeadFact, HeadMaps
from bertscope.core.question import EXAMPLES, MODELS, Input, Question
from bertscope.core.series import Followed, OverSteps

MEASURES = {
    "to_special": "attention to [CLS] and [SEP]", "entropy": "entropy, bits", "distance": "distance, tokens",
}  # fmt: skip
"""What is measured of every map, beside its parts and its class, and what it is called."""
PART_WORDS = {"columns": "columns", "band": "band", "block": "block", "rest": "rest"}
"""The parts that a map's mass is divided into (`analyses/shapes/decomposition.py`), and what they are called."""
_RANGE = "how far it moves with texts, classifiers and their mistakes, which is no 95% interval"


@dataclass(frozen=True)
class PatternsConfig:
    """How maps are told apart."""

    weighted: bool = False
    """Multiply attention by the length of the vector it moves (Kobayashi et al. 2020)."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the resampling."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


patterns = Question(
    __name__,
    """The mass of every attention map, of every head on every example, is divided into columns that most queries
    share, a band along the diagonal, what a text gets evenly (block), and the rest. Each map is also called
    vertical, diagonal, vertical+diagonal, block or heterogeneous, by classifiers trained on people's labels; the
    ranges of these shares include the classifiers' error or, with --labels, are corrected by your own labels. Both
    are given by model, layer and head; so are each head's commonest class and how constant it is, the entropy of
    its attention, how far it looks, and how much of it goes to [CLS] and [SEP]. Several checkpoints are read side
    by side.""",
    config=PatternsConfig,
    inputs={"models": MODELS, "examples": EXAMPLES},
    optional={
        "labels": Input(
            "map_labels",
            flag="Labels that you gave to random maps of the model (train-patterns --label), which correct its "
            "class shares.",
        )
    },
    version=4,
    main="heterogeneous",
    over_steps=OverSteps(
        followed=(
            Followed("layer_parts", "mass", "share of the mass of attention", by=("layer", "part")),
            *(
                Followed("heads", column, label, f"{column}_low", f"{column}_high", by=("layer", "head"))
                for column, label in MEASURES.items()
            ),
        )
    ),
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, section 4.1",
    numbers={
        "columns_mass": "mass in columns",
        "band_mass": "mass in the band",
        "block_mass": "mass in blocks",
        "rest_mass": "mass in the rest",
        "vertical": "vertical",
        "diagonal": "diagonal",
        "vertical_diagonal": "vertical + diagonal",
        "block": "block",
        "heterogeneous": "heterogeneous",
        "mostly_on_special": "over half on [CLS] and [SEP]",
    },
    words={"by": {"labels": "your labels", "classifiers": "classifiers alone"}},
    columns={
        "models": {
            "low, high": f"{_RANGE}; by labels: ends of the 95% interval",
            "classifiers_low, classifiers_high": _RANGE,
        },
        **{table: {"low, high": _RANGE} for table in ("layers", "shares", "changes")},
    },
    compared="the share of heterogeneous maps",
    shares_pass=True,
    sharding="sums",
    card=(
        HeadMaps("head_maps", array="maps", tokens="map_tokens"),
        HeadFact("heads", "class", "shape", by=("checkpoint",), beside={"consistency": "consistency"}),
        *(
            HeadFact("heads", column, label, f"{column}_low", f"{column}_high", by=("checkpoint",))
            for column, label in (PART_WORDS | MEASURES).items()
        ),
    ),
)
