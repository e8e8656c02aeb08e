"""What became of models that lost layers, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.layers import Layers
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, few_seeds, how_sure, number
from bertscope.experiments.truncate.question import TaskHeadForm, TruncateConfig, truncate
from bertscope.models.encoder import Encoder

WHOLE = "nothing removed"
_FEWEST = 3  # depths from which a line is drawn through them


@dataclass(frozen=True)
class Shape:
    """A model that lost layers, and what tables call it."""

    left_out: Layers
    depth: int
    """Of the whole model."""

    @property
    def removed(self) -> int:
        return len(self.left_out.numbers)

    @property
    def from_top(self) -> bool:
        return self.left_out == Layers.last(self.removed, self.depth)

    def __str__(self) -> str:
        if not self.removed:
            return WHOLE
        return f"top {self.removed} removed" if self.from_top else f"{self.left_out} removed"


Named = Mapping[tuple[TaskHeadForm, Shape], str]
"""What the arms are called."""


def truncate_result(
    base: Encoder,
    task: Task,
    tuned: Sequence[Result],
    arms: Arms,
    names: Named,
    latency: pd.DataFrame,
    config: TruncateConfig,
) -> Result:
    table = _arms(arms, names, latency)
    tables = {"arms": table.assign(**_training_costs(table, tuned)) if config.retrain else table}
    tables["latency"] = latency.drop(columns="parameters")
    if len(config.forms) > 1:
        tables["factors"] = _factors(arms, names)
    tables["trainings"] = arms.trainings(config.seeds)
    return truncate.result(
        tables=tables,
        headline=_headline(tables["arms"], task),
        figures=_figures(tables, task, config),
        subject={"model": base.name, "task": task.name}
        | ({} if config.retrain else {"layers": "off, not retrained"}),
        notes=[*task.notes, *few_seeds(len(config.seeds)), *_notes(tables, task, base, config)],
    )


def _arms(arms: Arms, names: Named, latency: pd.DataFrame) -> pd.DataFrame:
    """A row for each model: its score, and how far it is from the whole one with the same classifier."""
    described = pd.DataFrame(
        {"arm": name, "model": str(shape), "removed": shape.removed, "layers": str(shape.left_out),
         "from_top": shape.from_top, "top": str(form), "classifier": form.classifier,
         "dropout": "own" if form.dropout is None else f"{form.dropout:g}",
         "pooler": "kept" if form.pooler else "off"}
        for (form, shape), name in names.items()
    )  # fmt: skip
    whole = {form: name for (form, shape), name in names.items() if not shape.removed}
    table = described.merge(arms.against({name: whole[form] for (form, _), name in names.items()}), on="arm")
    return table.assign(parameters=table["model"].map(latency.groupby("model")["parameters"].first()))


def _training_costs(table: pd.DataFrame, tuned: Sequence[Result]) -> dict[str, np.ndarray]:
    """What each training took, averaged over seeds, also as a share of the whole model's; and its exact size."""
    seconds, parameters = (
        np.array([float(result.provenance[key]) for result in tuned]).reshape(len(table), -1).mean(1)
        for key in ("training_seconds", "parameters")
    )
    whole = table["top"].map(
        dict(zip(table["top"][table["removed"] == 0], seconds[table["removed"] == 0], strict=True))
    )
    return {
        "training_seconds": seconds,
        "training_time": seconds / whole.to_numpy(float),
        "parameters": parameters.astype(int),
    }


def _factors(arms: Arms, names: Named) -> pd.DataFrame:
    """What each change does on its own, averaged over all settings of the others; and the last arm against the
    first, in which all of them are made."""
    settings = pd.DataFrame(
        {
            "layers": [str(shape) for _, shape in names],
            "classifier": [f"classifier {form.classifier}" for form, _ in names],
            "dropout": ["dropout own" if form.dropout is None else f"dropout {form.dropout:g}" for form, _ in names],
            "pooler": ["pooler kept" if form.pooler else "pooler off" for form, _ in names],
        }
    )
    weights, against = {}, []
    for factor in settings:
        first, *others = dict.fromkeys(settings[factor])
        without = (settings[factor] == first).to_numpy(float)
        for level in others:
            having = (settings[factor] == level).to_numpy(float)
            weights[level] = having / having.sum() - without / without.sum()
            against.append(first)
    weights["all at once"] = np.eye(len(settings))[-1] - np.eye(len(settings))[0]
    return arms.combined(weights).assign(against=[*against, "none of these"])


def _headline(table: pd.DataFrame, task: Task) -> list[Number]:
    plain = table[table["top"] == table["top"].iloc[0]]
    smaller = plain[plain["removed"] > 0]
    numbers = [number(row["model"], row, "score", task.metric) for _, row in plain.iterrows()]
    numbers += [
        number(f"effect, {row['model']}", row, "effect", task.metric, ("effect_low", "effect_high"))
        for _, row in smaller.iterrows()
    ]
    if "training_time" in table:
        numbers += [
            Number(f"training time, {row['model']}", float(row["training_time"]), n=int(row["runs"]), unit="x")
            for _, row in smaller.iterrows()
        ]
    return [*numbers, Number(task.blind, task.chance(), n=len(task.test), unit=task.metric)]


