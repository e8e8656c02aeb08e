"""The answer of `contrast`: what contrastive training changed, as numbers and figures."""

from __future__ import annotations

import pandas as pd

from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, decimals, runs, sure
from bertscope.experiments.contrast.question import BEFORE, ContrastConfig, contrast

_LABELS = {"arm": "", "low": "from", "high": "to", "pool": "vector"}
_VECTORS = {"cls": "its first token's vector", "mean": "the mean of its tokens' vectors"}
_ARMS = "Before: the encoder as it was. Contrastive: trained."
_CONTROL = "Shuffled: trained as long with other texts' positives."


def contrast_result(
    tables: dict[str, pd.DataFrame], trained: Result, pairs: Result, space: Result, config: ContrastConfig
) -> Result:
    """`trained` is one of the trainings, `pairs` and `space` are the base's texts and its geometry."""
    sts, corpus = pairs.subject["task"], space.subject["task"]
    return contrast.result(
        tables={name: table for name, table in tables.items() if len(table)},
        headline=_headline(tables, config, len(pairs.arrays["gold"])),
        figures=_figures(tables, config, sts),
        models=trained.models,
        subject={"task": trained.subject["task"], "pairs": config.pairs},
        notes=[*trained.notes, *_notes(tables, config, sts, corpus)],
    )


def sentence(result: Result) -> Statement | None:
    rows = result.tables["slopes"].set_index(["arm", "against"])
    before, after, change = (
        cell(rows.loc[key], "slope", "low", "high")
        for key in ((BEFORE, ""), ("contrastive", ""), ("contrastive", BEFORE))
    )
    said = (
        f"The cosine of two random words grows by {sure(before)} per layer before contrastive training and "
        f"by {sure(after)} after it: a difference of {sure(change)} ({runs(rows.loc['contrastive', ''])})."
    )
    return Statement(said, change.value, decimals)


def _headline(tables: dict[str, pd.DataFrame], config: ContrastConfig, n: int) -> list[Number]:
    numbers = []
    for _, row in tables["slopes"].iterrows():
        key, of = ("slope_difference", {"against": row["against"]}) if row["against"] else ("slope", {})
        numbers.append(_number(key, row, "slope", None, "cosine a layer", **of))
    baseline = tables["baseline"]
    for _, row in baseline[baseline["layer"] == baseline["layer"].max()].iterrows():
        numbers.append(_number("last_baseline", row, "value", None, "cosine", layer=str(row["layer"])))
    sts, unit = tables["sts"][tables["sts"]["pool"] == config.pool], f"{config.pool} vectors"
    for _, row in sts.iterrows():
        numbers.append(_number("spearman", row, "spearman", n, unit))
    for _, row in sts[sts["arm"] != BEFORE].iterrows():
        numbers.append(_number("spearman_difference", row, "minus_before", n, unit, "minus_before_", against=BEFORE))
    texts = tables["texts"]
    for _, row in texts[texts["against"] == ""].iterrows():
        numbers.append(_number(row["measure"], row, "value", None, unit))
    return numbers


def _number(key: str, row: pd.Series, value: str, n: int | None, unit: str, ends: str = "", **of: str) -> Number:
    low, high = (None if pd.isna(row[f"{ends}{end}"]) else float(row[f"{ends}{end}"]) for end in ("low", "high"))
    return Number(key, float(row[value]), low, high, n, unit, of={"arm": row["arm"], **of})


def _notes(tables: dict[str, pd.DataFrame], config: ContrastConfig, sts: str, corpus: str) -> list[str]:
    runs = len(config.seeds)
    notes = [
        _verdict(tables["slopes"].set_index(["arm", "against"])),
        f"geometry of the words of {corpus}; Spearman, alignment and uniformity of {sts}'s test set",
    ]
    if runs == 1:
        notes.append("one seed: intervals are over texts and say nothing about how trainings vary")
    elif runs < ENOUGH_RUNS:
        notes.append(f"{runs} seeds are too few for an interval over trainings; {ENOUGH_RUNS} are enough")
    return notes


