"""Claims of *Revealing the Dark Secrets of BERT*, about shapes of attention and what fine-tuning does to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from bertscope.core.estimate import Estimate, cell, column, mean
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.evidence import (
    after_first,
    evidence,
    of_tuned,
    raw,
    studied,
)
from bertscope.study.claims.records.preconditions import (
    BeyondRandomWeights,
    PlainAttention,
    Studied,
    TunedFromFirst,
)
from bertscope.study.claims.records.published import HETEROGENEOUS

if TYPE_CHECKING:
    from bertscope.core.result import Result

DARK_SECRETS = Source("Dark Secrets", "Kovaleva et al. 2019, Revealing the Dark Secrets of BERT")
AS_IT_IS, CHANGED = (PlainAttention(), Studied()), (PlainAttention(), TunedFromFirst())
"""What claims need that are about a model, and about what fine-tuning did to it."""
_claim = partial(Claim, source=DARK_SECRETS)


def _shares(result: Result, kind: str) -> dict[str, Estimate]:
    """The share of maps of a class, by model; the ends hold the classifiers' error, also where labels correct it."""
    rows = result.tables["models"]
    rows = rows[rows["class"] == kind]
    return {row["checkpoint"]: cell(row, "share", "low", "high") for _, row in rows.iterrows()}


def _corrected(result: Result, key: str) -> bool:
    """Whether a model's shares are corrected by a user's labels."""
    rows = result.tables["models"]
    return "by" in rows and bool((rows.loc[rows["checkpoint"] == key, "by"] == "labels").all())


def heterogeneous(result: Result) -> Iterator[Evidence]:
    for key, share in _shares(result, "heterogeneous").items() if raw(result) else ():
        if studied(result.models[key]):
            n = result.numbers(key="heterogeneous")[0].n
            corrected = _corrected(result, key)
            over = "texts and labelled maps" if corrected else "texts and classifiers"
            yield evidence(result, share, n, over, model=result.models[key], corrected=corrected)


def vertical_grows(result: Result) -> Iterator[Evidence]:
    """After minus before by the same classifier: what two say differently of both models is no growth."""
    if not raw(result) or "changes" not in result.tables:
        return
    rows = result.tables["changes"]
    rows = rows[rows["class"] == "vertical"].set_index("checkpoint")
    for tuned in after_first(result):
        grown, n = cell(rows.loc[tuned.id], "change", "low", "high"), result.numbers(key="vertical")[0].n
        yield of_tuned(result, tuned, grown, n, "texts and classifiers")


def _of_change(result: Result, effect: Estimate, n: int | None, **more: float) -> Iterator[Evidence]:
    """About what one fine-tuning changed."""
    for tuned in after_first(result):
        yield of_tuned(result, tuned, effect, n, "texts", **more)


def last_two_ranks(result: Result) -> Iterator[Evidence]:
    rows = result.tables["layers"].nlargest(2, "layer")
    ranks = [max(rows[name]) for name in ("rank", "rank_low", "rank_high")]
    if len(result.tables["layers"]) > 2:  # of two layers both are the most changed
        yield from _of_change(result, Estimate.of(*ranks), result["cosine"].n)


def last_two_share(result: Result) -> Iterator[Evidence]:
    for number in result.numbers(key="last_two_share"):  # none where nothing changed
        even = result["last_two_even_share"].value
        yield from _of_change(result, Estimate.of_number(number), number.n, at=even)


def unchanged_heads(result: Result) -> Iterator[Evidence]:
    heads = result.tables["heads"]
    kept = [float((heads[end] > 0.9).mean()) for end in ("cosine", "cosine_low", "cosine_high")]
    return _of_change(result, Estimate.of(*kept), result["cosine"].n)


def relation_heads(result: Result) -> Iterator[Evidence]:
    rows = result.tables["best"]
    for key, tested in rows[rows["p"].notna()].groupby("checkpoint", sort=False):
        gains = column(tested, "difference", "difference_low", "difference_high")
        about: dict[str, Any] = {"model": result.models[key]}
        if "random_weights" in tested:  # with --null: the best head's accuracy there
            beyond = (tested["random_weights"] - tested["offset_accuracy"]).mean()
            about["reference"] = Estimate(float(beyond))
        yield evidence(result, mean(gains), int(tested["test_pairs"].sum()), "sentences", **about)


CLAIMS = (
    _claim(
        "less-than-half-heterogeneous",
        "Less than half of all maps are heterogeneous, the only shape that could mean something.",
        where="section 4.1 and the authors' blog post",
        needs=AS_IT_IS,
        question="patterns",
        effect="share of maps that are heterogeneous",
        unit="share",
        asks=Bound("<", 0.5),
        read=heterogeneous,
        published=Published("32% (MRPC) to 61% (QQP)", HETEROGENEOUS),
        command="bertscope patterns MODEL --on DATA",
    ),
    _claim(
        "vertical-grows",
        "Fine-tuning makes a model rely more on the vertical pattern.",
        where="section 4.3 and the authors' blog post",
        needs=CHANGED,
        question="patterns",
        effect="share of vertical maps, after minus before",
        unit="share",
        asks=Bound(">", 0),
        read=vertical_grows,
        published=Published("shown for QNLI, no number"),
        command="bertscope patterns BASE TUNED --on DATA",
    ),
    _claim(
        "last-two-layers-most",
        "Fine-tuning changes the attention of the last two layers most.",
        where="section 4.3",
        needs=CHANGED,
        question="change",
        effect="rank of the less changed of the last two layers (rank 1 changed most)",
        unit="rank",
        asks=Bound("<=", 2),
        read=last_two_ranks,
        published=Published("so in all tasks but QQP"),
        command="bertscope change BASE TUNED --on DATA",
    ),
    _claim(
        "last-two-layers-more",
        "The last two layers change more than their share.",
        where="section 4.3, in its weaker form",
        needs=CHANGED,
        question="change",
        effect="share of the whole change that lies in the last two layers",
        unit="share",
        asks=Bound(">", 1 / 6),
        read=last_two_share,
        published=Published("so in all tasks but QQP"),
        command="bertscope change BASE TUNED --on DATA",
        margin="what two layers have if all change alike",
    ),
    _claim(
        "most-heads-unchanged",
        "Most of the model does not change all that much.",
        where="the authors' blog post",
        needs=CHANGED,
        question="change",
        effect="share of heads whose maps keep a cosine above 0.9",
        unit="share",
        asks=Bound(">", 0.5),
        read=unchanged_heads,
        published=Published("a heat map, no number"),
        command="bertscope change BASE TUNED --on DATA",
        margin="the cosine of 0.9 is ours",
    ),
    _claim(
        "relation-heads-exist",
        "There are heads that link the words of a relation, beyond what their positions explain.",
        where="section 4.2",
        needs=(Studied(), BeyondRandomWeights()),
        question="relations",
        effect="accuracy of the best head minus the best fixed offset, mean over relations",
        unit="accuracy",
        asks=Bound(">", 0),
        read=relation_heads,
        published=Published("two heads, by frame score; this difference isn't given"),
        command="bertscope relations MODEL --on TREEBANK",
    ),
)
