"""What follows from `overlap`: whether what survives on one task is what another needs, too."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.statement import percent


def consequences(result: Result) -> list[Consequence]:
    found = result.numbers(key="overlap", parts="heads", tasks="different") or result.numbers(
        key="overlap", parts="heads"
    )
    chance = result.numbers(key="overlap_by_chance", parts="heads")
    if not found or not chance:
        return []
    text = (
        f"Two prunings share {percent(found[0].value)} of the heads that they keep; by chance it would be "
        f"{percent(chance[0].value)}. A model cut for one task is "
        f"{'partly' if found[0].value > chance[0].value else 'not'} cut for another."
    )
    return [Consequence("needs", text, 0.3, "pairs")]
