"""Claims of *When BERT Plays the Lottery, All Tickets Are Winning*."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.core.estimate import cell
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.estimates import over_seeds, student
from bertscope.study.claims.records.evidence import of_training
from bertscope.study.claims.records.preconditions import AboveChance, EnoughSeeds, Power
from bertscope.study.claims.records.published import FULL, HEADS_LEFT, KAPPA, RETRAINED, WEIGHTS_LEFT, apart
from bertscope.study.claims.records.skill import NO_LOSS, TENTH

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.number import Number
    from bertscope.core.result import Result

LOTTERY = Source("Lottery", "Prasanna et al. 2020, When BERT Plays the Lottery, All Tickets Are Winning")
_NEEDS = (EnoughSeeds(), AboveChance())
_WITHIN = (*_NEEDS, Power())
"""What is needed where a loss is said to be within a margin."""
_claim = partial(Claim, source=LOTTERY, question="lottery", needs=_NEEDS)


def _full(result: Result) -> Number:
    found = result.numbers(key="score", arm="full")
    if not found:
        raise KeyError("the full model's score")
    return found[0]


def _arm(result: Result, method: str, arm: str, stage: str) -> pd.DataFrame:
    rows = result.tables["arms"]
    return rows[(rows["method"] == method) & (rows["arm"] == arm) & (rows["stage"] == stage)]


def against_full(method: str, arm: str) -> Callable[[Result], Iterator[Evidence]]:
    """Subnetworks, trained again, minus the full model."""

    def read(result: Result) -> Iterator[Evidence]:
        for _, row in _arm(result, method, arm, "retrained").iterrows():
            yield of_training(result, cell(row, "minus_full"), row["runs"], _full(result).n)

    return read


def against(method: str, arm: str, other: str) -> Callable[[Result], Iterator[Evidence]]:
    """One subnetwork minus another of its size, both trained again."""

    def read(result: Result) -> Iterator[Evidence]:
        rows = result.tables["comparisons"]
        rows = rows[(rows["method"] == method) & (rows["stage"] == "retrained")]
        for _, row in rows[(rows["arm"] == arm) & (rows["against"] == other)].iterrows():
            yield of_training(result, cell(row, "difference", "low", "high"), row["runs"], _full(result).n)

    return read


def training_helps(arm: str) -> Callable[[Result], Iterator[Evidence]]:
    """What m-subnetworks gain by being trained again."""

    def read(result: Result) -> Iterator[Evidence]:
        rows = result.tables["gains"]
        for _, row in rows[(rows["method"] == "m") & (rows["arm"] == arm)].iterrows():
            yield of_training(result, cell(row, "gain", "low", "high"), row["runs"], _full(result).n)

    return read


def heads_left(result: Result) -> Iterator[Evidence]:
    if "survivors" in result.arrays:
        heads = (result.tables["survivors"]["kind"] == "head").to_numpy()
        votes = result.arrays["survivors"][:, heads]
        yield of_training(result, over_seeds(votes.mean(1)), len(votes), votes.shape[1], "seeds")


def weights_left(result: Result) -> Iterator[Evidence]:
    rows = result.tables["agreement"]
    for _, row in rows[(rows["method"] == "m") & (rows["parts"] == "weights")].iterrows():
        ((_, good),) = _arm(result, "m", "good", "retrained").iterrows()
        runs, of = int(good["runs"]), int(row["of"])
        share = student(row["survive"] / of, row["survive_sd"] / of, runs)
        yield of_training(result, share, runs, of, "seeds")


def agreeing(key: str) -> Callable[[Result], Iterator[Evidence]]:
    """How much seeds agree on the heads that survive; the interval is over seeds, the heads are all there are."""

    def read(result: Result) -> Iterator[Evidence]:
        rows = result.tables["agreement"]
        for _, row in rows[(rows["parts"] == "heads") & rows[key].notna()].iterrows():
            blind = row.get(f"{key}_by_chance")
            note = "" if blind is None else f"independent masks of these sizes: {blind:.3g}"
            yield of_training(result, cell(row, key), row["runs"], int(row["of"]), "seeds", note=note)

    return read


def survivors_shapes(result: Result) -> Iterator[Evidence]:
    """The share of survivors whose attention is heterogeneous; the interval holds the classifiers' error too."""
    if "classes" not in result.tables:
        return
    rows = result.tables["classes"]
    rows = rows[(rows["attention"] == "raw") & (rows["of"] == "survivors")]
    for _, row in rows[rows["class"] == "heterogeneous"].iterrows():
        share = cell(row, "share", "low", "high")
        yield of_training(result, share, row["runs"], int(rows["heads"].sum()), "seeds and classifiers")


_M, _S = (f"bertscope lottery BASE --on TASK --methods {method} --seeds 0 1 2 3 4" for method in "ms")


def _difference(method: str, arm: str, other: str, **more: object) -> Claim:
    values = apart(RETRAINED[method, arm], RETRAINED[method, other])
    return _claim(
        effect=f"score of {arm} subnetworks minus that of {other} ones, both trained again ({method}-pruning)",
        unit="score",
        read=against(method, arm, other),
        published=Published(f"{min(values.values()):+.3f} to {max(values.values()):+.3f}, by task", values),
        command=_M if method == "m" else _S,
        **more,  # type: ignore[arg-type]
    )


