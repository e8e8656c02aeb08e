"""What became of models that lost layers, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bertscope.core.equivalence import margin
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.layers import Layers
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, in_points, points, runs, sure
from bertscope.data.task import Task
from bertscope.experiments.arms import TOO_FEW, Arms, effect_in_points, few_seeds, how_sure, number
from bertscope.experiments.truncate.question import WHOLE, TaskHeadForm, TruncateConfig, truncate
from bertscope.models.encoder import Encoder

_FEWEST = 3  # depths from which a line is drawn through them


@dataclass(frozen=True)
class Shape:
    """A model that lost layers."""

    left_out: Layers
    depth: int
    """Of the whole model."""

    @property
    def removed(self) -> int:
        return len(self.left_out.numbers)

    @property
    def from_top(self) -> bool:
        return self.left_out == Layers.last(self.removed, self.depth)

    @property
    def key(self) -> str:
        """What tables call it: by the layers that it lost."""
        return str(self.left_out) or WHOLE


@dataclass(frozen=True)
class Planned:
    """An arm: what is left of the model, and what is put on it."""

    shape: Shape
    form: TaskHeadForm

    @property
    def key(self) -> tuple[str, str]:
        return self.shape.key, self.form.key

    @property
    def settings(self) -> dict[str, str]:
        """What may be changed, and how it is here."""
        return {
            "removed": self.shape.key,
            "classifier": self.form.classifier,
            "dropout": "own" if self.form.dropout is None else f"{self.form.dropout:g}",
            "pooler": "kept" if self.form.pooler else "off",
        }


Trained = Mapping[tuple[str, str, int], Result]
"""Trainings by arm, what is on top, and seed."""


def truncate_result(
    base: Encoder,
    task: Task,
    trained: Trained,
    arms: Arms[tuple[str, str]],
    planned: Sequence[Planned],
    latency: pd.DataFrame,
    config: TruncateConfig,
) -> Result:
    """`trained` has the trainings where each arm has its own."""
    table = _arms(arms, planned, latency)
    tables = {"arms": table.assign(**_training_costs(planned, trained, config)) if trained else table}
    tables["latency"] = latency.drop(columns="parameters")
    if len(config.forms) > 1:
        tables["factors"] = _factors(arms, planned)
    tables["trainings"] = arms.trainings()
    return truncate.result(
        tables=tables,
        headline=_headline(tables["arms"], task, config),
        figures=_figures(tables, task, config),
        models=records([base]),
        subject={"task": task.name} | ({} if config.retrain else {"layers": "off, not retrained"}),
        notes=[*task.notes, *few_seeds(len(config.seeds)), *_notes(tables, task, base, config)],
    )


def sentence(result: Result) -> Statement | None:
    rows = without_top_layer(result.tables["arms"])
    if rows.empty:
        return None
    row = rows.iloc[0]
    change, how = cell(row, "effect"), "" if "layers" in result.subject else " and trained again"
    said = f"Without its top layer{how}, the model's score changes by {sure(change, points)} points ({runs(row)})."
    return Statement(said, change.value, in_points)


def without_top_layer(arms: pd.DataFrame) -> pd.DataFrame:
    """Of the table of arms, that without the top layer alone, with the first of the classifiers that were tried."""
    return arms[(arms["removed"] == 1) & arms["from_top"] & (arms["top"] == arms["top"].iloc[0])]


def _arms(arms: Arms[tuple[str, str]], planned: Sequence[Planned], latency: pd.DataFrame) -> pd.DataFrame:
    """A row for each model: its score, and how far it is from the whole one with the same classifier."""
    described = pd.DataFrame(
        {"arm": one.shape.key, "removed": one.shape.removed, "from_top": one.shape.from_top, "top": one.form.key,
         **{name: value for name, value in one.settings.items() if name != "removed"}}
        for one in planned
    )  # fmt: skip
    table = described.merge(arms.against({one.key: (WHOLE, one.form.key) for one in planned}), on=["arm", "top"])
    return table.assign(parameters=table["arm"].map(latency.groupby("arm")["parameters"].first()))


def _training_costs(planned: Sequence[Planned], trained: Trained, config: TruncateConfig) -> dict[str, np.ndarray]:
    """What each training took, averaged over seeds, also as a share of the whole model's; and its exact size."""
    seconds, parameters = (
        {
            one.key: np.mean([float(trained[*one.key, seed].provenance[key]) for seed in config.seeds])
            for one in planned
        }
        for key in ("training_seconds", "parameters")
    )
    return {
        "training_seconds": np.array([seconds[one.key] for one in planned]),
        "training_time": np.array([seconds[one.key] / seconds[WHOLE, one.form.key] for one in planned]),
        "parameters": np.array([int(parameters[one.key]) for one in planned]),
    }


def _factors(arms: Arms[tuple[str, str]], planned: Sequence[Planned]) -> pd.DataFrame:
    """What each change does on its own, averaged over all settings of the others; and the last arm against the
    first, in which all of them are made."""
    rows, weights = [], {}
    for factor in planned[0].settings:
        first, *others = dict.fromkeys(one.settings[factor] for one in planned)
        for level in others:
            name = f"{factor}={level}"
            rows.append({"effect": name, "against": f"{factor}={first}"})
            having, without = (
                np.array([float(one.settings[factor] == value) for one in planned]) for value in (level, first)
            )
            apart = having / having.sum() - without / without.sum()
            weights[name] = dict(zip((one.key for one in planned), apart.tolist(), strict=True))
    rows.append({"effect": "all_at_once", "against": "none_of_these"})
    weights["all_at_once"] = {planned[-1].key: 1.0, planned[0].key: -1.0}
    return arms.combined(weights).merge(pd.DataFrame(rows), on="effect")


