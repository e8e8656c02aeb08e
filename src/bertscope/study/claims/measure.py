"""`claims`: all claims put beside stored results, a row for each claim, model and task; and the results in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bertscope.core import registry
from bertscope.core.result import Result
from bertscope.core.statement import Statement
from bertscope.study.claims.question import ClaimsConfig, told
from bertscope.study.claims.records import CLAIMS
from bertscope.study.claims.records.claim import NOT_TESTED, OF_ONE_TRAINING, UNDERPOWERED, Bound, Claim, Evidence
from bertscope.study.claims.records.evidence import at_chance
from bertscope.study.claims.result import claims_result

_AT_CHANCE = "the whole model is not clearly above chance: what it can do without shows nothing"
_COLUMNS = ["question", "about", "sentence", "what", "main", "written", "input"]


def measure(results: Sequence[Result], config: ClaimsConfig) -> Result:
    (ledger, unread), (summary, untold) = judged(results), statements(results)
    return claims_result(ledger, summary, len(results), [*unread, *untold])


@dataclass(frozen=True)
class Found:
    """Evidence, and the place of the result that it is of."""

    evidence: Evidence
    place: int

    @property
    def weight(self) -> tuple[int, int, int]:
        """Of several of one model and task the one with most trainings counts, then with most texts."""
        return self.evidence.runs or 0, self.evidence.n or 0, -self.place


def judged(results: Sequence[Result], claims: Iterable[Claim] = CLAIMS) -> tuple[pd.DataFrame, list[str]]:
    """The ledger, and what could not be read."""
    rows: list[dict[str, Any]] = []
    unread: list[str] = []
    for claim in claims:
        found: dict[tuple[str, str], list[Found]] = {}
        for one in _found(claim, results, unread):
            found.setdefault((one.evidence.model, one.evidence.task), []).append(one)
        rows += [_row(claim, found[about]) for about in sorted(found)] or [_untested(claim)]
    kinds = dict.fromkeys(("n", "runs", "others", "agree"), "Int64")
    kinds |= dict.fromkeys(("effect", "low", "high", "at", "published"), "float64")
    return pd.DataFrame(rows).astype(kinds), unread


def _found(claim: Claim, results: Sequence[Result], unread: list[str]) -> Iterator[Found]:
    mine = [(place, result) for place, result in enumerate(results) if result.question == claim.question]
    for place, result in mine:
        others = [other for _, other in mine]
        try:
            read = list(claim.read(result, others) if claim.compares else claim.read(result))
        except KeyError as missing:  # a result of an older version: the rest of the ledger does without it
            unread.append(
                f"{claim.id}: {claim.question} of {result.about} (version {result.version}) lacks {missing.args[0]}"
            )
            continue
        if claim.needs_skill and at_chance(result, results):
            read = [evidence.void(_AT_CHANCE) for evidence in read]
        yield from (Found(evidence, place) for evidence in read)


def _described(claim: Claim) -> dict[str, Any]:
    return {
        "source": claim.source.name, "cite": claim.source.cite, "claim": claim.id, "says": claim.says,
        "where": claim.where, "question": claim.question, "effect_is": claim.effect, "unit": claim.unit,
    }  # fmt: skip


def _row(claim: Claim, found: list[Found]) -> dict[str, Any]:
    best = max(found, key=lambda one: one.weight)
    evidence, verdict = best.evidence, _verdict(claim, best.evidence)
    asks = _bound(claim, evidence)
    agree = sum(_verdict(claim, other.evidence) == verdict for other in found) - 1
    return _described(claim) | {
        "model": evidence.model, "task": evidence.task, "verdict": verdict,
        "effect": evidence.effect.value, "low": evidence.effect.low, "high": evidence.effect.high,
        "asks": asks.side, "at": asks.at, "margin": claim.margin,
        "n": evidence.n, "runs": evidence.runs, "over": _over(evidence), "note": evidence.note,
        "published": claim.published.value(evidence.task), "published_says": claim.published.says,
        "why": _why(verdict, evidence), "others": len(found) - 1, "agree": agree,
        "input": f"results.{best.place}", "command": claim.command,
    }  # fmt: skip


def _untested(claim: Claim) -> dict[str, Any]:
    return _described(claim) | {
        "model": "", "task": "", "verdict": NOT_TESTED, "effect": None, "low": None, "high": None,
        "asks": claim.asks.side, "at": claim.asks.at, "margin": claim.margin, "n": None, "runs": None, "over": "",
        "note": "", "published": claim.published.value(""), "published_says": claim.published.says,
        "why": "nothing stored bears on it", "others": 0, "agree": 0, "input": "", "command": claim.command,
    }  # fmt: skip


def _bound(claim: Claim, evidence: Evidence) -> Bound:
    return claim.asks if evidence.at is None else Bound(claim.asks.side, evidence.at)


def _verdict(claim: Claim, evidence: Evidence) -> str:
    verdict = _bound(claim, evidence).verdict(evidence.effect)
    return OF_ONE_TRAINING.get(verdict, verdict) if evidence.runs == 1 else verdict


def _over(evidence: Evidence) -> str:
    return f"{evidence.over}, of one training" if evidence.runs == 1 and evidence.effect.sure else evidence.over


def _why(verdict: str, evidence: Evidence) -> str:
    if verdict != UNDERPOWERED:
        return ""
    return evidence.why or ("the interval reaches to both sides" if evidence.effect.sure else "no interval is stored")


def statements(results: Sequence[Result]) -> tuple[pd.DataFrame, list[str]]:
    """A row for each result that can be told, those of a question together; and what could not be read."""
    rows, unread = [], []
    for question in told():
        found = []
        for place, result in enumerate(results):
            if result.question == question:
                try:
                    statement = registry.find(question).sentence(result)
                except KeyError as missing:  # a result of an older version
                    unread.append(f"summary: {question} of {result.about} lacks {missing.args[0]}")
                else:
                    found += [_sentence_row(result, statement, place)] if statement else []
        rows += sorted(found, key=lambda row: (len(row["about"]), row["about"]))  # the base before what became of it
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"main": float}), unread


def _sentence_row(result: Result, statement: Statement, place: int) -> dict[str, Any]:
    return {
        "question": result.question, "about": result.about, "sentence": statement.sentence,
        "what": registry.find(result.question).compared,
        "main": statement.main, "written": statement.written(statement.main), "input": f"results.{place}",
    }  # fmt: skip
