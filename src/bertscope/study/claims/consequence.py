"""What follows from `claims`: how far what papers say of other models is true of these."""

from __future__ import annotations

from bertscope.core.consequence import Consequence
from bertscope.core.result import Result


def consequences(result: Result) -> list[Consequence]:
    holds = sum(result[key].value for key in ("holds", "holds_this_training") if key in result)
    fails = sum(result[key].value for key in ("fails", "fails_this_training") if key in result)
    total = result["holds"].n or 0
    text = (
        f"Of {total} claims from papers, {holds:.0f} {'holds' if holds == 1 else 'hold'} here and {fails:.0f} "
        f"{'fails' if fails == 1 else 'fail'}; the others are open. Don't take what you read of BERT to be true here."
    )
    return [Consequence("knows", text, 0.1)]