def _headline(table: pd.DataFrame, task: Task, config: TruncateConfig) -> list[Number]:
    plain = table[table["top"] == config.forms[0].key]
    smaller = plain[plain["removed"] > 0]
    numbers = [number("score", row, "score", task.metric, arm=row["arm"]) for _, row in plain.iterrows()]
    numbers += [
        number("effect", row, "effect", task.metric, ("effect_low", "effect_high"), arm=row["arm"], against=WHOLE)
        for _, row in smaller.iterrows()
    ]
    if "training_time" in table:
        numbers += [
            Number("training_time", float(row["training_time"]), n=int(row["runs"]), unit="x",
                   of={"arm": row["arm"], "against": WHOLE})
            for _, row in smaller.iterrows()
        ]  # fmt: skip
    return [*numbers, Number("chance", task.chance(), n=len(task.test), unit=task.metric)]


def _notes(tables: Mapping[str, pd.DataFrame], task: Task, base: Encoder, config: TruncateConfig) -> list[str]:
    table, rounds = tables["arms"], tables["latency"]["rounds"].min()
    notes = [
        f"latency: on this machine ({base.device.type}), texts of the validation set, tokenised before; the models "
        f"take turns for {rounds} rounds or more, and the median of the rounds' ratios counts",
        "the slides changed the layer, the classifier and the dropout at once; here each row says what was changed",
    ]
    if (table["removed"] == base.n_layers).any() and base.family.reads_first_token(base.model.config):
        notes.append(
            "without any layer the first token is the same for all texts: such a model always answers the same label"
        )
    if not config.retrain:
        return notes
    return [*notes, *(_verdict(row, table, task) for _, row in without_top_layer(table).iterrows())]


def _verdict(row: pd.Series, table: pd.DataFrame, task: Task) -> str:
    """The slides' conclusion beside what was found."""
    whole = table[(table["arm"] == WHOLE) & (table["top"] == row["top"])].iloc[0]
    within = margin(whole["score"], task.chance())
    found = effect_in_points(row, within, len(task.test), "effect", "effect_")
    said = f"without the top layer, in points of {task.metric}: {found}; {row['training_time']:.2f} of the training "
    said += "time; the slides say that it can go"
    return said if row["runs"] >= ENOUGH_RUNS else f"{said}; {TOO_FEW}"


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
    return {"kind": "intervals", "x": value, "y": "arm"} | ends | rest | {"labels": {"arm": "layers removed"} | words}


def _how(config: TruncateConfig) -> str:
    if config.retrain:
        return "after the same fine-tuning of what is left"
    return "when layers are taken off the fine-tuned whole model, without training again"


def _scores(task: Task, several: str | None, config: TruncateConfig, *, lines: bool) -> Figure:
    words = {"score": task.metric, "top": "classifier"}
    return Figure(
        table="arms", key="scores", title="The score as layers go",
        caption=f"The test set's {task.metric} {_how(config)}, mean over seeds. {how_sure(len(config.seeds))} "
        "The dashed rule is a constant answer.",
        rules={task.output.blind_answer: task.chance()},
        **_by_depth("score", words, lines=lines, low="low", color=several),
    )  # fmt: skip


def _every(task: Task, several: str | None, config: TruncateConfig) -> Figure:
    return Figure(
        "intervals", "arms", x="effect", y="arm", color=several, low="effect_low", high="effect_high",
        key="effects", title="What removing layers costs",
        caption=f"The change of the test set's {task.metric} against the whole model with the same classifier "
        f"{_how(config)}. {how_sure(len(config.seeds))}",
        labels={"effect": f"change of {task.metric}", "arm": "layers removed", "top": "classifier"}, middle=0.0,
    )  # fmt: skip


def _which_matters(task: Task, runs: int) -> Figure:
    return Figure(
        "intervals", "factors", x="difference", y="effect", low="low", high="high",
        key="factors", title="Which change matters",
        caption=f"What each change does to the test set's {task.metric}, averaged over all settings of the other "
        f"changes. {how_sure(runs)}",
        labels={"difference": f"change of {task.metric}", "effect": ""}, middle=0.0,
    )  # fmt: skip


def _training(several: str | None, *, lines: bool) -> Figure:
    words = {"training_time": "of the whole's time", "top": "classifier"}
    return Figure(
        table="arms", key="training_time", title="The time of the training",
        caption="The seconds of the training's steps as a share of the whole model's, mean over seeds. On a machine "
        "that does other things at the same time, it says little.",
        middle=1.0, **_by_depth("training_time", words, lines=lines, color=several),
    )  # fmt: skip


def _latency(*, lines: bool) -> Figure:
    words = {"faster": "times as fast", "load": ""}
    return Figure(
        table="latency", key="latency", title="The speed of a prediction",
        caption="How many times as fast as the whole model: the median of rounds in which the models take turns, "
        "with its 95% interval.",
        middle=1.0, **_by_depth("faster", words, lines=lines, low="low", color="load"),
    )  # fmt: skip
