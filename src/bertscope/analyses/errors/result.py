"""The answer of `errors`: numbers, figures, notes and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.errors.question import LONGEST, ErrorsConfig, errors
from bertscope.core.calibration import COOLEST, HOTTEST, Calibration
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import mean_number
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.risk_coverage import COVERAGE, RiskCoverage
from bertscope.core.statement import Statement, counted, decimals, percent, sure

if TYPE_CHECKING:
    from bertscope.analyses.errors.rows import Answered
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

LEVEL = 0.05


@dataclass
class Found:
    """What was found beside the tables."""

    said: Answered
    calibration: Calibration | None = None
    fitted: Calibration | None = None
    temperature: float = 1.0
    fitted_on: int = 0
    """How many decisions of validation it was fitted on."""
    kept: RiskCoverage | None = None
    tried: int = 0


def errors_result(
    model: Encoder, task: Task, found: Found, tables: Mapping[str, pd.DataFrame], config: ErrorsConfig
) -> Result:
    score = task.score(found.said.read.predictions)
    return errors.result(
        tables=dict(tables),
        headline=_headline(task, score, found, tables),
        figures=_figures(task, found, tables),
        models=records([model]),
        subject={"task": task.name},
        notes=[
            *task.notes,
            *score.notes,
            *cautions(model, task, score, found.said.read.predictions.truncated),
            *_notes(model, task, found, tables, config),
        ],
    )


def _headline(task: Task, score: Scores, found: Found, tables: Mapping[str, pd.DataFrame]) -> list[Number]:
    losses = found.said.read.losses
    losses = losses[np.isfinite(losses)]
    numbers = [score.keyed("score"), Number("chance", score.chance, n=score.n, unit=score.metric)]
    if len(losses):
        numbers.append(mean_number("loss", losses, task.output.loss))
    correct = found.said.output.correct(found.said.predicted, found.said.gold)
    if len(correct := correct[~np.isnan(correct)]):
        numbers.append(mean_number("right", correct, "share"))
    return [*numbers, *_calibration_numbers(found), *_slice_numbers(found, tables["slices"])]


def _calibration_numbers(found: Found) -> list[Number]:
    one, other, kept = found.calibration, found.fitted, found.kept
    if one is None or kept is None:
        return []
    n = one.decisions

    def number(key: str, of: Estimate | float, unit: str) -> Number:
        of = of if isinstance(of, Estimate) else Estimate(of)
        return Number(key, of.value, of.low, of.high, n, unit)

    numbers = [
        number("calibration_error", one.error, ""),
        number("calibrated", one.expected, ""),
        number("calibration_excess", one.excess, ""),
        number("overconfidence", one.over, ""),
        number("brier", one.brier, ""),
    ]
    if other is not None:
        numbers += [
            Number("temperature", found.temperature, n=found.fitted_on),
            number("calibration_error_fitted", other.error, ""),
            number("overconfidence_fitted", other.over, ""),
        ]
    return [
        *numbers,
        number("kept_accuracy", kept.at(COVERAGE), ""),
        number("risk_area", kept.area, ""),
    ]


def _slice_numbers(found: Found, slices: pd.DataFrame) -> list[Number]:
    numbers = [Number("slices_tried", float(found.tried))]
    for by, rows in slices.groupby("by", sort=False):
        certain = rows[rows["certain"]]
        numbers.append(Number("slices_found", float(len(certain)), n=found.tried, of={"by": str(by)}))
        if len(certain):
            # The largest of those that were found has no interval: it was picked.
            most = certain.loc[certain["difference"].abs().idxmax()]
            of = {"by": str(by), "slice": most["slice"]}
            numbers.append(Number("largest_slice", float(most["difference"]), n=int(most["n"]), of=of))
    return numbers


def _notes(
    model: Encoder, task: Task, found: Found, tables: Mapping[str, pd.DataFrame], config: ErrorsConfig
) -> list[str]:
    said, one = found.said, found.calibration
    tried = f"{found.tried:,} slices were tried, and p-values are corrected for that"
    if tables["slices"]["certain"].any():
        tried += "; what was found was picked for being large: the differences are likely smaller than they look"
    notes = [tried]
    if len(said.examples) > config.rows:
        notes.append(f"the first {config.rows:,} of {len(said.examples):,} test rows are listed; all are counted")
    if any(len(text) > LONGEST for text in said.examples.text):
        notes.append(f"of each text, the first {LONGEST:,} characters are listed")
    if config.neighbours and len(task.train) > config.training_rows:
        drawn = f"{config.training_rows:,} of {len(task.train):,} training rows, drawn by their ids"
        notes.append(f"similar training rows are looked for among {drawn}")
    if one is None:
        return notes
    if one.decisions > len(np.unique(said.decisions.example)):  # type: ignore[union-attr]
        notes.append(
            f"calibration is that of {one.decisions:,} decisions, several to a row: intervals keep those of a row "
            "together, but the p of the calibration error takes them to be right or wrong independently, and is "
            "too small if they aren't"
        )
    if one.unsaid:
        notes.append(f"the model lacks the right label of {one.unsaid:,} decisions: its loss there isn't counted")
    if found.temperature in (COOLEST, HOTTEST):
        end = "every" if found.temperature == COOLEST else "no"
        notes.append(
            f"no temperature fits validation: the loss falls all the way to {found.temperature:g}, as it does where "
            f"the probabilities get {end} answer right"
        )
    return [*notes, _seen(model, task)]


def _seen(model: Encoder, task: Task) -> str:
    """What is known of whether doubted labels are out of sample."""
    told = "doubted labels are of validation and test"
    if model.tuned_on == task.fingerprint:
        return f"{told}: the model was trained on neither"
    if model.tuned_on is None:
        return f"{told}; nobody recorded what the model was trained on: it may have seen them, and then doubts fewer"
    return f"{told}; the model was trained on other data: it may have seen some of them, and then doubts fewer"


def _figures(task: Task, found: Found, tables: Mapping[str, pd.DataFrame]) -> list[Figure]:
    figures = []
    several = found.calibration is not None and found.calibration.decisions > len(task.test)
    what = "word" if several else "text"
    if "confusion" in tables:
        figures.append(Figure(
            "heatmap", "confusion", x="predicted", y="gold", value="share", key="confusion",
            title="What is taken for what",
            caption=f"Of each label's {what}s (rows), the share that gets each label (columns).",
            labels={"share": f"share of its {what}s", "gold": "what is right", "predicted": "what is predicted"},
        ))  # fmt: skip
    if "labels" in tables:
        figures.append(Figure(
            "intervals", "labels", x="f1", y="label", low="f1_low", high="f1_high", key="labels",
            title="F1 by label",
            caption="F1 of each label with its 95% bootstrap interval over examples; precision and recall are in the "
            "table.", labels={"f1": "F1"},
        ))  # fmt: skip
    if "entities" in tables:
        figures.append(Figure(
            "bars", "entities", x="n", y="error", key="entities", title="What becomes of entities",
            caption="Each entity counted once: right, or wrong in one way.", labels={"n": "entities", "error": ""},
        ))  # fmt: skip
    if found.calibration is not None:
        figures += _calibration_figures(found.calibration, found.temperature)
    return [*figures, *_slice_figures(found, tables["slices"])]


def _calibration_figures(one: Calibration, temperature: float) -> list[Figure]:
    told = f"{one.error:.3f}; where calibration is perfect it is {one.expected:.3f} on average"
    fits = COOLEST < temperature < HOTTEST
    return [
        Figure(
            "lines", "reliability", x="confidence", y="share", color="series", low="low", high="high",
            key="reliability", title="How sure, and how often right",
            caption="Decisions in 15 bins of equal mass: their mean confidence, and the share that is right. Below "
            "the line of perfect calibration, the model is too sure of itself; if calibration were perfect, the "
            f"share would lie within the band 95 times of 100. Expected calibration error {told}. "
            + (f"The temperature that fits is {temperature:.2f}." if fits else "No temperature fits."),
            labels={"share": "share that is right", "series": "", "low": "from", "high": "to"},
        ),
        Figure(
            "lines", "coverage", x="coverage", y="accuracy", low="low", high="high", key="coverage",
            title="If only the surest were answered",
            caption="The accuracy where the model answers only the share of which it is surest, with its 95% "
            "bootstrap interval over examples. A flat line: its confidence doesn't tell where it is wrong.",
            labels={"coverage": "share that is answered", "low": "from", "high": "to"},
        ),
    ]  # fmt: skip


def _slice_figures(found: Found, slices: pd.DataFrame) -> list[Figure]:
    """The slices that were found; where none was, there is nothing to draw."""
    figures = []
    for by, told in (("right", "the share of rows that is right"), ("loss", "the loss")):
        if not len(slices[(slices["by"] == by) & slices["certain"]]):
            continue
        figures.append(Figure(
            "intervals", "slices", x="difference", y="slice", low="low", high="high", color="kind",
            where={"by": by, "certain": True}, key=f"slices_{by}", middle=0.0,
            title=f"Slices that differ: {told}",
            caption=f"{told[0].upper()}{told[1:]} inside the slice minus outside, for the slices that were found "
            f"among {found.tried:,} (p < .05, corrected by max-T). They were picked for being large: the "
            "differences are likely smaller, and the 95% intervals ignore that.",
            labels={"difference": f"difference of {told}", "low": "from", "high": "to"},
        ))  # fmt: skip
    return figures


def _how_sure(over: Estimate) -> str:
    """What confidence minus accuracy means."""
    if not over.sure or over.low <= 0 <= over.high:  # type: ignore[operator]
        return "on average it is about as confident as it is right"
    return f"on average it is {'more' if over.value > 0 else 'less'} confident than it is right"


def sentence(result: Result) -> Statement | None:
    score = result["score"]
    told = [f"{score.unit} is {sure(Estimate.of_number(score), decimals)}"]
    if result.numbers(key="calibration_error"):
        row = result.tables["calibration"].iloc[0]
        how = f"{decimals(row['calibration_error'])}, against {decimals(row['expected'])} under perfect calibration"
        certain = "" if row["p"] < LEVEL else ", no more than a calibrated model can have"
        told.append(f"the calibration error is {how}{certain}")
        over = Estimate(row["overconfidence"], row["overconfidence_low"], row["overconfidence_high"])
        told.append(f"{_how_sure(over)} (confidence minus accuracy: {sure(over, percent)})")
    for by in result.numbers(key="slices_found")[:1]:  # by what is right, where anything is
        what = "in what is right or wrong" if by.of["by"] == "right" else "in the loss"
        told.append(f"of {by.n} slices, {counted(int(by.value), 'differs', 'differ')} {what} (p < .05, max-T)")
    return Statement(f"Its {'; '.join(told)}.", score.value, decimals)
