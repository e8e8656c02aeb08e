"""What follows from `contrast`: whether contrastive training makes better vectors of texts."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_open
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    gains = result.numbers(key="spearman_difference", arm="contrastive", against="before")
    if not gains:
        return []
    gain = gains[0]
    arms = {
        name: result.numbers(key="spearman", arm=arm)[0]
        for name, arm in (("before", "before"), ("after", "contrastive"))
    }
    if is_open(gain):
        text = "Whether contrastive training brings its ranking of texts closer to people's is open."
    else:
        closer = "closer to" if gain.value > 0 else "further from"
        text = (
            f"Contrastive training brings its ranking of texts {closer} people's: {gain.value:+.2f} in rank "
            f"correlation ({gain.unit}).{_better_untrained(result, arms['after'].value)}"
        )
    return [Consequence("changed", text, 0.4, "sts", Bars.of(arms, most=1.0), is_open(gain))]


def _better_untrained(result: Result, after: float) -> str:
    """Another kind of vector may rank them better without any training: then this gain is no reason for it."""
    table = result.tables["sts"]
    best = table[table["arm"] == "before"].sort_values("spearman").iloc[-1]
    if best["spearman"] <= after:
        return ""
    untrained = f"{best['spearman']:.2f}, not {after:.2f}"
    return f" Without this training, its {best['pool']} vectors do better still: {untrained}."
