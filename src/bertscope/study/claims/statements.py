"""Stored results in words: a sentence for each, made from its numbers by a plain template.

A sentence says what a number is and how sure it is, never what it means. Beside it stands the number by which the
results of a question are compared, so that a reader of several can be told where they lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.study.claims.records.claim import Estimate
from bertscope.study.claims.records.estimates import cell, column, extreme
from bertscope.study.claims.records.evidence import by_name, checkpoints, estimate, raw

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result


@dataclass(frozen=True)
class Statement:
    """What is said of one result."""

    sentence: str
    main: float
    """The number by which results of this question are compared."""
    what: str
    """What that number is, in words that need no sentence before them."""
    written: Callable[[float], str]


def percent(value: float) -> str:
    """
    >>> percent(0.405), percent(0.0137), percent(0.0)
    ('40%', '1.4%', '0%')
    """
    few = 0 < abs(value) < 0.0995
    return f"{_fixed(100 * value, int(few))}%"


def decimals(value: float) -> str:
    return _fixed(value, 3)


def points(value: float) -> str:
    return _fixed(100 * value, 1)


def _fixed(value: float, digits: int) -> str:
    """With a true minus sign, and none before a zero.

    >>> _fixed(-0.31, 1), _fixed(-0.01, 1)
    ('\u22120.3', '0.0')
    """
    written = f"{value:.{digits}f}"
    return written.replace("-", "\u2212" if float(written) else "")


def sure(of: Estimate, written: Callable[[float], str] = decimals) -> str:
    """The value, and its interval if it has one that can be seen: `41% (39% to 42%)`."""
    value, *ends = (written(number) for number in (of.value, of.low, of.high) if number is not None)
    return value if set(ends) <= {value} else f"{value} ({' to '.join(ends)})"


def counted(count: int, one: str, several: str) -> str:
    """
    >>> counted(0, "is needed", "are needed"), counted(2, "is needed", "are needed")
    ('none is needed', '2 are needed')
    """
    return f"{count or 'none'} {one if count < 2 else several}"


def seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def runs(row: pd.Series) -> str:
    return seeds(int(row["runs"]))


def in_points(value: float) -> str:
    return f"{points(value)} points"


def patterns(result: Result) -> Statement | None:
    if not raw(result):
        return None
    rows = result.tables["models"]
    name = checkpoints(rows)[-1]
    shares = {
        row["class"]: cell(row, "share", "low", "high") for _, row in rows[rows["checkpoint"] == name].iterrows()
    }
    heads = len(result.tables["heads"].drop_duplicates(["layer", "head"]))
    most = max(shares, key=lambda kind: shares[kind].value)
    other = "vertical" if most == "heterogeneous" else "heterogeneous"
    sentence = (
        f"Of the maps of {name}'s {heads} heads, {sure(shares[most], percent)} are {most} and "
        f"{sure(shares[other], percent)} {other}."
    )
    return Statement(sentence, shares["heterogeneous"].value, "the share of heterogeneous maps", percent)


def change(result: Result) -> Statement | None:
    if not raw(result):
        return None
    share = result.number("share of the change in the last two layers")
    even = result.number("the same if all heads changed alike").value
    first, second = (int(result.number(f"layer that changed {which}").value) for which in ("most", "second most"))
    sentence = (
        f"Fine-tuning changed the attention of layers {first} and {second} most; the last two layers hold "
        f"{sure(estimate(share), percent)} of the change, {percent(even)} if all changed alike."
    )
    return Statement(sentence, share.value, "the last two layers' share of the change in attention", percent)


def features(result: Result) -> Statement | None:
    if not raw(result):
        return None
    number = [one for one in result.headline if one.name.startswith("heads mostly on")][-1]
    name = checkpoints(result.tables["special"])[-1]
    share = sure(estimate(number), percent)
    sentence = f"{share} of {name}'s heads put more than half of their attention on [CLS] and [SEP]."
    return Statement(sentence, number.value, "the share of heads mostly on [CLS] and [SEP]", percent)


def relations(result: Result) -> Statement | None:
    best = result.tables["best"]
    best = best[best["checkpoint"] == checkpoints(best)[0]]
    tested, beats = int(best["p"].notna().sum()), int(best["beats"].sum())
    if not tested:
        return None
    if tested == 1:
        row = best[best["p"].notna()].iloc[0]
        head = cell(row, "accuracy", "low", "high")
        offset = cell(row, "offset_accuracy", "offset_low", "offset_high")
        sentence = (
            f"Of the words in the relation {row['relation']} the best head finds {sure(head, percent)}, the best "
            f"fixed offset {sure(offset, percent)}."
        )
    else:
        sentence = f"In {beats} of {tested} relations a head finds more words than any fixed offset (p < .05, Holm)."
    what = "the share of relations in which a head beats any fixed offset"
    return Statement(sentence, beats / tested, what, percent)


def ablate(result: Result) -> Statement | None:
    effects = result.tables["effects"]
    heads = effects[effects["kind"] == "head"]
    if heads.empty:
        return None
    worst = heads.iloc[int(heads["effect"].argmin())]
    lost = Estimate(0.0, 0.0, 0.0) - extreme(column(heads, "effect"), min, heads["certain"].tolist())
    certain = effects[effects["certain"]]
    needed, harm = (int(side.sum()) for side in (certain["effect"] < 0, certain["effect"] > 0))
    sentence = (
        f"Switching off one head costs at most {sure(lost, points)} points (head {worst['layer']}.{worst['head']}); "
        f"of {len(effects)} parts {counted(needed, 'is needed', 'are needed')} and "
        f"{counted(harm, 'does harm', 'do harm')} (p < .05, Holm)."
    )
    return Statement(sentence, lost.value, "the most that one head costs", in_points)


def similarity(result: Result) -> Statement | None:
    last = result.number("RSA, last layer")
    moved = int(result.number("layer with the lowest RSA").value)
    sentence = (
        f"Layer {moved} moved farthest in fine-tuning; the last layer's RSA with what it was is "
        f"{sure(estimate(last))}."
    )
    return Statement(sentence, last.value, "RSA of the last layer before and after fine-tuning", decimals)


def structure(result: Result) -> Statement | None:
    first, *others = checkpoints(result.tables["scores"])
    found, chain = (estimate(result.number(name)) for name in ("UUAS", "linear chain"))
    layer = int(result.number("best layer for distance").value)
    after = [f"{sure(estimate(result.number(f'UUAS, {name}')), percent)} in {name}" for name in others]
    further = "".join(f", {each}" for each in after)
    sentence = (
        f"A linear map finds {sure(found, percent)} of the syntax trees' edges in layer {layer} of {first}{further}; "
        f"a chain of neighbours has {sure(chain, percent)}."
    )
    return Statement(sentence, found.value, "the share of the syntax trees' edges that a linear map finds", percent)


def geometry(result: Result) -> Statement | None:
    rows = result.tables["layers"]
    name = checkpoints(rows)[0]
    rows = rows[(rows["checkpoint"] == name) & (rows["measure"] == "baseline") & (rows["form"] == "as it is")]
    rows = rows.sort_values("layer")
    first, last = (cell(rows.iloc[at], "value", "low", "high") for at in (0, -1))
    sentence = (
        f"Two random words have a cosine of {sure(first)} in {name}'s embeddings and {sure(last)} in its last layer."
    )
    return Statement(sentence, last.value, "the cosine of two random words in the last layer", decimals)


def scratch(result: Result) -> Statement | None:
    tuned, random, untuned, majority = (
        sure(estimate(result.number(name)))
        for name in ("fine-tuned", "random init, tuned", "pretrained, not tuned", "majority")
    )
    sentence = (
        f"Fine-tuned, the model scores {tuned}; the same training from random weights gives {random}, no training "
        f"{untuned}, the commonest answer {majority} ({seeds(result.tables['scores']['seed'].nunique())})."
    )
    added = result.number("fine-tuned").value - result.number("random init, tuned").value
    return Statement(sentence, added, "what pretraining adds to the score of the same training", in_points)


def lottery(result: Result) -> Statement | None:
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
    return Statement(sentence, left, "the share of the blocks' weights that pruning leaves", percent)


def truncate(result: Result) -> Statement | None:
    rows = result.tables["arms"]
    rows = rows[(rows["removed"] == 1) & rows["from_top"] & (rows["top"] == rows["top"].iloc[0])]
    if rows.empty:
        return None
    row = rows.iloc[0]
    change, how = cell(row, "effect"), "" if "layers" in result.subject else " and trained again"
    sentence = (
        f"Without its top layer{how}, the model's score changes by {sure(change, points)} points ({runs(row)})."
    )
    return Statement(sentence, change.value, "the change of the score without the top layer", in_points)


def freeze(result: Result) -> Statement | None:
    rows = result.tables["arms"]
    row = rows.iloc[int(rows["effect"].argmin())]
    change = cell(row, "effect")
    sentence = (
        f"Of what was tried, freezing {row['arm']} costs most: the score changes by {sure(change, points)} points "
        f"({runs(row)})."
    )
    return Statement(sentence, change.value, "the worst change of the score by freezing", in_points)


def contrast(result: Result) -> Statement | None:
    rows = by_name(result.tables["slopes"], "arm")
    before, after, change = (
        cell(rows[arm], "slope", "low", "high") for arm in ("before", "contrastive", "contrastive - before")
    )
    sentence = (
        f"The cosine of two random words grows by {sure(before)} a layer before contrastive training and by "
        f"{sure(after)} after it: a difference of {sure(change)} ({runs(rows['contrastive'])})."
    )
    return Statement(
        sentence, change.value, "what contrastive training adds to the cosine's growth a layer", decimals
    )


def bias(result: Result) -> Statement | None:
    effects = result.tables["effects"]
    rows = by_name(effects[effects["on"] == "slice"], "effect")
    cut, size, words = (
        sure(cell(rows[name], "difference", "low", "high"), points) for name in ("the cut", "its size", "its words")
    )
    sentence = (
        f"Trained without the rows that have certain words, the model's score where they occur changes by {cut} "
        f"points: {size} by the smaller set, {words} by the missing words ({runs(rows['the cut'])})."
    )
    return Statement(sentence, float(rows["its words"]["difference"]), "the effect of the missing words", in_points)


SENTENCES: dict[str, Callable[[Result], Statement | None]] = {
    "scratch": scratch,
    "patterns": patterns,
    "features": features,
    "change": change,
    "relations": relations,
    "ablate": ablate,
    "lottery": lottery,
    "similarity": similarity,
    "structure": structure,
    "geometry": geometry,
    "truncate": truncate,
    "freeze": freeze,
    "contrast": contrast,
    "bias": bias,
}
"""By the question whose results they tell, in the order in which they are told."""
