"""What follows from `patch`: which part of the model makes the difference between two texts."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Cells
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    patches = result.tables["patches"]
    heads = patches[(patches["kind"] == "head") & (patches["direction"] == "denoise")].dropna(subset=["share"])
    if heads.empty:
        return []
    certain = heads["certain"].astype(bool) if "certain" in heads else heads["share"] < 0
    found = heads[certain & (heads["share"] > 0)]
    beside = Cells.of(heads, "share", marked=found, both_ways=True)
    if found.empty:
        text = f"Which of its {len(heads)} heads makes the difference between the two texts of a pair is open."
        return [Consequence("looks", text, 0.3, "head_denoise", beside, is_open=True)]
    most = found.loc[found["share"].idxmax()]
    text = (
        f"The word that differs is told by few heads: head {most['layer']}.{most['head']} alone carries "
        f"{percent(most['share'])} of what makes the answers differ, and {len(found)} of {len(heads)} heads carry "
        "some."
    )
    return [Consequence("looks", text, 0.6, "head_denoise", beside)]
