"""What follows from `readout`: how early the answer is there, and so how many layers only pass it on."""

from __future__ import annotations

from bertscope.core.consequence import LAYERS, Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Line


def consequences(result: Result) -> list[Consequence]:
    there = {number.of["reading"]: number for number in result.numbers(key="there")}
    name = "shortcut" if "shortcut" in there else "plain"
    if name not in there:
        return []
    layers = result.tables["layers"]
    curve = layers[layers["reading"] == name].sort_values("layer")
    first, last = int(there[name].value), int(layers["layer"].max())
    beside = Line.of(curve, "layer", "score", marked=float(first))
    if first >= last:
        text = f"The answer is there only after the last of its {last} {LAYERS}: none of them just passes it on."
        return [Consequence("knows", text, 0.5, "score", beside, of_skill=True)]
    text = (
        f"The answer is there after {first} of its {last} {LAYERS}: {there[name].of['share']} of what it knows "
        "beyond chance can be read there. Only training it without the layers above tells whether they can go."
    )
    command = "bertscope truncate {base} --on {data}"
    return [Consequence("knows", text, 0.6, "score", beside, command=command, of_skill=True)]
