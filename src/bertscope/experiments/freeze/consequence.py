"""What follows from `freeze`: how much of a model needs training at all."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open, lost
from bertscope.core.estimate import cell
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    arms = result.tables["arms"]
    frozen = arms[(arms["arm"] != "whole") & arms["effect"].notna()]
    if frozen.empty:
        return []
    harmless = frozen[frozen["effect_high"] >= 0]
    row = (
        harmless.sort_values("trained_share") if len(harmless) else frozen.sort_values("effect", ascending=False)
    ).iloc[0]
    change = cell(row, "effect")
    text = (
        f"Training {percent(row['trained_share'])} of its weights and leaving the others as they were {lost(change)}."
    )
    beside = Bars.of({"whole": arms.loc[arms["arm"] == "whole", "score"].iloc[0], "so": row["score"]}, most=1.0)
    return [Consequence("knows", text, 0.4, "scores", beside, is_open(change))]
