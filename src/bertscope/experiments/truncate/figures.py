"""The pictures of models that lost layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bertscope.core.figure import Figure
from bertscope.experiments.arms import how_sure

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.data.task import Task
    from bertscope.experiments.truncate.question import TruncateConfig

_FEWEST = 3  # depths from which a line is drawn through them


def figures(tables: Mapping[str, pd.DataFrame], task: Task, config: TruncateConfig) -> list[Figure]:
    arms = tables["arms"]
    several = "top" if arms["top"].nunique() > 1 else None
    lines = arms.loc[arms["from_top"], "removed"].nunique() >= _FEWEST
    drawn = [_scores(task, several, config, lines=lines and not several)]
    if several or not arms["from_top"].all():
        drawn.append(_every(task, several, config))
    if "factors" in tables:
        drawn.append(_factors(task, len(config.seeds)))
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


def _factors(task: Task, runs: int) -> Figure:
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
