"""The answer of `importance`: what was found, as tables, numbers and figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.importance.question import ABLATION, IMPORTANCE, NORMALISED, ImportanceConfig, importance
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval, normal_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.reliability import ENOUGH
from bertscope.core.result import Result
from bertscope.core.statement import too_long
from bertscope.core.units import Unit, columns

if TYPE_CHECKING:
    from bertscope.analyses.importance.measure import Faithfulness, Importances
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

_PLURAL = {"head": "heads", "mlp": "MLPs", "neuron": "neurons"}
_LABELS = {
    "low": "from", "high": "to", "kind": "part", "share": "share that is off", "rise": "rise of the mean loss",
    "size": "mean size of the change of an example's loss",
}  # fmt: skip
_FORMS = {
    "example": "The mean over the validation set's examples of |dL/dgate|: how much an example's loss changes for a "
    "small change of what the part puts out.",
    "token": "The mean over the validation set's examples of the sum over tokens of |output . dL/doutput|, as in "
    "Michel's code.",
    "cumulative": "What a script finds that never clears the gates' gradients between batches: it depends on the "
    "order of the examples and on the batches.",
}


def importance_result(
    model: Encoder, task: Task, found: Importances, checked: Faithfulness | None, config: ImportanceConfig
) -> Result:
    tables = {"parts": _parts_table(found, checked, config)} if found.units else {}
    if found.neurons:
        tables |= {"neurons": _neurons_table(found), "neurons_by_layer": _neuron_layers(found)}
    notes = [*task.notes, *task.label_notes(model.labels)]
    notes += cautions(model, task, found.score, found.truncated, "validation")
    if checked is not None:
        tables |= {"agreement": checked.agreement, "curves": checked.curves, "areas": checked.areas}
        if checked.truncated:
            notes.append(too_long(checked.truncated, "test text", f"{model.max_length} tokens"))
        notes += [_why(task, checked, kind) for kind in found.kinds if loss_leads(checked, kind)]
    if config.form == "cumulative":
        notes.append(
            f"cumulative, in batches of {config.batch_size}: another order or batch size gives another answer, and "
            "so there is no interval; those of rank correlations are for the effects' part alone"
        )
    return importance.result(
        tables=tables,
        headline=_headline(task, found, checked),
        figures=_figures(task, found, checked, config),
        models=records([model]),
        subject={"task": task.name, "form": config.form} | ({} if checked is None else {"mode": config.mode}),
        notes=notes,
    )


def _parts_table(found: Importances, checked: Faithfulness | None, config: ImportanceConfig) -> pd.DataFrame:
    low, high = interval(found.draws)
    table = pd.DataFrame(
        {
            **columns(found.units),
            "importance": found.draws[0],
            "low": np.nan if config.form == "cumulative" else low,
            "high": np.nan if config.form == "cumulative" else high,
            "normalised": found.normalised_units,
        }
    )
    for rank, by in (("rank", "importance"), ("normalised_rank", "normalised")):
        table[rank] = table.groupby("kind")[by].rank(ascending=False, method="min").astype(int)  # 1 for the most
    effects = {} if checked is None else checked.effects | checked.moved
    for name, draws in effects.items():
        low, high = interval(draws)
        table = table.assign(**{name: draws[0], f"{name}_low": low, f"{name}_high": high})
    return table


def _neurons_table(found: Importances) -> pd.DataFrame:
    mean, error, normalised = (
        np.concatenate(each) for each in (found.neurons, found.neuron_errors, found.normalised.neurons or [])
    )
    low, high = normal_interval(mean, error)
    units = [
        Unit("neuron", layer, neuron)
        for layer, values in enumerate(found.neurons, 1)
        for neuron in range(1, len(values) + 1)
    ]
    table = pd.DataFrame(
        {
            "unit": [str(unit) for unit in units],
            "layer": [unit.layer for unit in units],
            "neuron": [unit.number for unit in units],
            "importance": mean,
            "low": low,
            "high": high,
            "normalised": normalised,
        }
    )
    table["rank"] = table["importance"].rank(ascending=False, method="min").astype(int)
    return table.sort_values("rank", kind="stable", ignore_index=True)


def _neuron_layers(found: Importances) -> pd.DataFrame:
    """Each layer's middle neuron and those at a tenth and nine tenths; and which share of them has half of it all."""
    rows = []
    for layer, values in enumerate(found.neurons, 1):
        if len(values):
            low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
            rows.append({"layer": layer, "median": middle, "low": low, "high": high, "half": _half(values),
                         "n": len(values)})  # fmt: skip
    return pd.DataFrame(rows)