def _notes(tables: Mapping[str, pd.DataFrame], task: Task, base: Encoder, config: TruncateConfig) -> list[str]:
    table, rounds = tables["arms"], tables["latency"]["rounds"].min()
    notes = [
        f"latency: on this machine ({base.device.type}), texts of the validation set, tokenised before; the models "
        f"take turns for {rounds} rounds or more, and the median of the rounds' ratios counts",
        "the slides changed the layer, the classifier and the dropout at once; here each row says what was changed",
    ]
    if (table["removed"] == base.n_layers).any() and base.family.reads_first_token(base.model.config):
        notes.append("without any layer the first token is the same for all texts: such a model answers one label")
    if not config.retrain:
        return notes
    one = table[(table["removed"] == 1) & table["from_top"] & (table["top"] == table["top"].iloc[0])]
    return [*notes, *(_verdict(row, task) for _, row in one.iterrows())]


def _verdict(row: pd.Series, task: Task) -> str:
    """The slides' conclusion beside what was found."""
    sure = "" if pd.isna(row["effect_low"]) else f" [{100 * row['effect_low']:+.2f}, {100 * row['effect_high']:+.2f}]"
    found = f"without the top layer: {100 * row['effect']:+.2f} points of {task.metric}{sure} and "
    found += f"{row['training_time']:.2f} of the training time"
    slides = "the slides say that it can go"
    if row["runs"] < ENOUGH_RUNS:
        return f"{found}; {slides}; too few seeds to say whether that holds here"
    clear = row["effect_low"] * row["effect_high"] > 0
    holds = "here the change is clear of 0" if clear else "here the change may be 0, which doesn't contradict them"
    return f"{found}; {slides}; {holds}"


def _figures(tables: Mapping[str, pd.DataFrame], task: Task, config: TruncateConfig) -> list[Figure]:
    arms = tables["arms"]
    several = "top" if arms["top"].nunique() > 1 else None
    lines = arms.loc[arms["from_top"], "removed"].nunique() >= _FEWEST
    drawn = [_scores(task, several, config, lines=lines and not several)]
    if several or not arms["from_top"].all():
        drawn.append(_every(task, several, config))
    if "factors" in tables:
        drawn.append(_which_matters(task, len(config.seeds)))
    if config.retrain:
        drawn.append(_training(several, lines=lines))
    return [*drawn, _latency(lines=lines)]


def _by_depth(
    value: str, words: dict[str, str], *, lines: bool, low: str | None = None, **rest: Any
) -> dict[str, Any]:
    """A line over depths, or a row for each where there are too few of them; `low` names an interval's lower end."""
    ends = {} if low is None else {"low": low, "high": low.replace("low", "high")}
    if lines:
        place = {"kind": "lines", "x": "removed", "y": value, "where": {"from_top": True}}
        return place | ends | rest | {"labels": {"removed": "layers removed from the top"} | words}
    return {"kind": "intervals", "x": value, "y": "model"} | ends | rest | {"labels": {"model": ""} | words}


def _how(config: TruncateConfig) -> str:
    if config.retrain:
        return "after the same fine-tuning of what is left"
    return "when layers are taken off the fine-tuned whole model, without training again"


def _scores(task: Task, several: str | None, config: TruncateConfig, *, lines: bool) -> Figure:
    words = {"score": task.metric, "top": "classifier"}
    return Figure(
        table="arms", title="The score as layers go",
        caption=f"The test set's {task.metric} {_how(config)}, mean over seeds. {how_sure(len(config.seeds))} "
        "The dashed rule is a constant answer.",
        rules={task.blind: task.chance()}, **_by_depth("score", words, lines=lines, low="low", color=several),
    )  # fmt: skip


def _every(task: Task, several: str | None, config: TruncateConfig) -> Figure:
    return Figure(
        "intervals", "arms", x="effect", y="model", color=several, low="effect_low", high="effect_high",
        title="What removing layers costs",
        caption=f"The change of the test set's {task.metric} against the whole model with the same classifier "
        f"{_how(config)}. {how_sure(len(config.seeds))}",
        labels={"effect": f"change of {task.metric}", "model": "", "top": "classifier"}, middle=0.0,
    )  # fmt: skip


def _which_matters(task: Task, runs: int) -> Figure:
    return Figure(
        "intervals", "factors", x="difference", y="effect", low="low", high="high",
        title="Which change matters",
        caption=f"What each change does to the test set's {task.metric}, averaged over all settings of the other "
        f"changes. {how_sure(runs)}",
        labels={"difference": f"change of {task.metric}", "effect": ""}, middle=0.0,
    )  # fmt: skip


def _training(several: str | None, *, lines: bool) -> Figure:
    words = {"training_time": "of the whole's time", "top": "classifier"}
    return Figure(
        table="arms", title="The time of the training",
        caption="The seconds of the training's steps as a share of the whole model's, mean over seeds. On a machine "
        "that does other things at the same time it says little.",
        middle=1.0, **_by_depth("training_time", words, lines=lines, color=several),
    )  # fmt: skip


def _latency(*, lines: bool) -> Figure:
    words = {"faster": "times as fast", "load": ""}
    return Figure(
        table="latency", title="The speed of a prediction",
        caption="How many times as fast as the whole model: the median of rounds in which the models take turns, "
        "with its 95% interval.",
        middle=1.0, **_by_depth("faster", words, lines=lines, low="low", color="load"),
    )  # fmt: skip
