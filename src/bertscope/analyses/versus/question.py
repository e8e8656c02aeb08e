"""`versus`: what does the second model fix, and what does it break?"""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.question import SCORER, TASK, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring


@dataclass(frozen=True)
class VersusConfig:
    """How two models are compared."""

    words: bool = True
    """Also look at slices of the rows that share a word: words in 2% to 50% of the texts."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval."""
    permutations: int = 9999
    """Random exchanges of the two models' answers behind each p-value that isn't exact, and permutations of the rows
    behind the p-values of slices."""
    null: bool = False
    """Also report how often the tests find something where there is nothing to find, and what answers given without
    reading would fix and break. Needs no further pass through the models."""
    seed: int = 0
    """Seed of the resampling and the exchanges; the models' answers have nothing random in them."""

    def __post_init__(self) -> None:
        check_least(self, repeats=100, permutations=99, seed=0)


_MODELS = {"a": "of the first model, A", "b": "of the second model, B"}
_NO_LOSS = "the divergence, and the loss of ONNX files (it can't be computed from the {} that are kept)"

versus = Question(
    __name__,
    """Both models answer the test set, and each row is fixed, broken, right in both or wrong in both. Whether more
    is fixed than broken is tested exactly (McNemar's test); for metrics that are no share of rows, and for the
    loss, by exchanging the two models' answers row by row. Recall, precision and F1 of each label stand side by
    side, with paired intervals, corrected over labels (Holm). Slices of the rows in which more changes than
    elsewhere are searched for (max-T, corrected for all that are tried). Also given: how far the two agree beyond
    chance, and the calibration of both. A model is a folder, a hub id or an ONNX file: compare a model with its
    cut, pruned or int8 form, two seeds, or two models with the same labels.""",
    config=VersusConfig,
    inputs={"a": SCORER, "b": SCORER, "task": TASK},
    scoring=Scoring(
        lacks={
            "spans": _NO_LOSS.format("answers"),
            "trees": _NO_LOSS.format("trees"),
            "masked": "the divergence, and everything where the two tokenizers differ (they mask different pieces)",
            "regression": "what is fixed and broken (a score is nearer or further instead, by its loss)",
            "vectors": "what is fixed and broken (a score is nearer or further instead, by its loss)",
        }
    ),
    version=2,
    main="change",
    better="higher",
    null="the answers of A and B are exchanged row by row at random (for slices: the rows' changes are permuted)",
    reference="what an answer without reading would fix and break of A's rows",
    numbers={
        "fixed": "rows that B fixes",
        "broken": "rows that B breaks",
        "both_right": "rows right in both",
        "both_wrong": "rows wrong in both",
        "nearer": "rows that B is nearer to",
        "further": "rows that B is further from",
        "same": "rows that both are as near to",
        "rows_p": "p of as many better as worse (exact)",
        "change": "change of the score",
        "score_p": "p of that change",
        "score": "score",
        "chance": "chance",
        "loss_change": "change of the loss",
        "loss_p": "p of that change",
        "agreement": "agreement of the predictions beyond chance",
        "error_agreement": "agreement of the errors beyond chance",
        "flips": "rows that get another answer",
        "divergence": "divergence of B's answers from A's",
        "labels_changed": "labels that change (p < .05, Holm, {measure})",
        "slices_changed": "slices in which more changes (p < .05, max-T)",
    },
    words={
        "rows_of": {"all_rows": "all rows"},
        "outcome": {"both_right": "right in both", "both_wrong": "wrong in both"},
        "measure": {"f1": "F1"},
        "family": {"whole": "all rows", "labels": "each label", "slices": "each slice"},
    },
    columns={
        "outcomes": {"rows_of": "all rows, or those of one right label", "low, high": "95% interval of the share",
                     "blind": "how many it would be if B answered without reading"},
        "differences": {**_MODELS, "measure": "rows: those better less those worse, as a share; score; loss",
                        "low, high": "95% interval of the change, paired"},
        "labels": {**_MODELS, "n": "how often the label is right", "low, high": "95% interval of the change, paired"},
        "slices": {"inside, outside": "the mean change of rows in it, and of the others",
                   "low, high": "95% interval of the difference, not corrected: it was chosen among many"},
    },
    compared="the change of the score from A to B",
    cite="McNemar 1947, Note on the sampling error of the difference between correlated proportions or percentages; "
    "Cohen 1960, A coefficient of agreement for nominal scales; Westfall & Young 1993, Resampling-based multiple "
    "testing",
    card=(),
    printed={"labels": ("label", "measure", "a", "b", "change", "p_holm")},
    row_card=(
        RowFact("rows", "text", "text", shown="text", beside={"pair": "second text"}),
        RowFact("rows", "gold", "what is right", chosen_by=True, sorted_by=True, of_row=True),
        RowFact("rows", "outcome", "from A to B", beside={"predicted_a": "A says", "predicted_b": "B says"},
                chosen_by=True, wrong=("broken", "further"), listed=True),
        RowFact("rows", "p_a", "p of A's answer", sorted_by=True),
        RowFact("rows", "p_b", "p of B's answer", sorted_by=True),
    ),
)  # fmt: skip
