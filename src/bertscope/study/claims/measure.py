"""`claims`: all claims put beside stored results, a row for each claim, kind of model and task; and the results in
words. No name decides anything: which models a row is about, `Places` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bertscope.core import registry
from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.core.statement import Statement
from bertscope.core.words import ModelNames, about
from bertscope.study.claims.question import ClaimsConfig, told
from bertscope.study.claims.records import CLAIMS
from bertscope.study.claims.records.claim import NOT_TESTED, OF_ONE_TRAINING, UNDERPOWERED, Bound, Claim, Evidence
from bertscope.study.claims.records.evidence import at_chance, data_held
from bertscope.study.claims.result import claims_result

_AT_CHANCE = "the whole model is not clearly above chance: what it can do without shows nothing"
_REPLACED = "of an earlier model: what lies in its place now was not measured"
_COLUMNS = ["question", "about", "sentence", "what", "main", "written", "input"]


def measure(results: Sequence[Result], config: ClaimsConfig) -> Result:
    (ledger, unread), (summary, untold) = judged(results), statements(results)
    return claims_result(ledger, summary, len(results), [*unread, *untold])


@dataclass(frozen=True)
class Found:
    """Evidence, and which of the results it is of."""

    evidence: Evidence
    at: int
    data: str
    """What the result's data holds: two data sets may share a name."""

    @property
    def model(self) -> ModelRecord:
        return self.evidence.model or _NO_MODEL

    @property
    def weight(self) -> tuple[int, int, int]:
        """Of several of one model and task the one with most trainings counts, then with most texts."""
        return self.evidence.runs or 0, self.evidence.n or 0, -self.at


_NO_MODEL = ModelRecord("", "")
"""What evidence is about that is about no model in particular."""


class Places:
    """The models that evidence is about, of each claim in turn. Trainings that differ by their seed alone are one
    kind of model; what was written over another in the same folder has taken its place."""

    def __init__(self, by_claim: Iterable[Sequence[ModelRecord]]) -> None:
        claims = [list(models) for models in by_claim]
        models = [model for mine in claims for model in mine]
        self.names = ModelNames(models)
        self._bearing = Counter(id for mine in claims for id in {model.id for model in mine})
        self._made = made = dict[str, str]()  # a copy is younger than what it is a copy of
        for model in models:
            made[model.id] = min(filter(None, (made.get(model.id), model.made)), default="")
        newest: dict[str, ModelRecord] = {}
        for model in models:
            if model.source and made[model.id] >= made[newest.setdefault(model.source, model).id]:
                newest[model.source] = model
        last = {model.id for model in newest.values()}
        self._heirs = {
            model.id: newest[model.source] for model in models if model.source and model.id not in last
        }  # fmt: skip
        # A model that was found in two places is one model.
        self._places: dict[str, str] = {}
        for model in models:
            self._places.setdefault(model.id, self._heirs.get(model.id, model).place)

    def of(self, model: ModelRecord) -> str:
        """By which models are put together."""
        return self._places[model.id]

    def is_replaced(self, model: ModelRecord) -> bool:
        """Whether another was written over it, wherever it was found."""
        return model.id in self._heirs

    def standing(self, model: ModelRecord) -> tuple[int, str]:
        """By which one of several is spoken of: of how many claims something is known of it, so that the ledger
        speaks of one model where it can; then the newest."""
        return self._bearing[model.id], self._made[model.id]


def judged(results: Sequence[Result], claims: Iterable[Claim] = CLAIMS) -> tuple[pd.DataFrame, list[str]]:
    """The ledger, and what could not be read."""
    unread: list[str] = []
    found = [(claim, list(_found(claim, results, unread))) for claim in claims]
    places = Places([one.model for one in mine] for _, mine in found)
    rows: list[dict[str, Any]] = []
    for claim, mine in found:
        rows += [_row(claim, alike, places) for alike in _alike(mine, places)] or [_untested(claim)]
    kinds = dict.fromkeys(("n", "runs", "others", "agree", "earlier"), "Int64")
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
        data = data_held(result)
        yield from (Found(evidence, place, data) for evidence in read)


