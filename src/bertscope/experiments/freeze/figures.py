"""The pictures of trainings with frozen parts."""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING

from bertscope.core.figure import Figure
from bertscope.experiments.arms import how_sure

if TYPE_CHECKING:
    from bertscope.data.task import Task


def figures(tables: Container[str], task: Task, runs: int) -> list[Figure]:
    """What freezing gives and what it takes; and how far the layers moved, where that was asked."""
    return [*_scores(task, runs), *_costs(), *([_movement()] if "movement" in tables else [])]


def _scores(task: Task, runs: int) -> list[Figure]:
    return [
        Figure(
            "intervals", "arms", x="score", y="arm", low="low", high="high", title="The score with frozen parts",
            caption=f"The test set's {task.metric} when parts of the encoder keep their pretrained weights, mean "
            f"over seeds. {how_sure(runs)}",
            labels={"score": task.metric, "arm": "frozen"}, rules={task.blind: task.chance()},
        ),
        Figure(
            "intervals", "arms", x="effect", y="arm", low="effect_low", high="effect_high",
            title="What freezing costs",
            caption=f"The change of the {task.metric} against training everything, on the same seeds and examples. "
            f"{how_sure(runs)}",
            labels={"effect": f"change of {task.metric}", "arm": "frozen"}, middle=0.0,
        ),
    ]  # fmt: skip


def _costs() -> list[Figure]:
    return [
        Figure(
            "bars", "arms", x="training_time", y="arm", title="The time of the training",
            caption="The seconds of the steps, and of running frozen layers once, against those of training "
            "everything; mean over seeds. It says little of a machine that does other things at the same time.",
            labels={"training_time": "of the time of training everything", "arm": "frozen"},
        ),
        Figure(
            "bars", "arms", x="activations", y="arm", title="The memory of the training",
            caption="What the largest step keeps for its backward pass, against that of training everything. Nothing "
            "is kept below the lowest trained part.",
            labels={"activations": "of that of training everything", "arm": "frozen"},
        ),
    ]  # fmt: skip


def _movement() -> Figure:
    return Figure(
        "lines", "movement", x="layer", y="rsa", low="low", high="high", color="arm",
        title="How far each layer moved",
        caption="RSA of each layer with the same layer of the base: 1 where the words lie to each other as before, "
        "as in every frozen layer above frozen ones. Layer 0 is the embeddings' output.",
        labels={"rsa": "RSA with the base", "arm": "frozen"},
    )  # fmt: skip
