"""`masked-words`: how well a pretrained model guesses words that it isn't shown."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.question import EXAMPLES, MODELS, Question


@dataclass(frozen=True)
class MaskedWordsConfig:
    """How sure it is to be."""

    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the resampling; which words are masked depends on the texts alone."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


masked_words = Question(
    __name__,
    """15% of each text's words are masked, the same ones for every model, and the model guesses their pieces: the
    share of pieces that it guesses, and how many bits the right one takes. Nothing is trained, and no labels are
    needed: a task of masked words (`--kind masked`) is scored in the same way on its test set. Another tokenizer
    cuts words into other pieces: only compare models that share one.""",
    config=MaskedWordsConfig,
    inputs={"models": MODELS, "examples": EXAMPLES},
    version=1,
    main="accuracy",
    better="higher",
    cite="Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers; Chamandy et al. 2012, "
    "Estimating Uncertainty for Massive Data Streams",
    sharding="sums",
    numbers={"accuracy": "masked pieces that are guessed", "bits_per_piece": "bits that a masked piece takes"},
    printed={"scores": ("checkpoint", "accuracy", "bits_per_piece", "pieces", "texts")},
)
