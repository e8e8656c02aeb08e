"""The answer of `circuit`: curves, areas and smallest circuits, as tables, numbers, figures and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.circuit.question import CircuitConfig, circuit
from bertscope.core.equivalence import SHARE, in_words
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.ranking import MISSED, RANDOM, Ranking
from bertscope.core.ranking import told as told_by
from bertscope.core.reliability import ENOUGH
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, points, sure

if TYPE_CHECKING:
    from bertscope.core.predictions import Judged
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

PLURAL = {"head": "heads", "mlp": "MLPs", "both": "heads and MLPs"}
_DIVERGENCE = {"kl": "KL divergence from the whole model", "squared_change": "squared change of the score"}
_LABELS = {
    "low": "from", "high": "to", "kind": "part", "share": "share that is kept", "kept": "kept",
    "faithful": "faithfulness", "ranking": "ranked by", "other": "and by", "loss_low": "from", "loss_high": "to",
    "kl_low": "from", "kl_high": "to", "faithful_low": "from", "faithful_high": "to", "parts": "parts",
}  # fmt: skip


@dataclass(frozen=True)
class Found:
    rankings: Sequence[Ranking]
    parts: pd.DataFrame
    curves: pd.DataFrame
    areas: pd.DataFrame
    smallest: pd.DataFrame
    reliability: pd.DataFrame
    correlations: pd.DataFrame
    judged: Judged
    """Of the test set; the whole model first."""
    missed: float | None
    """Of integrated gates: the share of what their sum should be that it misses."""


def circuit_result(model: Encoder, task: Task, config: CircuitConfig, found: Found) -> Result:
    score = task.score_answers(found.judged.predicted[0], notes=task.label_notes(model.labels))
    tables = ("curves", "areas", "smallest", "reliability", "correlations", "parts")
    return circuit.result(
        tables={name: table for name in tables if len(table := getattr(found, name))},
        headline=[
            score.keyed("score"),
            Number("chance", score.chance, n=score.n, unit=score.metric),
            *_sizes(found.smallest, task),
            *_areas(found.areas, score.n, score.metric),
            *_reliabilities(found.reliability),
            *([] if found.missed is None else [Number("missed", found.missed, n=len(task.validation), unit="share")]),
        ],
        figures=_figures(task, found, config, score.chance),
        models=records([model]),
        subject={"task": task.name, "mode": config.mode},
        notes=[
            *task.notes,
            *score.notes,
            *_notes(task, found),
            *cautions(model, task, score, found.judged.truncated),
        ],
    )


def _sizes(smallest: pd.DataFrame, task: Task) -> list[Number]:
    numbers = []
    for row in smallest.to_dict("records"):
        of = {"kind": row["kind"], "ranking": row["ranking"]}
        numbers += [
            Number("size", float(row["kept"]), row["kept_low"], row["kept_high"], row["of"], of=of),
            Number("change", row["change"], row["low"], row["high"], len(task.test), task.metric, of=of),
        ]
    return numbers


def _areas(areas: pd.DataFrame, n: int, metric: str) -> list[Number]:
    numbers = []
    for row in areas.to_dict("records"):
        of = {"kind": row["kind"], "ranking": row["ranking"]}
        for key, more, begins, unit in (
            ("faithful_area", "more_faithful", "faithful_", "share"),
            ("area", "more_than_random", "", metric),
        ):
            if np.isnan(row[f"{begins}area"]):
                continue
            numbers.append(
                Number(key, row[f"{begins}area"], row[f"{begins}low"], row[f"{begins}high"], n, unit, of=of)
            )
            if row["ranking"] != RANDOM:
                ends = row[f"{begins}one_more_low"], row[f"{begins}one_more_high"]
                numbers.append(Number(more, row[f"{begins}more_than_random"], *ends, n, unit, of=of))
    return numbers


def _reliabilities(reliability: pd.DataFrame) -> list[Number]:
    return [
        Number("reliability", row.pearson, n=row.parts, unit="r", of={"kind": row.kind, "ranking": row.ranking})
        for row in reliability.dropna(subset=["pearson"]).itertuples()
    ]


def _notes(task: Task, found: Found) -> list[str]:
    notes = [
        f"ranking of {PLURAL[row.kind]} by {told_by(row.ranking)}: split-half reliability {row.pearson:.2f}; under "
        f"{ENOUGH} it is mostly noise"
        for row in found.reliability.itertuples() if row.pearson < ENOUGH
    ]  # fmt: skip
    notes += [
        f"the ranking by {told_by(one.by)} was measured on the test set, which is scored here: its curve is flattered"
        for one in found.rankings if one.saw_test_set_of(task.name)
    ]  # fmt: skip
    if found.missed is not None and found.missed > MISSED:
        notes.append(
            f"integrated gates miss {percent(found.missed)} of what they should add up to; --nodes takes more places"
        )
    if found.smallest.empty:
        notes.append("the whole model isn't above chance on the validation set: there is no smallest circuit")
    if found.areas["faithful_area"].isna().any():
        notes.append("with all parts of a kind off nothing changes: there is no faithfulness to speak of")
    return notes


def _figures(task: Task, found: Found, config: CircuitConfig, chance: float) -> list[Figure]:
    figures = []
    for kind in dict.fromkeys(found.curves["kind"]):
        parts = PLURAL[kind]
        how = (
            f" with the best {parts} alone, by each ranking, the other {parts} off ({config.mode}); rankings are "
            f"decided on the validation set. Random: the mean of {config.random} orders. Bands are 95% bootstrap "
            "intervals, for random order its range."
        )
        figures += [
            Figure(
                "lines", "curves", x="share", y="score", color="ranking", where={"kind": kind}, low="low",
                high="high", key=f"{kind}_score",
                title=f"The score with few {parts}", labels=_LABELS | {"score": task.metric},
                rules={"chance": chance}, caption=f"The test set's {task.metric}{how} A good ranking is high early.",
            ),
            Figure(
                "lines", "curves", x="share", y="faithful", color="ranking", where={"kind": kind}, low="faithful_low",
                high="faithful_high",
                key=f"{kind}_faithful", title=f"Faithfulness with few {parts}", labels=_LABELS,
                rules={"none kept": 0.0, "whole model": 1.0},
                caption=f"1 - {_DIVERGENCE[task.output.divergence_key]} / that with all {parts} off, on the test set,"
                f"{how} A good ranking is high early.",
            ),
            Figure(
                "intervals", "areas", x="faithful_area", y="ranking", low="faithful_low", high="faithful_high",
                key=f"{kind}_areas", where={"kind": kind}, title=f"How faithful each ranking of {parts} is",
                labels=_LABELS | {"faithful_area": "area under the faithfulness curve"},
                caption="The mean height of each curve of faithfulness, with its 95% paired bootstrap interval over "
                "the test set's examples.",
            ),
            Figure(
                "heatmap", "correlations", x="other", y="ranking", value="correlation", where={"kind": kind},
                key=f"{kind}_correlations", title=f"How alike the rankings of {parts} are", middle=0.0,
                labels=_LABELS, caption=f"Spearman's correlation of each two rankings of the {parts}. No two can "
                "agree better than their reliabilities let them.",
            ),
        ]  # fmt: skip
    return figures


def favoured(result: Result) -> pd.Series | None:
    """The smallest circuit of heads by the ranking that the validation set favours; one that was measured on other
    rows, which may be the test set's, only where there is none else."""
    table = result.tables.get("smallest")
    if table is None:
        return None
    kind = next(kind for kind in ("head", "both", "mlp") if (table["kind"] == kind).any())
    known = result.tables["reliability"]
    elsewhere = set(known.loc[known["split"] != "validation", "ranking"])
    rows = table[table["kind"] == kind].assign(elsewhere=lambda rows: rows["ranking"].isin(elsewhere))
    order = ["elsewhere", "kept", "validation_area"]
    return rows.sort_values(order, ascending=[True, True, False], kind="stable").iloc[0]


def sentence(result: Result) -> Statement | None:
    row = favoured(result)
    if row is None:
        return None
    kind = row["kind"]
    change = Estimate.of(row["change"], row["low"], row["high"])
    told = (
        f"By {told_by(row['ranking'])}, {row['kept']} of {row['of']} {PLURAL[kind]} "
        f"keep the validation set's score within {SHARE:.0%} of the skill above chance, with the others off "
        f"({result.subject['mode']}); on test, the score changes by {sure(change, points)} points: "
        f"{in_words(change, row['margin'])}."
    )
    return Statement(told, row["kept"] / row["of"], percent)
