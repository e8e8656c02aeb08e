"""What follows from `redundancy`: whether heads that look alike can stand in for each other."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, is_above, spoken_of
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    similar = result.numbers(key="pairs_redundant", model=last, kind="similar")
    if not similar or not similar[0].n:
        return []
    count, of = int(similar[0].value), similar[0].n
    if not count:
        text = (
            f"In none of the {of} pairs of heads that look most alike are the two found to stand in for each other: "
            "alike doesn't mean spare."
        )
        return [Consequence("price", text, 0.2, "pairs", is_open=True)]
    # Two heads that have nothing to do with each other cost more together than apart, too: the loss is convex.
    beyond = result.numbers(key="loss_interaction_difference", model=last)
    if not beyond or is_above(beyond[0], 0.0) is not True:
        text = (
            "Whether heads that look alike stand in for each other is open: of the pairs that look most alike, the "
            f"two are missed more together than apart in {count} of {of}, but no more so, as far as these texts can "
            "tell, than random pairs of the same layers."
        )
        return [Consequence("price", text, 0.2, "pairs", is_open=True)]
    text = (
        f"Heads that look alike stand in for each other: in {count} of the {of} pairs that look most alike, the two "
        "are missed more together than apart, and more so than random pairs. Who takes one out should keep the other."
    )
    return [Consequence("price", text, 0.4, "pairs", command="bertscope prune {model} --on {data}")]
