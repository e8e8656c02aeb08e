"""What follows from `redundancy`: whether heads that look alike can stand in for each other."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, spoken_of
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    similar = result.numbers(key="pairs_redundant", model=last, kind="similar")
    if not similar or not similar[0].n:
        return []
    count, of = int(similar[0].value), similar[0].n
    if count:
        text = (
            f"Of its {of} pairs of heads that look most alike, {count} stand in for each other: one of the two can "
            "go."
        )
        return [Consequence("price", text, 0.4, "pairs", command="bertscope prune {model} --on {data}")]
    text = (
        f"None of its {of} pairs of heads that look most alike is found to stand in for the other: alike isn't spare."
    )
    return [Consequence("price", text, 0.2, "pairs", is_open=True)]
