"""What trainings with frozen parts gave and took, as tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.layers import Layers
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, few_seeds, how_sure, number
from bertscope.experiments.freeze.question import FreezeConfig, freeze

_COSTS = ("training_seconds", "activation_bytes", "peak_bytes", "parameters", "trained_parameters")


def freeze_result(
    tuned: Sequence[Result],
    task: Task,
    arms: Arms,
    frozen: Sequence[Layers],
    moved: pd.DataFrame | None,
    config: FreezeConfig,
) -> Result:
    """`moved` says how far each layer of each arm moved, where that was asked."""
    runs = len(config.seeds)
    tables = {"arms": _arms(arms, frozen).assign(**_costs(tuned, runs))}
    if moved is not None:
        tables["movement"] = moved
    tables["trainings"] = arms.trainings(config.seeds)
    return freeze.result(
        tables=tables,
        headline=_headline(tables["arms"], task),
        figures=[*_scores(task, runs), *_taken(), *([_movement()] if moved is not None else [])],
        subject={"model": tuned[0].subject["model"], "task": task.name},
        notes=[*task.notes, *few_seeds(runs), *_notes(tables["arms"], task, config)],
    )


def arm_name(frozen: Layers) -> str:
    """
    >>> arm_name(Layers.first(8)), arm_name(Layers(whole=True)), arm_name(Layers.parse("5-6")), arm_name(Layers())
    ('embeddings, 1-8', 'all but classifier', '5-6', 'nothing')
    """
    if frozen.whole:
        return "all but classifier"
    return str(frozen).replace(",", ", ") or "nothing"


def _arms(arms: Arms, frozen: Sequence[Layers]) -> pd.DataFrame:
    """A row for each set: the score, and how far it is from that of training everything."""
    table = arms.against(dict.fromkeys(arms.names, arms.names[0]))
    table.insert(1, "frozen", [str(each) for each in frozen])
    return table


def _costs(tuned: Sequence[Result], runs: int) -> dict[str, np.ndarray]:
    """What the trainings took, averaged over seeds."""
    found = {key: np.array([float(one.provenance[key]) for one in tuned]).reshape(-1, runs).mean(1) for key in _COSTS}
    peak = found["peak_bytes"] / 1e6
    return {
        "trained_share": found["trained_parameters"] / found["parameters"],
        "trained_parameters": found["trained_parameters"].astype(int),
        "training_seconds": found["training_seconds"],
        "training_time": found["training_seconds"] / found["training_seconds"][0],
        "activation_mb": found["activation_bytes"] / 1e6,
        "activations": found["activation_bytes"] / found["activation_bytes"][0],
        "peak_mb": np.where(peak > 0, peak, np.nan),
    }


def _headline(table: pd.DataFrame, task: Task) -> list[Number]:
    numbers = [number(f"{row['arm']} frozen", row, "score", task.metric) for _, row in table.iterrows()]
    numbers += [
        number(f"effect, {row['arm']} frozen", row, "effect", task.metric, ("effect_low", "effect_high"))
        for _, row in table[1:].iterrows()
    ]
    numbers += [
        Number(f"time, {row['arm']} frozen", float(row["training_time"]), n=int(row["runs"]), unit="x")
        for _, row in table[1:].iterrows()
    ]
    return [*numbers, Number(task.blind, task.chance(), n=len(task.test), unit=task.metric)]


def _notes(table: pd.DataFrame, task: Task, config: FreezeConfig) -> list[str]:
    dropout = "have dropout" if config.frozen_dropout else "have no dropout, and are run once where they can be"
    notes = [
        f"in training, frozen layers {dropout}; the pooler is trained with the classifier",
        "activation_mb: what the largest step keeps for its backward pass, weights apart; peak_mb: the most that was "
        "in use at once on a GPU, weights, optimiser and kept states included (nothing on a CPU)",
    ]
    return [*notes, *_verdict(table, task)]


def _verdict(table: pd.DataFrame, task: Task) -> list[str]:
    """Merchant et al.'s conclusion beside what was found with most of the lower layers frozen."""
    first = [len(held.numbers) if held == Layers.first(len(held.numbers)) else 0
             for held in map(Layers.parse, table["frozen"])]  # fmt: skip
    if not max(first):
        return []
    row = table.iloc[int(np.argmax(first))]
    found = f"embeddings and first {max(first)} layers frozen: {100 * row['effect']:+.2f} points of {task.metric}"
    paper = "Merchant et al. find that the first 8 of bert-base's 12 cost MNLI and SQuAD little"
    if row["runs"] < ENOUGH_RUNS:
        return [f"{found}; {paper}; too few seeds to say whether that holds here"]
    sure = f" [{100 * row['effect_low']:+.2f}, {100 * row['effect_high']:+.2f}]"
    clear = row["effect_low"] * row["effect_high"] > 0
    holds = "here the change is clear of 0" if clear else "here the change may be 0, which doesn't contradict them"
    return [f"{found}{sure}; {paper}; {holds}"]


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


def _taken() -> list[Figure]:
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
