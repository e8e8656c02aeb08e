"""The answer of `graft`: what each part gives and what is lost without it, as numbers, figures and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.graft.question import PERMUTED, TOP_DOWN, graft
from bertscope.core.figure import Figure
from bertscope.core.intervals import mean_number
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.reliability import ENOUGH
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent

if TYPE_CHECKING:
    from bertscope.core.estimate import Estimate
    from bertscope.core.predictions import Judged
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

LEVEL = 0.05
HALF = 0.5
_ALONE = ("layer", "attention", "mlp", "head")
_LABELS = {
    "share": "share of what was learnt",
    "share_low": "from",
    "share_high": "to",
    "moved": "how far the weights moved, relative to their length",
    "direction": "exchange",
    "p_holm": "p (Holm)",
    "certain": "the loss falls with it (enough), or rises without it (needed): p < .05, corrected (Holm)",
    "score_share": "the same share by the score",
    "score_share_low": "that share, from",
    "score_share_high": "that share, to",
    "permuted": f"change of the loss by a permuted change: mean of {PERMUTED}",
    "permuted_p_holm": "p of being one more permuted change, corrected (Holm)",
    "above_permuted": "gives more than a permuted change: p < .05, corrected (Holm)",
    "way": "share of the way from base to tuned",
    "kind": "part",
}


def graft_result(
    base: Encoder,
    model: Encoder,
    task: Task,
    tuned: Judged,
    untuned: Judged,
    tables: Mapping[str, pd.DataFrame],
    barrier: Estimate,
    shares: np.ndarray | None = None,
) -> Result:
    """`tuned` and `untuned`: what came of the tuned model, and of the base under its task head; the first forms.
    `shares`: what each example has to do with what the layers from each on give [layer, n]."""
    grafts = tables["grafts"]
    score = task.score_answers(tuned.predicted[0], notes=task.label_notes(model.labels))
    before = task.score_answers(untuned.predicted[0])
    told_apart = bool(grafts["share"].notna().any())
    worse = told_apart and bool(tuned.losses[0].mean() > untuned.losses[0].mean())
    sums = grafts[grafts["kind"].isin(["bottom_up", "top_down"])].reset_index(drop=True)
    alone = grafts[grafts["kind"].isin(["layer", "attention", "mlp"])].reset_index(drop=True)
    return graft.result(
        tables={**tables, **({"sums": sums} if len(sums) else {}), **({"moved": alone} if len(alone) else {})},
        arrays={} if shares is None else {TOP_DOWN: shares.astype(np.float32)},
        headline=[
            score.keyed("score"),
            before.keyed("base_score"),
            Number("chance", score.chance, n=score.n, unit=score.metric),
            mean_number("loss", tuned.losses[0], task.output.loss),
            mean_number("base_loss", untuned.losses[0], task.output.loss),
            *_headline(grafts, tables["reliability"], model.n_layers, score.n, worse=worse),
            Number("barrier", barrier.value, barrier.low, barrier.high, score.n, task.output.loss),
        ],
        figures=_figures(grafts, sums, alone),
        models=records([base, model]),
        subject={"task": task.name},
        notes=[
            *task.notes,
            *score.notes,
            *_notes(grafts, model, tables["reliability"], told_apart, worse=worse),
            *cautions(model, task, score, tuned.truncated),
        ],
    )


def _notes(
    grafts: pd.DataFrame, model: Encoder, reliability: pd.DataFrame, told_apart: bool, *, worse: bool
) -> list[str]:
    notes = []
    if worse:
        notes.append(
            "by the loss, the tuned model is worse than the base under its task head: shares are of that harm, not "
            "of what was learnt; those of the score (score_share) may be of a gain"
        )
    if not told_apart:
        notes.append("base and tuned can't be told apart by the loss on these texts: there is nothing to share out")
    if model.shares_blocks:
        notes.append(f"{model.name} has one block for many layers: only whole kinds of weights are exchanged")
    elif model.family.shared_weights and (grafts["kind"] == "head").any():
        notes.append("keys and values that several heads share belong to none of them, and stay")
    noisy = reliability[reliability["pearson"] < ENOUGH]
    notes += [
        f"ranking of each {row.kind} ({row.direction}): split-half reliability {row.pearson:.2f}; under {ENOUGH} it "
        "is mostly noise"
        for row in noisy.itertuples()
    ]
    return notes


def _headline(grafts: pd.DataFrame, reliability: pd.DataFrame, layers: int, n: int, *, worse: bool) -> list[Number]:
    numbers = []
    from_above = grafts[(grafts["kind"] == "top_down") & (grafts["share"] >= HALF)]
    if len(from_above) and not worse:
        numbers.append(Number("enough_half", float(layers - from_above["layer"].max() + 1), n=n, unit="layers"))
    for key, direction in (("most_enough", "enough"), ("most_needed", "needed")):
        for kind in _ALONE:
            rows = grafts[(grafts["kind"] == kind) & (grafts["direction"] == direction) & grafts["share"].notna()]
            if len(rows):
                most = rows.loc[rows["share"].idxmax()]
                # The extreme of many gets no interval: the row's own ignores that it was picked.
                numbers.append(Number(key, float(most["share"]), n=n, of={"kind": kind, "unit": most["unit"]}))
    for kind in _ALONE:
        rows = grafts[(grafts["kind"] == kind) & (grafts["direction"] == "needed")].dropna(subset=["share"])
        if len(rows) >= 3 and rows["moved"].nunique() > 1 and rows["share"].nunique() > 1:
            together = rows[["moved", "share"]].corr("spearman").iloc[0, 1]
            numbers.append(Number("moved_and_needed", float(together), n=len(rows), unit="rho", of={"kind": kind}))
    numbers += [
        Number("reliability", row.pearson, n=n, unit="r", of={"kind": row.kind, "direction": row.direction})
        for row in reliability.itertuples()
    ]
    if "above_permuted" in grafts:
        above = grafts["above_permuted"].dropna()
        numbers.append(Number("layers_above_permuted", float(above.sum()), n=len(above)))
    return numbers


def _figures(grafts: pd.DataFrame, sums: pd.DataFrame, alone: pd.DataFrame) -> list[Figure]:
    figures = []
    known = grafts.dropna(subset=["share"])
    if len(alone.dropna(subset=["share"])):
        figures.append(
            Figure(
                "points", "moved", x="moved", y="share", color="kind", token="layer", where={"direction": "needed"},
                key="moved", title="What moved, and what mattered",
                labels=_LABELS | {"share": "share of what was learnt that is lost without it"}, middle=0.0,
                caption="Each layer, its attention and its MLP: how far fine-tuning moved the weights, against the "
                "share of what was learnt that is lost if they are the base's again. What moved far need not matter.",
            )
        )  # fmt: skip
    for kind, title in (("layer", "a layer"), ("attention", "a layer's attention"), ("mlp", "a layer's MLP")):
        if (known["kind"] == kind).any():
            figures.append(
                Figure(
                    "intervals", "grafts", x="share", y="layer", low="share_low", high="share_high",
                    color="direction", where={"kind": kind}, key=kind, title=f"What was learnt, in {title}",
                    labels=_LABELS, middle=0.0,
                    caption=f"Enough: the share of what lies between base and tuned (by the loss) that tuned weights "
                    f"in {title} alone give to the base. Needed: the share that is lost if only these weights are "
                    "the base's again. 95% paired bootstrap intervals.",
                )
            )  # fmt: skip
    if len(sums.dropna(subset=["share"])):
        figures.append(
            Figure(
                "lines", "sums", x="layer", y="share", color="kind", low="share_low", high="share_high", key="sums",
                title="What was learnt, layer upon layer", labels=_LABELS, rules={"half": HALF},
                caption="The share of what was learnt that the base has with tuned weights in the embeddings and all "
                "layers up to this one (from below), or in this layer and all above it (from above).",
            )
        )  # fmt: skip
    for direction, told in (("enough", "gives"), ("needed", "is lost without")):
        if ((known["kind"] == "head") & (known["direction"] == direction)).any():
            figures.append(
                Figure(
                    "heatmap", "grafts", x="head", y="layer", value="share", low="share_low", high="share_high",
                    where={"kind": "head", "direction": direction}, key=f"head_{direction}", mark="certain",
                    title=f"What was learnt, head by head: {direction}", labels=_LABELS, middle=0.0,
                    caption=f"The share of what was learnt that one head's weights {told}"
                    f"{' alone, in the base' if direction == 'enough' else ''}. A dot: the loss "
                    f"{'falls with it' if direction == 'enough' else 'rises without it'}, by a paired test corrected "
                    "for the number of heads (Holm).",
                )
            )  # fmt: skip
    figures.append(
        Figure(
            "lines", "line", x="way", y="loss", low="low", high="high", key="line", labels=_LABELS,
            title="On the straight line from base to tuned",
            caption="The loss of the model whose weights lie on the line from the base (0) through the tuned model "
            "(1) and beyond. A barrier is where it is above the chord between the two.",
        )
    )  # fmt: skip
    return figures


def sentence(result: Result) -> Statement | None:
    half = result.numbers(key="enough_half")
    if not half:
        return None
    count, grafts = int(half[0].value), result.tables["grafts"]
    from_above = grafts[grafts["kind"] == "top_down"].set_index("layer")["share"]
    top = int(from_above.index.max())
    told = (
        f"{_carried(top - count + 1, top)} of what was learnt: with tuned weights there alone, the base is "
        f"{percent(float(from_above[top - count + 1]))} of the way to the tuned model, by the loss."
    )
    needed = next(iter(result.numbers(key="most_needed", kind="layer")), None)
    if needed is not None:
        place = str(needed.of["unit"]).replace(":", " ")
        told += f" Of single layers, {place} is missed most: without what it learnt, {percent(needed.value)} is lost."
    return Statement(told, half[0].value, lambda value: f"{value:.0f} layer{'s' if value > 1 else ''}")


def _carried(first: int, last: int) -> str:
    """That layers from the top carry half of something, as what it is: where most of them are needed for it, it isn't
    at the top."""
    if first == last:
        return f"Layer {last} carries at least half"
    layers = f"layers {first} {'and' if last == first + 1 else 'to'} {last}"
    if last - first + 1 > last * HALF:
        return f"It takes {layers} to carry half"
    return f"{layers.capitalize()} carry at least half"
