"""`explain`: which words made a prediction?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bertscope.core.config import check_choices, check_least
from bertscope.core.errors import UserError
from bertscope.core.question import EITHER, MODEL, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring

Method = Literal["integrated", "gradient", "leave_out"]


@dataclass(frozen=True)
class ExplainConfig:
    """What is explained, and how."""

    method: Method = "integrated"
    """integrated: the gradient on the way from the text with every word masked to the text, times (word - [MASK]);
    gradient: the same at the text alone; leave_out: what is lost if one word is masked."""
    of: str = ""
    """Explain this label (a tag, the number of a candidate, a piece of a masked word), whether it is predicted or
    not; by default what is predicted."""
    word: int = 0
    """Of models that say something of each word (tags, trees): explain what they say of this word alone, from 1."""
    words: Literal["entities", "all"] = "entities"
    """Of tags: explain those of words that are part of an entity, as the model says, or of all words."""
    sample: int = 100
    """Texts that are explained at most, by a hash of their ids."""
    nodes: int = 16
    """Of integrated gradients: points at which the gradient is taken first; twice as many, up to 512, where the words
    don't add up to what they should."""
    seed: int = 0
    """Decides which texts are explained, where there are more than the sample."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, word=0, sample=1, nodes=1, seed=0)
        if self.nodes > 512:
            raise UserError(f"nodes is {self.nodes}; it can be at most 512")


explain = Question(
    __name__,
    """Explained is what is predicted of each text: the label's logit minus the mean of the others', a tag's at its
    word, an answer's start plus its end, the cosine of two texts. Each word's attribution says how much it did for
    that, above or below 0, against the same text with every word masked. Integrated gradients add up to the
    difference between the two; predictions in which more than 1% of it is missing are counted.""",
    config=ExplainConfig,
    inputs={"model": MODEL, "data": EITHER},
    scoring=Scoring(),
    takes_text=True,
    version=1,
    main="top_word_share",
    numbers={
        "texts": "texts explained",
        "targets": "predictions explained in them",
        "missed_share": "share of predictions whose words don't add up",
        "top_word_share": "the strongest word's share of all attributions of a text",
        "above_masked": "what is explained, minus the same with every word masked",
    },
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
        },
    },
    cite="Sundararajan et al. 2017, Axiomatic Attribution for Deep Networks; Li et al. 2016, Understanding Neural "
    "Networks through Representation Erasure",
)  # fmt: skip
