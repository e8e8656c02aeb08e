"""`explain`: which words made a prediction?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EITHER, MODEL, Input, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring

Method = Literal["integrated", "gradient", "leave_out"]


@dataclass(frozen=True)
class ExplainConfig:
    """What is explained, and how."""

    method: Method = "integrated"
    """integrated: the gradient on the way from the text with every word masked to the text itself, times (word -
    [MASK]); gradient: the same at the text alone; leave_out: what is lost if one word is masked."""
    towards: str = ""
    """Explain this label (a tag, the number of a candidate, a piece of a masked word), whether predicted or not; by
    default what is predicted."""
    word: int = 0
    """For models that predict something for each word (tags, trees): explain the prediction for this word alone,
    counted from 1."""
    words: Literal["entities", "all"] = "entities"
    """For tags: explain only words that the model takes for part of an entity, or all words."""
    sample: int = 100
    """At most this many texts are explained, chosen by a hash of their ids."""
    nodes: int = 16
    """For integrated: points at which the gradient is taken first; twice as many, up to 512, if the words don't add
    up to what they should."""
    seed: int = 0
    """Seed of which texts are explained, if there are more than the sample; and of the random orders, weights and
    signs that --faithful and --null compare with."""

    faithful: bool = False
    """Also test whether attributions are faithful: how much a prediction loses without the words that they name, and
    with only these, against random orders of the words; for all three methods. And how alike the attributions are to
    those of the same model with random weights. Some 200 passes for each text and way to take words away."""
    corpus: bool = False
    """Also report which words push each class, over all texts that are explained: words in 20 texts or more."""
    null: bool = False
    """Also report how often --corpus finds something where there is nothing to find, and the same with random
    weights: explains the texts once more."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, word=0, sample=1, nodes=1, seed=0)
        if self.nodes > 512:
            raise UserError(f"nodes is {self.nodes}; it can be at most 512")


explain = Question(
    __name__,
    """For each text, what is predicted is explained: the label's logit minus the mean of the others', a tag's at
    its word, an answer's start plus its end, or the cosine of two texts. Each word's attribution says how much it
    did for that, above or below 0, compared with the same text with every word masked. Integrated gradients add up
    to the difference between the two; predictions in which more than 1% of it is missing are counted.""",
    config=ExplainConfig,
    inputs={"model": MODEL, "data": EITHER},
    optional={
        "other_seed": Input(
            "model",
            flag="A model of another training seed: --faithful also compares its attributions.",
        ),
    },
    scoring=Scoring(),
    takes_text=True,
    version=4,
    newer={"corpus": {True: 5}},
    main="top_word_share",
    numbers={
        "texts": "texts explained",
        "targets": "predictions explained in them",
        "missed_share": "share of predictions whose words don't add up",
        "top_word_share": "the strongest word's share of all attributions of a text",
        "above_masked": "what is explained, minus the same with every word masked",
        "comprehensiveness": "lost without the words named by {method} ({how}), beyond random words",
        "sufficiency": "lost with the words named by {method} alone ({how}), beyond random words",
        "agreement": "rank correlation of the sizes of attributions: {between}",
        "pushing_words": "words that push a class, or away from it where that can be told (p < .05, corrected)",
        "pushing_words_random": "the same with random weights",
    },
    words={
        "method": {"integrated": "integrated gradients", "gradient": "gradient", "leave_out": "leaving out"},
        "how": {"mask": "masked", "delete": "deleted"},
        "between": {
            "random_weights": "this model and the same with random weights",
            "two_random": "two models with random weights",
            "other_seed": "this model and that of another training seed",
        },
    },
    null="each text's attributions for a class have a random sign",
    reference="the same of random weights",
    row_card=(
        RowFact(
            "targets", "of", "what is explained", shown="list", by=("target",),
            beside={"whole": "", "baseline": "with every word masked"},
        ),
        RowFact("words", "text", "words that made it", shown="words", strength="attribution", by=("target",)),
    ),
    columns={
        "targets": {
            "target": "counts what is explained of a row",
            "of": "what is explained",
            "probability": "how likely the model holds it to be",
            "gold": "what is right, where the label is known",
            "right": "whether what is explained is right",
            "whole": "its logit minus the mean of the others, or what else is explained",
            "baseline": "the same with every word masked",
            "gap": "by how much the words' attributions miss the difference of the two",
            "missed": "whether that is more than 1% of it, and than a thousandth of what is explained varies by",
            "nodes": "points at which the gradient was taken",
        },
        "words": {
            "target": "which of the row's targets it is explained for",
            "word": "its place in the text, a pair's second text after the first",
            "attribution": "what it did for what is explained, in the same unit",
            "of": "what is explained",
            "said": "the same with its probability, and whether it is right",
        },
        "faithfulness": {
            "measure": "comprehensiveness: lost without the words; sufficiency: lost with them alone",
            "value": "what is lost, beyond random orders; comprehensiveness: higher is better, sufficiency: lower",
            "low, high": "95% bootstrap interval of value over texts",
            "raw": "what is lost by the method's order",
            "random": "what is lost by random orders, on average",
            "n": "texts",
        },
        "corpus_words": {
            "mean": "the word's mean attribution for the class over the texts that have it; of tags, and of more "
            "than eight classes, beyond its share of what the text's words do together: below 0 says nothing then",
            "low, high": "95% interval of the mean over texts (Student's t)",
            "safe": "the end of the interval that is nearer to 0; 0 where 0 is inside",
            "p_fdr": "p, corrected for all words and classes (Benjamini and Hochberg)",
            "random": "the same mean with random weights",
            "shown": "whether the figure draws it",
        },
    },
    cite="Sundararajan et al. 2017, Axiomatic Attribution for Deep Networks; Li et al. 2016, Understanding Neural "
    "Networks through Representation Erasure; DeYoung et al. 2020, ERASER; Adebayo et al. 2018, Sanity Checks for "
    "Saliency Maps",
)  # fmt: skip
