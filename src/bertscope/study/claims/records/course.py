"""Claims of the course project (CS4650 slides): the top layer, biased data, contrastive training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import Estimate, cell
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.evidence import evidence, of_training
from bertscope.study.claims.records.preconditions import AboveChance, Counted, EnoughSeeds, Power
from bertscope.study.claims.records.published import FASTER_WITHOUT_TOP, WITHOUT_THE_WORDS, WITHOUT_TOP_LAYER
from bertscope.study.claims.records.skill import NO_LOSS, TENTH

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

COURSE = Source("Course project", "Ge and Zhu, Interpret, visualize BERT (slides of a CS4650 project)")
_ROUNDS = 6  # of timing: a 95% interval of a median needs as many
_claim = partial(Claim, source=COURSE, needs=(EnoughSeeds(),))


def effect_of(what: str, on: str) -> Callable[[Result], Iterator[Evidence]]:
    """What the cut, its size or its words do to the score on the slice, the rest or all rows."""

    def read(result: Result) -> Iterator[Evidence]:
        rows = result.tables["effects"]
        for _, row in rows[(rows["effect"] == what) & (rows["on"] == on)].iterrows():
            yield _of(result, cell(row, "difference", "low", "high"), row)

    return read


def without_top(result: Result) -> Iterator[Evidence]:
    """Without the top layer and trained like the whole model, with the same classifier."""
    from bertscope.experiments.truncate.result import without_top_layer  # late: planning reads the claims, not torch

    rows = without_top_layer(result.tables["arms"])
    for _, row in rows.iterrows() if "layers" not in result.subject else ():
        yield _of(result, cell(row, "effect"), row)


def faster(result: Result) -> Iterator[Evidence]:
    """How many times as fast many texts are read without the top layer."""
    rows = result.tables["latency"]
    for _, row in rows[(rows["removed"] == 1) & rows["from_top"] & (rows["texts"] > 1)].iterrows():
        yield evidence(result, cell(row, "faster", "low", "high"), int(row["rounds"]), "rounds on one machine")


def slope(arm: str, against: str) -> Callable[[Result], Iterator[Evidence]]:
    """How much the growth of the baseline with depth differs between two arms."""

    def read(result: Result) -> Iterator[Evidence]:
        rows = result.tables["slopes"]
        task = ", ".join(filter(None, (result.subject.get(key) for key in ("task", "pairs"))))
        for _, row in rows[(rows["arm"] == arm) & (rows["against"] == against)].iterrows():
            yield _of(result, cell(row, "slope", "low", "high"), row, task=task)

    return read


def _of(result: Result, effect: Estimate, row: pd.Series, **about: str) -> Evidence:
    return of_training(result, effect, row["runs"], int(row["n"]) if "n" in row else None, **about)


_BIAS = "bertscope bias BASE --on TASK --seeds 0 1 2 3 4"
_TRUNCATE = "bertscope truncate BASE --on TASK --seeds 0 1 2 3 4"
_CONTRAST = "bertscope contrast BASE --on TEXTS --seeds 0 1 2 3 4"

CLAIMS = (
    _claim(
        "top-layer-costs-nothing",
        "Removing the top layer costs nothing.",
        where="Remove Layer 12 Experiment",
        needs=(EnoughSeeds(), AboveChance(), Power()),
        question="truncate",
        effect="score without the top layer, trained again, minus that of the whole model",
        unit="score",
        asks=Bound(">", -TENTH, of_skill=True),
        read=without_top,
        published=Published(
            "SNLI 90.45% to 90.33%, WebMD 58.91% to 58.67%, one training each; classifier and dropout changed too",
            WITHOUT_TOP_LAYER,
        ),
        command=_TRUNCATE,
        margin=NO_LOSS,
    ),
    _claim(
        "without-top-layer-faster",
        "Without the top layer the model is faster.",
        where="Remove Layer 12 Experiment, conclusion",
        needs=(Counted(_ROUNDS, "rounds of timing"),),
        question="truncate",
        effect="how many times as fast batches are read without the top layer (in the slides: training time)",
        unit="times",
        asks=Bound(">", 1),
        read=faster,
        published=Published("training took 5624 s instead of 6140 s, 2447 s instead of 2653 s", FASTER_WITHOUT_TOP),
        command=_TRUNCATE,
    ),
    _claim(
        "contrast-slows-the-cone",
        "After contrastive training the cosine of random words grows more slowly with depth.",
        where="Results, Contrastive Learning",
        question="contrast",
        effect="growth of the baseline by layer (slope), after minus before",
        unit="cosine a layer",
        asks=Bound("<", 0),
        read=slope("contrastive", "before"),
        published=Published("a figure, no number"),
        command=_CONTRAST,
    ),
    _claim(
        "contrast-by-its-pairs",
        "It is contrastive learning that alleviates anisotropy, not further training as such.",
        where="Results, Contrastive Learning, conclusion",
        question="contrast",
        effect="growth of the baseline by layer (slope), after training on pairs minus after shuffled ones",
        unit="cosine a layer",
        asks=Bound("<", 0),
        read=slope("contrastive", "shuffled"),
        published=Published("no control was run"),
        command=_CONTRAST,
    ),
    _claim(
        "bias-costs-31-points",
        "Training data without words for women costs 31 points.",
        where="Biased Dataset Experiment",
        question="bias",
        effect="score after training without the rows that have the words, minus that after training on all; "
        "all test rows",
        unit="score",
        asks=Bound("<=", WITHOUT_THE_WORDS[""]),
        read=effect_of("cut", "all"),
        published=Published("90.45% to 59.47% on SNLI, one training, no control", WITHOUT_THE_WORDS),
        command=_BIAS,
    ),
    _claim(
        "bias-costs",
        "Training data without words for women costs something.",
        where="Biased Dataset Experiment, in its weaker form",
        question="bias",
        effect="score after training without the rows that have the words, minus that after training on all; "
        "all test rows",
        unit="score",
        asks=Bound("<", 0),
        read=effect_of("cut", "all"),
        published=Published("90.45% to 59.47% on SNLI, one training, no control", WITHOUT_THE_WORDS),
        command=_BIAS,
    ),
    _claim(
        "bias-beyond-size",
        "It is the missing words that cost, not the smaller training set.",
        where="Biased Dataset Experiment, conclusion",
        question="bias",
        effect="score after training without the words, minus that after a random cut of the same size; "
        "all test rows",
        unit="score",
        asks=Bound("<", 0),
        read=effect_of("words", "all"),
        published=Published("no control was run"),
        command=_BIAS,
    ),
    _claim(
        "bias-hits-the-slice",
        "The missing words cost where they occur.",
        where="Biased Dataset Experiment, conclusion",
        question="bias",
        effect="score after training without the words, minus that after a random cut of the same size; test rows "
        "that have the words",
        unit="score",
        asks=Bound("<", 0),
        read=effect_of("words", "slice"),
        published=Published("the slice was not looked at"),
        command=_BIAS,
    ),
)
