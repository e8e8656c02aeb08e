"""All claims put beside stored results: a row for each claim, model and task, and one for each claim not tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertscope.study.claims.claim import NOT_TESTED, OF_ONE_TRAINING, UNDERPOWERED, Bound, Claim, Evidence
from bertscope.study.claims.evidence import at_chance
from bertscope.study.claims.sources import course, dark_secrets, embeddings, geometry, lottery, switched_off

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Result

CLAIMS: tuple[Claim, ...] = (
    *dark_secrets.CLAIMS,
    *switched_off.CLAIMS,
    *lottery.CLAIMS,
    *embeddings.CLAIMS,
    *geometry.CLAIMS,
    *course.CLAIMS,
)


_AT_CHANCE = "the whole model is not clearly above chance: what it can do without shows nothing"


@dataclass(frozen=True)
class Read:
    """A reading, and the place of the result that it is of."""

    reading: Evidence
    place: int

    @property
    def weight(self) -> tuple[int, int, int]:
        """Of several readings of one model and task the one with most trainings counts, then with most texts."""
        return self.reading.runs or 0, self.reading.n or 0, -self.place


def judged(results: Sequence[Result], claims: Iterable[Claim] = CLAIMS) -> tuple[pd.DataFrame, list[str]]:
    """The ledger, and what could not be read."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    unread: list[str] = []
    for claim in claims:
        found: dict[tuple[str, str], list[Read]] = {}
        for read in _readings(claim, results, unread):
            found.setdefault((read.reading.model, read.reading.task), []).append(read)
        rows += [_row(claim, found[about]) for about in sorted(found)] or [_untested(claim)]
    kinds = dict.fromkeys(("n", "runs", "others", "agree"), "Int64")
    kinds |= dict.fromkeys(("effect", "low", "high", "at", "published"), "float64")
    return pd.DataFrame(rows).astype(kinds), unread


def _readings(claim: Claim, results: Sequence[Result], unread: list[str]) -> Iterator[Read]:
    mine = [(place, result) for place, result in enumerate(results) if result.question == claim.question]
    for place, result in mine:
        others = [other for _, other in mine]
        try:
            said = list(claim.read(result, others) if claim.compares else claim.read(result))
        except KeyError as missing:  # a result of an older version: the rest of the ledger does without it
            unread.append(
                f"{claim.id}: {claim.question} of {result.about} (version {result.version}) lacks {missing.args[0]}"
            )
            continue
        if claim.needs_skill and at_chance(result, results):
            said = [reading.void(_AT_CHANCE) for reading in said]
        yield from (Read(reading, place) for reading in said)


def _described(claim: Claim) -> dict[str, Any]:
    return {
        "source": claim.source.name, "cite": claim.source.cite, "claim": claim.id, "says": claim.says,
        "where": claim.where, "question": claim.question, "effect_is": claim.effect, "unit": claim.unit,
    }  # fmt: skip


def _row(claim: Claim, found: list[Read]) -> dict[str, Any]:
    best = max(found, key=lambda read: read.weight)
    reading, verdict = best.reading, _verdict(claim, best.reading)
    asks = _asked(claim, reading)
    agree = sum(_verdict(claim, other.reading) == verdict for other in found) - 1
    return _described(claim) | {
        "model": reading.model, "task": reading.task, "verdict": verdict,
        "effect": reading.effect.value, "low": reading.effect.low, "high": reading.effect.high,
        "asks": asks.side, "at": asks.at, "margin": claim.margin,
        "n": reading.n, "runs": reading.runs, "over": _over(reading), "note": reading.note,
        "published": claim.published.value(reading.task), "published_says": claim.published.says,
        "why": _why(verdict, reading), "others": len(found) - 1, "agree": agree,
        "input": f"results.{best.place}", "command": claim.command,
    }  # fmt: skip


def _untested(claim: Claim) -> dict[str, Any]:
    return _described(claim) | {
        "model": "", "task": "", "verdict": NOT_TESTED, "effect": None, "low": None, "high": None,
        "asks": claim.asks.side, "at": claim.asks.at, "margin": claim.margin, "n": None, "runs": None, "over": "",
        "note": "", "published": claim.published.value(""), "published_says": claim.published.says,
        "why": "nothing stored bears on it", "others": 0, "agree": 0, "input": "", "command": claim.command,
    }  # fmt: skip


def _asked(claim: Claim, reading: Evidence) -> Bound:
    return claim.asks if reading.at is None else Bound(claim.asks.side, reading.at)


def _verdict(claim: Claim, reading: Evidence) -> str:
    verdict = _asked(claim, reading).verdict(reading.effect)
    return OF_ONE_TRAINING.get(verdict, verdict) if reading.runs == 1 else verdict


def _over(reading: Evidence) -> str:
    return f"{reading.over}, of one training" if reading.runs == 1 and reading.effect.sure else reading.over


def _why(verdict: str, reading: Evidence) -> str:
    if verdict != UNDERPOWERED:
        return ""
    return reading.why or ("the interval reaches to both sides" if reading.effect.sure else "no interval is stored")
