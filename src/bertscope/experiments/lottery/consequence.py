"""What follows from `lottery`: whether a small part of the model could have been trained alone."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, how_good
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    arms = result.tables["arms"]
    (full,) = result.numbers(key="score", arm="full")
    found = []
    for _, row in arms[(arms["arm"] == "good") & (arms["stage"] == "retrained")].iterrows():
        low, high = row["minus_full_low"], row["minus_full_high"]
        as_good = "better than" if low > 0 else "worse than" if high < 0 else "as well, as far as can be told, as"
        text = (
            f"{percent(row['left'])} of the weights in its layers, trained alone, do {as_good} the whole model: "
            f"{how_good(row['score'], full.unit)}, against {how_good(full.value, full.unit)}."
        )
        beside = Bars.of({"whole": full, f"{percent(row['left'])} of it": row["score"]}, most=1.0)
        found.append(Consequence("price", text, 0.5, f"arms_{row['method']}", beside, bool(low <= 0 <= high)))
    return found
