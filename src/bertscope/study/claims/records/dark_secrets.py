"""Claims of *Revealing the Dark Secrets of BERT*, about shapes of attention and what fine-tuning does to it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.analyses.features.question import SPECIAL
from bertscope.core.estimate import Estimate, cell, column, extreme, mean
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published, Source
from bertscope.study.claims.records.estimates import over_layers, share_of
from bertscope.study.claims.records.evidence import (
    evidence,
    layer_third,
    numbers,
    of_tuned,
    raw,
    studied,
    tuned_from_first,
)
from bertscope.study.claims.records.published import HETEROGENEOUS

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

DARK_SECRETS = Source("Dark Secrets", "Kovaleva et al. 2019, Revealing the Dark Secrets of BERT")
_ALIKE = 1e-3  # by how much rounding lets equal shares differ
_claim = partial(Claim, source=DARK_SECRETS)


def _shares(result: Result, kind: str) -> dict[str, Estimate]:
    """The share of maps of a class, by model; the ends hold the classifiers' error."""
    rows = result.tables["models"]
    rows = rows[rows["class"] == kind]
    return {row["checkpoint"]: cell(row, "share", "low", "high") for _, row in rows.iterrows()}


def heterogeneous(result: Result) -> Iterator[Evidence]:
    for key, share in _shares(result, "heterogeneous").items() if raw(result) else ():
        if studied(result.models[key]):
            n = result.numbers(key="heterogeneous")[0].n
            yield evidence(result, share, n, "texts and classifiers", model=result.models[key])


def vertical_grows(result: Result) -> Iterator[Evidence]:
    """After minus before by the same classifier: what two say differently of both models is no growth."""
    if not raw(result) or "changes" not in result.tables:
        return
    rows = result.tables["changes"]
    rows = rows[rows["class"] == "vertical"].set_index("checkpoint")
    for tuned in tuned_from_first(result):
        grown, n = cell(rows.loc[tuned.id], "change", "low", "high"), result.numbers(key="vertical")[0].n
        yield of_tuned(result, tuned, grown, n, "texts and classifiers")


def on_special(result: Result) -> Iterator[Evidence]:
    for model, number in numbers(result, "mostly_on_special") if raw(result) else ():
        yield evidence(result, Estimate.of_number(number), number.n, "texts", model=model)


def _of_change(result: Result, effect: Estimate, n: int | None, **more: float) -> Iterator[Evidence]:
    """About what one fine-tuning changed."""
    for tuned in tuned_from_first(result) if raw(result) else ():
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


def _drawn(result: Result) -> pd.DataFrame:
    """How much attention each feature that the corpus has draws from all tokens, by checkpoint and layer."""
    rows = result.tables["layers"]
    rows = rows[(rows["by"] == "all_tokens") & rows["attention"].notna()]
    return rows.assign(third=layer_third(rows["layer"], rows["layer"].max()))


def sep_above_features(result: Result) -> Iterator[Evidence]:
    rows = _drawn(result)
    rows = rows[rows["third"] > 1]
    for key, mine in rows.groupby("checkpoint", sort=False) if raw(result) else ():
        apart = []
        for _, layer in mine.groupby("layer"):
            words = column(layer[~layer["feature"].isin(SPECIAL)], "attention")
            sep = column(layer[layer["feature"] == "sep"], "attention")
            apart += [sep[0] - extreme(words, max)] if words and sep else []
        if apart:
            over = "texts, corrected for kinds of words"
            yield evidence(result, mean(apart), int(mine["n"].max()), over, model=result.models[key])


def cls_first(result: Result) -> Iterator[Evidence]:
    """One token against one token: a pair of texts has two [SEP], which count by their mean."""
    rows = result.tables["special"]
    rows = rows[(layer_third(rows["layer"], rows["layer"].max()) == 1) & rows["token"].isin(SPECIAL)]
    counts = result.tables["layers"].groupby("checkpoint")["n"].max()
    for key, mine in rows.groupby("checkpoint", sort=False) if raw(result) else ():
        cls, sep = (mine[(mine["token"] == token) & mine["each"].notna()] for token in SPECIAL)
        if len(cls) and len(sep):
            effect = _each(cls) - _each(sep)
            why = "" if effect.sure else "texts have different numbers of [SEP], and the interval is of their sum"
            note = f"{(sep['attention'] / sep['each']).mean():.3g} [SEP] a text"
            n, model = int(counts[key]), result.models[key]
            yield evidence(result, effect, n, "texts", model=model, why=why, note=note)


def _each(rows: pd.DataFrame) -> Estimate:
    """Attention to one such token, mean of layers and heads. The stored interval is of a text's tokens together; it
    is the same share of that where every text has as many."""
    share = (rows["each"] / rows["attention"]).to_numpy()
    if share.max() - share.min() > _ALIKE:
        return Estimate(float(rows["each"].mean()))
    return mean([part.times(by) for part, by in zip(column(rows, "attention"), share, strict=True)])


