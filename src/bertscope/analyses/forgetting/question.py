"""`forgetting`: what does a model lose of what it knew, along a fine-tuning, and what does it win?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EXAMPLES, MODELS, Input, Question
from bertscope.core.series import OverSteps

QUANTITIES = {
    "score": "the task",
    "masked": "masked words",
    "pairs": "minimal pairs",
    "trees": "trees (UUAS)",
    "parts_of_speech": "parts of speech",
}
WAYS = {
    "own": "its own head",
    "as_it_is": "the base's head, as it is",
    "mapped": "the base's head, after an affine map",
    "probe": "a probe, at its best layer",
}


@dataclass(frozen=True)
class ForgettingConfig:
    """What is asked of each checkpoint."""

    steps: tuple[int, ...] = ()
    """The training step at which each checkpoint was kept. By default as the series or the checkpoints say."""
    probes: bool = True
    """Also probe trees and parts of speech, if the texts have them; this takes most of the time."""
    rank: int = 32
    """Rank of the probe of trees."""
    words: int = 2000
    """At most this many words to train the probe of parts of speech on, and as many to test."""
    repeats: int = 1000
    """Bootstrap resamples of the texts behind each interval."""
    seed: int = 0
    """Seed of the groups of texts, the probes and the resampling."""

    def __post_init__(self) -> None:
        check_least(self, rank=1, words=10, repeats=100, seed=0)
        if list(self.steps) != sorted({*self.steps}) or any(step < 0 for step in self.steps):
            raise UserError(f"steps are {self.steps}; give whole numbers from 0 on, each higher than the one before")


forgetting = Question(
    __name__,
    """The first model is the base, with its masked-word head; the others are checkpoints of its fine-tuning, in
    their order, or a series of them, which the texts go through once. Each guesses masked words of the texts with
    the base's head: as it is, so that drifted coordinates count as lost too, and after an affine map from its last
    states to the base's, fitted on other texts. Only what is lost in spite of the map is forgotten. Also given:
    minimal pairs in the same two ways (`--pairs`), what probes find of trees and parts of speech if the texts have
    them, and the score of the task that is learnt (`--task`); all in one figure over the steps.""",
    config=ForgettingConfig,
    inputs={"models": replace(MODELS, in_turn=True), "examples": EXAMPLES},
    optional={
        "pairs": Input("pairs", flag="Also score minimal pairs: demo/minimal, a file, BLiMP."),
        "task": Input("task", flag="The task that is learnt, to show its score beside what is forgotten."),
    },
    version=2,
    over_steps=OverSteps(at_once=True),
    main="forgotten",
    better="lower",
    cite="Merchant et al. 2020, What Happens To BERT Embeddings During Fine-tuning?; Kauf & Ivanova 2023, A Better "
    "Way to Do Masked Language Model Scoring",
    numbers={
        "base": "masked pieces the base guesses",
        "forgotten": "masked pieces lost in spite of an affine map",
        "drifted": "masked pieces lost by the base's head as it is",
        "most_forgotten": "the same, at the checkpoint that lost most in spite of the map",
        "pairs_forgotten": "minimal pairs lost in spite of an affine map",
        "trees_lost": "UUAS lost, by a probe",
        "parts_of_speech_lost": "accuracy of parts of speech lost, by a probe",
        "learnt": "score won",
    },
    words={"quantity": QUANTITIES, "way": WAYS},
    columns={
        "lines": {
            "low, high": "ends of the 95% interval over texts, pairs or sentences; one training",
            "base": "the same of the base",
        }
    },
    compared="masked pieces that are forgotten",
)
