"""The answer of `importance`: what was found, as tables, numbers and figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.importance.faithful import ABLATION, IMPORTANCE, NORMALISED, RANDOM, Faithfulness
from bertscope.analyses.importance.question import ImportanceConfig, importance
from bertscope.core.figure import Figure
from bertscope.core.intervals import interval, normal_interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.units import Unit, columns

if TYPE_CHECKING:
    from bertscope.analyses.importance.measure import Importances
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

_PLURAL = {"head": "heads", "mlp": "MLPs", "neuron": "neurons"}
_EFFECTS = {"rise": "the loss's rise", "size": "the size of the loss's change", "drop": "the score's drop"}
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
            notes.append(f"{checked.truncated} test texts are longer than {model.max_length} tokens and were cut")
    if config.form == "cumulative":
        notes.append(
            f"cumulative, in batches of {config.batch_size}: another order or batch size gives another answer, and "
            "so there is no interval; those of rank correlations are for the effects' part alone"
        )
    return importance.result(
        tables=tables,
        headline=_headline(task, found, checked),
        figures=_figures(task, checked, config),
        subject={"model": model.name, "task": task.name, "form": config.form}
        | ({} if checked is None else {"mode": config.mode}),
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
    effects = {} if checked is None else checked.effects
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
        numbers += _agreement_numbers(checked) + _area_numbers(checked)
    values = found.draws[0]
    for kind in found.kinds:
        here = found.of_kind(kind)
        most = max(here, key=lambda place: values[place])
        # Picked as the largest of many: the interval of its row would be too low.
        name = f"most important {'MLP' if kind == 'mlp' else kind} ({found.units[most]})"
        numbers.append(Number(name, float(values[most]), n=len(here), unit="|dL/dgate|"))
    if found.neurons:
        together = np.concatenate(found.neurons)
        numbers.append(Number("share of neurons with half of the importance", _half(together), n=len(together),
                              unit="share"))  # fmt: skip
    low, high = interval(found.loss)
    numbers.append(
        Number("loss", float(found.loss[0]), float(low), float(high), len(task.validation), _loss_unit(task))
    )
    return numbers


def _loss_unit(task: Task) -> str:
    return "squared deviations" if task.kind == "regression" else "nats"


def _agreement_numbers(checked: Faithfulness) -> list[Number]:
    """Whether importance ranks parts as what it stands for does, and as what is lost without them does."""
    table = checked.agreement
    rows = table[(table["ranked_by"] == IMPORTANCE) & (table["effect"] != "drop")].dropna()
    return [
        Number(
            f"Spearman with {_EFFECTS[row['effect']]} ({_PLURAL[row['kind']]})",
            row["correlation"], row["low"], row["high"], row["n"],
        )
        for row in rows.to_dict("records")
    ]  # fmt: skip


def _area_numbers(checked: Faithfulness) -> list[Number]:
    whole = checked.score
    return [
        whole.keyed("score"),
        *(
            Number(
                f"area, {_PLURAL[row['kind']]} in {_in_order(row['order'])}",
                row["area"], row["low"], row["high"], whole.n,
            )
            for row in checked.areas.to_dict("records")
        ),
    ]  # fmt: skip


def _in_order(name: str) -> str:
    return "random order" if name == RANDOM else f"order of {name}"


def _figures(task: Task, checked: Faithfulness | None, config: ImportanceConfig) -> list[Figure]:
    kinds = [kind for kind in ("head", "mlp") if kind in config.units]
    figures = [figure for kind in config.units for figure in _measured(kind, _FORMS[config.form])]
    if checked is not None:
        figures += [*_scatters(), *(_falls(kind, task, checked, config) for kind in kinds)]
    return figures


def _measured(kind: str, what: str) -> list[Figure]:
    """The importance of the parts of one kind."""
    if kind == "neuron":
        return [Figure(
            "intervals", "neurons_by_layer", x="median", y="layer", low="low", high="high",
            title="Importance of the MLPs' neurons",
            caption=f"{what} A dot is the layer's middle neuron; a tenth of its neurons lie below the bar, a tenth "
            "above.",
            labels=_LABELS | {"median": "importance"},
        )]  # fmt: skip
    if kind == "mlp":
        return [Figure(
            "intervals", "parts", x="importance", y="layer", low="low", high="high", where={"kind": "mlp"},
            title="Importance of each layer's MLP",
            caption=f"{what} With its 95% bootstrap interval over examples.", labels=_LABELS,
        )]  # fmt: skip
    grid = Figure(
        "heatmap", "parts", x="head", y="layer", value="importance", low="low", high="high", where={"kind": "head"},
        title="Importance of each head",
        caption=f"{what} Its 95% bootstrap interval over examples is in the table.", labels=_LABELS,
    )  # fmt: skip
    normalised = replace(
        grid, value="normalised", low=None, high=None, title="Importance of each head, normalised",
        caption="The same as the papers rank heads by it: divided by the length of its layer's vector, so that no "
        "layer outweighs another, then set between 0 and 1.",
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
            title=f"Importance against {_EFFECTS[effect]}",
            caption=f"A dot is a head or an MLP, on the validation set: its importance, and {what}.", labels=_LABELS,
        )
        for effect, what in meanings.items()
    ]  # fmt: skip


def _falls(kind: str, task: Task, checked: Faithfulness, config: ImportanceConfig) -> Figure:
    """How the score falls as parts of one kind go."""
    by_gradient = IMPORTANCE if kind == "mlp" else f"{IMPORTANCE}, by {NORMALISED}"
    return Figure(
        "lines", "curves", x="share", y="score", color="order", low="low", high="high", where={"kind": kind},
        title=f"Without {_PLURAL[kind]}, one after the other",
        caption=f"The test set's {task.metric} as {_PLURAL[kind]} are switched off ({config.mode}), the least "
        f"important first: by {by_gradient}, by what each does to the loss when it alone is off ({ABLATION}), and in "
        f"{RANDOM} order (the mean of {config.random}). The validation set decides the orders. Bands are 95% "
        f"bootstrap intervals, for {RANDOM} order its range. A good order stays high for long.",
        labels=_LABELS | {"score": task.metric}, rules={"chance": checked.score.chance},
    )  # fmt: skip
