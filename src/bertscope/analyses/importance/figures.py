"""The figures of `importance`, as plain data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bertscope.analyses.importance.faithful import ABLATION, IMPORTANCE, NORMALISED, RANDOM, Faithfulness
from bertscope.core.figure import Figure

if TYPE_CHECKING:
    from bertscope.analyses.importance.question import ImportanceConfig
    from bertscope.data.task import Task

PLURAL = {"head": "heads", "mlp": "MLPs", "neuron": "neurons"}
EFFECTS = {"rise": "the loss's rise", "size": "the size of the loss's change", "drop": "the score's drop"}
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


def importance_figures(task: Task, checked: Faithfulness | None, config: ImportanceConfig) -> list[Figure]:
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
    said = {
        "size": "how much an example's loss changes, up or down, when the part is off: what the size of a gradient "
        "stands for",
        "rise": "how much the mean loss rises when the part is off: what is lost. Examples' ups and downs cancel "
        "here, and below 0 the model does better without the part",
    }
    return [
        Figure(
            "points", "parts", x="importance", y=effect, color="kind", log_x=True, middle=0.0,
            title=f"Importance against {EFFECTS[effect]}",
            caption=f"A dot is a head or an MLP, on the validation set: its importance, and {what}.", labels=_LABELS,
        )
        for effect, what in said.items()
    ]  # fmt: skip


def _falls(kind: str, task: Task, checked: Faithfulness, config: ImportanceConfig) -> Figure:
    """How the score falls as parts of one kind go."""
    by_gradient = IMPORTANCE if kind == "mlp" else f"{IMPORTANCE}, by {NORMALISED}"
    return Figure(
        "lines", "curves", x="share", y="score", color="order", low="low", high="high", where={"kind": kind},
        title=f"Without {PLURAL[kind]}, one after the other",
        caption=f"The test set's {task.metric} as {PLURAL[kind]} are switched off ({config.mode}), the least "
        f"important first: by {by_gradient}, by what each does to the loss when it alone is off ({ABLATION}), and in "
        f"{RANDOM} order (the mean of {config.random}). The validation set decides the orders. Bands are 95% "
        f"bootstrap intervals, for {RANDOM} order its range. A good order stays high for long.",
        labels=_LABELS | {"score": task.metric}, rules={"chance": checked.score.chance},
    )  # fmt: skip
