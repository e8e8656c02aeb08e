"""Stored results in words: a sentence for each question, made from its numbers by a plain template.

A sentence says what a number is and how sure it is, never what it means. Where several results answer a question, one
is told, the plainest by its name (the base before what became of it), and the range of all is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bertscope.study.claims import analyses_told, experiments_told
from bertscope.study.claims.words import Told

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

SENTENCES: dict[str, Callable[[Result], Told | None]] = {
    "scratch": experiments_told.scratch,
    "patterns": analyses_told.patterns,
    "features": analyses_told.features,
    "change": analyses_told.change,
    "relations": analyses_told.relations,
    "ablate": analyses_told.ablate,
    "lottery": experiments_told.lottery,
    "similarity": analyses_told.similarity,
    "structure": analyses_told.structure,
    "geometry": analyses_told.geometry,
    "truncate": experiments_told.truncate,
    "freeze": experiments_told.freeze,
    "contrast": experiments_told.contrast,
    "bias": experiments_told.bias,
}


def said(results: Sequence[Result]) -> tuple[pd.DataFrame, list[str]]:
    """The sentences, one for each question that has an answer, with the result that each is of; and what could not
    be read."""
    import pandas as pd

    rows, unread = [], []
    for question, tell in SENTENCES.items():
        told: list[tuple[str, int, Told]] = []
        for place, result in enumerate(results):
            if result.question == question:
                try:
                    one = tell(result)
                except KeyError as missing:  # a result of an older version
                    unread.append(f"summary: {question} of {result.about} lacks {missing.args[0]}")
                else:
                    told += [(result.about, place, one)] if one else []
        if told:
            about, place, first = min(told, key=lambda one: (len(one[0]), one[:2]))
            rows.append(
                {"question": question, "about": about, "sentence": first.sentence, "more": _range(told),
                 "input": f"results.{place}"}
            )  # fmt: skip
    return pd.DataFrame(rows, columns=["question", "about", "sentence", "more", "input"]), unread


def _range(known: Sequence[tuple[str, int, Told]]) -> str:
    """Where the main number lies over all results of the question, if there are several."""
    if len(known) == 1:
        return ""
    low, high = (pick(known, key=lambda one: one[2].main) for pick in (min, max))
    ends = (f"{one.written(one.main)} ({about})" for about, _, one in (low, high))
    return f"Over {len(known)} results {low[2].what} goes from {' to '.join(ends)}."
