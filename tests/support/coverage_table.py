"""The table of docs/methods.md that says how often each kind of interval holds the truth.

`python tests/support/coverage_table.py` writes it anew, in a few minutes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from coverage_cases import (
    Case,
    Simulated,
    all_at_once,
    bootstrap,
    by_labels,
    correlations,
    difference_of_ends,
    failing,
    failing_score,
    groups_of_texts,
    jackknife,
    kappa,
    known_error,
    median,
    one_pass,
    over_seeds,
    paired,
    score_share,
    share,
    spearman,
    student,
    the_best,
    trainings,
    two_jackknives,
)
from doc_pages import HERE
from labelled_shares import RARE, SELDOM
from output_pools import NAMES as OUTPUTS
from output_pools import bootstrap_of, change_of

METHODS = HERE / "docs" / "methods.md"
_BLOCK = re.compile(r"(<!-- coverage -->\n)(?P<table>.*?)(<!-- end -->)", re.DOTALL)
LEAST, MOST = 0.93, 0.97

_SHARE = "paired bootstrap of a share"
_BOOTSTRAP, _PAIRED, _ONE_PASS = (
    "percentile bootstrap",
    "paired bootstrap of a change",
    "one-pass (Poisson) bootstrap",
)
_STUDENT, _GROUPS, _APART = "one seed, Student's over examples", "groups of texts left out", "two such, apart"
_LABELS = "shares corrected by labels"
_COMPONENTS, _SEEDS, _KAPPA = "variance components", "Student's over seeds", "Fleiss' kappa over seeds"


Settings = dict[str, tuple[Any, ...]]
"""What each case is called, and what its simulation is given."""


def _cases(kind: str, simulate: Callable[..., Simulated], settings: Settings, **more: Any) -> list[Case]:
    return [Case(kind, of, partial(simulate, *given), **more) for of, given in settings.items()]


def _by_n(words: str, *given: Any, sizes: tuple[int, ...] = (100, 500, 2000)) -> Settings:
    return {f"{words}n = {n:,}": (*given, n) for n in sizes}


def _by_seeds(words: str, *given: Any) -> Settings:
    return {f"{words}{runs} seeds": (runs, *given) for runs in (5, 10)}


CASES = [
    *(
        case
        for name in ("accuracy 0.8", "accuracy 0.95", "matthews", "pearson 0.6", "pearson 0.9")
        for case in _cases(_BOOTSTRAP, bootstrap, _by_n(f"{name}, ", name), samples=1000)
    ),
    *(
        case
        for kind, simulate in ((_BOOTSTRAP, bootstrap_of), (_PAIRED, change_of))
        for name in OUTPUTS
        for case in _cases(kind, simulate, _by_n(f"{name}, ", name, sizes=(200, 1000)), samples=1000)
    ),
    *_cases(_BOOTSTRAP, spearman, _by_n("Spearman, ", sizes=(100, 500)), samples=500),
    *_cases(_PAIRED, paired, _by_n("accuracy, "), samples=1000),
    *_cases(_SHARE, share, _by_n("half of a gain in the loss, ", 0.5, 0.0), samples=1000),
    *_cases(_SHARE, share, _by_n("none of it, ", 0.0, 0.0, sizes=(500,)), samples=1000),
    *_cases(_SHARE, share, _by_n("all of it, ", 1.0, 0.0, sizes=(500,)), samples=1000),
    *_cases(_SHARE, share, _by_n("half of a gain 4 errors from 0, ", 0.5, 4.0, sizes=(100, 500)), samples=1000),
    *_cases(_SHARE, share, _by_n("half of a gain 2 errors from 0, ", 0.5, 2.0, sizes=(100, 500)), samples=1000),
    *_cases(_SHARE, score_share, _by_n("half of a gain in accuracy, ", 0.5), samples=1000),
    *_cases(_ONE_PASS, one_pass, _by_n("a skew mean, "), samples=1000),
    *(
        case
        for name in ("accuracy 0.8", "matthews", "pearson 0.6")
        for case in _cases(_STUDENT, student, _by_n(f"{name}, ", name))
    ),
    *_cases("mean and its standard error, normal", known_error, _by_n("a skew mean, ")),
    *_cases("the median's ranks", median, _by_n("", sizes=(8, 20, 40))),
    *_cases(_GROUPS, jackknife, {f"{texts} texts, 20 groups": (texts,) for texts in (40, 200)}),
    *_cases(_APART, two_jackknives, {"100 texts in 20 groups, 60 in 12": ()}, samples=1000),
    *_cases(_COMPONENTS, trainings, _by_seeds("trainings alike, only interaction, ", 200, (0.0, 0.0, 0.4))),
    *_cases(_COMPONENTS, trainings, _by_seeds("trainings alike, examples differ, ", 200, (0.0, 0.2, 0.4))),
    *_cases(_COMPONENTS, trainings, _by_seeds("mixed, sd .02, ", 200, (0.02, 0.3, 0.3))),
    *_cases(_COMPONENTS, trainings, _by_seeds("trainings differ, sd .09, ", 200, (0.09, 0.1, 0.4))),
    *_cases(_COMPONENTS, trainings, _by_seeds("trainings differ, sd .21, ", 200, (0.21, 0.1, 0.4))),
    *_cases(_COMPONENTS, failing, _by_seeds("accuracies, none fails, ", 0.0)),
    *_cases(_COMPONENTS, failing, _by_seeds("accuracies, 1 in 10 fails, ", 0.1)),
    *_cases(_COMPONENTS, failing, _by_seeds("accuracies, 3 in 10 fail, ", 0.3)),
    *_cases(_COMPONENTS, correlations, _by_seeds("Pearson, ", 200)),
    *_cases(_COMPONENTS, groups_of_texts, _by_seeds("20 groups of texts, ")),
    *_cases(_COMPONENTS, failing_score, _by_seeds("one arm's own score, 1 in 10 fails, ", 0.1)),
    *_cases(_SEEDS, over_seeds, _by_seeds("")),
    *(
        case
        for spread, words in ((0.3, "kappa .6"), (1.0, "kappa .3"), (3.0, "kappa .15"))
        for case in _cases(_KAPPA, kappa, _by_seeds(f"144 heads, {words}, ", spread, 144), samples=1000)
    ),
    *(
        case
        for spread, words in ((1.0, "kappa .3"), (0.3, "mostly agreed on"), (0.1, "hardly ever divided"))
        for case in _cases(_KAPPA, kappa, _by_seeds(f"12 MLPs, {words}, ", spread, 12), samples=1000)
    ),
    *(
        case
        for kind, words in ((SELDOM, "called too seldom"), (RARE, "rare"))
        for case in _cases(
            _LABELS,
            by_labels,
            {
                f"{words}, 100 labels, 200 texts": (kind, 200, 100, 0.5),
                f"{words}, 100 labels, 20 texts": (kind, 20, 100, 0.5),
                f"{words}, 30 labels, 200 texts": (kind, 200, 30, 0.5),
                f"{words}, 300 labels, 200 texts": (kind, 200, 300, 0.5),
                f"{words}, 100 labels, 50 texts that differ three times as much": (kind, 50, 100, 1.5),
            },
        )
    ),
    *_cases("the best of many parts", the_best, {f"{parts} parts, none matters": (parts,) for parts in (12, 144)}),
    *_cases("all of many at once", all_at_once, {f"{parts} intervals": (parts,) for parts in (12, 144)}),
    *_cases("difference of two intervals' ends", difference_of_ends, {"independent": ()}),
]
_TAILS = "Student's t is on the safe side where a few values are far off: without a failure in sight 0 is held anyway"
_UNSEEN = "of 10 runs none fails in 35% of cases, of 5 in 59%: what wasn't seen is not in the interval"
WHY = {
    (
        _BOOTSTRAP,
        "macro F1",
    ): "F1 of a label that few texts have is too low on average, and lower still in a resample",
    (_BOOTSTRAP, ""): "right or wrong of few examples: the score moves in steps of 1 / n",
    (_SHARE, ""): "100 examples are few where the loss is skew, and of answers that are right or wrong",
    ("the median's ranks", ""): "ranks are whole: the next narrower interval would hold too little",
    (_COMPONENTS, "accuracies"): _TAILS,
    (_COMPONENTS, "one arm's own score"): _UNSEEN,
    (_KAPPA, "12 MLPs"): "of few parts few divide the seeds: kappa moves in steps, and may hardly vary in sight",
    (_KAPPA, ""): "the jackknife counts what two seeds have in common twice (Efron and Stein 1981): on the safe side",
    (_LABELS, "rare"): "half a map more in each cell counts where few maps are called otherwise than labelled",
    ("the best of many parts", ""): "Bonferroni's bound, from one side: the best of many is rarely too low",
    ("difference of two intervals' ends", ""): "wide enough however the two are correlated; .95 only at -1",
}
"""By kind, and what the case begins with, the reason of a coverage that isn't within bounds."""


def why(case: Case, coverage: float) -> str:
    """Empty where the coverage is as it should be."""
    if LEAST <= round(coverage, 3) <= MOST:
        return ""
    return next(reason for (kind, begins), reason in WHY.items() if kind == case.kind and case.of.startswith(begins))


def table() -> str:
    lines = ["| interval | of | holds the truth | why not .95 |", "|---|---|---|---|"]
    for case in CASES:
        found = case.coverage()
        lines.append(f"| {case.kind} | {case.of} | {found:.3f} | {why(case, found)} |".replace("|  |", "| |"))
    return "\n".join(lines) + "\n"


def documented() -> str:
    found = _BLOCK.search(METHODS.read_text(encoding="utf-8"))
    assert found, f"{METHODS} has no place for the table"
    return found["table"]


def write() -> None:
    now = table()
    text = METHODS.read_text(encoding="utf-8")
    METHODS.write_text(_BLOCK.sub(lambda block: block[1] + now + block[3], text), encoding="utf-8")


if __name__ == "__main__":
    write()
