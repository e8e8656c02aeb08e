"""What follows from `lottery`: whether a small part of the model could have been trained alone."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, how_good
from bertscope.core.equivalence import judged_of, margin
from bertscope.core.estimate import cell
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent

_TOLD = {
    "as_good": "do as well as the whole model",
    "better": "do better than the whole model",
    "worse": "do worse than the whole model",
}


def consequences(result: Result) -> list[Consequence]:
    arms = result.tables["arms"]
    (full,) = result.numbers(key="score", arm="full")
    within = margin(full.value, result["chance"].value)
    found = []
    for _, row in arms[(arms["arm"] == "good") & (arms["stage"] == "retrained")].iterrows():
        verdict = judged_of(cell(row, "minus_full"), within, full.n or 0)
        part = f"{percent(row['left'])} of the weights in its layers, trained alone,"
        said = (
            f"{part} {_TOLD[verdict]}"
            if verdict != "open"
            else f"Whether {part} do as well as the whole model is open"
        )
        text = f"{said}: {how_good(row['score'], full.unit)}, against {how_good(full.value, full.unit)}."
        beside = Bars.of({"whole": full, f"{percent(row['left'])} of it": row["score"]}, most=1.0)
        found.append(Consequence("price", text, 0.5, f"arms_{row['method']}", beside, verdict == "open"))
    return found
