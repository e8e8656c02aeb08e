"""How alike two texts are, by the cosine of their vectors: what an embedding model is scored by.

Scores are put between 0 and 1 by the lowest and the highest of the training set, so that they are cosines to be
reached, as in sentence-transformers' `CosineSimilarityLoss`. Pearson's and Spearman's correlations don't see that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bertscope.core.examples import Examples
from bertscope.data.outputs.scores import OneScore


@dataclass(frozen=True)
class Vectors(OneScore):
    """An `Output`: one cosine, which is compared as a score is."""

    kind = "vectors"

    @classmethod
    def of(cls, name: str, labels: tuple[str, ...], metric: str) -> Vectors:
        return cls(name, metric)


def as_cosines(output: OneScore, train: Examples, examples: Examples) -> Examples:
    """Examples whose scores are cosines to be reached."""
    learnt = output.gold(train)
    low, high = learnt.min(), learnt.max()
    return replace(examples, label=(output.gold(examples) - low) / ((high - low) or 1.0))
