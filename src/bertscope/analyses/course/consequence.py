"""What follows from `course`: how much of the training was needed for what it did."""

from __future__ import annotations

from bertscope.core import registry
from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Line


def consequences(result: Result) -> list[Consequence]:
    question = registry.find(result.subject["question"])
    onsets, lines = result.tables["onsets"], result.tables["lines"]
    tested = onsets[onsets["change_low"].notna()]
    if tested.empty:
        return []
    # The question's main number, if that can be tested; else one that changed for certain.
    main = tested["key"] == question.main
    row = tested.loc[(2 * main + tested["certain"]).idxmax()]
    steps = lines[lines["number"] == row["number"]]
    last = int(steps["step"].max())
    picture = Line.of(steps, "step", "value", marked=None if not row["certain"] else float(row["onset"]))
    if not row["certain"] or row[["onset", "high"]].isna().any():
        text = (
            f"Whether training changed {row['line']} between its first checkpoint and its last (step {last:,}) is "
            "open."
        )
        return [Consequence("changed", text, 0.2, "lines", picture, is_open=True)]
    text = (
        f"What training did to {row['line']}, it did between steps {row['after']:,} and {row['onset']:,} of "
        f"{last:,} (95%: {row['low']:,} to {row['high']:,})."
    )
    if row["high"] < last:
        text += f" After step {row['high']:,} it changed by no more than a tenth of that."
    return [Consequence("changed", text, 0.35, "lines", picture)]
