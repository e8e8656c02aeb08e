"""Claims of *Revealing the Dark Secrets of BERT* about what heads attend to: special tokens, kinds of words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from bertscope.analyses.features.question import SPECIAL
from bertscope.core.estimate import Estimate, column, extreme, mean
from bertscope.study.claims.records.claim import Bound, Claim, Evidence, Published
from bertscope.study.claims.records.dark_secrets import AS_IT_IS, CHANGED, DARK_SECRETS
from bertscope.study.claims.records.evidence import after_first, evidence, layer_third, numbers, of_tuned
from bertscope.study.claims.records.preconditions import BeyondRandomWeights, Counted

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

_claim = partial(Claim, source=DARK_SECRETS, question="features")
_ALIKE = 1e-3  # by how much rounding lets equal shares differ
_LEARNED = (*AS_IT_IS, BeyondRandomWeights())


def on_special(result: Result) -> Iterator[Evidence]:
    for model, number in numbers(result, "mostly_on_special"):
        yield evidence(result, Estimate.of_number(number), number.n, "texts", model=model)


def _drawn(result: Result) -> pd.DataFrame:
    """How much attention each feature that the corpus has draws from all tokens, by checkpoint and layer."""
    rows = result.tables["layers"]
    rows = rows[(rows["by"] == "all_tokens") & rows["attention"].notna()]
    return rows.assign(third=layer_third(rows["layer"], rows["layer"].max()))


def sep_above_features(result: Result) -> Iterator[Evidence]:
    rows = _drawn(result)
    rows = rows[rows["third"] > 1]
    for key, mine in rows.groupby("checkpoint", sort=False):
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
    for key, mine in rows.groupby("checkpoint", sort=False):
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
    if "change_of_layers" not in result.tables:
        return
    rows = result.tables["change_of_layers"]
    rows = rows[(rows["by"] == "all_tokens") & rows["change"].notna() & ~rows["feature"].isin(SPECIAL)]
    for tuned in after_first(result):
        mine = rows[rows["checkpoint"] == tuned.id]
        rises = [mean(column(feature, "change")) for _, feature in mine.groupby("feature")]
        if rises:
            n = result.numbers(key="mostly_on_special", model=tuned.id)[0].n
            yield of_tuned(result, tuned, extreme(rises, max), n, "texts", parts=len(rises))


CLAIMS = (
    _claim(
        "a-third-on-special",
        "At least a third of the heads put more than half of their attention on [CLS] and [SEP].",
        where="section 4.1 and the authors' blog post",
        needs=_LEARNED,
        effect="share of heads with more than half of their attention on [CLS] and [SEP]",
        unit="share",
        asks=Bound(">=", 1 / 3),
        read=on_special,
        published=Published("at least a third", {"": 1 / 3}),
        command="bertscope features MODEL --on DATA",
    ),
    _claim(
        "sep-above-features",
        "Above the first layers [SEP] draws more attention than any kind of word.",
        where="section 4.4",
        needs=_LEARNED,
        effect="attention to [SEP] minus that to the most attended kind of word (each by a text's most attended "
        "token of its kind), mean of the upper two thirds of the layers",
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
        needs=_LEARNED,
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
        "Fine-tuning does not turn attention to linguistic features: what they get comes from pre-training.",
        where="section 4.4",
        needs=(*CHANGED, Counted(3, "kinds of words", parts=True)),
        effect="attention to the kind of word that gained most, after minus before, mean over layers",
        unit="attention",
        asks=Bound("<", 0.01),
        read=features_rise,
        published=Published("a heat map, no number"),
        command="bertscope features BASE TUNED --on TREEBANK",
        margin="a gain below 0.01 of the attention counts as none",
    ),
)
