"""The answer of `ablate`: what was lost without each part, as numbers, figures and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from bertscope.analyses.ablate.question import DRAWS_OF_PARTS, AblateConfig, ablate
from bertscope.analyses.caveats import cautions
from bertscope.core.estimate import Estimate, column, extreme
from bertscope.core.figure import Figure
from bertscope.core.intervals import mean_number
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.reliability import ENOUGH
from bertscope.core.result import Result
from bertscope.core.statement import Statement, counted, decimals, in_points, points, sure

if TYPE_CHECKING:
    from bertscope.core.predictions import Judged
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

LEVEL = 0.05
_LABELS = {
    "p_holm": "p (Holm)",
    "certain": "p < .05, corrected (Holm)",
    "loss_p": "p of the rise of the loss, not corrected",
    "loss_p_holm": "that p, corrected (Holm)",
    "loss_certain": "rise of the loss: p < .05, corrected (Holm)",
    "kl": "KL from the whole model's prediction, in nats",
    "squared_change": "mean squared change of the score that is predicted",
    "flips": "share of the texts that get another label",
    "told_by": "what parts of this kind are told by first",
    "random_weights": "rise of the loss in the same model with random weights",
    "random_weights_kl": "KL there",
    "random_weights_squared_change": "squared change there",
    "random_part": "rise of the loss without a random part in the head's place, of its rank and norm: mean of "
    f"{DRAWS_OF_PARTS}",
    "random_most": f"the largest of the {DRAWS_OF_PARTS}",
    "over_random": "rise of the loss beyond random_part",
    "over_random_p_holm": "p of being one more random part, corrected (Holm)",
    "above_random": "costs more than a random part: p < .05, corrected (Holm)",
}
_WORDS = {
    "head": "one head",
    "heads": "all heads of a layer",
    "mlp": "the MLP of a layer",
    "layer": "the whole layer",
    "set": "a named set of parts",
}


@dataclass(frozen=True)
class _Measure:
    """What parts are told by: its columns in `effects`."""

    value: str
    low: str
    high: str
    certain: str
    needed: int
    """The sign of the value where the model needs the part."""


MEASURES = {
    "metric": _Measure("effect", "low", "high", "certain", -1),
    "loss": _Measure("loss_rise", "loss_low", "loss_high", "loss_certain", 1),
}


def ablate_result(
    model: Encoder,
    task: Task,
    switched: Judged,
    tables: Mapping[str, pd.DataFrame],
    config: AblateConfig,
    notes: Sequence[str],
) -> Result:
    effects, reliability = tables["effects"], tables["reliability"]
    full, losses = task.score_answers(switched.predicted[0], notes=task.label_notes(model.labels)), switched.losses[0]
    names = {"metric": task.metric, "loss": "loss"}
    return ablate.result(
        tables=dict(tables),
        headline=[
            full.keyed("score"),
            Number("chance", full.chance, n=full.n, unit=full.metric),
            mean_number("loss", losses, task.output.loss),
            *_headline(full, task.output.loss, effects, reliability),
        ],
        figures=_figures(names, config, effects, reliability),
        models=records([model]),
        subject={"task": task.name, "mode": config.mode},
        notes=[
            *task.notes,
            *full.notes,
            *notes,
            *cautions(model, task, full, switched.truncated),
            *_too_few(task, effects, config),
            *(
                f"ranking of parts ({_WORDS[kind]}): {_reliability_told(reliability, kind, names, lead)}"
                for kind in dict.fromkeys(reliability["kind"])
                if (lead := _lead(effects, kind))
            ),
        ],
    )


def _too_few(task: Task, effects: pd.DataFrame, config: AblateConfig) -> list[str]:
    """Kinds with so many parts that no p-value by permutation can survive the correction."""
    by = " by the loss" if task.output.counts_hits and config.mode != "resample" else ""
    return [
        f"{config.permutations} permutations are too few for any of {count} {kind} parts to be certain{by}"
        for kind, count in effects["kind"].value_counts(sort=False).items()
        if count / (config.permutations + 1) >= LEVEL
    ]


def _headline(full: Scores, loss: str, effects: pd.DataFrame, reliability: pd.DataFrame) -> list[Number]:
    parts, sets = effects[effects["kind"] != "set"], effects[effects["kind"] == "set"]
    numbers = [
        Number("reliability", row["pearson"], n=full.n, unit="r", of={"kind": row["kind"], "measure": row["measure"]})
        for row in reliability.to_dict("records")
    ]
    numbers += _ranges(full, loss, parts)
    for row in sets.to_dict("records"):
        of = {"unit": row["unit"]}
        numbers += [
            Number("change_without", row["effect"], row["low"], row["high"], full.n, full.metric, of=of),
            Number("loss_rise_without", row["loss_rise"], row["loss_low"], row["loss_high"], full.n, loss, of=of),
        ]
    if len(parts):
        needed, harm = counts(parts)
        found = {"parts_needed": needed, "parts_that_harm": harm, "parts_better_without": (parts["effect"] > 0).sum()}
        numbers += [Number(key, float(count), n=len(parts)) for key, count in found.items()]
    if "above_random" in parts:
        above = parts["above_random"].dropna()
        numbers.append(Number("heads_above_random", float(above.sum()), n=len(above)))
    return numbers


def counts(effects: pd.DataFrame) -> tuple[int, int]:
    """How many parts are needed, and how many do harm, each by what parts of its kind are told by."""
    needed = harm = 0
    for name, rows in effects.groupby("told_by"):
        by = MEASURES[name]
        value = by.needed * rows[rows[by.certain]][by.value]
        needed, harm = needed + int((value > 0).sum()), harm + int((value < 0).sum())
    return needed, harm


def _ranges(full: Scores, loss: str, parts: pd.DataFrame) -> list[Number]:
    """From the lowest to the highest score without a single head, and without a layer's heads, as in Dark Secrets;
    where no heads were switched off, without a part of the first kind. What is told by the loss begins with it."""
    kinds = list(dict.fromkeys(parts["kind"]))
    numbers = []
    for kind in [kind for kind in kinds if kind in ("head", "heads")] or kinds[:1]:
        rows = parts[parts["kind"] == kind]
        ordered = rows.sort_values("score", kind="stable")
        most = rows.iloc[int(rows["loss_rise"].argmax())]
        # The extremes of many get no interval: the one that belongs to each row ignores that it was picked.
        by_loss = Number(
            "most_loss_rise", float(most["loss_rise"]), n=full.n, unit=loss, of={"kind": kind, "unit": most["unit"]}
        )
        by_score = [
            Number(key, float(row["score"]), n=full.n, unit=full.metric, of={"kind": kind, "unit": row["unit"]})
            for key, row in (("lowest_score", ordered.iloc[0]), ("highest_score", ordered.iloc[-1]))
        ]
        numbers += [by_loss, *by_score] if (rows["told_by"] == "loss").all() else [*by_score, by_loss]
    return numbers


def _lead(effects: pd.DataFrame, kind: str) -> str:
    """What parts of a kind are told by first."""
    return effects[effects["kind"] == kind]["told_by"].iloc[0]


def _reliability_told(reliability: pd.DataFrame, kind: str, names: Mapping[str, str], lead: str) -> str:
    """How reliable the ranking of a kind's parts is by either measure, and what follows; nothing where there are too
    few to rank."""
    of = reliability[reliability["kind"] == kind].set_index("measure")["pearson"]
    if of.empty:
        return ""
    told = f"split-half reliability {of['metric']:.2f} by {names['metric']}, {of['loss']:.2f} by the loss"
    if of["metric"] >= ENOUGH:
        return told
    noise = f"{told}; under {ENOUGH} a ranking is mostly noise"
    if of["loss"] <= of["metric"]:
        return noise
    if lead == "metric":
        return f"{noise}, but the loss is above that of a constant answer, and says little about {names['metric']}"
    return f"{noise}, so the loss is told first"


def _figures(
    names: Mapping[str, str], config: AblateConfig, effects: pd.DataFrame, reliability: pd.DataFrame
) -> list[Figure]:
    figures = []
    for kind in dict.fromkeys(effects["kind"]):
        lead = _lead(effects, kind)
        why = _reliability_told(reliability, kind, names, lead)
        if kind == "head":
            other = "loss" if lead == "metric" else "metric"
            figures += [
                _heat_map(names, lead, config, why, key="head"),
                _heat_map(names, other, config, why, key=f"head_{other}"),
            ]
        else:
            figures.append(_intervals(names, lead, kind, why))
    return figures


def _heat_map(names: Mapping[str, str], measure: str, config: AblateConfig, why: str, *, key: str) -> Figure:
    by, what = MEASURES[measure], names[measure]
    sides = ("Below", "above") if by.needed < 0 else ("Above", "below")
    return Figure(
        "heatmap",
        "effects",
        x="head",
        y="layer",
        value=by.value,
        low=by.low,
        high=by.high,
        where={"kind": "head"},
        title=f"One head switched off at a time: {what}",
        caption=f"The change of the {what} when a single head is switched off ({config.mode}). {sides[0]} 0, the "
        f"model needs the head; {sides[1]} 0, it does better without it. A dot: a paired test, corrected for the "
        "number of heads (Holm), finds a difference. The intervals in the table are paired bootstrap, not "
        "corrected." + (f" This ranking of heads: {why}." if why else ""),
        mark=by.certain,
        labels=_labels(names, by),
        middle=0.0,
        key=key,
    )


def _intervals(names: Mapping[str, str], measure: str, kind: str, why: str) -> Figure:
    by, what = MEASURES[measure], names[measure]
    return Figure(
        "intervals",
        "effects",
        x=by.value,
        y="unit" if kind == "set" else "layer",
        low=by.low,
        high=by.high,
        where={"kind": kind},
        title=f"Without {_WORDS[kind]}",
        caption=f"The change of the {what} without {_WORDS[kind]}, with its 95% paired bootstrap interval."
        + (f" This ranking: {why}." if why else ""),
        labels=_labels(names, by),
        middle=0.0,
        key=kind,
    )


def _labels(names: Mapping[str, str], by: _Measure) -> dict[str, str]:
    values = {one.value: f"change of the {names[name]}" for name, one in MEASURES.items()}
    return {**_LABELS, **values, by.low: "from", by.high: "to"}


def sentence(result: Result) -> Statement | None:
    effects = result.tables["effects"]
    heads = effects[effects["kind"] == "head"]
    if heads.empty:
        return None
    lost = Estimate(0.0, 0.0, 0.0) - extreme(column(heads, "effect"), min, heads["certain"].tolist())
    told = f"costs at most {sure(lost, points)} points ({_place(heads, heads['effect'].argmin())})"
    if (heads["told_by"] == "loss").all():
        rise = extreme(column(heads, "loss_rise", "loss_low", "loss_high"), max, heads["loss_certain"].tolist())
        of = {number.of["measure"]: number.value for number in result.numbers(key="reliability", kind="head")}
        most = f"at most {sure(rise, decimals)}" if decimals(rise.value) != decimals(0) else "less than 0.001"
        told = (
            f"raises the loss by {most} ({_place(heads, heads['loss_rise'].argmax())}) and "
            f"{told}; the loss comes first, since the score ranks the heads with a reliability of "
            f"{of['metric']:.2f} only, the loss with {of['loss']:.2f}"
        )
    needed, harm = counts(effects)
    told = (
        f"Switching off one head {told}; "
        f"of {len(effects)} parts, {counted(needed, 'is found to be needed', 'are found to be needed')} and "
        f"{counted(harm, 'to do harm', 'to do harm')} (p < .05, Holm){_at_chance(result)}."
    )
    return Statement(told, lost.value, in_points)


def _place(heads: pd.DataFrame, at: int) -> str:
    return f"head {heads['layer'].iloc[at]}.{heads['head'].iloc[at]}"


def _at_chance(result: Result) -> str:
    """What has to be said of a model that doesn't do the task: it needs nothing for it."""
    score, chance = result["score"], result["chance"]
    if score.low is None or score.low > chance.value:
        return ""
    return "; but the whole model isn't clearly above chance, so none of this says what the task needs"
