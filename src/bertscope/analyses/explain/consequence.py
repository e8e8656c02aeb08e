"""What follows from `explain`: whether predictions hang on single words."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result
from bertscope.core.small_picture import Bars
from bertscope.core.statement import percent

_ONE_WORD = 0.5


def consequences(result: Result) -> list[Consequence]:
    if "top_word_share" not in result:
        return []
    share = result["top_word_share"]
    beside = Bars.of({"strongest word": share, "all others": 1 - share.value}, most=1.0)
    if share.low is None:  # of one text: no more than an example
        text = (
            f"In the one text that was explained, the word that counts most carries {percent(share.value)} of the "
            "prediction. Explain more texts before you say so of the model."
        )
        return [Consequence("looks", text, 0.5, "texts", beside, is_open=True, of_skill=True)]
    hangs = "hangs on one word" if share.value >= _ONE_WORD else "rests on several words"
    text = (
        f"A prediction {hangs}: the word that counts most carries {percent(share.value)} of it on average. Read a "
        "few texts with their words marked before you trust it."
    )
    return [Consequence("looks", text, 0.5, "texts", beside, of_skill=True)]
