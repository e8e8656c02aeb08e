"""Which verdicts of a stored ledger come out otherwise now, and why: `python tests/support/ledger_changes.py STORE`.

The ledger that a store holds was made by the code of its day; the same results are judged anew, nothing is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from bertscope.core.result import Result, load_result
from bertscope.core.store import Store
from bertscope.study.claims.measure import judged

_ROW = ["claim", "model", "task"]
_SHOWN = ["verdict", "effect", "low", "high", "at", "why"]


def changes(old: pd.DataFrame, results: list[Result]) -> pd.DataFrame:
    """The rows whose verdict is another, as they were and as they are; of what is new, or is no more, one side is
    empty."""
    new, _ = judged(results)
    both = old[_ROW + _SHOWN].merge(new[_ROW + _SHOWN], on=_ROW, how="outer", suffixes=("_before", "_now"))
    return both[both["verdict_before"].ne(both["verdict_now"])].reset_index(drop=True)


def changes_of_store(folder: Path) -> pd.DataFrame:
    """Of the ledger that was made of most results."""
    store = Store(folder)
    stored = [one.step for one in store.finished() if one.step.name == "claims"]
    step = max(stored, key=lambda one: len(one.inputs))
    results = [load_result(store.path(one)) for one in step.inputs.values()]
    return changes(load_result(store.path(step)).tables["ledger"], results)


if __name__ == "__main__":
    with pd.option_context("display.width", 250, "display.max_columns", 20, "display.max_colwidth", 70):
        print(changes_of_store(Path(sys.argv[1])).to_string(float_format="{:.3f}".format))
