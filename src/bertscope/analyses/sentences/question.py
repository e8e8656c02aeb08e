"""`sentences`: do the vectors of whole texts follow what people say of their meanings?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.question import MODEL, TASK, Question

if TYPE_CHECKING:
    from bertscope.data.task import Task

_FEWEST = 10  # pairs


@dataclass(frozen=True)
class SentencesConfig:
    """Which pairs mean the same, and how sure one can be."""

    least_score: float | None = None
    """For alignment: the lowest score at which two texts count as meaning the same; by default four fifths of the
    highest score."""
    sample: int = 2000
    """Texts for alignment and uniformity, chosen by a hash."""
    groups: int = 20
    """The intervals of alignment and uniformity come from this many groups of neighbouring pairs, each left out in
    turn."""
    repeats: int = 1000
    """Bootstrap resamples behind the interval of each Spearman."""
    seed: int = 0
    """Seed of what is sampled, and of the resamples."""

    def __post_init__(self) -> None:
        check_least(self, sample=20, groups=2, repeats=100, seed=0)
        if self.sample > 5000:
            raise UserError(
                f"sample is {self.sample}; it can be at most 5000, as all distances between them are held"
            )


def check(task: Task, config: SentencesConfig) -> None:
    """Refuse what isn't pairs with scores, or too few of them."""
    task.need_scored_pairs()
    if len(task.test) < _FEWEST:
        raise UserError(f"{task.name} has {len(task.test)} pairs to test on; give at least {_FEWEST}")


sentences = Question(
    __name__,
    """Nothing is trained. Each text of the test set's pairs is read alone; its vector is the first token's, or the
    mean of its tokens'; a sentence-transformers model also has its own vector, in the last layer. By layer: how
    well the cosine of two texts follows their score (Spearman), how close texts with the same meaning are
    (alignment), and how evenly all texts are spread (uniformity).""",
    config=SentencesConfig,
    inputs={"model": MODEL, "task": TASK},
    version=1,
    main="spearman_mean_pool",
    better="higher",
    cite="Cer et al. 2017, SemEval-2017 Task 1 (STS); Wang and Isola 2020 (alignment and uniformity); Gao et al. "
    "2021, SimCSE",
    check=check,
    numbers={
        "spearman_cls_pool": "Spearman, cls",
        "alignment_cls_pool": "alignment, cls",
        "uniformity_cls_pool": "uniformity, cls",
        "spearman_mean_pool": "Spearman, mean",
        "alignment_mean_pool": "alignment, mean",
        "uniformity_mean_pool": "uniformity, mean",
        "spearman_own": "Spearman, the model's own vectors",
        "alignment_own": "alignment, the model's own vectors",
        "uniformity_own": "uniformity, the model's own vectors",
    },
    words={"measure": {"spearman": "Spearman", "alignment": "alignment", "uniformity": "uniformity"}},
)
