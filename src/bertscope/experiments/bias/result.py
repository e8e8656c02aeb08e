"""What a gap in the training data did: three arms on three parts of the test set, and their differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bertscope.core.equivalence import margin
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, in_points, number_of, points, runs, sure
from bertscope.data.slices import mentions
from bertscope.data.subsets import in_brief, labels_of_rows
from bertscope.data.task import Task
from bertscope.experiments.arms import Arms, effect_in_points, few_seeds, how_sure, number
from bertscope.experiments.bias.question import EFFECT_WORDS, EFFECTS, BiasConfig, bias

_EFFECTS = {"cut": "effect_of_cut", "size": "effect_of_size", "words": "effect_of_words"}
"""By effect, its key among the numbers."""
_PARTS = "Slice: test rows that mention the words; rest: the others"


@dataclass(frozen=True)
class Part:
    """Some of the test set's rows, and what the arms say of them."""

    rows: np.ndarray
    """Booleans."""
    arms: Arms[str]


def bias_result(
    run: Result, task: Task, parts: Mapping[str, Part], flips: Arms[str] | None, config: BiasConfig
) -> Result:
    """`run` is a training on all rows."""
    tables = {
        "effects": _by_part({on: part.arms.effects(EFFECTS) for on, part in parts.items()}),
        "arms": _by_part({on: _scores(part, task) for on, part in parts.items()}),
        "trainings": _by_part({on: part.arms.trainings() for on, part in parts.items()}),
        "rows": _rows(task, config),
    }
    if flips is not None:
        tables |= {"flips": flips.table().rename(columns={"score": "flips"}), "flip_effects": flips.effects(EFFECTS)}
    return bias.result(
        tables=tables,
        headline=_headline(tables, task),
        figures=_figures(tables, task, config),
        models=run.models,
        subject={"task": task.name},
        notes=[*task.notes, *_notes(tables, run, task, config), *few_seeds(len(config.seeds))],
    )


def sentence(result: Result) -> Statement | None:
    effects = result.tables["effects"]
    rows = effects[effects["on"] == "slice"].set_index("effect")
    cut, size, words = (cell(rows.loc[effect], "difference", "low", "high") for effect in ("cut", "size", "words"))
    said = (
        f"Trained without the rows that have certain words, the model's score where they occur changes by "
        f"{sure(cut, points)} points: {sure(size, points)} by the smaller training set and {sure(words, points)} by "
        f"the missing words ({runs(rows.loc['cut'])})."
    )
    return Statement(said, words.value, in_points)


