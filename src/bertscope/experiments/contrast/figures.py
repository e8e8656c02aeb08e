"""The pictures of `contrast`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.experiments.contrast.question import ContrastConfig

_LABELS = {"arm": "", "low": "from", "high": "to", "pool": "vector"}
_VECTORS = {"cls": "its first token's vector", "mean": "the mean of its tokens' vectors"}
_ARMS = "Before: the encoder as it was. Contrastive: trained. Shuffled: trained as long with other texts' positives."


def figures(tables: dict[str, pd.DataFrame], config: ContrastConfig, sts: str, published: float) -> list[Figure]:
    sure = _how_sure(len(config.seeds))
    drawn = [_baseline(sure)]
    if len(tables["contextual"]):
        drawn.append(_contextual(sure))
    return [*drawn, _sts(config, sts, published, sure), _plane(config), _curve(), _loss(config)]


def _how_sure(runs: int) -> str:
    if runs == 1:
        return "One seed: 95% intervals are over texts."
    if runs < ENOUGH_RUNS:
        return "Means over seeds; too few for an interval over trainings."
    return "Means over seeds, with 95% intervals over seeds and texts."


def _baseline(sure: str) -> Figure:
    return Figure(
        "lines", "baseline", x="layer", y="value", low="low", high="high", color="arm", title="The cone by layer",
        caption="The mean cosine of two random words; 0 where words point everywhere, 1 where all point one way. A "
        f"line that rises less with depth is a cone that opens. {_ARMS} {sure}",
        labels=_LABELS | {"value": "baseline (mean cosine)"},
    )  # fmt: skip


def _contextual(sure: str) -> Figure:
    return Figure(
        "lines", "contextual", x="layer", y="value", low="low", high="high", color="arm", facet="measure",
        title="How contextual words are",
        caption="Beyond chance: the mean cosine of two occurrences of a word (SelfSim*), of a word with its text "
        f"(intra-sentence*), and how much of a word's occurrences one direction explains (MEV*). {sure}",
        labels=_LABELS | {"value": "cosine, or share"},
    )  # fmt: skip


def _sts(config: ContrastConfig, sts: str, published: float, sure: str) -> Figure:
    # The demo language has scores of another kind: there is nothing to compare.
    rule = "" if sts.startswith("demo/") else "The rule is SimCSE with bert-base, the mean of seven STS sets. "
    return Figure(
        "intervals", "sts", x="spearman", y="arm", low="low", high="high", color="pool",
        title="Do cosines follow meaning?",
        caption=f"Spearman's correlation of the scores of {sts}'s test set with the cosine of the two texts' "
        "vectors in the last layer: the first token's (cls), or the mean of all tokens'. "
        f"It was trained with {config.pool}. {rule}{sure}",
        labels=_LABELS | {"spearman": "Spearman"}, rules={"SimCSE, bert-base": published} if rule else {},
    )  # fmt: skip


def _plane(config: ContrastConfig) -> Figure:
    return Figure(
        "points", "runs", x="uniformity", y="alignment", color="arm", title="Alignment and uniformity",
        caption="Alignment: the mean squared distance of two texts that mean the same. Uniformity: the logarithm of "
        "the mean of exp(-2 distance²) over all two texts. Low is good for both: near what means the same, and even "
        f"over the sphere. A point for each training; a text is {_VECTORS[config.pool]} in the last layer.",
        labels=_LABELS,
    )  # fmt: skip


def _curve() -> Figure:
    return Figure(
        "lines", "curve", x="epoch", y="score", color="arm", title="Learning curves",
        caption="The validation set's Spearman after each epoch, mean over seeds; epoch 0 is before any training.",
        labels=_LABELS | {"score": "Spearman"},
    )  # fmt: skip


def _loss(config: ContrastConfig) -> Figure:
    return Figure(
        "lines", "loss", x="step", y="loss", color="arm", title="Training loss",
        caption="The contrastive loss, mean over the steps since the last point and over seeds; with shuffled "
        f"positives there is nothing to find, and guessing among {config.batch_size} gives log {config.batch_size}.",
        labels=_LABELS,
    )  # fmt: skip