def features_rise(result: Result) -> Iterator[Evidence]:
    if not raw(result) or "change_of_layers" not in result.tables:
        return
    rows = result.tables["change_of_layers"]
    rows = rows[(rows["by"] == "all_tokens") & rows["change"].notna() & ~rows["feature"].isin(SPECIAL)]
    for tuned in tuned_from_first(result):
        mine = rows[rows["checkpoint"] == tuned.id]
        rises = [mean(column(feature, "change")) for _, feature in mine.groupby("feature")]
        if rises:
            n = result.numbers(key="mostly_on_special", model=tuned.id)[0].n
            yield of_tuned(result, tuned, extreme(rises, max), n, "texts")


def frame_heads(result: Result) -> Iterator[Evidence]:
    for key, heads in result.tables["frames"].groupby("checkpoint", sort=False) if "frames" in result.tables else ():
        share = over_layers(share_of(heads["certain"].to_numpy(bool)), heads["layer"].to_numpy())
        yield evidence(result, share, int(heads["n"].iloc[0]), "layers", model=result.models[key])


def relation_heads(result: Result) -> Iterator[Evidence]:
    rows = result.tables["best"]
    for key, tested in rows[rows["p"].notna()].groupby("checkpoint", sort=False):
        gains = column(tested, "difference", "difference_low", "difference_high")
        yield evidence(result, mean(gains), int(tested["test_pairs"].sum()), "sentences", model=result.models[key])


CLAIMS = (
    _claim(
        "less-than-half-heterogeneous",
        "Less than half of all maps are heterogeneous, the only shape that could mean something.",
        where="section 4.1 and the authors' blog post",
        question="patterns",
        effect="share of maps that are heterogeneous",
        unit="share",
        asks=Bound("<", 0.5),
        read=heterogeneous,
        published=Published("32% (MRPC) to 61% (QQP)", HETEROGENEOUS),
        command="bertscope patterns MODEL --on DATA",
    ),
    _claim(
        "a-third-on-special",
        "At least a third of the heads put more than half of their attention on [CLS] and [SEP].",
        where="section 4.1 and the authors' blog post",
        question="features",
        effect="share of heads with more than half of their attention on [CLS] and [SEP]",
        unit="share",
        asks=Bound(">=", 1 / 3),
        read=on_special,
        published=Published("at least a third", {"": 1 / 3}),
        command="bertscope features MODEL --on DATA",
    ),
    _claim(
        "vertical-grows",
        "Fine-tuning makes a model rely more on the vertical pattern.",
        where="section 4.3 and the authors' blog post",
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
        question="change",
        effect="rank of the less changed of the last two layers; 1 has changed most",
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
        question="change",
        effect="share of the whole change that is in the last two layers",
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
        question="change",
        effect="share of heads whose maps keep a cosine above 0.9",
        unit="share",
        asks=Bound(">", 0.5),
        read=unchanged_heads,
        published=Published("a heat map, no number"),
        command="bertscope change BASE TUNED --on DATA",
        margin="cosine of 0.9: ours",
    ),
    _claim(
        "sep-above-features",
        "Above the first layers [SEP] draws more attention than any kind of word.",
        where="section 4.4",
        question="features",
        effect="attention to [SEP] minus that to the most attended kind of word, each by a text's most attended such "
        "token, mean of the upper two thirds",
        unit="attention",
        asks=Bound(">", 0),
        read=sep_above_features,
        published=Published("a heat map, no number"),
        command="bertscope features MODEL --on TREEBANK",
    ),
    _claim(
        "cls-in-first-layers",
        "In the first layers [CLS] draws more attention than [SEP].",
        where="section 4.4",
        question="features",
        effect="attention to [CLS] minus that to one [SEP] (the mean of a pair's two), mean of the lowest third of "
        "the layers",
        unit="attention",
        asks=Bound(">", 0),
        read=cls_first,
        published=Published("a heat map, no number"),
        command="bertscope features MODEL --on DATA",
    ),
    _claim(
        "no-feature-gains",
        "Fine-tuning does not turn attention to linguistic features: what there is comes from pre-training.",
        where="section 4.4",
        question="features",
        effect="attention to the kind of word that gained most, after minus before, mean over layers",
        unit="attention",
        asks=Bound("<", 0.01),
        read=features_rise,
        published=Published("a heat map, no number"),
        command="bertscope features BASE TUNED --on TREEBANK",
        margin="a gain below 0.01 of the attention counts as none",
    ),
    _claim(
        "few-frame-heads",
        "Only a few heads encode frame relations.",
        where="section 4.2",
        question="relations",
        effect="share of heads whose frame score is above that of control pairs (Holm)",
        unit="share",
        asks=Bound("<", 0.1),
        read=frame_heads,
        published=Published("2 of 144 heads stand out (0.201 and 0.209)", {"": 2 / 144}),
        command="bertscope relations MODEL --on FRAMENET",
        margin="few: under a tenth, ours",
    ),
    _claim(
        "relation-heads-exist",
        "There are heads that link words in a relation, beyond their position.",
        where="section 4.2",
        question="relations",
        effect="accuracy of the best head minus the best fixed offset, mean over relations",
        unit="accuracy",
        asks=Bound(">", 0),
        read=relation_heads,
        published=Published("two heads, by frame score; no such difference"),
        command="bertscope relations MODEL --on TREEBANK",
    ),
)
