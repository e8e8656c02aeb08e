"""How far each of several models is as often right as it says: on the test set, and at the temperature that fits its
own validation set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from bertscope.analyses.changed_predictions import Answers, How
from bertscope.core.calibration import at_temperature, calibration, fitted_temperature
from bertscope.core.predictions import Predictions
from bertscope.data.task import Task


@dataclass(frozen=True, eq=False)
class Sure:
    """What says how sure a model is: the task as it answers it, what it says of the validation set and of the test
    set."""

    task: Task
    validation: Predictions
    answers: Answers


def has_confidence(answers: Answers) -> bool:
    """Whether outputs hold probabilities of what is decided."""
    return answers.decisions is not None and len(answers.decisions) > 0


def calibration_tables(models: Mapping[str, Sure], how: How, key: str = "model") -> dict[str, pd.DataFrame]:
    """Tables `calibration` and `bins`, whose column `key` says which model; none where outputs hold no
    probabilities."""
    rows, bins = [], []
    for name, one in models.items():
        if not has_confidence(one.answers):
            return {}
        decisions = one.answers.decisions
        assert decisions is not None
        found = calibration(decisions, repeats=how.repeats, seed=how.seed)
        outputs = one.task.outputs(one.validation)
        fitted = one.task.output.decisions(outputs, one.task.gold(one.task.validation, outputs))
        assert fitted is not None
        warmth = fitted_temperature(fitted)
        mended = calibration(at_temperature(decisions, warmth), repeats=how.repeats, seed=how.seed)
        rows.append(
            {key: name, "decisions": found.decisions, "error": found.error, "expected": found.expected,
             "excess": found.excess, "over": found.over.value, "over_low": found.over.low,
             "over_high": found.over.high, "brier": found.brier.value, "brier_low": found.brier.low,
             "brier_high": found.brier.high, "temperature": warmth, "error_after": mended.error,
             "brier_after": mended.brier.value}
        )  # fmt: skip
        columns = {column: getattr(found.bins, column) for column in ("n", "confidence", "accuracy", "low", "high")}
        bins.append(pd.DataFrame({key: name, **columns}))
    return {"calibration": pd.DataFrame(rows), "bins": pd.concat(bins, ignore_index=True)}
