"""What follows from `relations`: which grammar its heads follow."""

from __future__ import annotations

from bertscope.core.consequence import Consequence, spoken_of
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars


def consequences(result: Result) -> list[Consequence]:
    last = spoken_of(result)
    beating = result.numbers(key="beating_offset", model=last)
    if not beating or not beating[0].n:
        return []
    count, of = int(beating[0].value), beating[0].n
    if not count:
        text = (
            f"Whether any of its heads follows grammar is open: for none of {of} relations between words is a head "
            "shown to beat a fixed distance."
        )
        return [Consequence("knows", text, 0.2, "relations", is_open=True)]
    best = result.tables["best"]
    row = best[(best["checkpoint"] == last) & best["beats"].astype(bool)].sort_values("difference").iloc[-1]
    text = (
        f"It has picked up grammar: for {count} of {of} relations between words, one of its heads finds the other "
        f"word more often than a fixed distance does, best for {row['relation']} (head {row['layer']}.{row['head']})."
    )
    beside = Bars.of({"its head": row["accuracy"], "distance": row["offset_accuracy"]}, most=1.0)
    return [Consequence("knows", text, 0.4, "relations", beside)]
