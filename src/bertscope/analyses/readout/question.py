"""`readout`: the model's own task head on the states of each layer, as they are and through a linear shortcut."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.errors import UserError
from bertscope.core.question import MODEL, TASK, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring
from bertscope.core.series import Followed, OverSteps

PLAIN, SHORTCUT, PERMUTED, RANDOM = "plain", "shortcut", "permuted", "random"
READINGS = (PLAIN, SHORTCUT, PERMUTED, RANDOM)
LATEST = 20
"""Lines of the table of the rows that settle last."""


@dataclass(frozen=True)
class ReadoutConfig:
    """How layers are read."""

    fit: int = 5000
    """At most this many training texts to fit the shortcuts on, and validation texts to choose their penalty; drawn
    by their ids. 0 leaves the shortcuts out."""
    controls: bool = True
    """Also read through shortcuts that were fitted to permuted last states, and from a model with random weights:
    one more pass over all of these texts."""
    share: float = 0.9
    """The answer counts as there once a layer has this share of the final score's lead over chance; most texts count
    as settled once this share of them has."""
    close: float = 0.25
    """For scores: how near to the final one counts as the same, in standard deviations of the final ones."""
    rows: int = 20_000
    """How many test rows to list, at most; all are counted."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    seed: int = 0
    """Seed of the resampling, the texts and tokens that are drawn, the permutation and the random weights."""

    def __post_init__(self) -> None:
        check_least(self, fit=0, close=0, rows=1, repeats=100, seed=0)
        if self.fit == 1:
            raise UserError("fit is 1; a shortcut needs 2 texts or more, and 0 leaves the shortcuts out")
        if not 0 < self.share <= 1:
            raise UserError(f"share is {self.share}; give a share of the score above chance, over 0 and at most 1")


readout = Question(
    __name__,
    """The states of each layer, from the embeddings (0) on, are given to the model's own task head, pooler and last
    norm included, in place of the last layer's: plainly, and through a linear shortcut, which is a ridge regression
    from the layer's states to the last ones on the training set, with its penalty chosen on the validation set. The
    score and the loss on the test set are compared with the final ones on the same texts, with paired bootstrap
    intervals. A text settles in the first layer from which on its final prediction stays.""",
    config=ReadoutConfig,
    inputs={"model": MODEL, "task": TASK},
    scoring=Scoring(),
    version=3,
    main="settle_most",
    numbers={
        "score": "score of the model",
        "loss": "loss of the model",
        "there": "first layer from which on the score has {share} of the final one's lead over chance, {reading}",
        "settle_most": "layer from which on {share} of the texts keep their final prediction, {reading}",
        "settle": "median layer from which on the final prediction stays, {reading}",
        "mean_score": "score by layer, mean of those below the last, {reading}",
        "lead": "that score through the shortcut minus that of the {reading}",
        "rank": "rank of the right piece, geometric mean",
    },
    words={
        "reading": {
            PLAIN: "read plainly", SHORTCUT: "through the shortcut",
            PERMUTED: "control: a shortcut to permuted states", RANDOM: "control: a shortcut from random weights",
        },
    },
    compared="the layer from which on most texts keep their final prediction",
    over_steps=OverSteps(followed=(Followed("layers", "score", "score", by=("layer", "reading")),)),
    cite="nostalgebraist 2020, Interpreting GPT: the logit lens; Din et al. 2023, Jump to conclusions: short-cutting "
    "transformers with linear transformations",
    card=(),
    printed={"latest": ("text", "gold", "predicted", "settle_shortcut", "settle_plain")},
    row_card=(
        RowFact("rows", "text", "text", shown="text", beside={"pair": "second text"}),
        RowFact("rows", "gold", "what is right", chosen_by=True, sorted_by=True, of_row=True),
        RowFact("rows", "predicted", "what is predicted"),
        RowFact(
            "rows", "settle_shortcut", "layer from which the prediction stays, through the shortcut", sorted_by=True,
            ends=("settles first", "settles last"), listed=True,
        ),
        RowFact(
            "rows", "settle_plain", "layer from which the prediction stays, read plainly", sorted_by=True,
            ends=("settles first, read plainly", "settles last, read plainly"),
        ),
    ),
)  # fmt: skip