def _against_full(method: str, arm: str, **more: object) -> Claim:
    values = apart(RETRAINED[method, arm], FULL)
    return _claim(
        effect=f"score of {arm} subnetworks, trained again, minus the full model's ({method}-pruning)",
        unit="score",
        read=against_full(method, arm),
        published=Published(f"{min(values.values()):+.3f} to {max(values.values()):+.3f}, by task", values),
        command=_M if method == "m" else _S,
        **more,  # type: ignore[arg-type]
    )


CLAIMS = (
    _against_full(
        "m", "good",
        id="m-good-reaches-full",
        says="Good m-pruned subnetworks reach the full model's score when they are trained again.",
        where="abstract, and the blog post: 8 of 9 tasks",
        needs=_WITHIN,
        asks=Bound(">", -TENTH, of_skill=True),
        margin=f"{NO_LOSS}; the paper's own lose up to 3% of it, on RTE 17%",
    ),
    _against_full(
        "s", "good",
        id="s-good-comes-close",
        says="Good s-pruned subnetworks come close to the full model's score when they are trained again.",
        where="the blog post",
        needs=_WITHIN,
        asks=Bound(">", -0.2, of_skill=True),
        margin="a fifth of what the full model has above chance, ours: close, not as good; the paper's own lose 7 to "
        "15% of it, on MRPC and RTE about half",
    ),
    _difference(
        "s", "good", "random",
        id="s-random-as-good",
        says="Random s-subnetworks do as well as good ones when they are trained again: all tickets are winning.",
        where="the blog post",
        needs=_WITHIN,
        asks=Bound("<", TENTH, of_skill=True),
        margin=NO_LOSS,
    ),
    _against_full(
        "s", "bad",
        id="s-bad-is-trainable",
        says="Even the worst s-subnetworks remain highly trainable.",
        where="abstract",
        needs=_WITHIN,
        asks=Bound(">", -0.5, of_skill=True),
        margin="half of what the full model has above chance, ours: what keeps most of the skill is trainable; the "
        "paper's own keep 58 to 91% of it, on MRPC none",
    ),
    _difference(
        "m", "good", "random",
        id="m-random-worse",
        says="Random m-subnetworks of the same size do worse than good ones.",
        where="abstract",
        asks=Bound(">", 0),
    ),
    _difference(
        "m", "good", "bad",
        id="m-bad-worse",
        says="Bad m-subnetworks of the same size do worse than good ones.",
        where="abstract",
        asks=Bound(">", 0),
    ),
    _difference(
        "m", "random", "bad",
        id="m-bad-below-random",
        says="Bad m-subnetworks are consistently worse than random ones.",
        where="the blog post",
        asks=Bound(">", 0),
    ),
    _claim(
        "bad-gains-by-training",
        "Bad subnetworks, too, do better when they are trained again.",
        where="the blog post",
        effect="score of bad subnetworks, trained again minus as pruned (m-pruning)",
        unit="score",
        asks=Bound(">", 0),
        read=training_helps("bad"),
        published=Published("stated without a number"),
        command=_M,
    ),
    _claim(
        "random-gains-by-training",
        "Random subnetworks do better when they are trained again.",
        where="the tables of m-pruned subnetworks, pruned and retrained",
        effect="score of random subnetworks, trained again minus as pruned (m-pruning)",
        unit="score",
        asks=Bound(">", 0),
        read=training_helps("random"),
        published=Published("stated without a number"),
        command=_M,
    ),
    _claim(
        "heads-can-go",
        "A third of the heads or more can go.",
        where="numbers of survivors",
        effect="share of heads that survive s-pruning",
        unit="share",
        asks=Bound("<=", 2 / 3),
        read=heads_left,
        published=Published("47% (SST-2) to 66% (MNLI)", HEADS_LEFT),
        command=_S,
        margin="two thirds: the most that survive in the paper",
    ),
    _claim(
        "weights-can-go",
        "A third of the weights or more can go.",
        where="numbers of survivors",
        effect="share of weights that survive m-pruning",
        unit="share",
        asks=Bound("<=", 2 / 3),
        read=weights_left,
        published=Published("44% (SST-2) to 64% (CoLA)", WEIGHTS_LEFT),
        command=_M,
        margin="two thirds: about the most that survive in the paper",
    ),
    _claim(
        "masks-are-unstable",
        "Good subnetworks are unstable: another seed keeps other heads.",
        where="abstract",
        effect="Fleiss' kappa of which heads survive, over seeds",
        unit="kappa",
        asks=Bound("<", 0.4),
        read=agreeing("kappa"),
        published=Published("0.18 (RTE) to 0.32 (SST-2)", KAPPA),
        command=_S,
        margin="0.4: at most fair agreement (Landis and Koch 1977)",
    ),
    _claim(
        "super-survivors-are-few",
        "Few heads survive whatever the seed.",
        where="section on super-survivors",
        effect="of the heads that survive with one seed, the share that also survive with three others",
        unit="share",
        asks=Bound("<", 0.5),
        read=agreeing("kept_by_four"),
        published=Published("heat maps, no number"),
        command=_S,
        margin="few: under half, ours; over four seeds however many there are, since the more seeds, the fewer heads "
        "survive with all of them",
    ),
    _claim(
        "survivors-not-meaningful",
        "Survival is not explained by meaningful attention: less than half of the survivors are heterogeneous.",
        where="abstract, and the blog post",
        effect="share of surviving heads whose commonest map is heterogeneous, mean over seeds",
        unit="share",
        asks=Bound("<", 0.5),
        read=survivors_shapes,
        published=Published("figures, no number"),
        command=f"{_S} --patterns",
    ),
)  # fmt: skip
