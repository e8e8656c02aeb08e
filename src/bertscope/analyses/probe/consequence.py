"""What follows from `probe`: what a layer knows beyond the word itself."""

from __future__ import annotations

from bertscope.analyses.probe.question import OF_WORDS
from bertscope.core.consequence import Consequence, in_100, spoken_of
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars

_ITSELF = "word"
"""The target that says which word it is: known of the word alone."""
_WORDS = "words in context", "in context", "the word alone", "word alone"
_TEXT = "a text", "this layer", "always the same answer", "same answer"


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    targets = result.tables["targets"].set_index("target")
    found = []
    for number in result.numbers(key="accuracy", model=last):
        target = number.of["target"]
        usual = float(targets.loc[target, "usual_label"]) if "usual_label" in targets else float("nan")
        bar = max(float(targets.loc[target, "majority"]), usual if usual == usual else 0.0)
        if target != _ITSELF and number.low is not None and number.low > bar:
            found.append((number.value - bar, target, number, bar))
    if not found:
        return []
    _, target, number, bar = max(found, key=lambda one: one[0])
    what, measured, otherwise, short = _WORDS if target in OF_WORDS else _TEXT
    text = (
        f"Layer {number.of['layer']} knows the {target.replace('_', ' ')} of {what}: "
        f"{in_100(number.value)} right; {otherwise} gives {in_100(bar)}."
    )
    bars = Bars.of({measured: number, short: bar}, most=1.0)
    return [Consequence("knows", text, 0.4, "accuracy", bars)]
