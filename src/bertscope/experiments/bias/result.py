"""What a gap in the training data did: three arms on three parts of the test set, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bertscope.core.result import Number, Result
from bertscope.data.slices import mentions
from bertscope.data.subsets import in_brief
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, few_seeds, in_points, number
from bertscope.experiments.bias.figures import figures
from bertscope.experiments.bias.question import WORDS, BiasConfig

EFFECTS = {
    "the cut": ("without the words", "full"),
    "its size": ("random cut", "full"),
    "its words": ("without the words", "random cut"),
}
"""Arms that are compared: the first effect is the sum of the others."""
_SLIDES = {"full": 0.9045, "without the words": 0.5947}
"""Accuracy on all of SNLI test: bert-base, one training on all of SNLI, no control."""


def collect(
    trained: Mapping[str, Sequence[Result]], task: Task, swapped: Sequence[Result], config: BiasConfig
) -> Result:
    found = mentions(task.test, config.words)
    parts = {"slice": found, "rest": ~found, "all": np.ones_like(found)}
    moments = {arm: [task.moments(run.arrays["outputs"]) for run in runs] for arm, runs in trained.items()}
    arms = {
        on: Arms({arm: [run[rows] for run in runs] for arm, runs in moments.items()}, task.value)
        for on, rows in parts.items()
    }
    tables = {
        "effects": _by_part({on: one.effects(EFFECTS) for on, one in arms.items()}),
        "arms": _by_part({on: _scores(arms[on], task, rows) for on, rows in parts.items()}),
        "trainings": _by_part({on: one.trainings(config.seeds) for on, one in arms.items()}),
        "rows": _rows(task, config),
    }
    if task.name == "snli" and config.words == WORDS:
        tables |= _beside_the_slides(tables)
    if swapped and len(swapped[0].arrays["rows"]):
        flips = _flips(trained, swapped, task)
        tables |= {"flips": flips.table().rename(columns={"score": "flips"}), "flip_effects": flips.effects(EFFECTS)}
    return Result(
        "bias",
        1,
        tables=tables,
        headline=_headline(tables, task),
        figures=figures(tables, task, config),
        subject={"model": trained["full"][0].subject["model"], "task": task.name},
        notes=[*task.notes, *_notes(tables, trained["full"][0], task, config), *few_seeds(len(config.seeds))],
    )


def _by_part(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One table of those of the slice, the rest and all rows, with a column that says which."""
    return pd.concat(tables, names=["on"]).reset_index("on").reset_index(drop=True)


def _scores(arms: Arms, task: Task, rows: np.ndarray) -> pd.DataFrame:
    """The arms on one part of the test set, beside a constant answer."""
    chance = task.chance(task.test.take(np.flatnonzero(rows)))
    return pd.concat([arms.table(), pd.DataFrame([{"arm": "majority", "score": chance, "runs": 0, "n": arms.n}])])


def _rows(task: Task, config: BiasConfig) -> pd.DataFrame:
    """How many rows of each split and label mention the words."""
    rows = []
    for split, examples in (("train", task.train), ("validation", task.validation), ("test", task.test)):
        found, label = mentions(examples, config.words), np.asarray(examples.label)
        groups = [("any", np.ones_like(found)), *((name, label == place) for place, name in enumerate(task.labels))]
        rows += [
            {"split": split, "label": name, "rows": int(at.sum()), "mention": int(found[at].sum())}
            for name, at in groups
        ]
    return pd.DataFrame(rows)


def _beside_the_slides(tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """The tables with what the slides found, on all rows alone."""
    arms, effects = tables["arms"], tables["effects"]
    published = _SLIDES["without the words"] - _SLIDES["full"]
    return {
        "arms": arms.assign(published=arms["arm"].map(_SLIDES).where(arms["on"] == "all")),
        "effects": effects.assign(
            published=np.where((effects["on"] == "all") & (effects["effect"] == "the cut"), published, np.nan)
        ),
    }


def _flips(trained: Mapping[str, Sequence[Result]], swapped: Sequence[Result], task: Task) -> Arms:
    """Whether each answer changes with the words, of the texts that the swap changes; of scores, by how much."""
    rows = swapped[0].arrays["rows"]
    seeds = len(trained["full"])
    by_arm = [swapped[start : start + seeds] for start in range(0, len(swapped), seeds)]  # in the order of the plan

    def moved(run: Result, other: Result) -> np.ndarray:
        before = task.outputs_to_predictions(run.arrays["outputs"][rows])
        now = task.outputs_to_predictions(other.arrays["outputs"])
        return (before != now if task.labels else np.abs(now - before))[:, None].astype(float)

    runs = {
        arm: [moved(*pair) for pair in zip(results, others, strict=True)]
        for (arm, results), others in zip(trained.items(), by_arm, strict=True)
    }
    return Arms(runs, lambda means: means[..., 0])


def _headline(tables: dict[str, pd.DataFrame], task: Task) -> list[Number]:
    arms = tables["arms"]
    numbers = [number(row["arm"], row, "score", task.metric) for _, row in arms[arms["on"] == "all"].iterrows()]
    numbers += [
        number(f"effect of {row['effect']}, {row['on']}", row, "difference", task.metric)
        for _, row in tables["effects"].iterrows()
    ]
    if "flips" in tables:
        said = "share" if task.labels else "mean change"
        numbers += [number(f"flips, {row['arm']}", row, "flips", said) for _, row in tables["flips"].iterrows()]
    return numbers


def _notes(tables: dict[str, pd.DataFrame], run: Result, task: Task, config: BiasConfig) -> list[str]:
    """What the tables say, in words."""
    batch = run.provenance["settings"]["batch_size"]
    counts = tables["rows"].drop_duplicates("split").set_index("split")  # of any label
    train, test = counts.loc["train"], counts.loc["test"]
    batches = [-(-rows // batch) for rows in (train["rows"], train["rows"] - train["mention"])]
    like_the_slides = "published" in tables["effects"]
    notes = [
        f"{train['mention']:,} of {train['rows']:,} training rows mention {in_brief(config.words)}: without them an "
        f"epoch has {batches[1]:,} batches of {batch} instead of {batches[0]:,}"
        + (" (the slides: 13,197 instead of 17,168)" if like_the_slides else ""),
        f"the slice is the {test['mention']:,} of {test['rows']:,} test rows that mention one of the words",
        *(_sum(tables["effects"], on, task.metric) for on in ("slice", "all")),
    ]
    if like_the_slides:
        notes.append("the slides have 90.45% on all rows with the full training set and 59.47% without the words: "
                     "bert-base, one training on all of SNLI, no random cut beside it")  # fmt: skip
    if not task.labels:
        notes.append("the task has scores, not labels: the random cut has the same size, but no balance to keep")
    return [*notes, _on_flips(tables, task)]


def _sum(effects: pd.DataFrame, on: str, metric: str) -> str:
    rows = effects[effects["on"] == on].set_index("effect")

    told = {effect: f"{in_points(row)} by {effect}" for effect, row in rows.iterrows()}
    where = "all test rows" if on == "all" else "the slice"
    return f"{metric} on {where}, in points: {told['the cut']}; that is {told['its size']} and {told['its words']}"


def _on_flips(tables: dict[str, pd.DataFrame], task: Task) -> str:
    if "flips" not in tables:
        return "the swap changes no test text, so that there are no counterfactual pairs; name words with --swap"
    changed = (
        f"the {tables['flips']['n'].iloc[0]:,} of {len(task.test):,} test texts in which the swap changes a word"
    )
    return f"flips are the share of {changed}" if task.labels else f"flips are how far scores move, on {changed}"
