"""`errors`: one pass over the test set, and all that its answers say about where the model goes wrong."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.errors.question import ErrorsConfig
from bertscope.analyses.errors.result import LEVEL, Found, errors_result
from bertscope.analyses.errors.rows import (
    Answered,
    doubted_table,
    extreme_tables,
    neighbour_table,
    row_slices_table,
    row_table,
    trained_p,
)
from bertscope.analyses.tables import with_intervals
from bertscope.core import null_panel
from bertscope.core.calibration import Calibration, at_temperature, calibration, fitted_temperature
from bertscope.core.decisions import Decisions
from bertscope.core.errors import UserError
from bertscope.core.max_t import MaxT, lowest_p_of_nothing, max_t
from bertscope.core.resampling import metric_draws
from bertscope.core.result import Result
from bertscope.core.risk_coverage import risk_coverage
from bertscope.data.outputs.tags import Tags
from bertscope.data.row_slices import RowSlices, row_slices
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder
from bertscope.models.outputs.kinds import model_output
from bertscope.models.row_pass import row_pass

_LISTED = 20  # of the slices of words that aren't found


def measure(model: Encoder, task: Task, config: ErrorsConfig, training: Result | None = None) -> Result:
    course = None if training is None else trained_p(training, task)
    task = task.asked_of(model)
    if not len(task.test):
        raise UserError(f"{task.name} has no test rows; give some")
    vectors = config.neighbours > 0
    said = Answered.of(task, task.test, row_pass(model, task.output, task.test, vectors=vectors, label="test rows"))
    tables, found = _by_label(said, config), Found(said)
    if said.decisions is not None:
        read = row_pass(model, task.output, task.validation, label="validation rows")
        held_out = Answered.of(task, task.validation, read)
        tables |= _calibration(said.decisions, held_out.decisions, config, found)
        both = {"validation": held_out, "test": said}
        tables["doubted_labels"] = doubted_table({name: one for name, one in both.items() if one.decisions})
    tables |= _slices(model, task, said, config, found)
    tables |= extreme_tables(said) | {"rows": row_table(said, config.rows)}
    if vectors:
        how = (config.neighbours, config.training_rows, config.rows)
        tables["neighbours"] = neighbour_table(model, task, said, *how)
        if course is not None:
            tables["neighbours"]["p_trained"] = tables["neighbours"]["other"].map(course)
    return errors_result(model, task, found, tables, config)


def _by_label(said: Answered, config: ErrorsConfig) -> dict[str, pd.DataFrame]:
    """What is taken for what, how well each label is told, and in which way entities go wrong."""
    tables: dict[str, pd.DataFrame] = {}
    decided, output = said.decisions, said.output
    if decided is not None and output.labels and set(output.labels) <= set(decided.names):
        tables["confusion"] = _confusion(decided)
    if (by_label := output.by_label(said.predicted, said.gold)) is not None:
        names, counts = by_label
        draws = metric_draws(_shares, counts.transpose(1, 0, 2), repeats=config.repeats, seed=config.seed)
        sums = counts.sum(0).astype(np.int64)
        columns = {"label": list(names), "n": sums[:, 2], "predicted": sums[:, 1], "right": sums[:, 0]}
        # The rows that say something of each: where the label is given, where it is right, and where either is so.
        given, right = counts[..., 1] > 0, counts[..., 2] > 0
        of = np.stack([given.sum(0), right.sum(0), (given | right).sum(0)], axis=-1)
        tables["labels"] = pd.DataFrame(columns | with_intervals(draws, ("precision", "recall", "f1"), shares_of=of))
    if isinstance(output, Tags) and output.entities:
        kinds = output.errors(said.predicted, said.gold)
        tables["entities"] = pd.DataFrame({"error": list(kinds), "n": list(kinds.values())})
    return tables


def _confusion(decisions: Decisions) -> pd.DataFrame:
    """How often each label is taken for each, of those that occur."""
    counts = np.zeros((len(decisions.names),) * 2, np.int64)
    np.add.at(counts, (decisions.gold, decisions.predicted), 1)
    there = np.flatnonzero(counts.any(0) | counts.any(1))
    rows = [
        (decisions.names[gold], decisions.names[predicted], int(counts[gold, predicted]), int(counts[gold].sum()))
        for gold in there for predicted in there
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["gold", "predicted", "n", "of"])
    return table.assign(share=table["n"] / table.pop("of").replace(0, np.nan))


def _shares(means: np.ndarray) -> np.ndarray:
    """Precision, recall and F1 [..., 3] of how often a label is given rightly, given, and right [..., 3]; NaN where
    there is nothing to be right about."""
    hits, given, right = np.moveaxis(means, -1, 0)
    below = np.stack([given, right, (given + right) / 2], axis=-1)
    return np.divide(hits[..., None], below, out=np.full_like(below, np.nan), where=below > 0)


def _calibration(
    decided: Decisions, held_out: Decisions | None, config: ErrorsConfig, found: Found
) -> dict[str, pd.DataFrame]:
    """How sure the model is beside how often it is right, as it is and at the temperature that fits validation."""
    how: dict[str, Any] = {"repeats": config.repeats, "seed": config.seed}
    forms = {"model": (1.0, calibration(decided, **how))}
    if held_out is not None:
        found.temperature, found.fitted_on = fitted_temperature(held_out), len(held_out)
        forms["fitted"] = (found.temperature, calibration(at_temperature(decided, found.temperature), **how))
    found.calibration, found.fitted = forms["model"][1], forms["fitted"][1] if "fitted" in forms else None
    found.kept = risk_coverage(decided, **how)
    curve = found.kept
    return {
        "calibration": pd.DataFrame([_calibration_row(name, *form) for name, form in forms.items()]),
        "reliability": pd.concat([_reliability(name, form) for name, (_, form) in forms.items()], ignore_index=True),
        "coverage": pd.DataFrame(
            {"coverage": curve.coverage, "accuracy": curve.accuracy, "low": curve.low, "high": curve.high}
        ),
    }


def _calibration_row(name: str, temperature: float, one: Calibration) -> dict[str, Any]:
    estimates = {"overconfidence": one.over, "brier": one.brier, "loss": one.loss}
    return {
        "at": name, "temperature": temperature, "calibration_error": one.error, "expected": one.expected,
        "low": one.low, "high": one.high, "excess": one.excess, "p": one.p,
        **{f"{key}{end}": getattr(value, end.strip("_") or "value")
           for key, value in estimates.items() for end in ("", "_low", "_high")},
    }  # fmt: skip


def _reliability(name: str, one: Calibration) -> pd.DataFrame:
    """The bins of a form, and, of the model as it is, those of perfect calibration with their range."""
    bins = one.bins
    table = pd.DataFrame({"series": name, "confidence": bins.confidence, "share": bins.accuracy, "n": bins.n})
    if name == "fitted":
        return table
    perfect = table.assign(series="calibrated", share=bins.confidence, low=bins.low, high=bins.high)
    return pd.concat([table, perfect], ignore_index=True)


@dataclass(frozen=True, eq=False)
class _Compared:
    """The slices by one of the rows' values."""

    values: np.ndarray
    tests: MaxT


