"""What is said of questions about a model as it is: its attention, its parts, its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.study.claims.claim import Estimate
from bertscope.study.claims.estimates import cell, column, extreme
from bertscope.study.claims.evidence import checkpoints, estimate, raw
from bertscope.study.claims.words import Told, counted, decimals, in_points, percent, points, sure

if TYPE_CHECKING:
    from bertscope.core.result import Result


def patterns(result: Result) -> Told | None:
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


def change(result: Result) -> Told | None:
    if not raw(result):
        return None
    share = result.number("share of the change in the last two layers")
    even = result.number("the same if all heads changed alike").value
    first, second = (int(result.number(f"layer that changed {which}").value) for which in ("most", "second most"))
    sentence = (
        f"Fine-tuning changed the attention of layers {first} and {second} most; the last two layers hold "
        f"{sure(estimate(share), percent)} of the change, {percent(even)} if all changed alike."
    )
    return Told(sentence, share.value, "the last two layers' share of the change in attention", percent)


def features(result: Result) -> Told | None:
    if not raw(result):
        return None
    number = [one for one in result.headline if one.name.startswith("heads mostly on")][-1]
    name = checkpoints(result.tables["special"])[-1]
    share = sure(estimate(number), percent)
    sentence = f"{share} of {name}'s heads put more than half of their attention on [CLS] and [SEP]."
    return Told(sentence, number.value, "the share of heads mostly on [CLS] and [SEP]", percent)


def relations(result: Result) -> Told | None:
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
    return Told(sentence, beats / tested, "the share of relations in which a head beats any fixed offset", percent)


def ablate(result: Result) -> Told | None:
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
    return Told(sentence, lost.value, "the most that one head costs", in_points)


def similarity(result: Result) -> Told | None:
    last = result.number("RSA, last layer")
    moved = int(result.number("layer with the lowest RSA").value)
    sentence = (
        f"Layer {moved} moved farthest in fine-tuning; the last layer's RSA with what it was is "
        f"{sure(estimate(last))}."
    )
    return Told(sentence, last.value, "RSA of the last layer before and after fine-tuning", decimals)


def structure(result: Result) -> Told | None:
    first, *others = checkpoints(result.tables["scores"])
    found, chain = (estimate(result.number(name)) for name in ("UUAS", "linear chain"))
    layer = int(result.number("best layer for distance").value)
    after = [f"{sure(estimate(result.number(f'UUAS, {name}')), percent)} in {name}" for name in others]
    said = "".join(f", {each}" for each in after)
    sentence = (
        f"A linear map finds {sure(found, percent)} of the syntax trees' edges in layer {layer} of {first}{said}; a "
        f"chain of neighbours has {sure(chain, percent)}."
    )
    return Told(sentence, found.value, "the share of the syntax trees' edges that a linear map finds", percent)


def geometry(result: Result) -> Told | None:
    rows = result.tables["layers"]
    name = checkpoints(rows)[0]
    rows = rows[(rows["checkpoint"] == name) & (rows["measure"] == "baseline") & (rows["form"] == "as it is")]
    rows = rows.sort_values("layer")
    first, last = (cell(rows.iloc[at], "value", "low", "high") for at in (0, -1))
    sentence = (
        f"Two random words have a cosine of {sure(first)} in {name}'s embeddings and {sure(last)} in its last layer."
    )
    return Told(sentence, last.value, "the cosine of two random words in the last layer", decimals)
