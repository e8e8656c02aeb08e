"""`geometry`: how a layer's words lie in space, and how much a word's vector depends on where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bertscope.analyses.states.question import state_steps
from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EXAMPLES, MODELS, STATES, Question
from bertscope.core.series import Followed, OverSteps
from bertscope.core.step import Step

_MEASURES = {
    "baseline": "baseline",
    "self_similarity": "SelfSim",
    "self_similarity_adjusted": "SelfSim*",
    "intra_sentence": "intra-sentence",
    "intra_sentence_adjusted": "intra-sentence*",
    "mev": "MEV",
    "mev_baseline": "MEV baseline",
    "mev_adjusted": "MEV*",
    "effective_rank": "effective rank",
    "effective_rank_of_sample": "effective rank of these words",
    "isoscore": "IsoScore",
    "isoscore_of_sample": "IsoScore of these words",
    "intrinsic_dimension": "intrinsic dimension",
    "alignment": "alignment",
    "uniformity": "uniformity",
}
"""What is left of a measure beyond its baseline has a star, as in the paper; its key ends in `adjusted`."""
HEADLINE = (
    "baseline", "self_similarity_adjusted", "intra_sentence_adjusted", "mev_adjusted", "effective_rank", "isoscore",
    "intrinsic_dimension",
)  # fmt: skip


@dataclass(frozen=True)
class GeometryConfig:
    """Which words count, and how vectors are mended."""

    least: int = 5
    """Occurrences that a word type (a word in lower case) needs for SelfSim and MEV (the paper: five contexts)."""
    words: int = 2000
    """SelfSim and MEV are computed as for a corpus of this many words: a type counts with the chance that it has
    --least occurrences in such a sample. In a larger corpus ever rarer types would count, and the mean would move."""
    top: int | None = None
    """How many top directions to remove, beside the mean; by default a hundredth of the dimensions, at least 1, as
    in Mu and Viswanath (2018)."""
    sample: int = 2000
    """Words for the intrinsic dimension, and texts for alignment and uniformity, chosen by a hash."""
    same: float | None = None
    """For pairs of texts: the label of those that mean the same, or the lowest score at which they do. By default
    known for MRPC, QQP and demo/paraphrase, and for scores four fifths of the highest. Without it there is no
    alignment."""
    listed: int = 12
    """How many of the most and of the least contextual words to list."""
    groups: int = 20
    """The intervals come from this many groups of neighbouring texts, each left out in turn."""
    seed: int = 0
    """Seed of what is sampled, and of the random occurrences behind the baseline of MEV."""

    def __post_init__(self) -> None:
        check_least(self, least=2, words=2, top=1, sample=50, listed=0, groups=2, seed=0)
        if self.words < self.least:
            raise UserError(f"words is {self.words}, less than the {self.least} occurrences that a type needs")
        if self.sample > 5000:
            raise UserError(
                f"sample is {self.sample}; it can be at most 5000, as all distances between them are held"
            )

    def directions(self, dim: int) -> int:
        """How many directions are removed from vectors of that size."""
        return min(self.top or max(1, round(dim / 100)), dim - 1)


def plan(*arguments: Any) -> Step:
    """Each model's hidden states, and the step that measures them."""
    *models, examples, config = arguments
    return geometry.step(state_steps(models, examples) | {"examples": examples}, config)


geometry = Question(
    __name__,
    """By layer: the mean cosine of two random words (anisotropy), of two occurrences of a word (SelfSim), of a word
    with its text, and how much of a word's occurrences one direction explains (MEV); what is left of each beyond
    its baseline; the same after the top directions are removed and after every dimension is standardised. Also
    effective rank and IsoScore, intrinsic dimension, alignment and uniformity of pairs, and the most and least
    contextual words. The result's arrays have each measure [checkpoint, layer, 1 + groups]: over all texts, and
    without each group.""",
    config=GeometryConfig,
    inputs={"states": STATES, "examples": EXAMPLES},
    given={"models": MODELS, "examples": EXAMPLES},
    version=4,
    main="baseline",
    over_steps=OverSteps(
        followed=(Followed("layers", "value", "similarity", by=("layer", "measure"), where={"form": "as_it_is"}),)
    ),
    cite="Ethayarajh 2019, How Contextual are Contextualized Word Representations?; Mu and Viswanath 2018, "
    "All-but-the-Top; Timkey and van Schijndel 2021, All Bark and No Bite; Roy and Vetterli 2007 (effective rank); "
    "Rudman et al. 2022 (IsoScore); Facco et al. 2017 (TwoNN); Wang and Isola 2020 (alignment and uniformity)",
    plan=plan,
    sharding="states",
    numbers={
        **{key: f"{_MEASURES[key]}, last layer" for key in HEADLINE},
        "baseline_mended": "baseline, last layer, {form}",
    },
    moves_with_n=("intrinsic_dimension",),
    words={
        "measure": _MEASURES,
        "form": {
            "as_it_is": "as it is",
            "top_removed": "top directions removed",
            "standardised": "standardised",
        },
        "kind": {"most_contextual": "most contextual", "least_contextual": "least contextual"},
    },
    compared="the cosine of two random words in the last layer",
)
