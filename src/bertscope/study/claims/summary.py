"""Stored results in words: a sentence for each, made from its numbers by a plain template.

A sentence says what a number is and how sure it is, never what it means. Beside it stands the number by which the
results of a question are compared, so that a reader of several can be told where they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bertscope.study.claims import analyses_statements, experiments_statements
from bertscope.study.claims.words import Told

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

SENTENCES: dict[str, Callable[[Result], Told | None]] = {
    "scratch": experiments_statements.scratch,
    "patterns": analyses_statements.patterns,
    "features": analyses_statements.features,
    "change": analyses_statements.change,
    "relations": analyses_statements.relations,
    "ablate": analyses_statements.ablate,
    "lottery": experiments_statements.lottery,
    "similarity": analyses_statements.similarity,
    "structure": analyses_statements.structure,
    "geometry": analyses_statements.geometry,
    "truncate": experiments_statements.truncate,
    "freeze": experiments_statements.freeze,
    "contrast": experiments_statements.contrast,
    "bias": experiments_statements.bias,
}
_COLUMNS = ["question", "about", "sentence", "what", "main", "written", "input"]


def statements(results: Sequence[Result]) -> tuple[pd.DataFrame, list[str]]:
    """A row for each result that can be told, those of a question together; and what could not be read."""
    import pandas as pd

    rows, unread = [], []
    for question, tell in SENTENCES.items():
        found = []
        for place, result in enumerate(results):
            if result.question == question:
                try:
                    told = tell(result)
                except KeyError as missing:  # a result of an older version
                    unread.append(f"summary: {question} of {result.about} lacks {missing.args[0]}")
                else:
                    found += [_row(result, told, place)] if told else []
        rows += sorted(found, key=lambda row: (len(row["about"]), row["about"]))  # the base before what became of it
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"main": float}), unread


def _row(result: Result, told: Told, place: int) -> dict[str, Any]:
    return {
        "question": result.question, "about": result.about, "sentence": told.sentence, "what": told.what,
        "main": told.main, "written": told.written(told.main), "input": f"results.{place}",
    }  # fmt: skip
