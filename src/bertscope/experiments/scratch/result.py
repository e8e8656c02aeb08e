"""What pretraining gave: every arm over its seeds, their differences, and the patterns of their attention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, few_seeds, how_sure, in_points, number
from bertscope.experiments.scratch.question import TRAININGS, UNTUNED, ScratchConfig, scratch
from bertscope.experiments.scratch.untuned import untuned
from bertscope.training.finetune.question import finetune

_EFFECTS = {
    "pretraining": ("fine-tuned", "random init, tuned"),
    "fine-tuning": ("fine-tuned", UNTUNED),
    "pretraining, encoder frozen": ("pretrained, frozen", "random init, frozen"),
    "training the encoder, from random": ("random init, tuned", "random init, frozen"),
    "training the encoder, from pretrained": ("fine-tuned", "pretrained, frozen"),
}
"""What is compared: the first arm minus the second."""


def scratch_result(
    trained: Mapping[str, Sequence[Result]],
    untrained: Sequence[Result],
    arms: Arms,
    task: Task,
    shapes: Sequence[Result],
    config: ScratchConfig,
) -> Result:
    """`trained` is by input, in the order of `TRAININGS`."""
    baselines = [one for one in trained["tuned"][0].headline if one.name not in ("after", "before")]
    tables = {
        "arms": pd.concat([arms.table(), _rows(baselines)], ignore_index=True),
        "effects": arms.effects(_EFFECTS),
        "scores": pd.DataFrame(_each(baselines, trained, untrained, config.seeds)).astype({"seed": "Int64"}),
        "curves": _curves(trained, config.seeds),
    }
    if shapes:
        tables["classes"] = _classes(trained, shapes)
    return scratch.result(
        tables=tables,
        headline=[number(row["arm"], row, "score", task.metric) for _, row in tables["arms"].iterrows()],
        figures=_figures(tables, task, config),
        subject={"model": trained["tuned"][0].subject["model"], "task": task.name},
        notes=[*task.notes, *_notes(tables, shapes, task), *few_seeds(len(config.seeds))],
    )


def _rows(baselines: Sequence[Number]) -> pd.DataFrame:
    return pd.DataFrame(
        {"arm": one.name, "score": one.value, "low": one.low, "high": one.high, "runs": 0, "n": one.n}
        for one in baselines
    )


def _each(
    baselines: Sequence[Number],
    trained: Mapping[str, Sequence[Result]],
    untrained: Sequence[Result],
    seeds: Sequence[int],
) -> Iterator[dict[str, Any]]:
    """Every single run with its own interval over examples."""
    runs = [(TRAININGS[name].arm, finetune.main, results) for name, results in trained.items()]
    listed: list[tuple[str, int | None, Number]] = [
        (arm, seed, run.number(main))
        for arm, main, results in (*runs, (UNTUNED, untuned.main, untrained))
        for seed, run in zip(seeds, results, strict=True)
    ]
    for arm, seed, one in [*listed, *((one.name, None, one) for one in baselines)]:
        yield {"arm": arm, "seed": seed, "score": one.value, "low": one.low, "high": one.high, "n": one.n}


def _curves(trained: Mapping[str, Sequence[Result]], seeds: Sequence[int]) -> pd.DataFrame:
    return pd.concat(
        [
            run.tables["epochs"].assign(arm=TRAININGS[name].arm, seed=seed)
            for name, results in trained.items()
            for seed, run in zip(seeds, results, strict=True)
        ],
        ignore_index=True,
    )


def _classes(trained: Mapping[str, Sequence[Result]], shapes: Sequence[Result]) -> pd.DataFrame:
    """The share of each attention pattern in each arm's encoder."""
    arms = [UNTUNED, *(TRAININGS[name].arm for name in trained if TRAININGS[name].moved)]
    tables = [
        shape.tables["models"].drop(columns="checkpoint").assign(arm=arm)
        for arm, shape in zip(arms, shapes, strict=True)
    ]
    table = pd.concat(tables, ignore_index=True)
    return table[["arm", *table.columns.drop("arm")]]


def _figures(tables: dict[str, pd.DataFrame], task: Task, config: ScratchConfig) -> list[Figure]:
    labels = {"score": task.metric, "arm": ""}
    drawn = [
        Figure(
            "intervals", "arms", x="score", y="arm", low="low", high="high", title="With and without pretraining",
            caption=f"The test set's {task.metric}, mean over seeds. Not tuned: a new classifier with random "
            "weights on the pretrained encoder; frozen: only the classifier is trained. "
            f"{how_sure(len(config.seeds))}", labels=labels,
        ),
        Figure(
            "lines", "curves", x="epoch", y="score", low="low", high="high", color="arm",
            where={"seed": config.seeds[0]}, title="Learning curves",
            caption=f"The validation set's {task.metric} after each epoch, with its interval over examples (seed "
            f"{config.seeds[0]}); epoch 0 is before any training.", labels=labels,
        ),
    ]  # fmt: skip
    if "classes" in tables:
        drawn.append(
            Figure(
                "bars", "classes", x="share", y="arm", color="class", title="Attention with and without pretraining",
                caption="The share of attention maps of each pattern: every head of every layer on every test text "
                f"(seed {config.seeds[0]}). Frozen with random weights: never trained.",
                labels={"share": "share of maps", "arm": "", "class": "pattern"},
            )
        )  # fmt: skip
    return drawn


def _notes(tables: dict[str, pd.DataFrame], shapes: Sequence[Result], task: Task) -> list[str]:
    first = tables["effects"].iloc[0]
    notes = [f"{task.metric} that pretraining adds to training from random weights, in points: {in_points(first)}"]
    return [*notes, *(note for note in (shapes[0].notes if shapes else ()) if note not in task.notes)]
