"""The tables of docs/findings/over-time.md, made of what trainings with checkpoints were found to do.

`python tests/support/over_time_table.py` writes them anew from `tests/fixtures/over_time.json`, which has the means
over layers of what `over_time_trainings.py` measured: by task, quantity and seed, a value for each checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bertscope.core.figure import Figure
from bertscope.core.intervals import student_interval
from bertscope.report.charts import pictures
from doc_pages import HERE

PAGE, KEPT = HERE / "docs" / "findings" / "over-time.md", HERE / "tests" / "fixtures" / "over_time.json"
TASKS = {"sst2": "SST-2", "mnli": "MNLI", "ner": "entities"}
QUANTITIES = {
    "score": "score", "attention": "attention (divergence from the start)", "rsa": "geometry (RSA with the start)",
    "cosine": "anisotropy (cosine of two random words)", "uuas": "trees (UUAS)", "tags": "parts of speech (accuracy)",
}  # fmt: skip
_SHORT = {"score": "score", "attention": "attention", "rsa": "geometry", "cosine": "anisotropy", "uuas": "trees",
          "tags": "parts of speech"}  # fmt: skip
FORGOTTEN = {
    "masked_as_it_is": "masked words, head as it is", "masked_mapped": "masked words, after a map",
    "pairs_as_it_is": "minimal pairs, head as it is", "pairs_mapped": "minimal pairs, after a map",
}  # fmt: skip


def reached(values: np.ndarray, steps: np.ndarray, share: float) -> float:
    """The doublings (log2 of step + 1) after which a line is, to stay, past this share of its final change; between
    two checkpoints by a straight line."""
    way = (values - values[0]) / (values[-1] - values[0])
    below = np.flatnonzero(way < share)
    last = int(below[-1]) if len(below) else 0
    if last == len(way) - 1:
        return float(np.log2(steps[-1] + 1))
    doublings = np.log2(steps + 1)
    part = (share - way[last]) / (way[last + 1] - way[last]) if way[last + 1] > way[last] else 1.0
    return float(doublings[last] + np.clip(part, 0, 1) * (doublings[last + 1] - doublings[last]))


def onset(values: np.ndarray) -> int:
    """The place of the first checkpoint from which on a line stays within a tenth of its final change."""
    far = np.abs(values - values[-1]) > 0.1 * abs(values[-1] - values[0]) + 1e-12
    return int(np.flatnonzero(far)[-1]) + 1 if far.any() else 0


def over_seeds(values: Any) -> tuple[float, float, float]:
    found = np.asarray(values, float)
    low, high = student_interval(float(found.mean()), float(found.std(ddof=1)), len(found))
    return float(found.mean()), low, high


def is_certain(lines: np.ndarray) -> bool:
    """Whether the final change [seed] is on one side of 0, over seeds."""
    _, low, high = over_seeds(lines[:, -1] - lines[:, 0])
    return low > 0 or high < 0


def lines_of(
    kept: dict[str, Any], task: str, quantities: Iterable[str] = QUANTITIES
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The steps at which a task's checkpoints were asked, and each quantity's lines [seed, checkpoint]."""
    found = {name: kept["lines"][task][name] for name in quantities if name in kept["lines"][task]}
    (steps,) = {tuple(one["steps"]) for lines in found.values() for one in lines.values()} or {()}
    return np.array(steps), {
        name: np.array([one["values"] for one in lines.values()]) for name, lines in found.items()
    }


def when(kept: dict[str, Any]) -> str:
    rows = ["| task | what | at the start | at the end | change | half of it by step | there (onset) |",
            "|---|---|---|---|---|---|---|"]  # fmt: skip
    for task, name in TASKS.items():
        steps, lines = lines_of(kept, task)
        for quantity, values in lines.items():
            change = over_seeds(values[:, -1] - values[:, 0])
            told = f"{change[0]:+.3f} [{change[1]:+.3f}, {change[2]:+.3f}]"
            half, there = "open", "open"
            if is_certain(values):
                ends = [2**one - 1 for one in over_seeds([reached(line, steps, 0.5) for line in values])]
                half = f"{ends[0]:,.0f} [{ends[1]:,.0f}, {ends[2]:,.0f}]"
                places = sorted(onset(line) for line in values)
                there = f"{steps[places[0] - 1]:,} to {steps[places[-1]]:,}"
            means = values.mean(0)
            rows.append(
                f"| {name} | {QUANTITIES[quantity]} | {means[0]:.3f} | {means[-1]:.3f} | {told} | {half} | {there} |"
            )
    return "\n".join(rows) + "\n"


def order(kept: dict[str, Any]) -> str:
    rows = ["| task | first | then | doublings of the steps between their halves |", "|---|---|---|---|"]
    for task, name in TASKS.items():
        steps, lines = lines_of(kept, task)
        halves = {
            quantity: np.array([reached(line, steps, 0.5) for line in values])
            for quantity, values in lines.items()
            if is_certain(values)
        }
        for one, other in combinations(sorted(halves, key=lambda each: halves[each].mean()), 2):
            mean, low, high = over_seeds(halves[other] - halves[one])
            sure = "" if low > 0 else " (order open)"
            rows.append(f"| {name} | {_SHORT[one]} | {_SHORT[other]} | {mean:.1f} [{low:.1f}, {high:.1f}]{sure} |")
    return "\n".join(rows) + "\n"


