"""`claims`: all claims put beside stored results, a row for each claim, kind of model and task; and the results in
words. No name decides anything: which models a row is about, `Places` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bertscope.core import null_panel, registry
from bertscope.core.model_record import ModelRecord
from bertscope.core.result import Result
from bertscope.core.statement import Statement
from bertscope.core.words import ModelNames, about
from bertscope.study.claims.question import ClaimsConfig, told
from bertscope.study.claims.records import CLAIMS
from bertscope.study.claims.records.claim import (
    HOLDS,
    NOT_TESTED,
    OF_ONE_TRAINING,
    UNDERPOWERED,
    Bound,
    Claim,
    Evidence,
)
from bertscope.study.claims.records.evidence import data_held
from bertscope.study.claims.records.preconditions import AboveChance, PanelPasses
from bertscope.study.claims.records.skill import skill_of
from bertscope.study.claims.result import claims_result

_EVERY_CLAIM = (PanelPasses(),)
"""What every claim needs."""
_WOULD_HOLD = (HOLDS, OF_ONE_TRAINING[HOLDS])
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
    null: str
    """What the result's null panel says: `NULL_WORDS` has the words."""

    @property
    def model(self) -> ModelRecord:
        return self.evidence.model or _NO_MODEL

    @property
    def weight(self) -> tuple[int, bool, int, int]:
        """Of several of one model and task the one with most trainings counts, then one that labels correct, then
        with most texts."""
        return self.evidence.runs or 0, self.evidence.corrected, self.evidence.n or 0, -self.at


_NO_MODEL = ModelRecord("", "")
"""What evidence is about that is about no model in particular."""


class Places:
    """The models that evidence is about, of each claim in turn. Trainings that differ by their seed alone are one
    kind of model; what was written over another in the same folder has taken its place."""

    def __init__(self, by_claim: Iterable[Sequence[ModelRecord]]) -> None:
        claims = [list(models) for models in by_claim]
        models = [model for mine in claims for model in mine]
        self.names = ModelNames(models)
        self._bases = ModelNames(model.first for model in models)
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

    def base(self, model: ModelRecord) -> str:
        """What the pretrained model is called that it began as."""
        return self._bases.of(model.first)

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
    found = [(claim, _found(claim, results, unread)) for claim in claims]
    places = Places([one.model for one in mine] for _, mine in found)
    rows: list[dict[str, Any]] = []
    for claim, mine in found:
        rows += [_row(claim, alike, places) for alike in _alike(mine, places)] or [_untested(claim)]
    kinds = dict.fromkeys(("n", "runs", "others", "agree", "earlier"), "Int64")
    kinds |= dict.fromkeys(("effect", "low", "high", "at", "share", "reference", "published"), "float64")
    return pd.DataFrame(rows).astype(kinds), unread


def _found(claim: Claim, results: Sequence[Result], unread: list[str]) -> list[Found]:
    mine = [(place, result) for place, result in enumerate(results) if result.question == claim.question]
    others = [other for _, other in mine]
    found: list[Found] = []
    for place, result in mine:
        try:
            read = list(claim.read(result, others) if claim.compares else claim.read(result))
        except KeyError as missing:  # a result of an older version: the rest of the ledger does without it
            unread.append(
                f"{claim.id}: {claim.question} of {result.about} (version {result.version}) lacks {missing.args[0]}"
            )
            continue
        data, null = data_held(result), _null(result)
        found += [Found(evidence, place, data, null) for evidence in read]
    beside = [replace(one, evidence=_with_reference(one, found)) for one in found]
    weighed = ((one, _weighed(claim, one.evidence, results[one.at], results)) for one in beside)
    return [replace(one, evidence=evidence) for one, evidence in weighed if evidence is not None]


def _null(result: Result) -> str:
    """Whether there is a null panel, and what it says; empty of a question that can have none."""
    if null_panel.TABLE in result.tables:
        passes = result.tables[null_panel.TABLE]["passes"]
        return "failed" if null_panel.fails(result) else "undecided" if passes.isna().any() else "passed"
    question = registry.still_declared(result.question)
    return "not_asked" if question and question.null else ""


