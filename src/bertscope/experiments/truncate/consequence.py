"""What follows from `truncate`: whether the top layers can go."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open, lost
from bertscope.core.estimate import cell
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    arms = result.tables["arms"]
    arms = arms[arms["top"] == arms["top"].iloc[0]]  # of several classifiers the first, as in the headline
    fewer = arms[(arms["removed"] > 0) & arms["from_top"] & arms["effect"].notna()]
    if fewer.empty:
        return []
    harmless = fewer[fewer["effect_high"] >= 0]
    row = (harmless if len(harmless) else fewer).sort_values("removed").iloc[-1 if len(harmless) else 0]
    count = int(row["removed"])
    what = "top layer" if count == 1 else f"top {count} layers"
    change = cell(row, "effect")
    how = "Switching off" if "layers" in result.subject else "Training it without"
    after = ", without training it again," if "layers" in result.subject else ""
    text = f"{how} its {what}{after} {lost(change)}."
    beside = Bars.of({"whole": arms.loc[arms["arm"] == "whole", "score"].iloc[0], "so": row["score"]}, most=1.0)
    return [Consequence("price", text, 0.5, "scores", beside, is_open(change))]