def _verdict(slopes: pd.DataFrame) -> str:
    """The slides' finding, as it stands here."""
    before, after = (slopes.loc[(arm, ""), "slope"] for arm in (BEFORE, "contrastive"))
    change = slopes.loc["contrastive", BEFORE]
    numbers = f"the baseline grows by {before:+.4f} a layer before and by {after:+.4f} after contrastive training"
    if pd.isna(change["low"]):
        return f"{numbers}; too few seeds to say how sure that is"
    if change["low"] <= 0 <= change["high"]:
        return f"{numbers}: which way it changed is open"
    if change["slope"] < 0:
        return f"{numbers}: more slowly with depth, as the CS4650 slides found"
    return f"{numbers}: faster with depth, where the CS4650 slides found the opposite"


def _figures(tables: dict[str, pd.DataFrame], config: ContrastConfig, sts: str) -> list[Figure]:
    sure = _how_sure(len(config.seeds))
    drawn = [_baseline(config, sure)]
    if len(tables["contextual"]):
        drawn.append(_contextual(sure))
    return [*drawn, _sts(config, sts, sure), _plane(config), _curve(), _loss(config)]


def _how_sure(runs: int) -> str:
    if runs == 1:
        return "One seed: 95% intervals are over texts."
    if runs < ENOUGH_RUNS:
        return "Means over seeds; too few for an interval over trainings."
    return "Means over seeds, with 95% intervals over seeds and texts."


def _baseline(config: ContrastConfig, sure: str) -> Figure:
    arms = f"{_ARMS} {_CONTROL}" if config.control else _ARMS
    return Figure(
        "lines", "baseline", x="layer", y="value", low="low", high="high", color="arm", key="baseline",
        title="The cone by layer",
        caption="The mean cosine of two random words; 0 where words point everywhere, 1 where all point one way. A "
        f"line that rises less with depth is a cone that opens. {arms} {sure}",
        labels=_LABELS | {"value": "baseline (mean cosine)"},
    )  # fmt: skip


def _contextual(sure: str) -> Figure:
    return Figure(
        "lines", "contextual", x="layer", y="value", low="low", high="high", color="arm", facet="measure",
        key="contextual", title="How contextual words are",
        caption="Beyond chance: the mean cosine of two occurrences of a word (SelfSim*), of a word with its text "
        f"(intra-sentence*), and how much of a word's occurrences one direction explains (MEV*). {sure}",
        labels=_LABELS | {"value": "cosine, or share"},
    )  # fmt: skip


def _sts(config: ContrastConfig, sts: str, sure: str) -> Figure:
    return Figure(
        "intervals", "sts", x="spearman", y="arm", low="low", high="high", color="pool",
        key="sts", title="Do cosines follow meaning?",
        caption=f"Spearman's correlation of the scores of {sts}'s test set with the cosine of the two texts' "
        "vectors in the last layer: the first token's (cls), or the mean of all tokens'. "
        f"It was trained with {config.pool}. {sure}",
        labels=_LABELS | {"spearman": "Spearman"},
    )  # fmt: skip


def _plane(config: ContrastConfig) -> Figure:
    return Figure(
        "points", "runs", x="uniformity", y="alignment", color="arm", key="alignment_and_uniformity",
        title="Alignment and uniformity",
        caption="Alignment: the mean squared distance of two texts that mean the same. Uniformity: the logarithm "
        "of the mean of exp(-2 distance²) over all pairs of texts. Low is good for both: texts that mean the same "
        "lie close together, and all texts are spread evenly over the sphere. A point for each training; a text is "
        f"{_VECTORS[config.pool]} in the last layer.",
        labels=_LABELS,
    )  # fmt: skip


def _curve() -> Figure:
    return Figure(
        "lines", "curve", x="epoch", y="score", color="arm", key="learning_curves", title="Learning curves",
        caption="The validation set's Spearman after each epoch, mean over seeds; epoch 0 is before any training.",
        labels=_LABELS | {"score": "Spearman"},
    )  # fmt: skip


def _loss(config: ContrastConfig) -> Figure:
    among = config.batch_size * (2 if config.pairs == "triples" else 1)  # hard negatives too
    nothing = "with shuffled positives, there is nothing to find, and " if config.control else ""
    return Figure(
        "lines", "loss", x="step", y="loss", color="arm", key="loss", title="Training loss",
        caption="The contrastive loss, mean over the steps since the last point and over seeds; "
        f"{nothing}guessing among {among} gives log {among}.",
        labels=_LABELS,
    )  # fmt: skip
