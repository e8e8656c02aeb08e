"""`minimal-pairs`: which text of a pair a masked language model finds likelier."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.question import MODELS, PAIRS, Question
from bertscope.core.row_card import RowFact
from bertscope.core.series import Followed, OverSteps


@dataclass(frozen=True)
class MinimalPairsConfig:
    """How pairs are counted."""

    rows: int = 2000
    """How many pairs to list, at most; all are counted."""
    repeats: int = 2000
    """Bootstrap resamples behind the interval of each change."""
    null: bool = False
    """Also report how often the tests find something if good and bad are exchanged at random, and what a model with
    random weights prefers, which scores the pairs once more."""
    seed: int = 0
    """Seed of the resampling, the groups of texts that maps are fitted on, and the random weights."""

    def __post_init__(self) -> None:
        check_least(self, rows=0, repeats=100, seed=0)


minimal_pairs = Question(
    __name__,
    """A text's pseudo-log-likelihood is the sum over its pieces of log p, with the piece and the later pieces of
    its word masked (PLL-word-l2r). A pair counts 1 if the good, or clean, text has the higher one, and one half if
    both are equal: the share over pairs, by phenomenon, is tested against one half by the exact sign test,
    corrected over phenomena (Holm). A further model without a masked-word head of its own is read with the first
    model's head: as it is (its coordinates may have drifted), and after an affine map from its last states to the
    first model's, ridge on other texts. Only what is lost in spite of the map counts as forgotten.""",
    config=MinimalPairsConfig,
    inputs={"models": MODELS, "pairs": PAIRS},
    version=3,
    main="accuracy",
    better="higher",
    over_steps=OverSteps(
        followed=(Followed("phenomena", "accuracy", "pairs whose good text is likelier", by=("phenomenon",)),)
    ),
    null="the good and the bad text of each pair are exchanged at random (for changes: the two models' answers)",
    reference="how often random weights prefer the good text, as a column and a number",
    numbers={
        "accuracy": "pairs whose good text is likelier ({way})",
        "above": "phenomena above one half (p < .05, Holm, {way})",
        "below": "phenomena below one half (p < .05, Holm, {way})",
        "drifted": "accuracy lost under the first model's head as it is",
        "forgotten": "accuracy lost in spite of an affine map",
        "explained": "variance of the first model's states that the map explains",
        "random_accuracy": "accuracy of random weights",
    },
    words={
        "way": {"own": "own head", "as_it_is": "the first's head, as it is", "mapped": "the first's head, mapped"},
        "tests": {"against_half": "against one half", "change": "change from the first model"},
    },
    columns={
        "phenomena": {
            "low, high": "95% interval of the accuracy (Wilson's)",
            "change": "accuracy less the first model's on the same pairs",
            "change_low, change_high": "95% interval of that, paired bootstrap over pairs",
        },
        "pairs": {"good, bad": "pseudo-log-likelihoods, in nats", "right": "1: the good one is likelier; 0.5: equal"},
    },
    compared="the share of pairs whose good text is likelier",
    cite="Salazar et al. 2020, Masked language model scoring; Kauf & Ivanova 2023, A better way to do masked "
    "language model scoring; Warstadt et al. 2020, BLiMP",
    card=(),
    printed={"phenomena": ("phenomenon", "way", "accuracy", "low", "high", "p_holm")},
    row_card=(
        RowFact("pairs", "text", "good text", shown="text", beside={"bad_text": "bad text"}),
        RowFact("pairs", "phenomenon", "phenomenon", chosen_by=True, of_row=True),
        RowFact("pairs", "difference", "log-likelihood, good less bad", by=("checkpoint", "way"), sorted_by=True,
                ends=("most wrong", "most clearly right")),
    ),
)  # fmt: skip
