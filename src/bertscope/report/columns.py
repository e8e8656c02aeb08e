"""What a table's columns mean: words that all tables share, and those that its figures use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from bertscope.core import null_panel
from bertscope.core.figure import Figure

ENDS = "ends of the 95% interval"
ALWAYS = {
    "layer": "counted from 1; 0 is the embeddings' output",
    "p": "not corrected for the number of tests",
    "p_holm": "p, corrected for it (Holm)",
    "jaccard": "what both have, as a share of what either has",
}
BY_DEFAULT = {
    "head": "counted from 1 in its layer",
    "n": "on how many it was measured",
    "runs": "how many runs, one for each seed, it is the mean of",
    "sd": "standard deviation over these runs",
    "seed": "of the run",
    "kl": "how far predictions move: KL(whole || without) in nats, of scores the squared change",
    "flips": "the share of predictions that become another",
    "random_weights": "the same in the same model with random weights",
}
"""Figures may say it more exactly."""
OF_PARTS = {"unit": "the part, by its kind, layer and number"}
"""Where there are layers; other tables call other things so."""
OF_NULL = {
    "tests": "which were corrected together",
    "draws": "how often data was drawn in which there is nothing to find",
    "findings": "in how many of these draws anything was found",
    "quantile": "in how many a sound test finds something at most: 99 times of 100 all families stay within it",
    "passes": "whether it is not more",
}
"""Of the null panel, whichever question's."""
_SIDES = ("low", "high")


def explained(
    table: str, columns: Iterable[str], figures: Iterable[Figure], own: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Words for those of the table's columns whose names don't say it, in the table's order; both ends of an interval
    in one. `own` is what the question itself says of them, which comes first."""
    columns = list(columns)
    shared = BY_DEFAULT | (OF_PARTS if "layer" in columns else {}) | _labels(table, figures) | ALWAYS
    shared |= OF_NULL if table == null_panel.TABLE else {}
    said_with = {column: name for name in own for column in name.split(", ")}  # which may be said of two in one
    found: dict[str, str] = {}
    for place, column in enumerate(columns):
        of, _, side = column.rpartition("_")
        if side in _SIDES:  # which a figure calls `from` and `to`, beside the value
            ends = [each for each in (column.removesuffix(side) + end for end in _SIDES) if each in columns]
            found.setdefault(", ".join(ends), _interval(of, columns[:place]))
        elif column in said_with:
            found.setdefault(said_with[column], "")
        elif column in shared:
            found[column] = shared[column]
    return {name: own.get(name, words) for name, words in found.items()}


def _labels(table: str, figures: Iterable[Figure]) -> dict[str, str]:
    """What the table's figures call its columns. Where each draws other rows, and calls a column after them, none
    speaks for all."""
    labels: dict[str, set[str]] = {}
    for figure in figures:
        for column, label in figure.labels.items() if figure.table == table else ():
            if label and label.lower() != column.replace("_", " "):
                labels.setdefault(column, set()).add(label)
    return {column: label for column, (label, *others) in labels.items() if not others}


def _interval(of: str, before: Sequence[str]) -> str:
    """Of the last value before it whose name begins so: `more_low` of `more_than_random`."""
    values = [each for each in before if each == of or each.startswith(f"{of}_")] if of else []
    named = [each for each in values if each.rpartition("_")[2] not in _SIDES]
    return f"{ENDS} of {named[-1]}" if named else ENDS
