"""`patterns`: the shape of every head's attention, over a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bertscope.analyses.side_by_side import side_by_side
from bertscope.core.catalogue import question
from bertscope.core.config import check_choices, check_least
from bertscope.core.head_card import HeadFact, HeadMaps
from bertscope.core.result import Result
from bertscope.data.corpus import open_examples

if TYPE_CHECKING:
    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.core.examples import Examples
    from bertscope.models.encoder import Encoder

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


def _reading(
    models: Encoder | str | Sequence[Encoder | str], examples: Examples | str, config: PatternsConfig
) -> PassPart:
    from bertscope.analyses.attention.pass_part import PassPart
    from bertscope.analyses.patterns.reader import PatternsReader

    checkpoints, examples = side_by_side(models), open_examples(examples)
    reader = PatternsReader(checkpoints, examples, config)
    return PassPart(list(checkpoints.values()), examples, reader, reader.result, weighted=config.weighted)


@question(
    "patterns",
    inputs=("models", "examples"),
    version=2,
    main="heterogeneous",
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT, section 4.1",
    card=(
        HeadMaps("head_maps", array="maps", tokens="map_tokens"),
        HeadFact("heads", "class", "shape", by=("checkpoint",), beside={"consistency": "consistency"}),
        *(
            HeadFact("heads", column, label, f"{column}_low", f"{column}_high", by=("checkpoint",))
            for column, label in MEASURES.items()
        ),
    ),
    reads=_reading,
)
def patterns(
    models: Encoder | str | Sequence[Encoder | str],
    examples: Examples | str,
    config: PatternsConfig = PatternsConfig(),  # noqa: B008 (frozen)
) -> Result:
    """What shape is each head's attention?

    Every map, of every head on every example, is called vertical, diagonal, vertical+diagonal, block or
    heterogeneous. Given are the share of each class, by model, layer and head; each head's commonest class and how
    constant it is; the entropy of its attention, how far it looks, and how much of it goes to [CLS] and [SEP].
    Several checkpoints are read side by side.
    """
    return _reading(models, examples, config).alone()
