"""What follows from `change`: where fine-tuning changed what the model looks at."""

from __future__ import annotations

from bertscope.analyses.side_by_side import is_weighted
from bertscope.core.consequence import LAYERS, Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Cells
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    if is_weighted(result):  # of what is taken of tokens, not of where attention goes
        return []
    layers = result.tables["layers"]
    if layers["share"].isna().all():
        return [Consequence("changed", "Fine-tuning changed nothing in what it looks at.", 0.4)]
    most, least = layers.loc[layers["share"].idxmax()], layers.loc[layers["share"].idxmin()]
    text = (
        f"Of its {len(layers)} {LAYERS}, fine-tuning changed layer {most['layer']:.0f} most in what it looks at "
        f"({percent(most['share'])} of all change) and layer {least['layer']:.0f} least ({percent(least['share'])})."
        if len(layers) > 1
        else "Fine-tuning changed what its only layer looks at."
    ) + " What changed need not matter: `graft` says what does."
    beside = Cells.of(layers, "share", column=None, marked=layers.loc[[layers["share"].idxmax()]])
    return [
        Consequence(
            "changed", text, 0.4, "heads_cosine", beside, command="bertscope graft {base} {model} --on {data}"
        )
    ]
