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
            f"In {count} of the {of} pairs of heads that look most alike, the two stand in for each other: one of "
            "them can go."
        )
        return [Consequence("price", text, 0.4, "pairs", command="bertscope prune {model} --on {data}")]
    text = (
        f"In none of the {of} pairs of heads that look most alike are the two found to stand in for each other: "
        "alike doesn't mean spare."
    )
    return [Consequence("price", text, 0.2, "pairs", is_open=True)]
