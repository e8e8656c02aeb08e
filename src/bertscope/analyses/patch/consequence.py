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
        text = f"Which of its {len(heads)} heads make the difference between the two texts of a pair is open."
        return [Consequence("looks", text, 0.3, "head_denoise", beside, is_open=True)]
    most = found.loc[found["share"].idxmax()]
    text = (
        f"Head {most['layer']}.{most['head']} alone carries {percent(most['share'])} of what makes the answers to "
        f"the two texts of a pair differ; {len(found)} of {len(heads)} heads "
        f"{'carries' if len(found) == 1 else 'carry'} some of it."
    )
    return [Consequence("looks", text, 0.6, "head_denoise", beside)]