def _by_part(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """One table of those of the slice, the rest and all rows, with a column that says which."""
    return pd.concat(tables, names=["on"]).reset_index("on").reset_index(drop=True)


def _scores(part: Part, task: Task) -> pd.DataFrame:
    """The arms on one part of the test set, beside a constant answer."""
    chance = float(task.value(task.blind_moments()[part.rows].mean(0)))
    constant = {"arm": "chance", "score": chance, "runs": 0, "n": part.arms.n}
    return pd.concat([part.arms.table(), pd.DataFrame([constant])])


def _rows(task: Task, config: BiasConfig) -> pd.DataFrame:
    """How many rows of each split mention the words, and of each label, where a row has one."""
    rows = []
    for split, examples in (("train", task.train), ("validation", task.validation), ("test", task.test)):
        found, label = mentions(examples, config.words), examples.label if task.labels else None
        groups = [("any", np.ones_like(found))]
        if label is not None:
            has = label.astype(bool).T if label.ndim > 1 else [label == place for place in range(len(task.labels))]
            groups += zip(task.labels, has, strict=True)
        rows += [
            {"split": split, "label": name, "rows": int(at.sum()), "mention": int(found[at].sum())}
            for name, at in groups
        ]
    return pd.DataFrame(rows)


def _headline(tables: dict[str, pd.DataFrame], task: Task) -> list[Number]:
    arms = tables["arms"]
    numbers = [
        number("chance", row, "score", task.metric)
        if row["arm"] == "chance"
        else number("score", row, "score", task.metric, arm=row["arm"])
        for _, row in arms[arms["on"] == "all"].iterrows()
    ]
    numbers += [
        number(_EFFECTS[row["effect"]], row, "difference", task.metric, arm=row["arm"], against=row["against"],
               on=row["on"])
        for _, row in tables["effects"].iterrows()
    ]  # fmt: skip
    if "flips" in tables:
        unit = "share" if task.can_flip else "mean change"
        numbers += [number("flips", row, "flips", unit, arm=row["arm"]) for _, row in tables["flips"].iterrows()]
    return numbers


def _notes(tables: dict[str, pd.DataFrame], run: Result, task: Task, config: BiasConfig) -> list[str]:
    """What the tables say, in words."""
    batch = run.provenance["settings"]["batch_size"]
    counts = tables["rows"].drop_duplicates("split").set_index("split")  # of any label
    train, test = counts.loc["train"], counts.loc["test"]
    batches = [-(-rows // batch) for rows in (train["rows"], train["rows"] - train["mention"])]
    notes = [
        f"{train['mention']:,} of {train['rows']:,} training rows mention {in_brief(config.words)}: without them an "
        f"epoch has {number_of(batches[1], 'batch', 'batches')} of {batch} instead of {batches[0]:,}",
        f"the slice is the {test['mention']:,} of {test['rows']:,} test rows that mention one of the words",
        *(_sum(tables, on, task.metric) for on in ("slice", "all")),
    ]
    if labels_of_rows(task, task.train) is None:
        notes.append("rows don't have one label each: the random cut has the same size, but no balance to keep")
    return [*notes, _on_flips(tables, task)]


def _sum(tables: dict[str, pd.DataFrame], on: str, metric: str) -> str:
    rows, score = (
        table[table["on"] == on].set_index(name)
        for table, name in ((tables["effects"], "effect"), (tables["arms"], "arm"))
    )
    within = margin(score.loc["tuned", "score"], score.loc["chance", "score"])
    by = {
        effect: f"{effect_in_points(rows.loc[effect], within, int(rows.loc[effect, 'n']))} by {words}"
        for effect, words in EFFECT_WORDS.items()
    }
    where = "all test rows" if on == "all" else "the slice"
    return f"{metric} on {where}, in points: {by['cut']}; that is {by['size']} and {by['words']}"


def _on_flips(tables: dict[str, pd.DataFrame], task: Task) -> str:
    if "flips" not in tables:
        return "the swap changes no test text, so that there are no counterfactual pairs; name words with --swap"
    changed = (
        f"the {tables['flips']['n'].iloc[0]:,} of {len(task.test):,} test texts in which the swap changes a word"
    )
    return f"flips are the share of {changed}" if task.can_flip else f"flips are how far scores move, on {changed}"


def _figures(tables: dict[str, pd.DataFrame], task: Task, config: BiasConfig) -> list[Figure]:
    sure = how_sure(len(config.seeds))
    drawn = [
        Figure(
            "intervals", "effects", x="difference", y="effect", color="on", low="low", high="high", middle=0.0,
            key="effects", title="How much is the bias, how much the smaller set?",
            caption=f"What the cut does to {task.metric}: trained without the rows that have the words, minus "
            "trained on all. Its size: the same for a random cut with as many rows of each label. Its words: the "
            f"difference of the two cuts. {_PARTS}. {sure}",
            labels={"difference": f"difference in {task.metric}", "effect": "effect of", "on": ""},
        ),
        Figure(
            "intervals", "arms", x="score", y="arm", color="on", low="low", high="high", key="arms",
            title="The three trainings",
            caption=f"The {task.metric} of each, mean over seeds, beside a constant answer. {_PARTS}. {sure}",
            labels={"score": task.metric, "arm": "trained on", "on": ""},
        ),
    ]  # fmt: skip
    if "flips" in tables:
        what = "The share of answers that change" if task.can_flip else "How far the score moves on average"
        drawn.append(
            Figure(
                "intervals", "flips", x="flips", y="arm", low="low", high="high", key="flips",
                title="When words change places" if config.swap else "When she becomes he",
                caption=f"{what} when words are exchanged, of the {tables['flips']['n'].iloc[0]:,} test texts in "
                f"which that changes a word. {sure}",
                labels={"flips": "share that flips" if task.can_flip else "change of the score", "arm": "trained on"},
            )
        )  # fmt: skip
    return drawn
