"""What follows from `course`: how much of the training was needed for what it did."""

from __future__ import annotations

from bertscope.core import registry
from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Line


def consequences(result: Result) -> list[Consequence]:
    question = registry.find(result.subject["question"])
    onsets, lines = result.tables["onsets"], result.tables["lines"]
    asked = onsets[onsets["change_low"].notna() & (onsets["has_onset"] | ~onsets["known_end"])]
    if asked.empty:
        return []
    # The question's main number, if that can be tested or has an onset; else one that has.
    main = asked["key"] == question.main
    row = asked.loc[(2 * main + asked["has_onset"]).idxmax()]
    steps = lines[lines["number"] == row["number"]]
    last = int(steps["step"].max())
    picture = Line.of(steps, "step", "value", marked=float(row["onset"]) if row["has_onset"] else None)
    if not row["has_onset"]:
        text = (
            f"Whether training changed {row['line']} between its first checkpoint and its last (step {last:,}) is "
            "open."
        )
        return [Consequence("changed", text, 0.2, "lines", picture, is_open=True)]
    size = f" ({row['first']:.3f} to {row['last']:.3f})" if row["known_end"] else ""
    text = (
        f"What training did to {row['line']}{size}, it did between steps {row['after']:,} and {row['onset']:,} of "
        f"{last:,} (95%: {row['low']:,} to {row['high']:,})."
    )
    if row["high"] < last:
        text += f" After step {row['high']:,} it changed by no more than a tenth of that."
    return [Consequence("changed", text, 0.35, "lines", picture)]