def curves(kept: dict[str, Any]) -> str:
    """Means over seeds at each checkpoint, as shares of the final change where that is certain."""
    rows = []
    for task, name in TASKS.items():
        steps, lines = lines_of(kept, task)
        rows += [
            f"| {name}, step | " + " | ".join(f"{step:,}" for step in steps) + " |",
            "|---" * (len(steps) + 1) + "|",
        ]
        for quantity, values in lines.items():
            if is_certain(values):
                way = ((values - values[:, :1]) / (values[:, -1:] - values[:, :1])).mean(0)
                rows.append(f"| {_SHORT[quantity]} | " + " | ".join(f"{100 * one:.0f}" for one in way) + " |")
        rows.append("")
    return "\n".join(rows)


def beyond(kept: dict[str, Any]) -> str:
    """Where the mean over seeds goes farthest beyond the final change."""
    rows = ["| task | what | step | share of the final change |", "|---|---|---|---|"]
    for task, name in TASKS.items():
        steps, lines = lines_of(kept, task)
        for quantity, values in lines.items():
            way = (values - values[:, :1]) / (values[:, -1:] - values[:, :1])
            at = int(way.mean(0).argmax())
            if is_certain(values) and at < len(steps) - 1:
                mean, low, high = (100 * one for one in over_seeds(way[:, at]))
                told = f"{mean:.0f} [{low:.0f}, {high:.0f}]"
                rows.append(f"| {name} | {_SHORT[quantity]} | {steps[at]:,} | {told} |")
    return "\n".join(rows) + "\n"


def forgotten(kept: dict[str, Any]) -> str:
    """What the head of the base makes of each checkpoint, with the change over seeds."""
    rows = []
    for task, name in TASKS.items():
        steps, lines = lines_of(kept, task, FORGOTTEN)
        told = " | ".join(f"{step:,}" for step in steps)
        rows += [f"| {name}, step | {told} | change |", "|---" * (len(steps) + 2) + "|"]
        for quantity, values in lines.items():
            mean, low, high = over_seeds(values[:, -1] - values[:, 0])
            shown = " | ".join(f"{one:.3f}" for one in values.mean(0))
            rows.append(f"| {FORGOTTEN[quantity]} | {shown} | {mean:+.3f} [{low:+.3f}, {high:+.3f}] |")
        rows.append("")
    return "\n".join(rows)


def ways(kept: dict[str, Any]) -> pd.DataFrame:
    """Each quantity's share of its final change at each step, where that change is certain, over seeds."""
    rows = []
    for task, name in TASKS.items():
        steps, lines = lines_of(kept, task)
        for quantity, values in lines.items():
            if is_certain(values):
                shares = (values - values[:, :1]) / (values[:, -1:] - values[:, :1])
                rows += [
                    (name, _SHORT[quantity], step + 1, *over_seeds(one))
                    for step, one in zip(steps, shares.T, strict=True)
                ]
    return pd.DataFrame(rows, columns=["task", "what", "step", "share", "low", "high"])


def what_is_lost(kept: dict[str, Any]) -> pd.DataFrame:
    """Score, trees, masked words and pairs as they are at the steps at which it was asked what is forgotten."""
    rows = []
    for task, name in TASKS.items():
        asked, lines = lines_of(kept, task, FORGOTTEN)
        steps, others = lines_of(kept, task, ("score", "uuas"))
        told = {FORGOTTEN[key]: values for key, values in lines.items()}
        told |= {QUANTITIES[key]: values[:, np.isin(steps, asked)] for key, values in others.items()}
        for what, values in told.items():
            rows += [(name, what, step + 1, *over_seeds(one)) for step, one in zip(asked, values.T, strict=True)]
    return pd.DataFrame(rows, columns=["task", "what", "step", "value", "low", "high"])


def draw(kept: dict[str, Any]) -> dict[str, bytes]:
    """The page's pictures, by their names."""
    labels = {"step": "steps + 1", "what": "", "task": "", "share": "share of the final change", "value": ""}
    same: dict[str, Any] = {
        "kind": "lines", "x": "step", "low": "low", "high": "high", "color": "what", "facet": "task", "log_x": True,
        "caption": "", "labels": labels,
    }  # fmt: skip
    moves = Figure(table="ways", y="share", title="When each moves", key="ways", **same)
    lost = Figure(table="lost", y="value", title="What is learnt and what is lost", key="lost", **same)
    drawn = {"over-time": (moves, ways(kept)), "over-time-lost": (lost, what_is_lost(kept))}
    return {f"{name}.png": pictures(figure, table, ["png"])["png"] for name, (figure, table) in drawn.items()}


def written(page: str, kept: dict[str, Any]) -> str:
    for name, table in (
        ("when", when(kept)),
        ("order", order(kept)),
        ("curves", curves(kept)),
        ("beyond", beyond(kept)),
        ("forgotten", forgotten(kept)),
    ):
        page = re.sub(
            f"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, t=table: m[1] + t + m[2], page, flags=re.DOTALL
        )
    return page


if __name__ == "__main__":
    stored = json.loads(KEPT.read_text())
    for name, picture in draw(stored).items():
        (PAGE.parent / name).write_bytes(picture)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), stored), encoding="utf-8")