def _half(values: np.ndarray) -> float:
    """The smallest share of the values that adds up to half of their sum."""
    reached = np.cumsum(np.sort(values)[::-1])
    return float((np.searchsorted(reached, reached[-1] / 2) + 1) / len(values))


def _headline(task: Task, found: Importances, checked: Faithfulness | None) -> list[Number]:
    numbers = []
    if checked is not None:
        numbers += _agreement_numbers(checked) + _area_numbers(checked, _loss_unit(task))
    values = found.draws[0]
    for kind in found.kinds:
        here = found.of_kind(kind)
        most = max(here, key=lambda place: values[place])
        # Picked as the largest of many: the interval of its row would be too low.
        of = {"kind": kind, "unit": str(found.units[most])}
        numbers.append(Number("highest_importance", float(values[most]), n=len(here), unit="|dL/dgate|", of=of))
    if found.neurons:
        together = np.concatenate(found.neurons)
        numbers.append(Number("neurons_with_half", _half(together), n=len(together), unit="share"))
    numbers.append(drawn_number("loss", found.loss, len(task.validation), _loss_unit(task)))
    rankings = {**found.reliability, **(checked.reliability if checked else {})}
    numbers += [
        Number("reliability", each.pearson, n=len(found.of_kind(kind)), of={"kind": kind, "ranked_by": by})
        for (kind, by), each in rankings.items()
        if not np.isnan(each.pearson)
    ]
    return numbers


def _loss_unit(task: Task) -> str:
    return "squared deviations" if task.loss_scale != 1 else task.loss_unit


def _agreement_numbers(checked: Faithfulness) -> list[Number]:
    """Whether importance ranks parts as what it stands for does, and as what is lost without them does."""
    table = checked.agreement
    rows = table[(table["ranked_by"] == IMPORTANCE) & (table["effect"] != "drop")].dropna()
    return [
        Number(
            "rank_correlation", row["correlation"], row["low"], row["high"], row["n"],
            of={"effect": row["effect"], "kind": row["kind"]},
        )
        for row in rows.to_dict("records")
    ]  # fmt: skip


def _area_numbers(checked: Faithfulness, loss_unit: str) -> list[Number]:
    """By the score and by the loss; of each kind of parts, that comes first which ranks them less by chance."""
    whole, numbers = checked.score, []
    for row in checked.areas.to_dict("records"):
        of = {"kind": row["kind"], "order": row["order"]}
        both = [
            Number("area", row["area"], row["low"], row["high"], whole.n, of=of),
            Number("loss_area", row["loss_area"], row["loss_low"], row["loss_high"], whole.n, loss_unit, of=of),
        ]
        numbers += both[::-1] if loss_leads(checked, row["kind"]) else both
    return [whole.keyed("score"), *numbers]


def loss_leads(checked: Faithfulness, kind: str) -> bool:
    """Whether the score ranks the parts of a kind mostly by chance, and the loss less so."""
    drop, rise = (checked.reliability[kind, by].pearson for by in ("drop", "rise"))
    return drop < ENOUGH and rise > drop


def _why(task: Task, checked: Faithfulness, kind: str) -> str:
    """Why the loss leads."""
    drop, rise = (checked.reliability[kind, by].pearson for by in ("drop", "rise"))
    return (
        f"{task.metric} ranks {_PLURAL[kind]} mostly by chance (reliability {drop:.2f}, under {ENOUGH}; by the "
        f"rise of the loss {rise:.2f}): so the loss leads"
    )


def _figures(task: Task, found: Importances, checked: Faithfulness | None, config: ImportanceConfig) -> list[Figure]:
    kinds = [kind for kind in ("head", "mlp") if kind in config.units]
    figures = [figure for kind in config.units for figure in _measured(kind, _FORMS[config.form], found)]
    if checked is not None:
        figures += [*_scatters(), *(figure for kind in kinds for figure in _falls(kind, task, checked, config))]
    return figures


