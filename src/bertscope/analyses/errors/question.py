"""`errors`: where the model goes wrong: by label, by how sure it is, by slices of the rows, and row by row."""

from __future__ import annotations

from dataclasses import dataclass

from bertscope.core.config import check_least
from bertscope.core.question import MODEL, TASK, Input, Question
from bertscope.core.row_card import RowFact
from bertscope.core.scoring import Scoring
from bertscope.core.series import Followed, OverSteps

TOP = 20
"""Lines of the tables that show the most extreme rows."""
LONGEST = 1000
"""Characters of a text that tables hold."""


@dataclass(frozen=True)
class ErrorsConfig:
    """What is looked at."""

    words: bool = True
    """Also try the slices of rows that share a word: words in 2% to 50% of the texts."""
    neighbours: int = 3
    """How many training rows to show beside each row, the most similar by the last layer; 0 leaves them out, and
    saves a pass over the training rows."""
    training_rows: int = 10_000
    """At most this many training rows are searched for these."""
    rows: int = 20_000
    """How many test rows to list, at most; all are counted."""
    repeats: int = 2000
    """Bootstrap resamples behind each interval, and draws of a calibrated model."""
    permutations: int = 1999
    """Permutations of the rows behind the p-values of slices."""
    null: bool = False
    """Also report how often slices are found where there are none, and how much slices differ in a model with random
    weights: one more pass."""
    seed: int = 0
    """Seed of the resampling, the permutations and the random weights."""

    def __post_init__(self) -> None:
        check_least(self, neighbours=0, training_rows=1, rows=1, repeats=100, permutations=99, seed=0)


_OF_DECISIONS = {
    "p": "probability of what is predicted",
    "p_gold": "probability of what is right",
}
_NO_SHARES = "calibration, risk and coverage, and doubted labels (the probability of {} isn't kept)"
_NO_RIGHT = "right or wrong, and calibration (a score is off by degrees, so rows are judged by their loss)"

errors = Question(
    __name__,
    """The test set is predicted once. Precision, recall and F1 of each label have bootstrap intervals over
    examples. Calibration is that of the prediction: 15 bins of equal mass, the expected calibration error beside
    its value under perfect calibration, and the effect of the temperature that fits the validation set. Slices of
    the rows (label, length, unknown pieces, truncated, a word, a column named with --slice) are compared with the
    other rows by Westfall and Young's max-T, corrected for all that were tried. The rows are listed, each with the
    training rows that are most like it.""",
    config=ErrorsConfig,
    inputs={"model": MODEL, "task": TASK},
    optional={
        "training": Input(
            "result",
            flag="The folder of the model's finetune result, to also show how sure it was of similar training rows.",
        )
    },
    scoring=Scoring(
        lacks={
            "regression": _NO_RIGHT,
            "vectors": _NO_RIGHT,
            "spans": _NO_SHARES.format("a span"),
            "trees": _NO_SHARES.format("a tree"),
            "masked": _NO_SHARES.format("a guess"),
        }
    ),
    version=3,
    main="score",
    better="higher",
    null="the rows' correctness is permuted",
    reference="the slices' differences in the same model with random weights",
    numbers={
        "score": "score",
        "chance": "chance",
        "loss": "loss",
        "right": "rows that are right",
        "calibration_error": "expected calibration error",
        "calibrated": "the same where calibration is perfect",
        "calibration_excess": "calibration error beyond that",
        "overconfidence": "mean confidence minus accuracy",
        "brier": "Brier score (sum over classes)",
        "temperature": "temperature that fits validation",
        "calibration_error_fitted": "calibration error at that temperature",
        "overconfidence_fitted": "confidence minus accuracy at that temperature",
        "kept_accuracy": "accuracy of the surest 80%",
        "risk_area": "area under the risk-coverage curve",
        "slices_tried": "slices tried",
        "slices_found": "slices that differ by {by} (p < .05, max-T)",
        "largest_slice": "largest difference by {by}, picked: {slice}",
    },
    words={
        "kind": {
            "label": "what is right", "length": "length", "unknown": "unknown pieces", "truncated": "truncated",
            "column": "own column", "word": "word",
        },
        "by": {"right": "what is right or wrong", "loss": "the loss"},
        "series": {"model": "this model", "calibrated": "perfect calibration", "fitted": "at the fitted temperature"},
        "at": {"model": "as it is", "fitted": "at the fitted temperature"},
        "error": {
            "right": "right", "wrong_type": "wrong type", "wrong_boundary": "wrong boundary",
            "other_overlap": "other overlap", "missed": "missed", "spurious": "spurious",
        },
    },
    columns={
        "reliability": {
            "low, high": "where calibration is perfect: between what the share that is right lies 95 times of 100 "
            "(consistency resampling)"
        },
        "calibration": {
            "expected": "the calibration error where calibration is perfect: mean of draws in which each decision is "
            "right with the probability that is its confidence",
            "low, high": "between what it then lies 95 times of 100; no interval of the calibration error",
            "p": "how often it is then as large as here",
        },
        "slices": {
            "low, high": "ends of the 95% interval of the difference, not corrected: of a slice that was found, it "
            "was picked, and the difference is likely smaller",
            "p": "by permutation of the rows, not corrected",
            "p_adjusted": "corrected for all slices tried (max-T, step-down)",
        },
        "rows": {
            "p": "probability of what is predicted; of several decisions in a row, that of the least sure",
            "p_gold": "probability of what is right; of several decisions in a row, the lowest",
        },
        "confident_mistakes": _OF_DECISIONS,
        "least_sure": _OF_DECISIONS,
        "doubted_labels": _OF_DECISIONS
        | {"p_gold": "probability of the label that is given", "doubt": "1 less that probability"},
        "neighbours": {
            "p_trained": "mean over epochs of the probability that the training row's label had while it was trained "
            "on (--training)"
        },
    },
    compared="the score",
    over_steps=OverSteps(
        followed=(Followed("labels", "f1", "F1", "f1_low", "f1_high", by=("label",)),)
    ),
    cite="Bröcker & Smith 2007, Increasing the Reliability of Reliability Diagrams; Guo et al. 2017, On Calibration "
    "of Modern Neural Networks; Westfall & Young 1993, Resampling-Based Multiple Testing; El-Yaniv & Wiener 2010, On "
    "the Foundations of Noise-free Selective Classification",
    printed={
        "confident_mistakes": ("row", "text", "gold", "predicted", "p"),
        "slices": ("slice", "by", "n", "inside", "outside", "p_adjusted"),
    },
    row_card=(
        RowFact("rows", "text", "text", shown="text", beside={"pair": "second text"}),
        RowFact("rows", "gold", "what is right", chosen_by=True, sorted_by=True, of_row=True),
        RowFact("rows", "predicted", "what is predicted", listed=True),
        RowFact(
            "rows", "right", "right or wrong", called={True: "right", False: "wrong"}, wrong=(False,), chosen_by=True,
            listed=True,
        ),
        RowFact(
            "rows", "p", "how sure it is", beside={"p_gold": "p of what is right"}, sorted_by=True,
            ends=("least sure", "surest"), listed=True,
        ),
        RowFact("rows", "loss", "loss", sorted_by=True),
        RowFact("row_slices", "slice", "slices that it belongs to", shown="list", chosen_by=True),
        RowFact(
            "neighbours", "text", "most similar training rows", shown="list",
            beside={"gold": "label", "similarity": "cosine", "other": "row"},
        ),
        RowFact(
            "neighbours", "p_trained", "p of their labels while they were trained on", shown="list",
            beside={"other": "row", "gold": "label"},
        ),
    ),
)  # fmt: skip
