"""The ledger of claims on the page. It shows what the `claims` step found; nothing is judged here."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.core.registry import find
from bertscope.core.words import about
from bertscope.report import subjects
from bertscope.report.side_by_side import Line, in_short, side_by_side
from bertscope.report.templates import HERE, rendered
from bertscope.report.values import MINUS, plain, with_ends

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup

    from bertscope.core.step import Step
    from bertscope.report.finding import Finding
    from bertscope.report.subjects import PageModels

QUESTION = subjects.LEDGER
SIGNS = {
    "holds": ("✓", "holds"),
    "holds_this_training": ("✓", "holds once"),
    "fails": ("✗", "fails"),
    "fails_this_training": ("✗", "fails once"),
    "underpowered": ("≈", "underpowered"),
    "not_tested": ("·", "not-tested"),
}
"""Beside a verdict's words its sign, and its classes in the style sheet; verdicts are counted in this order."""
_FEW = 3
"""Up to so many readings a claim is unfolded."""
_WORDS = {">": "above", ">=": "at least", "<": "below", "<=": "at most"}


@dataclass(frozen=True)
class Scale:
    """Where a reading lies on the axis of its claim, in percent of the width."""

    effect: float
    low: float | None
    high: float | None
    bound: float | None
    published: float | None
    above: bool
    """Whether the claimed side is right of the bound."""


@dataclass(frozen=True)
class LedgerRow:
    verdict: str
    about: str
    models: list[str]
    tasks: list[str]
    """What the page's switch goes by."""
    effect: str
    interval: str | None
    published: str | None
    bound: str
    scale: Scale
    rests_on: str
    why: str
    note: str
    link: str | None
    """The section that shows it."""


@dataclass(frozen=True)
class LedgerClaim:
    says: str
    where: str
    effect_is: str
    unit: str
    margin: str
    published: str
    command: str
    readings: list[LedgerRow]

    @property
    def counts(self) -> list[tuple[str, int]]:
        found = [reading.verdict for reading in self.readings]
        return [(verdict, found.count(verdict)) for verdict in SIGNS if verdict in found]

    @property
    def unfolded(self) -> bool:
        return len(self.readings) <= _FEW


@dataclass(frozen=True)
class Source:
    cite: str
    tested: list[LedgerClaim]
    untested: list[LedgerClaim]

    @property
    def counts(self) -> list[tuple[str, int]]:
        found = [reading.verdict for claim in self.tested for reading in claim.readings]
        return [(verdict, found.count(verdict)) for verdict in SIGNS if verdict in found]


def current(findings: Iterable[Finding]) -> list[Finding]:
    """Without superseded ledgers: the one stays that judges most of what is here and least of what isn't any more; of
    several such ones the one that judges most results of other stores, too, and of those the last made."""
    everything = list(findings)
    there = {finding.step.id for finding in everything}

    def weight(finding: Finding) -> tuple[int, int, int]:
        own = [step.id in there for step in finding.step.before()]
        return sum(own), sum(own) - len(own), len(finding.step.inputs) - len(own)

    ledgers = [finding for finding in everything if finding.result.question == QUESTION]
    kept = max(reversed(ledgers), key=weight, default=None)
    return [finding for finding in everything if finding.result.question != QUESTION or finding is kept]


def found(findings: Sequence[Finding]) -> Finding | None:
    """The ledger among them."""
    return next((finding for finding in findings if finding.result.question == QUESTION), None)


def ledger(findings: Sequence[Finding], models: PageModels) -> tuple[str, str, Markup] | None:
    """The claims with their verdicts: id, heading and HTML."""
    judged = found(findings)
    if judged is None:
        return None
    table = judged.result.tables["ledger"]
    rows = [{str(key): plain(value) for key, value in row.items()} for row in table.to_dict("records")]
    sources = _sources(rows, shown(judged, findings), models)
    html = rendered(
        "ledger.html.j2",
        sources=[source for source in sources if source.tested],
        elsewhere=[source for source in sources if not source.tested],
        beside=_side_by_side(table),
        counts=[(verdict, int((table["verdict"] == verdict).sum())) for verdict in SIGNS],
        signs=SIGNS,
        in_short=lambda row: in_short(row).replace("-", MINUS),
        words=find(QUESTION).words["verdict"],
        notes=judged.result.notes,
        csv=b64encode(judged.result.in_words().tables["ledger"].to_csv(index=False).encode()).decode(),
        style=(HERE / "ledger.css").read_text("utf-8"),
    )
    return "ledger", "Which of the papers' claims hold here?", html


def _side_by_side(table: pd.DataFrame) -> tuple[list[str], list[Line]] | None:
    """Model by model, where the ledger is about several; a ledger of before doesn't say with which each began."""
    models, lines = side_by_side(table) if "base" in table else ([], [])
    return (models, lines) if len(models) > 1 else None