def _alike(found: Iterable[Found], places: Places) -> list[list[Found]]:
    """What is about models of one place and the same data; a base before what was made of it."""
    groups: dict[tuple[str, str, str], list[Found]] = {}
    for one in found:
        groups.setdefault((places.of(one.model), one.data, one.evidence.task), []).append(one)

    def order(alike: list[Found]) -> tuple[int, str, str, str]:
        model = alike[0].model
        return len(list(model.descent())), model.name, alike[0].evidence.task, places.of(model)

    return sorted(groups.values(), key=order)


def _described(claim: Claim) -> dict[str, Any]:
    return {
        "source": claim.source.name, "cite": claim.source.cite, "claim": claim.id, "says": claim.says,
        "where": claim.where, "question": claim.question, "effect_is": claim.effect, "unit": claim.unit,
    }  # fmt: skip


def _row(claim: Claim, found: list[Found], places: Places) -> dict[str, Any]:
    """What is found of one kind of model: by the one that most claims are read off, the others beside it. A model
    that another has replaced counts only where nothing else does."""
    current = [one for one in found if not places.is_replaced(one.model)] or found
    best = max(current, key=lambda one: (places.standing(one.model), one.weight))
    evidence, verdict = best.evidence, _verdict(claim, best.evidence)
    asks = _bound(claim, evidence)
    agree = sum(_verdict(claim, other.evidence) == verdict for other in current) - 1
    name = places.names.of(best.model)
    named = {best.model.id: replace(best.model, name=name)} if evidence.model else {}
    earlier = {one.model.id for one in found} - {one.model.id for one in current}
    replaced = [_REPLACED] if places.is_replaced(best.model) else []
    return _described(claim) | {
        "model": best.model.id, "model_name": name, "task": evidence.task,
        "about": about(named, {"task": evidence.task}), "verdict": verdict,
        "effect": evidence.effect.value, "low": evidence.effect.low, "high": evidence.effect.high,
        "asks": asks.side, "at": asks.at, "margin": claim.margin, "n": evidence.n, "runs": evidence.runs,
        "over": _over(evidence), "note": "; ".join(filter(None, [evidence.note, *replaced])),
        "published": claim.published.value(evidence.task), "published_says": claim.published.says,
        "why": _why(verdict, evidence), "others": len(current) - 1, "agree": agree,
        "earlier": len(earlier), "input": f"results.{best.at}", "command": claim.command,
    }  # fmt: skip


def _untested(claim: Claim) -> dict[str, Any]:
    return _described(claim) | {
        "model": "", "model_name": "", "task": "", "about": "", "verdict": NOT_TESTED,
        "effect": None, "low": None, "high": None, "asks": claim.asks.side, "at": claim.asks.at,
        "margin": claim.margin, "n": None, "runs": None, "over": "", "note": "",
        "published": claim.published.value(""), "published_says": claim.published.says,
        "why": "nothing stored bears on it", "others": 0, "agree": 0, "earlier": 0, "input": "",
        "command": claim.command,
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
    names = ModelNames(record for result in results for record in result.models.values())
    results = [names.in_result(result) for result in results]
    for question in told():
        found: list[tuple[int, str, dict[str, Any]]] = []
        for place, result in enumerate(results):
            if result.question == question:
                try:
                    statement = registry.find(question).sentence(result)
                except KeyError as missing:  # a result of an older version
                    unread.append(f"summary: {question} of {result.about} lacks {missing.args[0]}")
                else:
                    row = _sentence_row(result, statement, place) if statement else None
                    found += [(_depth(result), row["about"], row)] if row else []
        rows += [row for *_, row in sorted(found, key=lambda one: one[:2])]
    return pd.DataFrame(rows, columns=_COLUMNS).astype({"main": float}), unread


def _depth(result: Result) -> int:
    """How often its models were made from others: what is about a base comes before what became of it."""
    return sum(len(list(record.descent())) for record in result.models.values())


def _sentence_row(result: Result, statement: Statement, place: int) -> dict[str, Any]:
    return {
        "question": result.question, "about": result.about, "sentence": statement.sentence,
        "what": registry.find(result.question).compared,
        "main": statement.main, "written": statement.written(statement.main), "input": f"results.{place}",
    }  # fmt: skip
