"""What is said of questions about a model as it is: its attention, its parts, its layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertscope.study.claims.claim import Estimate
from bertscope.study.claims.estimates import cell, column, extreme
from bertscope.study.claims.reading import checkpoints, estimate, raw
from bertscope.study.claims.words import Told, decimals, in_points, percent, points, sure

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
    return Told(sentence, share.value, "the last two layers' share", percent)


def features(result: Result) -> Told | None:
    if not raw(result):
        return None
    number = [one for one in result.headline if one.name.startswith("heads mostly on")][-1]
    name = checkpoints(result.tables["special"])[-1]
    share = sure(estimate(number), percent)
    sentence = f"{share} of {name}'s heads put more than half of their attention on [CLS] and [SEP]."
    return Told(sentence, number.value, "that share", percent)


def relations(result: Result) -> Told | None:
    best = result.tables["best"]
    best = best[best["checkpoint"] == checkpoints(best)[0]]
    tested, beats = int(best["p"].notna().sum()), int(best["beats"].sum())
    if not tested:
        return None
    sentence = (
        f"For {beats} of {tested} relations a head finds more pairs than any fixed offset does (p < .05, Holm)."
    )
    return Told(sentence, beats / tested, "the share of such relations", percent)


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
        f"of {len(effects)} parts, {needed} are needed and {harm} do harm (p < .05, Holm)."
    )
    return Told(sentence, lost.value, "the most that one head costs", in_points)


def similarity(result: Result) -> Told | None:
    last = result.number("RSA, last layer")
    moved = int(result.number("layer with the lowest RSA").value)
    sentence = f"Layer {moved} moved farthest in fine-tuning; RSA of the last layer is {sure(estimate(last))}."
    return Told(sentence, last.value, "RSA of the last layer", decimals)


def structure(result: Result) -> Told | None:
    found, chain = (estimate(result.number(name)) for name in ("UUAS", "linear chain"))
    layer = int(result.number("best layer for distance").value)
    sentence = (
        f"A linear map of layer {layer} finds {sure(found, percent)} of the syntax trees' edges, a chain of "
        f"neighbours {sure(chain, percent)}."
    )
    return Told(sentence, found.value, "UUAS", percent)


def geometry(result: Result) -> Told | None:
    rows = result.tables["layers"]
    name = checkpoints(rows)[0]
    rows = rows[(rows["checkpoint"] == name) & (rows["measure"] == "baseline") & (rows["form"] == "as it is")]
    rows = rows.sort_values("layer")
    first, last = (cell(rows.iloc[at], "value", "low", "high") for at in (0, -1))
    sentence = (
        f"Two random words have a cosine of {sure(first)} in {name}'s embeddings and {sure(last)} in its last layer."
    )
    return Told(sentence, last.value, "the cosine in the last layer", decimals)
