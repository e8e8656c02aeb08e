"""What a table's columns mean: words that all tables share, and those that its figures use."""

from __future__ import annotations

from collections.abc import Iterable

from bertscope.core.figure import Figure

ENDS = "ends of the 95% interval"
ALWAYS = {
    "layer": "counted from 1; 0 is the embeddings' output",
    "head": "counted from 1 in its layer",
    "p": "not corrected for the number of tests",
    "p_holm": "p, corrected for it (Holm)",
    "jaccard": "what both have, as a share of what either has",
}
UNLESS_SAID = {
    "n": "on how many it was measured",
    "runs": "trainings that it is the mean of",
    "sd": "standard deviation over trainings",
    "seed": "of the training",
    "unit": "the part, with its layer and head",
}
"""Figures may say it more exactly."""


def explained(table: str, columns: Iterable[str], figures: Iterable[Figure]) -> dict[str, str]:
    """Words for those of the table's columns whose names don't say it, in the table's order; both ends of an interval
    in one."""
    columns, words = list(columns), dict(UNLESS_SAID)
    for figure in figures:
        if figure.table == table:
            said = figure.labels.items()
            words |= {column: label for column, label in said if label and label.lower() != column.replace("_", " ")}
    words |= ALWAYS
    found: dict[str, str] = {}
    for column in columns:
        of, _, side = column.rpartition("_")
        if side in ("low", "high"):  # which a figure calls `from` and `to`, beside the value
            name = ", ".join(each for each in (column.removesuffix(side) + end for end in ("low", "high"))
                             if each in columns)  # fmt: skip
            found[name] = f"{ENDS} of {of}" if of in columns else ENDS
        elif column in words:
            found[column] = words[column]
    return found
