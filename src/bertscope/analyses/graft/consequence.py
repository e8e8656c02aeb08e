"""What follows from `graft`: where what was learnt lives."""

from __future__ import annotations

from bertscope.core.consequence import LAYERS, Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Cells
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    grafts = result.tables["grafts"]
    layers = grafts[(grafts["kind"] == "layer") & (grafts["direction"] == "needed")].dropna(subset=["share"])
    if layers.empty:
        return []
    beside = Cells.of(layers, "share", column=None, marked=layers[layers["certain"]], both_ways=True)
    missed = layers[layers["certain"] & (layers["share"] > 0)]
    if missed.empty:
        text = f"Where what it learnt lives is open: none of its {len(layers)} {LAYERS} alone holds it for certain."
        return [Consequence("changed", text, 0.3, "layer", beside, is_open=True, of_skill=True)]
    most = missed.loc[missed["share"].idxmax()]
    text = (
        f"What it learnt is certain to live in {len(missed)} of its {len(layers)} {LAYERS}. Layer {most['layer']} "
        f"matters most: putting it back as it was before training loses {percent(most['share'])} of what was learnt."
    )
    return [Consequence("changed", text, 0.7, "layer", beside, of_skill=True)]
