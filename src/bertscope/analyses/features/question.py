"""`features`: which words draw attention, and which words attend to which."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.head_card import HeadFact
from bertscope.core.question import EXAMPLES, MODELS, Question
from bertscope.core.series import Followed, OverSteps

FEATURES = ("noun", "verb", "adjective", "pronoun", "subject", "object", "negation")
SPECIAL = {"cls": "[CLS]", "sep": "[SEP]"}
BOTH = "both"
"""The special tokens of a text together."""
ANY = "any_word"
BY = ("all_tokens", "cls")
"""Whose attention it is: that of every token, averaged, or that of the first alone."""


@dataclass(frozen=True)
class FeaturesConfig:
    """Which kinds of words."""

    features: tuple[str, ...] = FEATURES
    """Kinds of words: those of the default (as far as the corpus marks them), pos:TAG (UPOS) or relation:NAME (UD).
    [CLS] and [SEP] (cls, sep) are always included."""
    weighted: bool = False
    """Multiply attention by the length of the vector it moves (Kobayashi et al. 2020)."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the resampling."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, seed=0)


features = Question(
    __name__,
    """For each head: the attention that the strongest noun, verb, subject ... of a text receives, averaged over the
    texts that have one; how much of it is beyond uniform attention, beside as many random words of the text; the
    same for the attention of [CLS] alone; and the attention from words of one kind to words of another. Several
    checkpoints are compared on the same texts.""",
    config=FeaturesConfig,
    inputs={"models": MODELS, "examples": EXAMPLES},
    version=2,
    main="mostly_on_special",
    over_steps=OverSteps(
        followed=(
            Followed(
                "layers", "excess", "attention beyond uniform", "excess_low", "excess_high", ("layer", "feature"),
                {"by": "all_tokens"},
            ),
        )
    ),
    cite="Kovaleva et al. 2019, Revealing the Dark Secrets of BERT; Kobayashi et al. 2020, Attention is Not Only a "
    "Weight",
    numbers={
        "mostly_on_special": "heads mostly on [CLS] and [SEP]",
        "mostly_on_special_change": "change from {against} to {model}",
    },
    words={
        "by": {"all_tokens": "all tokens", "cls": "[CLS]"},
        "feature": SPECIAL,
        "token": SPECIAL | {BOTH: " and ".join(SPECIAL.values())},
        "from": {ANY: "any word"},
        "to": {ANY: "any word"},
    },
    compared="the share of heads mostly on [CLS] and [SEP]",
    shares_pass=True,
    sharding="sums",
    card=(
        HeadFact(
            "heads", "excess", "attends to, beyond chance", "excess_low", "excess_high", by=("checkpoint",),
            items=("feature",), where={"by": "all_tokens"}, middle=0.0,
        ),
        HeadFact(
            "change", "change", "gained most", "low", "high", by=("checkpoint",), items=("feature",), top=2,
            where={"by": "all_tokens"}, middle=0.0,
        ),
    ),
)  # fmt: skip
