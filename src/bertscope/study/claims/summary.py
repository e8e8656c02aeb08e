"""Stored results in words: a sentence for each question, made from its numbers by a plain template.

A sentence says what a number is and how sure it is, never what it means. Where several results answer a question, the
first is told and the range of the others added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.study.claims.claim import Estimate
from bertscope.study.claims.estimates import cell, column, extreme
from bertscope.study.claims.reading import checkpoints, estimate, raw

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result


@dataclass(frozen=True)
class Told:
    """What is said of one result."""

    sentence: str
    main: float
    """The number by which results of this question are compared."""
    what: str
    """What that number is."""
    written: Callable[[float], str]


def percent(value: float) -> str:
    """
    >>> percent(0.405), percent(0.0137), percent(0.0)
    ('40%', '1.4%', '0%')
    """
    few = 0 < abs(value) < 0.0995
    return f"{100 * value:.{int(few)}f}%"


def decimals(value: float) -> str:
    return f"{value:.3f}"


def points(value: float) -> str:
    return f"{100 * value:.1f}"


def sure(of: Estimate, written: Callable[[float], str] = decimals) -> str:
    """The value, and its interval if it has one: `41% (39% to 42%)`."""
    if of.low is None or of.high is None:
        return written(of.value)
    return f"{written(of.value)} ({written(of.low)} to {written(of.high)})"


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def _patterns(result: Result) -> Told | None:
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
    return Told(sentence, shares["heterogeneous"].value, "the share of heterogeneous maps", percent)


def _change(result: Result) -> Told | None:
    if not raw(result):
        return None
    share = result.number("share of the change in the last two layers")
    even = result.number("the same if all heads changed alike").value
    first, second = (int(result.number(f"layer that changed {which}").value) for which in ("most", "second most"))
    sentence = (
        f"Fine-tuning changed the attention of layers {first} and {second} most; the last two layers hold "
        f"{sure(estimate(share), percent)} of the change, {percent(even)} if all changed alike."
    )
    return Told(sentence, share.value, "the last two layers' share", percent)


def _features(result: Result) -> Told | None:
    if not raw(result):
        return None
    number = [one for one in result.headline if one.name.startswith("heads mostly on")][-1]
    name = checkpoints(result.tables["special"])[-1]
    share = sure(estimate(number), percent)
    sentence = f"{share} of {name}'s heads put more than half of their attention on [CLS] and [SEP]."
    return Told(sentence, number.value, "that share", percent)


def _relations(result: Result) -> Told | None:
    best = result.tables["best"]
    best = best[best["checkpoint"] == checkpoints(best)[0]]
    tested, beats = int(best["p"].notna().sum()), int(best["beats"].sum())
    if not tested:
        return None
    sentence = (
        f"For {beats} of {tested} relations a head finds more pairs than any fixed offset does (p < .05, Holm)."
    )
    return Told(sentence, beats / tested, "the share of such relations", percent)


def _ablate(result: Result) -> Told | None:
    effects = result.tables["effects"]
    heads = effects[effects["kind"] == "head"]
    if heads.empty:
        return None
    worst = heads.iloc[int(heads["effect"].argmin())]
    lost = Estimate(0.0, 0.0, 0.0) - extreme(column(heads, "effect"), min)
    certain = effects[effects["certain"]]
    needed, harm = (int(side.sum()) for side in (certain["effect"] < 0, certain["effect"] > 0))
    sentence = (
        f"Switching off one head costs at most {sure(lost, points)} points (head {worst['layer']}.{worst['head']}); "
        f"of {len(effects)} parts, {needed} are needed and {harm} do harm (p < .05, Holm)."
    )
    return Told(sentence, lost.value, "the most that one head costs", lambda value: f"{points(value)} points")


def _scratch(result: Result) -> Told | None:
    tuned, random, untuned, majority = (
        sure(estimate(result.number(name)))
        for name in ("fine-tuned", "random init, tuned", "pretrained, not tuned", "majority")
    )
    sentence = (
        f"Fine-tuned, the model scores {tuned}; the same training from random weights gives {random}, no training "
        f"{untuned}, the commonest answer {majority} ({_seeds(result.tables['scores']['seed'].nunique())})."
    )
    return Told(sentence, result.number("fine-tuned").value, "the fine-tuned score", decimals)


def _lottery(result: Result) -> Told | None:
    arms = result.tables["arms"]
    method = next(name for name in arms["method"] if name)
    rows = arms[(arms["method"] == method) & (arms["stage"] == "retrained")].set_index("arm")
    good, random, bad = (sure(cell(rows.loc[arm], "score", "low", "high")) for arm in ("good", "random", "bad"))
    left, runs = float(rows.loc["good", "left"]), int(rows.loc["good", "runs"])
    sentence = (
        f"{percent(left)} of the blocks' weights still do the task; trained again they score {good}, as many at "
        f"random {random}, the least important {bad}, the full model {sure(estimate(result.number('full')))} "
        f"({_seeds(runs)}, {method}-pruning)."
    )
    return Told(sentence, left, "what is left", percent)


def _similarity(result: Result) -> Told | None:
    last = result.number("RSA, last layer")
    moved = int(result.number("layer with the lowest RSA").value)
    sentence = f"Layer {moved} moved farthest in fine-tuning; RSA of the last layer is {sure(estimate(last))}."
    return Told(sentence, last.value, "RSA of the last layer", decimals)


def _structure(result: Result) -> Told | None:
    found, chain = (estimate(result.number(name)) for name in ("UUAS", "linear chain"))
    layer = int(result.number("best layer for distance").value)
    sentence = (
        f"A linear map of layer {layer} finds {sure(found, percent)} of the syntax trees' edges, a chain of "
        f"neighbours {sure(chain, percent)}."
    )
    return Told(sentence, found.value, "UUAS", percent)


def _geometry(result: Result) -> Told | None:
    rows = result.tables["layers"]
    name = checkpoints(rows)[0]
    rows = rows[(rows["checkpoint"] == name) & (rows["measure"] == "baseline") & (rows["form"] == "as it is")]
    rows = rows.sort_values("layer")
    first, last = (cell(rows.iloc[at], "value", "low", "high") for at in (0, -1))
    sentence = (
        f"Two random words have a cosine of {sure(first)} in {name}'s embeddings and {sure(last)} in its last layer."
    )
    return Told(sentence, last.value, "the cosine in the last layer", decimals)


SENTENCES: dict[str, Callable[[Result], Told | None]] = {
    "scratch": _scratch,
    "patterns": _patterns,
    "features": _features,
    "change": _change,
    "relations": _relations,
    "ablate": _ablate,
    "lottery": _lottery,
    "similarity": _similarity,
    "structure": _structure,
    "geometry": _geometry,
}


def said(results: Sequence[Result]) -> tuple[pd.DataFrame, list[str]]:
    """The sentences, one for each question that has an answer, with the result that each is of; and what could not
    be read."""
    import pandas as pd

    rows, unread = [], []
    for question, tell in SENTENCES.items():
        told: list[tuple[str, int, Told]] = []
        for place, result in enumerate(results):
            if result.question == question:
                try:
                    one = tell(result)
                except KeyError as missing:  # a result of an older version
                    unread.append(f"summary: {question} of {result.about} lacks {missing.args[0]}")
                else:
                    told += [(result.about, place, one)] if one else []
        if told:
            about, place, first = min(told, key=lambda one: one[:2])
            rows.append(
                {"question": question, "about": about, "sentence": first.sentence, "more": _range(told),
                 "input": f"results.{place}"}
            )  # fmt: skip
    return pd.DataFrame(rows, columns=["question", "about", "sentence", "more", "input"]), unread


def _range(known: Sequence[tuple[str, int, Told]]) -> str:
    """Where the main number lies over all results of the question, if there are several."""
    if len(known) == 1:
        return ""
    low, high = (pick(known, key=lambda one: one[2].main) for pick in (min, max))
    ends = (f"{one.written(one.main)} ({about})" for about, _, one in (low, high))
    return f"Over {len(known)} results {low[2].what} goes from {' to '.join(ends)}."
