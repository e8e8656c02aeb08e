"""What follows from `claims`: how far what papers say of other models is true of these."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    holds = sum(result[key].value for key in ("holds", "holds_this_training") if key in result)
    fails = sum(result[key].value for key in ("fails", "fails_this_training") if key in result)
    total = result["holds"].n or 0
    text = (
        f"Of {total} claims of the papers {holds:.0f} hold here and {fails:.0f} fail; the others are open: don't "
        "carry "
        "what you read of BERT over unasked."
    )
    return [Consequence("knows", text, 0.1)]
