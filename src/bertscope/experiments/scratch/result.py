"""What pretraining gave: every arm over its seeds, their differences, and the patterns of their attention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from bertscope.core.equivalence import margin
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, in_points, seeds, sure
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, effect_in_points, few_seeds, how_sure, number
from bertscope.experiments.scratch.question import (
    CONSTANT,
    EFFECTS,
    TRAININGS,
    UNTUNED,
    ScratchConfig,
    Training,
    scratch,
)
from bertscope.experiments.scratch.untuned import untuned
from bertscope.experiments.trainings import only_model, settings_of
from bertscope.training.finetune.question import finetune

_BASELINES = ("bag_of_words", "closest_sentence", "right_chain", "left_chain", "word_lookup", "chance")

_GIVES = {"pretraining": "pretraining_gives", "fine_tuning": "fine_tuning_gives"}
"""The effects that are headline numbers, and their keys."""
Runs = Mapping[str, Mapping[int, Result]]
"""Results by arm and seed."""


def scratch_result(
    runs: Runs, arms: Arms[str], task: Task, shapes: Sequence[Result], config: ScratchConfig
) -> Result:
    trained = {arm: runs[arm] for arm in TRAININGS}
    one = trained["tuned"][config.seeds[0]]
    baselines = [number for key in _BASELINES for number in one.numbers(key=key)]
    scores = arms.table()
    scores = scores[scores["arm"] != CONSTANT]  # it stands among the baselines
    effects = arms.effects(EFFECTS)
    tables = {
        "arms": pd.concat([scores, _rows(baselines)], ignore_index=True),
        "effects": effects,
        "scores": pd.DataFrame(_each(baselines, runs)).astype({"seed": "Int64"}),
        "curves": _curves(trained),
    }
    if shapes:
        tables["classes"] = _classes(only_model(one), shapes)
    return scratch.result(
        tables=tables,
        headline=[
            *(number("score", row, "score", task.metric, arm=row["arm"]) for _, row in scores.iterrows()),
            *baselines,
            *(
                number(_GIVES[row["effect"]], row, "difference", task.metric, arm=row["arm"], against=row["against"])
                for _, row in effects[effects["effect"].isin(list(_GIVES))].iterrows()
            ),
        ],
        figures=_figures(tables, task, config),
        models=one.models,
        subject={"task": task.name},
        notes=[*task.notes, *_notes(tables, shapes, task), *few_seeds(len(config.seeds))],
    )


def sentence(result: Result) -> Statement | None:
    score = {one.of["arm"]: Estimate.of_number(one) for one in result.numbers(key="score")}
    tuned, random, untrained = (sure(score[arm]) for arm in ("tuned", "random", UNTUNED))
    said = (
        f"Fine-tuned, the model scores {tuned}; the same training from random weights gives {random}, no training "
        f"{untrained} and the commonest answer {sure(Estimate.of_number(result['chance']))} "
        f"({seeds(result.tables['scores']['seed'].nunique())})."
    )
    return Statement(said, score["tuned"].value - score["random"].value, in_points)


def _rows(baselines: Sequence[Number]) -> pd.DataFrame:
    return pd.DataFrame(
        {"arm": one.key, "score": one.value, "low": one.low, "high": one.high, "runs": 0, "n": one.n}
        for one in baselines
    )


def _each(baselines: Sequence[Number], runs: Runs) -> Iterator[dict[str, Any]]:
    """Every single run with its own interval over examples."""
    listed: list[tuple[str, int | None, Number]] = [
        (arm, seed, run[untuned.main if arm == UNTUNED else finetune.main])
        for arm, of_arm in runs.items()
        for seed, run in of_arm.items()
    ]
    for arm, seed, one in [*listed, *((one.key, None, one) for one in baselines)]:
        yield {"arm": arm, "seed": seed, "score": one.value, "low": one.low, "high": one.high, "n": one.n}


def _curves(trained: Runs) -> pd.DataFrame:
    return pd.concat(
        [
            run.tables["epochs"].assign(arm=arm, seed=seed)
            for arm, of_arm in trained.items()
            for seed, run in of_arm.items()
        ],
        ignore_index=True,
    )


def _classes(base: ModelRecord, shapes: Sequence[Result]) -> pd.DataFrame:
    """The share of each attention pattern in each arm's encoder, that of the base first."""
    found = {_arm(base, only_model(shape)): shape.tables["models"].drop(columns="checkpoint") for shape in shapes}
    arms = [UNTUNED, *(arm for arm, training in TRAININGS.items() if training.moved)]
    table = pd.concat([found[arm].assign(arm=arm) for arm in arms], ignore_index=True)
    return table[["arm", *table.columns.drop("arm")]]


def _arm(base: ModelRecord, model: ModelRecord) -> str:
    """Which arm a model is of."""
    if model.is_same(base):
        return UNTUNED
    settings = settings_of(model)
    own = Training(settings.init, settings.frozen)
    return next(arm for arm, training in TRAININGS.items() if training == own)


def _figures(tables: dict[str, pd.DataFrame], task: Task, config: ScratchConfig) -> list[Figure]:
    labels = {"score": task.metric, "arm": ""}
    drawn = [
        Figure(
            "intervals", "arms", x="score", y="arm", low="low", high="high", key="arms",
            title="With and without pretraining",
            caption=f"The test set's {task.metric}, mean over seeds. Not tuned: a new classifier with random "
            "weights on the pretrained encoder; frozen: only the classifier is trained. "
            f"{how_sure(len(config.seeds))}", labels=labels,
        ),
        Figure(
            "lines", "curves", x="epoch", y="score", low="low", high="high", color="arm",
            where={"seed": config.seeds[0]}, key="learning_curves", title="Learning curves",
            caption=f"The validation set's {task.metric} after each epoch, with its interval over examples (seed "
            f"{config.seeds[0]}); epoch 0 is before any training.", labels=labels,
        ),
    ]  # fmt: skip
    if "classes" in tables:
        drawn.append(
            Figure(
                "bars", "classes", x="share", y="arm", color="class", key="patterns",
                title="Attention with and without pretraining",
                caption="The share of attention maps of each pattern: every head of every layer on every test text "
                f"(seed {config.seeds[0]}). Frozen with random weights: never trained.",
                labels={"share": "share of maps", "arm": "", "class": "pattern"},
            )
        )  # fmt: skip
    return drawn


def _notes(tables: dict[str, pd.DataFrame], shapes: Sequence[Result], task: Task) -> list[str]:
    effects, score = tables["effects"].set_index("effect"), tables["arms"].set_index("arm")["score"]
    within = margin(score["tuned"], task.chance())
    added, gained = (effect_in_points(effects.loc[effect], within, len(task.test)) for effect in _GIVES)
    better = scratch.words["against"][effects.loc["fine_tuning", "against"]]
    notes = [
        f"{task.metric} that pretraining adds to training from random weights, in points: {added}",
        f"{task.metric} that fine-tuning gives, in points: {gained}, against the better of the model before it and a "
        f"constant answer, which is: {better}",
    ]
    return [*notes, *(note for note in (shapes[0].notes if shapes else ()) if note not in task.notes)]
