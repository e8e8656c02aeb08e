"""What trainings with frozen parts gave and took, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.core.examples import Examples
from bertscope.core.figure import Figure
from bertscope.core.layers import EMBEDDINGS, Layers
from bertscope.core.result import Number, Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, few_seeds, how_sure, number
from bertscope.experiments.freeze import FreezeConfig
from bertscope.experiments.movement import movement
from bertscope.models.hidden_store import HiddenStore

NOTHING = "nothing frozen"
_COSTS = ("training_seconds", "activation_bytes", "peak_bytes", "parameters", "trained_parameters")


def collect(
    tuned: Sequence[Result],
    task: Task,
    states: Sequence[HiddenStore],
    examples: Examples | None,
    config: FreezeConfig,
) -> Result:
    runs = len(config.seeds)
    frozen = [Layers.parse(result.provenance["settings"]["frozen"]) for result in tuned[::runs]]
    names = [_name(each) for each in frozen]
    moments = task.moments(np.stack([result.arrays["outputs"] for result in tuned]))
    arms = Arms(dict(zip(names, moments.reshape(len(names), runs, *moments.shape[1:]), strict=True)), task.value)
    tables = {"arms": _arms(arms, frozen).assign(**_costs(tuned, runs))}
    if examples is not None:
        tables["movement"] = movement(states, examples, names, frozen, config)
    tables["trainings"] = arms.trainings(config.seeds)
    return Result(
        "freeze",
        1,
        tables=tables,
        headline=_headline(tables["arms"], task),
        figures=_figures(tables, task, runs),
        subject={"model": tuned[0].subject["model"], "task": task.name},
        notes=[*task.notes, *few_seeds(runs), *_notes(tables["arms"], task, config)],
    )


def _name(frozen: Layers) -> str:
    """
    >>> _name(Layers.first(8)), _name(Layers(whole=True)), _name(Layers.parse("5-6"))
    ('embeddings and 1-8 frozen', 'all but the classifier frozen', '5-6 frozen')
    """
    if not frozen:
        return NOTHING
    if frozen.whole:
        return "all but the classifier frozen"
    return f"{str(frozen).replace(f'{EMBEDDINGS},', f'{EMBEDDINGS} and ')} frozen"


def _arms(arms: Arms, frozen: Sequence[Layers]) -> pd.DataFrame:
    """A row for each set: the score, and how far it is from that of training everything."""
    effects = arms.effects({name: (name, arms.names[0]) for name in arms.names})
    table = arms.table()
    table.insert(1, "frozen", [str(each) for each in frozen])
    for column, source in (("effect", "difference"), ("effect_low", "low"), ("effect_high", "high")):
        table[column] = effects[source].to_numpy()
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
    numbers = [number(row["arm"], row, "score", task.metric) for _, row in table.iterrows()]
    for _, row in table[1:].iterrows():
        low, high = (None if pd.isna(row[end]) else float(row[end]) for end in ("effect_low", "effect_high"))
        numbers.append(Number(f"effect, {row['arm']}", float(row["effect"]), low, high, int(row["n"]), task.metric))
    for name, column in (("time", "training_time"), ("memory", "activations")):
        numbers += [
            Number(f"{name}, {row['arm']}", float(row[column]), n=int(row["runs"]), unit="x")
            for _, row in table[1:].iterrows()
        ]
    return [*numbers, Number(task.blind, task.chance(), n=len(task.report), unit=task.metric)]


def _notes(table: pd.DataFrame, task: Task, config: FreezeConfig) -> list[str]:
    dropout = "have dropout" if config.frozen_dropout else "have no dropout, and are run once where they can be"
    said = [
        f"in training, frozen layers {dropout}; the pooler is trained with the classifier",
        "activation_mb: what the largest step keeps for its backward pass, weights apart; peak_mb: the most that was "
        "in use at once on a GPU, weights, optimiser and kept states included (nothing on a CPU)",
    ]
    return [*said, *_verdict(table, task)]


def _verdict(table: pd.DataFrame, task: Task) -> list[str]:
    """Merchant et al.'s conclusion beside what was found."""
    said = []
    for _, row in table[1:].iterrows():
        frozen = Layers.parse(row["frozen"])
        if frozen.embeddings and frozen.numbers and len(frozen.numbers) == max(frozen.numbers):
            sure = " (too few seeds to say how sure)"
            if not pd.isna(row["effect_low"]):
                sure = f" [{100 * row['effect_low']:+.2f}, {100 * row['effect_high']:+.2f}]"
            said.append(
                f"the first {len(frozen.numbers)} frozen: {100 * row['effect']:+.2f} points of {task.metric}{sure}"
            )
    if said:
        said.append("Merchant et al.: freezing the first 8 of bert-base's 12 layers costs MNLI and SQuAD little")
    return said


def _figures(tables: Mapping[str, pd.DataFrame], task: Task, runs: int) -> list[Figure]:
    drawn = [
        Figure(
            "intervals", "arms", x="score", y="arm", low="low", high="high", title="The score with frozen parts",
            caption=f"The report split's {task.metric} when parts of the encoder keep their pretrained weights, mean "
            f"over seeds. {how_sure(runs)}",
            labels={"score": task.metric, "arm": ""}, rules={task.blind: task.chance()},
        ),
        Figure(
            "intervals", "arms", x="effect", y="arm", low="effect_low", high="effect_high",
            title="What freezing costs",
            caption=f"The change of the {task.metric} against training everything, on the same seeds and examples. "
            f"{how_sure(runs)}",
            labels={"effect": f"change of {task.metric}", "arm": ""}, middle=0.0,
        ),
        *(
            Figure(
                "bars", "arms", x=column, y="arm", title=title, caption=caption, labels={column: words, "arm": ""},
            )
            for column, title, words, caption in (
                ("training_time", "The time of the training", "of the time of training everything",
                 "The seconds of the training's steps, and of running frozen layers once, against those of training "
                 "everything; mean over seeds."),
                ("activations", "The memory of the training", "of that of training everything",
                 "What the largest step keeps for its backward pass, against that of training everything. Nothing is "
                 "kept below the lowest trained part."),
            )
        ),
    ]  # fmt: skip
    if "movement" in tables:
        drawn.append(
            Figure(
                "lines", "movement", x="layer", y="rsa", low="low", high="high", color="arm",
                title="How far each layer moved",
                caption="RSA of each layer with the same layer of the base: 1 where the words lie to each other as "
                "before, as in every frozen layer above frozen ones. Layer 0 is the embeddings' output.",
                labels={"rsa": "RSA with the base", "arm": ""},
            )
        )  # fmt: skip
    return drawn