def _reliable(found: Importances, kind: str, by: str) -> str:
    """What a figure says of the ranking that it shows."""
    each = found.reliability.get((kind, by))
    if each is None or np.isnan(each.pearson):
        return ""
    return f" Reliability of this ranking (other texts of the same kind would rank alike): {each.pearson:.2f}."


def _measured(kind: str, what: str, found: Importances) -> list[Figure]:
    """The importance of the parts of one kind."""
    if kind == "neuron":
        return [Figure(
            "intervals", "neurons_by_layer", x="median", y="layer", low="low", high="high",
            title="Importance of the MLPs' neurons",
            caption=f"{what} A dot is the layer's middle neuron; a tenth of its neurons lie below the bar, a tenth "
            "above.",
            labels=_LABELS | {"median": "importance"}, key="neurons",
        )]  # fmt: skip
    if kind == "mlp":
        return [Figure(
            "intervals", "parts", x="importance", y="layer", low="low", high="high", where={"kind": "mlp"},
            title="Importance of each layer's MLP",
            caption=f"{what} With its 95% bootstrap interval over examples.{_reliable(found, kind, IMPORTANCE)}",
            labels=_LABELS, key="mlps",
        )]  # fmt: skip
    grid = Figure(
        "heatmap", "parts", x="head", y="layer", value="importance", low="low", high="high", where={"kind": "head"},
        title="Importance of each head",
        caption=f"{what} Its 95% bootstrap interval over examples is in the table."
        f"{_reliable(found, kind, IMPORTANCE)}", labels=_LABELS, key="heads",
    )  # fmt: skip
    normalised = replace(
        grid, value="normalised", low=None, high=None, title="Importance of each head, normalised",
        caption="The same as the papers rank heads by it: divided by the length of its layer's vector, so that no "
        f"layer outweighs another, then set between 0 and 1.{_reliable(found, kind, NORMALISED)}",
        key="heads_normalised",
    )  # fmt: skip
    return [grid, normalised]


def _scatters() -> list[Figure]:
    meanings = {
        "size": "how much an example's loss changes, up or down, when the part is off: what the size of a gradient "
        "stands for",
        "rise": "how much the mean loss rises when the part is off: what is lost. Examples' ups and downs cancel "
        "here, and below 0 the model does better without the part",
    }
    return [
        Figure(
            "points", "parts", x="importance", y=effect, color="kind", log_x=True, middle=0.0,
            title=f"Importance against {importance.words['effect'][effect]}",
            caption=f"A dot is a head or an MLP, on the validation set: its importance, and {what}.", labels=_LABELS,
            key=f"against_{effect}",
        )
        for effect, what in meanings.items()
    ]  # fmt: skip


def _falls(kind: str, task: Task, checked: Faithfulness, config: ImportanceConfig) -> list[Figure]:
    """How the score falls, and the loss rises, as parts of one kind go; what ranks parts less by chance is first."""
    words = importance.words["order"]
    by_gradient = "importance" if kind == "mlp" else f"importance, by {words[NORMALISED]}"
    leads = loss_leads(checked, kind)
    how = (
        f" as {_PLURAL[kind]} are switched off ({config.mode}), the least important first: by {by_gradient}, by what "
        f"each does to the loss when it alone is off ({words[ABLATION]}), and in random order (the mean of "
        f"{config.random}). The validation set decides the orders. Bands are 95% bootstrap intervals, for random "
        "order its range."
    )
    by_score = Figure(
        "lines", "curves", x="share", y="score", color="order", low="low", high="high", where={"kind": kind},
        title=f"Without {_PLURAL[kind]}, one after the other",
        caption=f"The test set's {task.metric}{how} A good order stays high for long.",
        labels=_LABELS | {"score": task.metric}, rules={"chance": checked.score.chance}, key=f"{kind}s_off",
    )  # fmt: skip
    why = f" {_why(task, checked, kind)}." if leads else ""
    by_loss = replace(
        by_score, y="loss", low="loss_low", high="loss_high", rules={}, key=f"{kind}s_off_loss",
        title=f"Without {_PLURAL[kind]}, one after the other: the loss",
        caption=f"The test set's mean loss ({_loss_unit(task)}){how} A good order stays low for long.{why}",
        labels=_LABELS | {"loss_low": "from", "loss_high": "to"},
    )  # fmt: skip
    return [by_loss, by_score] if leads else [by_score, by_loss]
