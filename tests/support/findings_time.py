"""How long the results behind docs/findings took, by device: the answers, and the trainings that they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from bertscope.core.result import load_result
from bertscope.core.step import Step, graph
from findings_results import Kept, device_of

_ON = {"cpu": "a CPU"}


def made_in(steps: list[Step], store: Path) -> dict[str, float]:
    """Seconds by device of these steps and of all that they read, as far as they are stored."""
    spent: Counter[str] = Counter()
    for step in graph(steps).values():
        if (folder := store / "steps" / step.id).exists():
            made = load_result(folder).provenance
            spent[device_of(made)] += made["seconds"]
    return {device: round(seconds, 1) for device, seconds in spent.items()}


def took(results: Kept, run: int) -> str:
    """Of the answers of a run. Of runs before it was kept, how long their trainings took isn't known."""
    if whole := results.record["runs"][run].get("seconds"):
        return f" ({_said(whole)}, with trainings)"
    answers = _answers(results, run)
    return f" ({_said(answers)}, without trainings)" if answers else ""


def in_all(pages: Iterable[Kept]) -> str:
    """Of all pages: what is known."""
    spent: Counter[str] = Counter()
    for results in pages:
        for place, run in enumerate(results.record.get("runs", [])):
            spent.update(run.get("seconds") or _answers(results, place))
    return _said(spent)


def _answers(results: Kept, run: int) -> Counter[str]:
    spent: Counter[str] = Counter()
    for one in results:
        if one.run == run and (seconds := one.kept.get("seconds")):
            spent[one.device] += seconds
    return spent


def on(device: str) -> str:
    """A device as pages call it."""
    return _ON.get(device, device)


def _said(spent: Mapping[str, float]) -> str:
    each = sorted((on(device), max(1, round(seconds / 60))) for device, seconds in spent.items())
    return " and ".join(f"{minutes:,} min on {device}" for device, minutes in each)
