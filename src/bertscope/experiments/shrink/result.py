"""What `shrink` says: tables, headline and figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from bertscope.core.config import to_json
from bertscope.core.equivalence import allowing_for_few
from bertscope.core.estimate import Estimate, cell
from bertscope.core.figure import Figure
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.units import Unit
from bertscope.experiments.changed_answers import changed_numbers, fixed_and_broken
from bertscope.experiments.comparison import CUT, WHOLE, front, texts_at_a_time
from bertscope.experiments.shrink.choice import best_of, reasons
from bertscope.experiments.shrink.costs import block_parameters
from bertscope.experiments.shrink.question import shrink
from bertscope.experiments.shrink.writing import WHERE

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
    forms: pd.DataFrame,
    changed: Mapping[str, pd.DataFrame],
) -> Result:
    """The answer, from what was measured of the whole model, the cut one, and their ONNX files; `forms` says which to
    take, `changed` what they answer otherwise."""
    left = parts_left(work.encoder, found.off)
    tables = {
        "forms": forms,
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
        headline=[
            *_headline(work, share, models, times, forms),
            *changed_numbers(changed, ("fixed", "broken")),
        ],
        figures=_figures(work, found),
        models=records([work.encoder]),
        subject={"task": work.task.name, "target": str(work.target or "pruned")},
        notes=[
            *reasons(forms, work.target),
            _where(forms),
            *work.notes,
            *_allowed(work, models, best_of(forms)),
            *_how_measured(work, times),
        ],
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


def _where(forms: pd.DataFrame) -> str:
    return f"in the folder that --out names, that is {WHERE[best_of(forms)]}"


def _headline(
    work: Shrinking, share: float, models: pd.DataFrame, times: pd.DataFrame, forms: pd.DataFrame
) -> list[Number]:
    """Of each form, the one to take first, how fast, how large and how good it is."""
    n, metric = len(work.task.test), work.task.metric
    found = {row["arm"]: row for row in models.to_dict("records")}
    speeds = {(row["arm"], row["texts"]): row for row in times.to_dict("records")}
    arms = forms.sort_values("best", ascending=False, kind="stable")["arm"].tolist()
    numbers = []
    for texts in sorted({texts for _, texts in speeds}, key=lambda texts: texts != work.config.batch):
        for arm in arms:
            row = speeds[arm, texts]
            of = {"arm": arm, "texts": str(texts)}
            numbers.append(Number("faster", row["faster"], row["low"], row["high"], row["rounds"], "x", of=of))
    numbers.append(Number("left", share, unit="of the blocks' parameters"))
    numbers += [Number("size", found[arm]["megabytes"], unit="MB", of={"arm": arm}) for arm in (WHOLE, *arms)]
    for arm in (WHOLE, *arms):
        row = found[arm]
        numbers.append(Number("score", row["score"], row["low"], row["high"], n, metric, of={"arm": arm}))
    for key, unit in (("kept", "share"), ("change", metric)):
        for arm in arms:
            told = Estimate.of(*(found[arm][f"{key}{end}"] for end in ("", "_low", "_high")))
            if not math.isnan(told.value):
                of = {"arm": arm, "against": WHOLE}
                numbers.append(Number(key, told.value, told.low, told.high, n, unit, of=of))
    return [*numbers, Number("chance", work.task.chance(), n=n, unit=metric)]


def sentence(result: Result) -> Statement | None:
    forms = result.tables["forms"]
    best = best_of(forms)
    faster = result.numbers(key="faster", arm=best)[0]
    kept = [sure(Estimate.of_number(one), percent) for one in result.numbers(key="kept", arm=best)]
    size = forms.set_index("arm").loc[best, "size"]
    told = (
        f"{_called(best)} is the form to take (target: {result.subject['target']}): "
        f"{sure(Estimate.of_number(faster), _times)} times as fast ({faster.of['texts']} at a time), {percent(size)} "
        f"of the size; the score changes by {_change(result, best)}"
        f"{''.join(f', which keeps {share} of what is above chance' for share in kept)}"
        f"{fixed_and_broken(result, best)}.{_beside(result, forms)}"
    )
    return Statement(told, faster.value, _times)


def _beside(result: Result, forms: pd.DataFrame) -> str:
    """The other forms in short: how fast each is, and what it costs."""
    told = []
    for row in forms[~forms["best"]].to_dict("records"):
        left = f" to {percent(result['left'].value)} of the blocks' parameters" if row["arm"] == CUT else ""
        told.append(
            f"{_called(row['arm'])}{left} {_times(row['faster'])} times as fast, {_change(result, row['arm'])}"
        )
    return f" Beside it: {'; '.join(told)}." if told else ""


def _called(arm: str) -> str:
    return shrink.words["arm"][arm]


def _change(result: Result, arm: str) -> str:
    return sure(Estimate.of_number(result.numbers(key="change", arm=arm)[0]))


def _times(value: float) -> str:
    return f"{value:.2f}"


def _allowed(work: Shrinking, models: pd.DataFrame, best: str) -> list[str]:
    """Whether the test set bears out, for certain, that no more was lost than the target allows on the validation
    set; where hardly any answer changed, few texts are no evidence that none would."""
    if work.target is None or work.target.kind != "points":
        return []
    row, n = models.set_index("arm").loc[best], len(work.task.test)
    change = allowing_for_few(cell(row, "change"), n)
    told = Number("change", change.value, change.low, change.high, unit=work.task.metric)
    verdict = "open: its interval reaches to both sides"
    if change.low is not None and change.low >= -work.target.value:
        verdict = "certain"
    elif change.high is not None and change.high < -work.target.value:
        verdict = "certainly not so"
    return [f"at most {work.target} lost on the test set, too (change {told}): {verdict}"]


def _how_measured(work: Shrinking, times: pd.DataFrame) -> list[str]:
    device = "cpu" if work.config.timed_on == "cpu" else work.encoder.device.type
    threads = torch.get_num_threads()
    notes = [
        f"speed: on this machine ({device}, {threads} thread{'s' * (threads > 1)}), on texts of the validation set, "
        f"tokenised before; the models take turns for {times['rounds'].min()} rounds or more, and the median of the "
        "rounds' ratios counts",
        "what goes, and which form is taken, is chosen on the validation set; the test set is only scored",
    ]
    if work.onnx:
        alone = times[times["texts"] == work.config.batch].set_index("arm")["faster"]
        notes.append(
            "int8 runs in onnxruntime, which by itself (in float32, like the model in torch) makes the whole model "
            f"{_times(alone['whole_onnx'])} times as fast, and the cut one {_times(alone['cut_onnx'])} times"
        )
        where = "" if device == "cpu" else "onnxruntime ran on the CPU; "
        notes.append(f"{where}an int8 model's score may differ on a processor without VNNI instructions")
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
