"""What became of models that lost layers, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.core.intervals import ENOUGH_RUNS
from bertscope.core.result import Number, Result
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, few_seeds, number
from bertscope.experiments.truncate.figures import figures
from bertscope.experiments.truncate.question import OnTop, TruncateConfig
from bertscope.experiments.truncate.shapes import Shape, latencies, switched_off
from bertscope.models.encoder import Encoder

PUBLISHED = pd.DataFrame(
    {
        "task": ["SNLI", "SNLI", "WebMD", "WebMD"],
        "model": ["bert-base, linear classifier", "bert-base without layer 12, ReLU classifier"] * 2,
        "removed": [0, 1, 0, 1],
        "accuracy": [0.9045, 0.9033, 0.5891, 0.5867],
        "training_seconds": [6140, 5624, 2653, 2447],
    }
)
"""The slides' numbers: one training each, of the full data; layer, classifier and dropout changed at once."""

Named = Mapping[tuple[OnTop, Shape], str]


def collect(
    base: Encoder, task: Task, tuned: Sequence[Result], models: Sequence[Encoder], config: TruncateConfig
) -> Result:
    shapes = [Shape(left_out, base.n_layers) for left_out in config.sets(base.n_layers)]
    tops = config.tops
    names = {(top, shape): f"{shape}, {top}" if len(tops) > 1 else str(shape) for top in tops for shape in shapes}
    if config.retrain:
        outputs = np.stack([result.arrays["outputs"] for result in tuned])  # top by shape by seed
        each = outputs.shape[1:]
    else:
        outputs = np.stack([switched_off(model, task, shapes) for model in models])  # top by seed, shape
        each = outputs.shape[2:]
        by_seed = outputs.reshape(len(tops), len(config.seeds), *outputs.shape[1:])
        outputs = by_seed.swapaxes(1, 2)
    moments = task.moments(outputs.reshape(len(names), len(config.seeds), *each))
    arms = Arms(dict(zip(names.values(), moments, strict=True)), task.value)
    latency = latencies(base, task, shapes)
    table = _arms(arms, names, latency)
    tables = {"arms": table.assign(**_training_costs(table, tuned)) if config.retrain else table}
    tables["latency"] = latency.drop(columns="parameters")
    if len(tops) > 1:
        tables["factors"] = _factors(arms, names)
    tables |= {"trainings": arms.trainings(config.seeds), "published": PUBLISHED}
    return Result(
        "truncate",
        1,
        tables=tables,
        headline=_headline(tables["arms"], task),
        figures=figures(tables, task, config),
        subject={"model": base.name, "task": task.name}
        | ({} if config.retrain else {"layers": "off, not retrained"}),
        notes=[*task.notes, *few_seeds(len(config.seeds)), *_notes(tables, task, base, config)],
    )


def _arms(arms: Arms, names: Named, latency: pd.DataFrame) -> pd.DataFrame:
    """A row for each model: its score, and how far it is from the whole one with the same classifier."""
    said = pd.DataFrame(
        {"arm": name, "model": str(shape), "removed": shape.removed, "layers": str(shape.left_out),
         "from_top": shape.from_top, "top": str(top), "classifier": top.classifier,
         "dropout": "own" if top.dropout is None else f"{top.dropout:g}", "pooler": "kept" if top.pooler else "off"}
        for (top, shape), name in names.items()
    )  # fmt: skip
    whole = {top: name for (top, shape), name in names.items() if not shape.removed}
    table = said.merge(arms.against({name: whole[top] for (top, _), name in names.items()}), on="arm")
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
            "classifier": [f"classifier {top.classifier}" for top, _ in names],
            "dropout": ["dropout own" if top.dropout is None else f"dropout {top.dropout:g}" for top, _ in names],
            "pooler": ["pooler kept" if top.pooler else "pooler off" for top, _ in names],
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
    said = [
        f"latency: on this machine ({base.device.type}), texts of the validation set, tokenised before; the models "
        f"take turns for {rounds} rounds or more, and the median of the rounds' ratios counts",
        "the slides changed the layer, the classifier and the dropout at once; here each row says what was changed",
    ]
    if (table["removed"] == base.n_layers).any() and base.family.reads_first_token(base.model.config):
        said.append("without any layer the first token is the same for all texts: such a model answers one label")
    if not config.retrain:
        return said
    one = table[(table["removed"] == 1) & table["from_top"] & (table["top"] == table["top"].iloc[0])]
    return [*said, *(_verdict(row, task) for _, row in one.iterrows())]


def _verdict(row: pd.Series, task: Task) -> str:
    """The slides' conclusion beside what was found."""
    sure = "" if pd.isna(row["effect_low"]) else f" [{100 * row['effect_low']:+.2f}, {100 * row['effect_high']:+.2f}]"
    found = f"without the top layer: {100 * row['effect']:+.2f} points of {task.metric}{sure} and "
    found += f"{row['training_time']:.2f} of the training time"
    slides = "the slides (-0.12 points and 0.92 of the time on SNLI, -0.24 and 0.92 on WebMD) say that it can go"
    if row["runs"] < ENOUGH_RUNS:
        return f"{found}; {slides}; too few seeds to say whether that holds here"
    clear = row["effect_low"] * row["effect_high"] > 0
    holds = "here the change is clear of 0" if clear else "here the change may be 0, which doesn't contradict them"
    return f"{found}; {slides}; {holds}"