def shown(judged: Finding, findings: Iterable[Finding]) -> dict[str, Step]:
    """The ledger's inputs that the page shows too, by the names they have there."""
    known = {finding.step.id: finding.step for finding in findings}
    return {name: known[value.id] for name, value in judged.step.inputs.items() if value.id in known}


def _sources(rows: Sequence[Mapping[str, Any]], shown: Mapping[str, Step], models: PageModels) -> list[Source]:
    sources: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        sources.setdefault(row["cite"], {}).setdefault(row["claim"], []).append(row)
    found = []
    for cite, by_claim in sources.items():
        claims = [_claim(mine, shown, models) for mine in by_claim.values()]
        tested, untested = [one for one in claims if one.readings], [one for one in claims if not one.readings]
        found.append(Source(cite, tested, untested))
    return found


def _claim(rows: Sequence[Mapping[str, Any]], shown: Mapping[str, Step], models: PageModels) -> LedgerClaim:
    first, known = rows[0], [row for row in rows if row["effect"] is not None]
    ends = _ends(known)
    return LedgerClaim(
        first["says"], first["where"], first["effect_is"], first["unit"], first["margin"], first["published_says"],
        first["command"], [_reading(row, shown.get(row["input"]), ends, models) for row in known],
    )  # fmt: skip


def _reading(row: Mapping[str, Any], step: Step | None, ends: tuple[float, float], models: PageModels) -> LedgerRow:
    model = models.find(row["model"])
    effect, low, high, published = with_ends(*(row[key] for key in ("effect", "low", "high", "published")))
    return LedgerRow(
        verdict=row["verdict"],
        about=about({model.id: model}, {"task": row["task"]}) if model else row["about"],
        models=models.began(step) if step else [row["model_name"]],
        tasks=subjects.tasks(step) if step else [row["task"]],
        effect=effect,
        interval=None if row["low"] is None else f"{low} to {high}",
        published=None if row["published"] is None else published,
        bound=bound(row),
        scale=_scale(row, ends),
        rests_on=_rests_on(row),
        why=row["why"],
        note=row.get("note") or "",
        link=step.id if step else None,
    )


def _rests_on(row: Mapping[str, Any]) -> str:
    """How many trainings and things, what was resampled, whether other results say the same, and whether it was once
    another model."""
    clauses = []
    if row["runs"] and (row["runs"] > 1 or row["low"] is None):  # of one, what the interval is over says it
        clauses.append("1 training" if row["runs"] == 1 else f"{row['runs']} seeds")
    if row["n"]:
        clauses.append(f"n = {row['n']:,}")
    if row["over"] and row["low"] is not None:
        clauses.append(f"interval over {row['over']}")
    if row["others"]:
        clauses.append(f"the largest of {row['others'] + 1} results; {row['agree']} of the others agree")
    if row["earlier"]:
        clauses.append(earlier(row["earlier"]))
    if row.get("null"):  # a ledger of before has no such column
        clauses.append(f"null panel: {find(QUESTION).words['null'][row['null']]}")
    if row.get("reference") is not None:
        clauses.append(f"random weights: {row['reference']:.3g}".replace("-", MINUS))
    return ", ".join(clauses)


def bound(row: Mapping[str, Any]) -> str:
    """What is claimed of a number: where that is a share of a skill, which share, and where it lies if the skill is
    known.

    >>> bound({"asks": ">", "at": 0.5}), bound({"asks": "<", "at": 0.031, "share": 0.1})
    ('above 0.5', 'below 0.031 (10% of the skill)')
    """
    share = row.get("share")
    of = "" if share is None else f"{share:.0%} of the skill"
    written = of if row["at"] is None else f"{row['at']:.3g}" + (f" ({of})" if of else "")
    return f"{_WORDS[row['asks']]} {written}".replace("-", MINUS)


def earlier(models: int) -> str:
    """That the ledger speaks of the newest of several models.

    >>> earlier(1), earlier(2)
    ('1 earlier model in its place was also measured', '2 earlier models in its place were also measured')
    """
    return f"{models} earlier {'model in its place was' if models == 1 else 'models in its place were'} also measured"


_PLACED = ("effect", "low", "high", "at", "published")


def _ends(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Between which values all that is drawn of a claim lies: its readings share an axis, or they couldn't be
    compared by eye."""
    given = [row[key] for row in rows for key in _PLACED]
    known = [value for value in given if value is not None and math.isfinite(value)]
    return min(known, default=0.0), max(known, default=0.0)


def _scale(row: Mapping[str, Any], ends: tuple[float, float]) -> Scale:
    """All of it between 6 and 94 percent of the width."""
    least, span = ends[0], (ends[1] - ends[0]) or 1.0

    def place(value: float | None) -> float | None:
        return None if value is None else round(6 + 88 * (value - least) / span, 2)

    effect, low, high, at, published = (place(row[key]) for key in _PLACED)
    assert effect is not None
    return Scale(effect, low, high, at, published, above=row["asks"].startswith(">"))