def _values(said: Answered) -> dict[str, np.ndarray]:
    """What rows are compared by, [n] each."""
    right = said.right
    return ({} if np.isnan(right).all() else {"right": right}) | {"loss": said.read.losses}


def _slices(
    model: Encoder, task: Task, said: Answered, config: ErrorsConfig, found: Found
) -> dict[str, pd.DataFrame]:
    """Slices of the rows beside the others, by all that rows can be compared by."""
    flags = {"unknown": said.read.unknown, "truncated": said.read.truncated}
    slices = row_slices(said.examples, said.output, flags=flags, words=config.words)
    found.tried = len(slices)
    how: dict[str, Any] = {"permutations": config.permutations, "seed": config.seed}
    values = _values(said)
    compared = {by: _Compared(each, max_t(each, slices.member, **how)) for by, each in values.items()}
    kept = _listed(slices, compared)
    tables = [_slice_table(slices, by, one.tests, kept) for by, one in compared.items()]
    table = pd.concat(tables, ignore_index=True)
    further = {}
    if config.null:
        table["random_weights"] = _random_weights(model, task, slices, values, config)[:, kept].ravel()
        further[null_panel.TABLE] = _nothing(slices, values, config)
    order = table["by"].map(list(values).index)
    table = table.assign(order=order).sort_values(["order", "p_adjusted", "p"], kind="stable", ignore_index=True)
    rows = row_slices_table(slices.take(kept), said.examples, config.rows)
    return {"slices": table.drop(columns="order"), "row_slices": rows, **further}


def _listed(slices: RowSlices, compared: dict[str, _Compared]) -> np.ndarray:
    """The places of slices that are listed: all that are found or no words', and of words the likeliest."""
    kept = np.array([kind != "word" for kind in slices.kind], dtype=bool)
    for one in compared.values():
        p, adjusted = one.tests.p, one.tests.p_adjusted
        kept |= adjusted < LEVEL
        likeliest = np.argsort(np.nan_to_num(p, nan=2.0), kind="stable")[:_LISTED]
        kept[likeliest] = True
    return np.flatnonzero(kept)


def _slice_table(slices: RowSlices, by: str, tests: MaxT, kept: np.ndarray) -> pd.DataFrame:
    columns = ("n", "inside", "outside", "difference", "low", "high", "p", "p_adjusted")
    few = slices.take(kept)
    table = pd.DataFrame(
        {"slice": few.name, "kind": few.kind, "by": by} | {name: getattr(tests, name)[kept] for name in columns}
    )
    return table.assign(certain=table["p_adjusted"] < LEVEL)


def _nothing(slices: RowSlices, values: dict[str, np.ndarray], config: ErrorsConfig) -> pd.DataFrame:
    """The null panel: rows' values permuted, and tested as they are."""
    how: dict[str, Any] = {"draws": null_panel.DRAWS, "permutations": config.permutations, "seed": config.seed}
    found: dict[Hashable, np.ndarray] = {
        by: (lowest_p_of_nothing(each, slices.member, **how) < LEVEL).astype(np.int64) for by, each in values.items()
    }
    return null_panel.panel(found, ["by"])


def _random_weights(
    model: Encoder, task: Task, slices: RowSlices, values: dict[str, np.ndarray], config: ErrorsConfig
) -> np.ndarray:
    """[value, slice]: the slices' differences in the same model with random weights."""
    twin = model_output(model, task.output).with_random_weights(config.seed)
    read = row_pass(twin, task.output, task.test, label="random weights")
    found = _values(Answered.of(task, task.test, read))
    return np.stack([max_t(found[by], slices.member, permutations=1).difference for by in values])
