"""The null panel: how often a question finds something where there is nothing to be found.

A question with p-values declares an exact null (`Question.null`): what it does to its own data so that its hypothesis
is true by construction, such as exchanging whole and ablated outputs row by row at random. With `null=True` it
draws such data again and again and tests it as it tests the real data, correction included. A draw counts if anything
at all is found in it: after a correction for all tests that happens in at most one draw of twenty.

One family of tests that finds too much fails the whole panel, and with it every claim on the result. So it is the
panel that is held to one case of a hundred: each of several families is held to its share of that.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bertscope.core.result import Result

DRAWS = 200
TABLE = "null"
LEVEL = 0.05
_ENOUGH = 50  # draws under which a panel is shown and decides nothing
_WRONGLY = 0.01  # of sound panels so many may fail
_VERDICTS = {"passes": "passes", "fails": "FAILS", "undecided": "too few draws to decide"}


def most(draws: int, families: int = 1) -> int:
    """In how many draws a sound test finds something at most: all of so many families stay within it 99 times of 100,
    however they depend on each other. One alone: 18 of 200, 11 of 100, 7 of 50; each of 28: 22 of 200."""
    from bertscope.core.intervals import most_by_chance  # whoever shows results needs no numpy

    return most_by_chance(draws, LEVEL, 1 - _WRONGLY / families)


def panel(found: Mapping[Hashable, np.ndarray], columns: Sequence[str] = ("tests",)) -> pd.DataFrame:
    """The panel's table: a row for each family of tests that is corrected together. `found` has for each how many
    tests found something in each draw [draws]; its keys are what `columns` hold.

    draws      how many there were
    findings   in how many of them anything was found
    quantile   how many that may be, the more the more families there are
    passes     whether it is not more; none where there are too few draws to say
    """
    import numpy as np
    import pandas as pd

    rows = []
    for key, counts in found.items():
        draws, findings = len(counts), int((np.asarray(counts) > 0).sum())
        allowed = most(draws, len(found))
        passes = findings <= allowed if draws >= _ENOUGH else None
        named = dict(zip(columns, key if isinstance(key, tuple) else (key,), strict=True))
        rows.append(named | {"draws": draws, "findings": findings, "quantile": allowed, "passes": passes})
    table = pd.DataFrame(rows, columns=[*columns, "draws", "findings", "quantile", "passes"])
    return table.astype({"passes": "boolean"})


def verdict(result: Result) -> Literal["passes", "fails", "undecided", ""]:
    """What a result's own panel says; nothing where there is none, or nothing was tested. One family of tests that
    fails is enough."""
    if TABLE not in result.tables or result.tables[TABLE].empty:
        return ""
    passes = result.tables[TABLE]["passes"]
    if not passes.fillna(True).all():
        return "fails"
    return "undecided" if passes.isna().any() else "passes"


def fails(result: Result) -> bool:
    """Whether a result's own panel says that its findings are none. A result without one isn't judged by it."""
    return verdict(result) == "fails"


def in_words(result: Result) -> str:
    """What the panel says, in a line; nothing where there is none."""
    if not (said := verdict(result)):
        return ""
    table = result.tables[TABLE]
    worst = table.iloc[int((table["findings"] - table["quantile"]).argmax())]
    return (
        f"null panel: {_VERDICTS[said]}; where there is nothing to find, something was found in "
        f"{worst['findings']} of {worst['draws']} draws (up to {worst['quantile']} may be)"
    )
