"""What `shrink` says: tables, headline and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from bertscope.core.config import to_json
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.units import Unit
from bertscope.experiments.changed_answers import changed_numbers, fixed_and_broken
from bertscope.experiments.comparison import CUT, INT8, WHOLE, front, texts_at_a_time
from bertscope.experiments.shrink.costs import block_parameters
from bertscope.experiments.shrink.question import shrink

if TYPE_CHECKING:
    from bertscope.experiments.shrink.measure import Shrinking
    from bertscope.experiments.shrink.reaching import Reached
    from bertscope.models.encoder import Encoder


def shrink_result(
    work: Shrinking,
    found: Reached,
    smaller: Encoder,
    models: pd.DataFrame,
    times: pd.DataFrame,
    changed: Mapping[str, pd.DataFrame],
) -> Result:
    """The answer, from what was measured of the whole model, the cut one, and their ONNX files; `changed` is what the
    cut one answers otherwise."""
    left = parts_left(work.encoder, found.off)
    tables = {
        "models": models,
        "times": times,
        "layers": _layers(work.encoder, left),
        "trade": _trade(models, times, work.score.chance),
        "costs": pd.DataFrame([vars(found.search.cost)]),
        **changed,
    }
    if found.steps:
        tables["steps"] = pd.DataFrame(found.search.rows[: found.steps])
    share = block_parameters(*smaller.layers) / block_parameters(*work.encoder.layers)
    return shrink.result(
        tables=tables,
        arrays=left,
        headline=[*_headline(work, share, models, times), *changed_numbers(changed, ("fixed", "broken"))],
        figures=_figures(work, found),
        models=records([work.encoder]),
        subject={"task": work.task.name, "target": str(work.target or "pruned")},
        notes=[*work.notes, *_allowed(work, models), *_how_measured(work, times)],
        provenance={"settings": to_json(work.config)},
    )


def parts_left(encoder: Encoder, off: frozenset[Unit]) -> dict[str, np.ndarray]:
    """Which layers [layer], heads [layer, head] and neurons [layer, neuron] are left; False, too, where there is no
    such part in a layer that was cut before."""
    left = {"layers": np.ones(encoder.n_layers, bool)}
    for kind, counts in (("heads", encoder.head_counts), ("neurons", encoder.neuron_counts)):
        left[kind] = np.arange(max(counts)) < np.array(counts)[:, None]
    for unit in off:
        at = unit.layer_index
        if unit.kind == "layer":
            for kept in left.values():
                kept[at] = False
        elif unit.kind in ("mlp", "heads"):
            left["neurons" if unit.kind == "mlp" else "heads"][at] = False
        else:
            left[f"{unit.kind}s"][at, unit.index] = False
    return left


def _layers(encoder: Encoder, left: dict[str, np.ndarray]) -> pd.DataFrame:
    """How much of each layer is left: of itself, of its heads, of its neurons."""
    whole = {"layer": [1] * encoder.n_layers, "heads": encoder.head_counts, "neurons": encoder.neuron_counts}
    kept = {"layer": left["layers"], "heads": left["heads"].sum(1), "neurons": left["neurons"].sum(1)}
    table = pd.DataFrame(
        {"layer": layer, "part": part, "left": int(kept[part][at]), "whole": counts[at]}
        for part, counts in whole.items()
        for at, layer in enumerate(range(1, encoder.n_layers + 1))
    )
    return table.assign(share=table["left"] / table["whole"].clip(lower=1))


def _trade(models: pd.DataFrame, times: pd.DataFrame, chance: float) -> pd.DataFrame:
    """What each model costs, in time and in size, and what it scores; the fronts are those of the validation set, of
    models that do better there than a constant answer."""
    columns = ["arm", "model", "measure", "texts", "cost"]
    costs = times.assign(measure="time", cost=times["milliseconds"])[columns]
    sizes = models.assign(measure="size", texts=None, cost=models["megabytes"])[columns]
    scores = models[["arm", "way", "validation", "score", "low", "high"]]
    table = pd.concat([each.astype({"texts": "Int64"}) for each in (costs, sizes)], ignore_index=True)
    table = table.merge(scores, on="arm").assign(front=False)
    for _, part in table[table["validation"] > chance].groupby(["measure", "texts"], dropna=False):
        table.loc[part.index, "front"] = front(part["cost"].to_numpy(), part["validation"].to_numpy())
    return table


def _headline(work: Shrinking, share: float, models: pd.DataFrame, times: pd.DataFrame) -> list[Number]:
    n, metric = len(work.task.test), work.task.metric
    found = {row["arm"]: row for row in models.to_dict("records")}
    cut, speeds = found[CUT], times[times["arm"] == CUT].to_dict("records")
    numbers = []
    for row in sorted(speeds, key=lambda row: row["texts"] != work.config.batch):
        of = {"texts": str(row["texts"])}
        numbers.append(Number("faster", row["faster"], row["low"], row["high"], row["rounds"], "x", of=of))
    numbers.append(Number("left", share, unit="of the blocks' parameters"))
    numbers += [Number("size", found[arm]["megabytes"], unit="MB", of={"arm": arm}) for arm in (WHOLE, CUT)]
    for arm in (WHOLE, CUT, INT8):
        if arm in found:
            row = found[arm]
            numbers.append(Number("score", row["score"], row["low"], row["high"], n, metric, of={"arm": arm}))
    for arm in (CUT, INT8):
        if arm in found and not math.isnan(found[arm]["kept"]):
            kept = Estimate.of(*(found[arm][f"kept{end}"] for end in ("", "_low", "_high")))
            of = {"arm": arm, "against": WHOLE}
            numbers.append(Number("kept", kept.value, kept.low, kept.high, n, "share", of=of))
    of = {"arm": CUT, "against": WHOLE}
    numbers.append(Number("change", cut["change"], cut["change_low"], cut["change_high"], n, metric, of=of))
    return [*numbers, Number("chance", work.task.chance(), n=n, unit=metric)]


def sentence(result: Result) -> Statement | None:
    faster, change = result.numbers(key="faster")[0], sure(Estimate.of_number(result["change"]))
    kept = [sure(Estimate.of_number(one), percent) for one in result.numbers(key="kept", arm=CUT)]
    told = (
        f"{sure(Estimate.of_number(faster), _times)} times as fast ({faster.of['texts']} at a time) with "
        f"{percent(result['left'].value)} of the blocks' parameters; the score changes by {change}"
        f"{''.join(f', which keeps {share} of what is above chance' for share in kept)} "
        f"(target: {result.subject['target']}){fixed_and_broken(result, CUT)}."
    )
    return Statement(told, faster.value, _times)


def _times(value: float) -> str:
    return f"{value:.2f}"


def _allowed(work: Shrinking, models: pd.DataFrame) -> list[str]:
    """Whether the test set bears out, for certain, that no more was lost than the target allows on the validation
    set."""
    if work.target is None or work.target.kind != "points":
        return []
    row = models.set_index("arm").loc[CUT]
    most = -work.target.value
    verdict = "open: its interval reaches to both sides"
    if row["change_low"] >= most:
        verdict = "certain"
    elif row["change_high"] < most:
        verdict = "certainly not so"
    change = Number("change", row["change"], row["change_low"], row["change_high"], unit=work.task.metric)
    return [f"at most {work.target} lost on the test set, too (change {change}): {verdict}"]


def _how_measured(work: Shrinking, times: pd.DataFrame) -> list[str]:
    device = "cpu" if work.config.timed_on == "cpu" else work.encoder.device.type
    threads = torch.get_num_threads()
    notes = [
        f"speed: on this machine ({device}, {threads} thread{'s' * (threads > 1)}), on texts of the validation set, "
        f"tokenised before; the models take turns for {times['rounds'].min()} rounds or more, and the median of the "
        "rounds' ratios counts",
        "what goes is chosen on the validation set; the test set is only scored",
    ]
    if work.config.onnx:
        where = "" if device == "cpu" else "onnxruntime ran on the CPU; "
        notes.append(f"{where}an int8 model's score may be another on a processor without VNNI instructions")
    if work.config.retrain:
        epochs = work.config.training.settled(work.encoder.hidden_size, len(work.task.train)).epochs
        more = "1 more epoch" if epochs == 1 else f"{epochs} more epochs"
        notes.append(
            f"what was left was trained once, for {more}, which the whole model wasn't; intervals of scores are over "
            "examples, not over trainings"
        )
    return notes


def _trade_offs(work: Shrinking) -> list[Figure]:
    """The score against each thing that a model costs: time where the target counts it first, size last."""
    metric = work.task.metric
    loads = sorted(work.batches, key=lambda texts: texts != work.config.batch)
    drawn: list[tuple[str, str, str, dict[str, Any]]] = [
        (f"time_{texts}", f"time, {texts_at_a_time(texts)}", "ms a call", {"measure": "time", "texts": texts})
        for texts in loads
    ]
    return [
        Figure(
            "points", "trade", x="cost", y="score", color="way", mark="front", where=where, key=key,
            title=f"Score against {what}",
            caption=f"The test set's {metric} and what each model costs; up and to the left is better. The line "
            "joins those that no other one beats on the validation set.",
            labels={"cost": unit, "score": metric, "way": "", "front": "on the front", "low": "from", "high": "to"},
            rules={"majority": work.task.chance()},
        )
        for key, what, unit, where in (*drawn, ("size", "size", "MB", {"measure": "size"}))
    ]  # fmt: skip


def _figures(work: Shrinking, found: Reached) -> list[Figure]:
    metric, texts = work.task.metric, work.config.batch
    figures = [
        *_trade_offs(work),
        Figure(
            "intervals", "models", x="score", y="model", low="low", high="high", title="How good the models are",
            caption=f"The test set's {metric}, with a 95% bootstrap interval over examples. The changes, which "
            "are paired, are in the table.",
            labels={"score": metric}, rules={"majority": work.task.chance()}, key="scores",
        ),
        Figure(
            "intervals", "times", x="faster", y="model", low="low", high="high", color="load",
            title="How fast the models are",
            caption="How many times as fast as the whole model in torch: the median of rounds in which the models "
            "take turns, with its 95% interval.",
            labels={"faster": "times as fast", "load": ""}, middle=1.0, key="speeds",
        ),
        Figure(
            "heatmap", "layers", x="part", y="layer", value="share", title="What is left",
            caption="The share of each layer's heads and neurons that is left; a layer at 0 is gone.",
            labels={"share": "left", "part": ""}, key="left",
        ),
    ]  # fmt: skip
    if found.steps:
        time = f"ms a call, {texts_at_a_time(texts)} (estimated)"
        cost = "parameters of the blocks" if found.search.cost.unit == "parameters" else time
        figures.append(
            Figure(
                "points", "steps", x="cost", y="score", color="move", title="The search",
                caption=f"The {metric} of {len(work.rows):,} rows of the validation set after each step, from right "
                "to left, before any training; the colour says what went. The rule is the whole model.",
                labels={"cost": cost, "score": metric, "move": "what went"}, rules={"whole": work.score.value},
                key="search",
            )
        )  # fmt: skip
    return figures
