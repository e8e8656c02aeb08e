"""The pictures of models that lost layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bertscope.core.figure import Figure
from bertscope.experiments.arms import how_sure

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.data.task import Task
    from bertscope.experiments.truncate import TruncateConfig

_TOP = {"from_top": True}


def figures(tables: Mapping[str, pd.DataFrame], task: Task, config: TruncateConfig) -> list[Figure]:
    several = "top" if tables["arms"]["top"].nunique() > 1 else None
    any_set = not tables["arms"]["from_top"].all()
    drawn = [_scores(task, several, config)]
    if any_set or several:
        drawn.append(_every(task, several, config))
    if "factors" in tables:
        drawn.append(_factors(task, len(config.seeds)))
    if config.retrain:
        drawn.append(_training(several))
    return [*drawn, _latency()]


def _how(config: TruncateConfig) -> str:
    if config.retrain:
        return "after the same fine-tuning of what is left"
    return "when layers are taken off the fine-tuned whole model, without training again"


def _scores(task: Task, several: str | None, config: TruncateConfig) -> Figure:
    return Figure(
        "lines", "arms", x="removed", y="score", low="low", high="high", color=several, where=_TOP,
        title="The score as layers go from the top",
        caption=f"The report split's {task.metric} {_how(config)}, mean over seeds. {how_sure(len(config.seeds))} "
        "The dashed rule is a constant answer.",
        labels={"removed": "layers removed from the top", "score": task.metric, "top": "classifier"},
        rules={task.blind: task.chance()},
    )  # fmt: skip


def _every(task: Task, several: str | None, config: TruncateConfig) -> Figure:
    return Figure(
        "intervals", "arms", x="effect", y="model", color=several, low="effect_low", high="effect_high",
        title="What removing layers costs",
        caption=f"The change of the report split's {task.metric} against the whole model with the same classifier "
        f"{_how(config)}. {how_sure(len(config.seeds))}",
        labels={"effect": f"change of {task.metric}", "model": "", "top": "classifier"}, middle=0.0,
    )  # fmt: skip


def _factors(task: Task, runs: int) -> Figure:
    return Figure(
        "intervals", "factors", x="difference", y="effect", low="low", high="high",
        title="Which change matters",
        caption=f"What each change does to the report split's {task.metric}, averaged over all settings of the other "
        f"changes. {how_sure(runs)}",
        labels={"difference": f"change of {task.metric}", "effect": ""}, middle=0.0,
    )  # fmt: skip


def _training(several: str | None) -> Figure:
    return Figure(
        "lines", "arms", x="removed", y="training_time", color=several, where=_TOP,
        title="The time of the training",
        caption="The seconds of the training's steps as a share of the whole model's, mean over seeds. On a "
        "machine that does other things at the same time it says little.",
        labels={
            "removed": "layers removed from the top", "training_time": "of the whole's time", "top": "classifier",
        },
        middle=1.0,
    )  # fmt: skip


def _latency() -> Figure:
    return Figure(
        "lines", "latency", x="removed", y="faster", low="low", high="high", color="load", where=_TOP,
        title="The speed of a prediction",
        caption="How many times as fast as the whole model: the median of rounds in which the models take turns, "
        "with its 95% interval.",
        labels={"removed": "layers removed from the top", "faster": "times as fast", "load": ""}, middle=1.0,
    )  # fmt: skip
