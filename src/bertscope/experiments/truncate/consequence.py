"""What follows from `truncate`: whether the top layers can go."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, lost
from bertscope.core.estimate import Estimate
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    arms = result.tables["arms"]
    fewer = arms[(arms["removed"] > 0) & arms["from_top"] & arms["effect"].notna()]
    if fewer.empty:
        return []
    harmless = fewer[fewer["effect_high"] >= 0]
    row = (harmless if len(harmless) else fewer).sort_values("removed").iloc[-1 if len(harmless) else 0]
    count = int(row["removed"])
    what = "top layer" if count == 1 else f"top {count} layers"
    told = lost(Estimate.of(row["effect"], row["effect_low"], row["effect_high"]))
    text = f"Training it without its {what} {told}."
    beside = Bars.of({"whole": arms.loc[arms["arm"] == "whole", "score"].iloc[0], "so": row["score"]}, most=1.0)
    return [Consequence("price", text, 0.5, "scores", beside, bool(row["effect_low"] <= 0 <= row["effect_high"]))]
