"""What `course` follows of the answers' tables: by layer, by head, by label; and its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bertscope.analyses.course.question import course
from bertscope.core import series as over
from bertscope.core.figure import Figure
from bertscope.core.question import Question

LABELS = {
    "step": "step", "value": "", "low": "from", "high": "to", "line": "", "after": "after step",
    "onset": "onset (step)", "first": "at the first", "last": "at the last", "change_low": "from",
    "change_high": "to", "to": "compared",
}  # fmt: skip


@dataclass(frozen=True)
class Followed:
    """A column of the answers' tables, of all steps."""

    what: over.Followed
    table: pd.DataFrame

    @property
    def name(self) -> str:
        """What the series' table is called."""
        return self.what.key or f"{self.what.table}_{self.what.value}"


def followed_figures(followed: Followed, question: Question) -> Iterator[Figure]:
    """One; or, where more tells the rows apart than one can show, one for each value of that."""
    what, table = followed.what, followed.table
    ends: Any = {"low": what.low, "high": what.high} if {what.low, what.high} <= {*table} else {}
    title, labels = f"Over the steps: {what.label}", LABELS | {what.value: what.label}
    if "head" in what.by:
        yield Figure(
            "heatmap", followed.name, x="head", y="layer", value=what.value, facet="step", key=followed.name,
            title=title, caption="Each head at each step.", labels=labels, **ends,
        )  # fmt: skip
        return
    apart = [name for name in (*what.by, "to") if name != "layer" and name in table]
    more = [name for name in apart[1:] if table[name].nunique() > 1]
    words = {**question.words, **course.words}
    for place, where in enumerate(table[more].drop_duplicates().to_dict("records") if more else [{}]):
        which = [words.get(name, {}).get(value, value) for name, value in where.items()]
        yield Figure(
            "lines", followed.name, x="step", y=what.value, facet="layer" if "layer" in what.by else None,
            color=apart[0] if apart else None, where=where, key=followed.name + (f"_{place}" if place else ""),
            title=", ".join([title, *which]), labels=labels, **ends,
            caption="Each layer over the steps of the training, with its 95% interval where it has one.",
        )  # fmt: skip
