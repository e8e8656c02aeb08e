"""What trainings with frozen parts gave and took, as tables."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bertscope.core.equivalence import margin
from bertscope.core.estimate import column, extreme
from bertscope.core.figure import Figure
from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.layers import Layers
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, in_points, points, runs, sure
from bertscope.data.task import Task
from bertscope.experiments.arms import TOO_FEW, Arms, effect_in_points, few_seeds, how_sure, number
from bertscope.experiments.freeze.question import WHOLE, FreezeConfig, freeze

_COSTS = ("training_seconds", "activation_bytes", "peak_bytes", "parameters", "trained_parameters")


def freeze_result(
    trained: Mapping[tuple[str, int], Result],
    task: Task,
    arms: Arms[str],
    frozen: Mapping[str, Layers],
    moved: pd.DataFrame | None,
    config: FreezeConfig,
) -> Result:
    """`trained` has the trainings by arm and seed, `frozen` what each arm holds still, nothing first; `moved` says
    how far each layer of each arm moved, where that was asked."""
    scores = arms.against(dict.fromkeys(arms.keys, WHOLE))
    tables = {"arms": scores.assign(**_costs(trained, arms))}
    if moved is not None:
        tables["movement"] = moved
    tables["trainings"] = arms.trainings()
    return freeze.result(
        tables=tables,
        headline=_headline(tables["arms"], task),
        figures=[*_scores(task, arms.runs), *_taken(), *([_movement()] if moved is not None else [])],
        models=trained[WHOLE, config.seeds[0]].models,
        subject={"task": task.name},
        notes=[*task.notes, *few_seeds(arms.runs), *_notes(tables["arms"], frozen, task, config)],
    )


def sentence(result: Result) -> Statement | None:
    arms = result.tables["arms"]
    rows = arms[arms["arm"] != WHOLE]
    if rows.empty:
        return None
    row = rows.iloc[int(rows["effect"].argmin())]
    # Which costs most was looked for in the scores that say how much.
    change = extreme(column(rows, "effect", "effect_low", "effect_high"), min)
    held = freeze.words["arm"].get(row["arm"], row["arm"])
    said = (
        f"Of what was tried, freezing {held} costs most: the score changes by {sure(change, points)} points "
        f"({runs(row)})."
    )
    return Statement(said, change.value, in_points)


def _costs(trained: Mapping[tuple[str, int], Result], arms: Arms[str]) -> dict[str, np.ndarray]:
    """What the trainings took, averaged over seeds; shares are of what training everything took."""
    found = {
        key: np.array([[float(trained[arm, seed].provenance[key]) for seed in arms.seeds] for arm in arms.keys]).mean(
            1
        )
        for key in _COSTS
    }
    peak, whole = found["peak_bytes"] / 1e6, arms.keys.index(WHOLE)
    return {
        "trained_share": found["trained_parameters"] / found["parameters"],
        "trained_parameters": found["trained_parameters"].astype(int),
        "training_seconds": found["training_seconds"],
        "training_time": found["training_seconds"] / found["training_seconds"][whole],
        "activation_mb": found["activation_bytes"] / 1e6,
        "activations": found["activation_bytes"] / found["activation_bytes"][whole],
        "peak_mb": np.where(peak > 0, peak, np.nan),
    }


def _headline(table: pd.DataFrame, task: Task) -> list[Number]:
    held = table[table["arm"] != WHOLE]
    numbers = [number("score", row, "score", task.metric, arm=row["arm"]) for _, row in table.iterrows()]
    numbers += [
        number("effect", row, "effect", task.metric, ("effect_low", "effect_high"), arm=row["arm"], against=WHOLE)
        for _, row in held.iterrows()
    ]
    numbers += [
        Number("training_time", float(row["training_time"]), n=int(row["runs"]), unit="x",
               of={"arm": row["arm"], "against": WHOLE})
        for _, row in held.iterrows()
    ]  # fmt: skip
    return [*numbers, Number("chance", task.chance(), n=len(task.test), unit=task.metric)]


def _notes(table: pd.DataFrame, frozen: Mapping[str, Layers], task: Task, config: FreezeConfig) -> list[str]:
    dropout = "have dropout" if config.frozen_dropout else "have no dropout, and are run once where they can be"
    notes = [
        f"in training, frozen layers {dropout}; the pooler is trained with the classifier",
        "activation_mb: what the largest step keeps for its backward pass, weights apart; peak_mb: the most that was "
        "in use at once on a GPU, weights, optimiser and kept states included (nothing on a CPU)",
    ]
    return [*notes, *_verdict(table, frozen, task)]


def _verdict(table: pd.DataFrame, frozen: Mapping[str, Layers], task: Task) -> list[str]:
    """Merchant et al.'s conclusion beside what was found with most of the lower layers frozen."""
    first = {arm: len(held.numbers) if held == Layers.first(len(held.numbers)) else 0 for arm, held in frozen.items()}
    most = max(first, key=first.__getitem__)
    if not first[most]:
        return []
    rows = table.set_index("arm")
    within = margin(rows.loc[WHOLE, "score"], task.chance())
    found = effect_in_points(rows.loc[most], within, len(task.test), "effect", "effect_")
    said = f"embeddings and first {first[most]} layers frozen, in points of {task.metric}: {found}"
    paper = "Merchant et al. find that the first 8 of bert-base's 12 cost MNLI and SQuAD little"
    return [f"{said}; {paper}" + ("" if rows.loc[most, "runs"] >= ENOUGH_RUNS else f"; {TOO_FEW}")]


def _scores(task: Task, runs: int) -> list[Figure]:
    return [
        Figure(
            "intervals", "arms", x="score", y="arm", low="low", high="high", key="scores",
            title="The score with frozen parts",
            caption=f"The test set's {task.metric} when parts of the encoder keep their pretrained weights, mean "
            f"over seeds. {how_sure(runs)}",
            labels={"score": task.metric, "arm": "frozen"}, rules={task.output.blind_answer: task.chance()},
        ),
        Figure(
            "intervals", "arms", x="effect", y="arm", low="effect_low", high="effect_high",
            key="effects", title="What freezing costs",
            caption=f"The change of the {task.metric} against training everything, on the same seeds and examples. "
            f"{how_sure(runs)}",
            labels={"effect": f"change of {task.metric}", "arm": "frozen"}, middle=0.0,
        ),
    ]  # fmt: skip


def _taken() -> list[Figure]:
    return [
        Figure(
            "bars", "arms", x="training_time", y="arm", key="training_time", title="The time of the training",
            caption="The seconds of the steps, and of running frozen layers once, against those of training "
            "everything; mean over seeds. On a machine that does other things at the same time, it says little.",
            labels={"training_time": "of the time of training everything", "arm": "frozen"},
        ),
        Figure(
            "bars", "arms", x="activations", y="arm", key="memory", title="The memory of the training",
            caption="What the largest step keeps for its backward pass, against what training everything keeps. "
            "Nothing is kept below the lowest trained part.",
            labels={"activations": "of that of training everything", "arm": "frozen"},
        ),
    ]  # fmt: skip


def _movement() -> Figure:
    return Figure(
        "lines", "movement", x="layer", y="rsa", low="low", high="high", color="arm",
        key="movement", title="How far each layer moved",
        caption="RSA of each layer with the same layer of the base: 1 where words lie to each other as before, as "
        "they do in every frozen layer above frozen ones. Layer 0 is the embeddings' output.",
        labels={"rsa": "RSA with the base", "arm": "frozen"},
    )  # fmt: skip
