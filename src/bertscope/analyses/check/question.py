"""`check`: do a model and a data set belong together, and does the one do what the other asks?"""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.scoring import Scoring


@dataclass(frozen=True)
class CheckConfig:
    """How sure it is to be."""

    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the resampling."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


check = Question(
    __name__,
    """The first look, in one pass over the test set: the score beside a constant answer's and what can be had
    without an encoder (a bag of words, looking words up), paired on the same rows; test rows that training has
    seen, and the score without them; rows with the same text and different labels; texts that are longer than the
    model reads; pieces that its tokenizer doesn't know; and how many pieces it cuts a word into.""",
    config=CheckConfig,
    inputs={"model": MODEL, "task": TASK},
    scoring=Scoring(),
    version=1,
    main="score",
    better="higher",
    numbers={
        "score": "score",
        "baseline": "without an encoder: {arm}",
        "above_baseline": "score minus that of {arm}",
        "score_unseen": "score on rows that training hasn't seen",
        "seen_share": "test rows that training has seen",
        "contradicted_share": "rows whose text occurs with another label, too",
        "truncated_share": "test rows that are longer than it reads",
        "unknown_share": "pieces that the tokenizer doesn't know",
        "pieces_a_word": "pieces of a word",
        "vocabulary_share": "the tokenizer's words, of the rows of the model's embeddings",
    },
    words={
        "arm": {
            "model": "this model",
            "chance": "constant answer",
            "bag_of_words": "bag of words",
            "closest_sentence": "closest sentence",
            "right_chain": "next word",
            "left_chain": "word before",
            "word_lookup": "looking words up",
        }
    },
    compared="the score above what can be had without an encoder",
    cite="Efron & Tibshirani 1993, An Introduction to the Bootstrap",
)
