"""What is said of experiments: what pre-training gives, how little trains again, what can go, freeze or miss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.study.claims.estimates import cell
from bertscope.study.claims.evidence import by_name, estimate
from bertscope.study.claims.words import Told, decimals, in_points, percent, points, runs, seeds, sure

if TYPE_CHECKING:
    from bertscope.core.result import Result


def scratch(result: Result) -> Told | None:
    tuned, random, untuned, majority = (
        sure(estimate(result.number(name)))
        for name in ("fine-tuned", "random init, tuned", "pretrained, not tuned", "majority")
    )
    sentence = (
        f"Fine-tuned, the model scores {tuned}; the same training from random weights gives {random}, no training "
        f"{untuned}, the commonest answer {majority} ({seeds(result.tables['scores']['seed'].nunique())})."
    )
    added = result.number("fine-tuned").value - result.number("random init, tuned").value
    return Told(sentence, added, "what pretraining adds to the score of the same training", in_points)


def lottery(result: Result) -> Told | None:
    arms = result.tables["arms"]
    method = next(name for name in arms["method"] if name)
    rows = by_name(arms[(arms["method"] == method) & (arms["stage"] == "retrained")], "arm")
    good, random, bad = (sure(cell(rows[arm], "score", "low", "high")) for arm in ("good", "random", "bad"))
    left = float(rows["good"]["left"])
    sentence = (
        f"{percent(left)} of the blocks' weights still do the task; trained again they score {good}, as many at "
        f"random {random}, the least important {bad}, the full model {sure(estimate(result.number('full')))} "
        f"({runs(rows['good'])}, {method}-pruning)."
    )
    return Told(sentence, left, "the share of the blocks' weights that pruning leaves", percent)


def truncate(result: Result) -> Told | None:
    rows = result.tables["arms"]
    rows = rows[(rows["removed"] == 1) & rows["from_top"] & (rows["top"] == rows["top"].iloc[0])]
    if rows.empty:
        return None
    row = rows.iloc[0]
    change, how = cell(row, "effect"), "" if "layers" in result.subject else " and trained again"
    sentence = (
        f"Without its top layer{how}, the model's score changes by {sure(change, points)} points ({runs(row)})."
    )
    return Told(sentence, change.value, "the change of the score without the top layer", in_points)


def freeze(result: Result) -> Told | None:
    rows = result.tables["arms"]
    row = rows.iloc[int(rows["effect"].argmin())]
    change = cell(row, "effect")
    sentence = (
        f"Of what was tried, freezing {row['arm']} costs most: the score changes by {sure(change, points)} points "
        f"({runs(row)})."
    )
    return Told(sentence, change.value, "the worst change of the score by freezing", in_points)


def contrast(result: Result) -> Told | None:
    rows = by_name(result.tables["slopes"], "arm")
    before, after, change = (
        cell(rows[arm], "slope", "low", "high") for arm in ("before", "contrastive", "contrastive - before")
    )
    sentence = (
        f"The cosine of two random words grows by {sure(before)} a layer before contrastive training and by "
        f"{sure(after)} after it: a difference of {sure(change)} ({runs(rows['contrastive'])})."
    )
    return Told(sentence, change.value, "what contrastive training adds to the cosine's growth a layer", decimals)


def bias(result: Result) -> Told | None:
    effects = result.tables["effects"]
    rows = by_name(effects[effects["on"] == "slice"], "effect")
    cut, size, words = (
        sure(cell(rows[name], "difference", "low", "high"), points) for name in ("the cut", "its size", "its words")
    )
    sentence = (
        f"Trained without the rows that have certain words, the model's score where they occur changes by {cut} "
        f"points: {size} by the smaller set, {words} by the missing words ({runs(rows['the cut'])})."
    )
    return Told(sentence, float(rows["its words"]["difference"]), "the effect of the missing words", in_points)
