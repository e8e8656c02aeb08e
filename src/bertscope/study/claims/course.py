"""Claims of the course project (CS4650 slides) about biased data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.study.claims.claim import Bound, Claim, Published, Reading, Source
from bertscope.study.claims.estimates import cell, trained
from bertscope.study.claims.reading import reading

if TYPE_CHECKING:
    from bertscope.core.result import Result

COURSE = Source("Course project", "Ge and Zhu, Interpret, visualize BERT (slides of a CS4650 project)")
_claim = partial(Claim, source=COURSE)


def effect_of(what: str, on: str) -> Callable[[Result], Iterator[Reading]]:
    """What the cut, its size or its words do to the score on the slice, the rest or all rows."""

    def read(result: Result) -> Iterator[Reading]:
        rows = result.tables["effects"]
        for _, row in rows[(rows["effect"] == what) & (rows["on"] == on)].iterrows():
            effect, why = trained(cell(row, "difference", "low", "high"), int(row["runs"]))
            yield reading(result, effect, int(row["n"]), "seeds, then texts", runs=int(row["runs"]), why=why)

    return read


_BIAS = "bertscope bias BASE --on TASK --seeds 0 1 2 3 4"

CLAIMS = (
    _claim(
        "bias-costs-31-points",
        "Training data without words for women costs 31 points.",
        where="Biased Dataset Experiment",
        question="bias",
        effect="score after training without the rows that have the words minus on all, all report rows",
        unit="score",
        asks=Bound("<=", -0.3098),
        read=effect_of("the cut", "all"),
        published=Published("90.45% to 59.47% on SNLI, one training, no control", {"": -0.3098}),
        command=_BIAS,
    ),
    _claim(
        "bias-costs",
        "Training data without words for women costs something.",
        where="Biased Dataset Experiment, in its weaker form",
        question="bias",
        effect="score after training without the rows that have the words minus on all, all report rows",
        unit="score",
        asks=Bound("<", 0),
        read=effect_of("the cut", "all"),
        published=Published("90.45% to 59.47% on SNLI, one training, no control", {"": -0.3098}),
        command=_BIAS,
    ),
    _claim(
        "bias-beyond-size",
        "It is the missing words that cost, not the smaller training set.",
        where="Biased Dataset Experiment, conclusion",
        question="bias",
        effect="score after training without the words minus after a random cut of the same size, all report rows",
        unit="score",
        asks=Bound("<", 0),
        read=effect_of("its words", "all"),
        published=Published("no control was run"),
        command=_BIAS,
    ),
    _claim(
        "bias-hits-the-slice",
        "The missing words cost where they occur.",
        where="Biased Dataset Experiment, conclusion",
        question="bias",
        effect="the same difference on the report rows that have the words",
        unit="score",
        asks=Bound("<", 0),
        read=effect_of("its words", "slice"),
        published=Published("the slice was not looked at"),
        command=_BIAS,
    ),
)
