"""What follows from `mislabelled`: which rows to look at again."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, in_100
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    row = result.tables["check"].set_index("detector").loc["held_out"]
    doubted = int(result["doubted"].value)
    if not row["certain"]:
        text = (
            "Whether labels are wrong can't be told from this model: it finds labels that were exchanged on purpose "
            "no more often than by chance."
        )
        return [Consequence("fails", text, 0.2, "curve", is_open=True)]
    if not doubted:
        return []
    text = (
        f"{doubted:,} training {'label' if doubted == 1 else 'labels'} may be wrong: look at the list. Of labels "
        f"that were exchanged on purpose, the same method finds {in_100(row['recall'])}."
    )
    beside = Bars.of({"found": result["recall"], "precision": result["precision"]}, most=1.0)
    return [Consequence("fails", text, 0.4, "curve", beside)]