def _with_reference(one: Found, found: Iterable[Found]) -> Evidence:
    """With what is found of the same model with random weights, on the same data."""
    if one.evidence.model is None or one.evidence.reference is not None:
        return one.evidence
    for other in found:
        origin = other.model.origin
        same = (other.data, other.evidence.task) == (one.data, one.evidence.task)
        if same and origin and origin.by == "random" and other.model.came_of(one.model):
            return replace(one.evidence, reference=other.evidence.effect)
    return one.evidence


def _weighed(claim: Claim, evidence: Evidence, result: Result, results: Sequence[Result]) -> Evidence | None:
    """What a number is worth: all that was read if every precondition is met, the bare number with the reason if one
    isn't; None where it has nothing to do with the claim."""
    if evidence.skill is None and AboveChance() in claim.needs:
        evidence = replace(evidence, skill=skill_of(result, results))
    for need in (*_EVERY_CLAIM, *claim.needs):
        if need.to_hold and claim.verdict(evidence) not in _WOULD_HOLD:
            continue
        unmet = need.unmet(claim, evidence, result, results)
        if unmet is not None:
            return evidence.void(unmet.why, tested=unmet.tested) if unmet.bears else None
    return evidence


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
    evidence, verdict = best.evidence, claim.verdict(best.evidence)
    bound = claim.bound(evidence)
    agree = sum(claim.verdict(other.evidence) == verdict for other in current) - 1
    name = places.names.of(best.model)
    named = {best.model.id: replace(best.model, name=name)} if evidence.model else {}
    earlier = {one.model.id for one in found} - {one.model.id for one in current}
    replaced = [_REPLACED] if places.is_replaced(best.model) else []
    return _described(claim) | {
        "model": best.model.id, "model_name": name, "task": evidence.task,
        "base": places.base(best.model), "way": _way(best.model),
        "about": about(named, {"task": evidence.task}), "verdict": verdict,
        "effect": evidence.effect.value, "low": evidence.effect.low, "high": evidence.effect.high,
        "asks": bound.side, "at": bound.place(evidence.skill), "share": _share(claim), "margin": claim.margin,
        "n": evidence.n, "runs": evidence.runs, "null": best.null,
        "reference": evidence.reference.value if evidence.reference else None,
        "over": _over(evidence), "note": "; ".join(filter(None, [evidence.note, *replaced])),
        "published": claim.published.value(evidence.task), "published_says": claim.published.says,
        "why": _why(claim, evidence), "others": len(current) - 1, "agree": agree,
        "earlier": len(earlier), "input": f"results.{best.at}", "command": claim.command,
    }  # fmt: skip


def _way(model: ModelRecord) -> str:
    """What was done with the pretrained model, in a word."""
    return "random weights" if model.is_random else "tuned" if model.is_one_training else ""


def _untested(claim: Claim) -> dict[str, Any]:
    return _described(claim) | {
        "model": "", "model_name": "", "task": "", "base": "", "way": "", "about": "", "verdict": NOT_TESTED,
        "effect": None, "low": None, "high": None, "asks": claim.asks.side, "at": claim.asks.place(None),
        "share": _share(claim), "margin": claim.margin, "n": None, "runs": None, "null": "", "reference": None,
        "over": "", "note": "",
        "published": claim.published.value(""), "published_says": claim.published.says,
        "why": "nothing stored bears on it", "others": 0, "agree": 0, "earlier": 0, "input": "",
        "command": claim.command,
    }  # fmt: skip


def _over(evidence: Evidence) -> str:
    return f"{evidence.over}, of one training" if evidence.runs == 1 and evidence.effect.sure else evidence.over


def _share(claim: Claim) -> float | None:
    """Of the model's skill, where the bound is a share of that."""
    return claim.asks.at if claim.asks.of_skill else None


def _why(claim: Claim, evidence: Evidence) -> str:
    """Why nothing is decided."""
    if claim.verdict(evidence) not in (UNDERPOWERED, NOT_TESTED):
        return ""
    if evidence.why or not evidence.effect.sure:
        return evidence.why or "no interval is stored"
    place = claim.bound(evidence).place(evidence.skill)
    if place is not None and Bound(claim.asks.side, place).verdict(evidence.effect) != UNDERPOWERED:
        return "the bound is a share of the skill, and not known well enough itself"
    return "the interval reaches to both sides"


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
