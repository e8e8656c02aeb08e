"""`redundancy`: how different a model's heads are from each other, in what they look at and in what they put out."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_choices, check_least
from bertscope.core.head_card import HeadFact
from bertscope.core.question import EITHER, MODELS, Question
from bertscope.core.scoring import Scoring
from bertscope.core.units import PlainMode

SIMILAR, NAMED, RANDOM = "similar", "named", "random"
"""Which heads are switched off: the most similar pairs, those that were named, and others at random."""


@dataclass(frozen=True)
class RedundancyConfig:
    """How heads are compared, grouped, and switched off in pairs."""

    queries: int = 1
    """Tokens of each text, chosen at random, whose attention is compared between all pairs of heads. Each costs
    about a tenth of a pass through a small model and estimates the same mean; 0 takes every token."""
    tokens: int = 2000
    """Tokens of the whole corpus, chosen at random, on which the heads' outputs are compared (CKA)."""
    clusters: int = 0
    """How many groups of heads to form; 0 takes the number that fits best (silhouette)."""
    pairs: int = 10
    """How many of the most similar pairs to list and, if the model answers the task, to switch off together, beside
    as many random pairs of the same layers. Each costs up to three passes through the model."""
    together: tuple[str, ...] = ()
    """Heads to switch off together, such as head:3.4, against random sets of as many heads of the same layers: are
    they redundant, or is what they do not needed? Needs a model that answers the task."""
    mode: PlainMode = "uniform"
    """What a head that is off leaves behind: equal attention to every token (uniform), nothing (zero), or its
    average output (mean)."""
    weighted: bool = False
    """Norm-weighted attention: multiply attention by the length of the vector it moves (Kobayashi et al. 2020), so
    that looking at a token and taking nothing from it doesn't count."""
    null: bool = False
    """Also test, 200 times, data in which heads that are off together do nothing beyond what each does alone; and
    switch the same heads off in the same model with random weights, which about doubles those passes."""
    repeats: int = 1000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of which tokens and which random pairs are taken, and of the resampling."""

    def __post_init__(self) -> None:
        check_least(self, queries=0, tokens=100, clusters=0, pairs=0, repeats=100, seed=0)
        check_choices(self)


redundancy = Question(
    __name__,
    """For all pairs of heads: the Jensen-Shannon divergence of their attention and the linear CKA of their outputs,
    on the test set's texts. From the divergence: groups of heads, a map of them, and whether heads of one layer are
    alike. If the data is a task that the model answers, the most similar pairs are switched off together: if both
    cost more than the sum of each alone, one may do what the other could. That is measured by the score and by the
    loss, which also shows what no prediction shows; each pair's interaction is tested by the loss (Holm).""",
    config=RedundancyConfig,
    inputs={"models": MODELS, "data": EITHER},
    scoring=Scoring(asked_by="--together"),
    version=4,
    main="divergence",
    cite="Clark et al. 2019, What Does BERT Look At?, section 6; Kornblith et al. 2019, Similarity of Neural Network "
    "Representations Revisited; the review of Kovaleva et al. 2019",
    numbers={
        "divergence": "divergence",
        "divergence_within_layers": "divergence within a layer",
        "divergence_between_layers": "divergence between layers",
        "divergence_difference": "between minus within",
        "cka_within_layers": "CKA within a layer",
        "cka_between_layers": "CKA between layers",
        "clusters": "clusters of heads",
        "silhouette": "silhouette",
        "interaction": "interaction of {kind} pairs",
        "interaction_difference": "interaction, {kind} minus {against}",
        "loss_interaction": "interaction of {kind} pairs, by the loss",
        "loss_interaction_difference": "interaction by the loss, {kind} minus {against}",
        "loss_interaction_p": "p that {against} pairs interact as much, by the loss",
        "pairs_redundant": "{kind} pairs that cost more than their sum (p < .05, Holm)",
        "reliability": "reliability of the ranking of pairs by {measure}",
        "together_effect": "named heads off together",
        "random_together_effect": "random heads off together, mean",
        "together_p": "p that random heads cost as much",
        "together_loss_rise": "named heads off together: rise of the loss",
        "random_together_loss_rise": "random heads off together: rise of the loss, mean",
        "together_loss_p": "p that they change the loss",
        "together_against_random_p": "p that random heads raise the loss as much",
        "together_kl": "named heads off together: how far predictions move",
        "together_flips": "named heads off together: predictions that flip",
    },
    words={
        "measure": {"score": "the score", "loss": "the loss"},
        "tests": {
            "pair": "each pair's interaction",
            "similar_against_random": "similar pairs against random ones",
            "together": "the named heads",
            "together_against_random": "the named heads against random sets",
        },
    },
    null="both sides of each comparison are exchanged at random: of a pair, both or no heads off with one head off, "
    "text by text; similar pairs with their random partners; the whole model with the named heads off, text by text; "
    "the named heads with a random set",
    reference="the same of the same model with random weights",
    columns={
        "pairs": {
            "loss_p": "that its interaction by the loss is 0; not corrected for the number of pairs",
            "loss_p_holm": "the same, corrected for the number of pairs (Holm)",
        },
    },
    shares_pass=True,
    sharding="sums",
    card=(
        HeadFact("heads", "cluster", "cluster", by=("checkpoint",), ranked=False),
        HeadFact(
            "heads", "nearest", "most similar head", by=("checkpoint",),
            beside={"nearest_divergence": "divergence", "nearest_cka": "CKA"},
        ),
        HeadFact("heads", "divergence", "mean divergence from other heads", by=("checkpoint",)),
    ),
)  # fmt: skip
