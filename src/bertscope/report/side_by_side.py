"""The ledger with a column for each pretrained model: what holds of one, and what of another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Line:
    """What a claim says of models that were made the same way, on the same task."""

    claim: str
    says: str
    source: str
    asked: str
    """Of what, in words, without the model: `tuned, on SST-2`."""
    readings: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    """The ledger's rows, by the model they began with: several where it was trained in several ways."""


def side_by_side(ledger: pd.DataFrame) -> tuple[list[str], list[Line]]:
    """The pretrained models that a ledger is about, and a line for all that was asked of any of them."""
    tested = ledger[ledger["base"] != ""]
    lines: dict[tuple[str, str], Line] = {}
    for row in tested.to_dict("records"):
        asked = ", ".join(filter(None, [row["way"], f"on {row['task']}" if row["task"] else ""]))
        line = lines.setdefault((row["claim"], asked), Line(row["claim"], row["says"], row["source"], asked))
        line.readings.setdefault(row["base"], []).append(row)
    return list(dict.fromkeys(tested["base"])), list(lines.values())


def in_short(row: Mapping[str, Any]) -> str:
    """A reading's number, with its interval where it has one.

    >>> in_short({"effect": 0.25, "low": 0.2, "high": 0.3}), in_short({"effect": 2.0, "low": None, "high": None})
    ('0.250 [0.200, 0.300]', '2.000')
    """
    ends = [row[end] for end in ("low", "high")]
    if any(end is None or end != end for end in ends):
        return f"{row['effect']:z.3f}"
    return f"{row['effect']:z.3f} [{ends[0]:z.3f}, {ends[1]:z.3f}]"
