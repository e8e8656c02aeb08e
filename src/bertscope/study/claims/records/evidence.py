"""What records of several sources ask of a result: whose numbers these are, which model came of which, and what it
was taught. All of it is read off the models' records (`core/model_record.py`), nothing off a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bertscope.analyses.side_by_side import is_weighted
from bertscope.core import lineage
from bertscope.core.estimate import Estimate
from bertscope.core.step import Step
from bertscope.study.claims.records.claim import Evidence
from bertscope.study.claims.records.estimates import trained

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.model_record import ModelRecord
    from bertscope.core.number import Number
    from bertscope.core.result import Result

TREES, SPANS, INFERENCE = "trees", "spans", "inference"
_THREE_WAYS = {"entailment", "neutral", "contradiction"}
_UNKNOWN = "what it was fine-tuned from isn't recorded; say it with --base"
_ANOTHER = "it is said to come of {}, which isn't known to be this {}"


def evidence(result: Result, effect: Estimate, n: int | None, over: str, **more: Any) -> Evidence:
    """About the result's task, and of its models the one that was given last, unless `more` says otherwise. A
    fine-tuned model is one training."""
    about = {"model": last_model(result), "task": result.subject.get("task", "")} | more
    model: ModelRecord | None = about["model"]
    about.setdefault("runs", 1 if model and model.is_one_training else None)
    return Evidence(effect, n=n, over=over, **about)


def of_training(
    result: Result, effect: Estimate, runs: float, n: int | None, over: str = "seeds, then texts", **more: Any
) -> Evidence:
    """The effect of a training: with its interval only from five seeds on."""
    sure, why = trained(effect, int(runs))
    return evidence(result, sure, n, over, runs=int(runs), why=why, **more)


def of_tuned(result: Result, tuned: ModelRecord, effect: Estimate, n: int | None, over: str, **more: Any) -> Evidence:
    """What came of fine-tuning the first model: no evidence where that isn't recorded."""
    found = evidence(result, effect, n, over, **({"model": tuned, "runs": 1} | more))
    first = first_model(result)
    if tuned.came_of(first):
        return found
    base = tuned.origin.base if tuned.origin else None
    return found.void(_ANOTHER.format(base.name, first.name) if base else _UNKNOWN)


def tuned_from_first(result: Result) -> list[ModelRecord]:
    """Of a result's models those that are the first one, fine-tuned, or may be: `of_tuned` tells the two apart."""
    if not result.models:
        return []
    base, *others = result.models.values()
    return [one for one in others if one.came_of(base) is not False and not one.is_random and not one.is_same(base)]


def first_model(result: Result) -> ModelRecord:
    return next(iter(result.models.values()))


def last_model(result: Result) -> ModelRecord | None:
    """Of two the one after."""
    return list(result.models.values())[-1] if result.models else None


def numbers(result: Result, key: str) -> Iterator[tuple[ModelRecord, Number]]:
    """The headline numbers of that key, each with the model that it is of: where it says none, the only one."""
    for number in result.numbers(key=key):
        yield result.models[number.of["model"]] if "model" in number.of else first_model(result), number


def by_key(table: pd.DataFrame, column: str) -> dict[str, pd.Series]:
    """The rows by their key in a column; the first of each."""
    return {str(row[column]): row for _, row in table.drop_duplicates(column).iterrows()}


def studied(model: ModelRecord) -> bool:
    """Whether the papers speak of such a model: a pretrained one, perhaps fine-tuned; not one that began with random
    weights, or that an experiment trained otherwise."""
    return not model.is_random and not any(origin.by == "contrastive" for origin in model.origins)


_WHOLE: Mapping[str, Mapping[str, str]] = {
    "ablate": {}, "truncate": {"arm": "whole"}, "freeze": {"arm": "whole"}, "lottery": {"arm": "full"}
}  # fmt: skip
"""The questions that take something away, and of what the whole model's `score` is there."""


def at_chance(result: Result, others: Sequence[Result]) -> bool:
    """Whether the whole model is not clearly above chance, so that what it can do without shows nothing. What
    `redundancy` switches off is told by `ablate` of the same model and task."""
    same = [one for one in others if one.question == "ablate" and _subject(one) == _subject(result)]
    for one in [result] if result.question in _WHOLE else same:
        lows = [number.low for number in one.numbers(key="score", **_WHOLE[one.question]) if number.low is not None]
        chances = [number.value for number in one.numbers(key="chance")]
        if lows and chances and lows[0] <= chances[0]:
            return True
    return False


def _subject(result: Result) -> tuple[list[str], str]:
    return list(result.models), data_held(result)


def data_held(result: Result) -> str:
    """What the data that a result is about holds, as its step says: two data sets may share a name. Without a step
    the name is all there is."""
    if "step" not in result.provenance:
        return result.subject.get("task", "")
    step = Step.from_json(result.provenance["step"])
    return "+".join(sorted({root.digest for root in lineage.data_read(step)}))


def raw(result: Result) -> bool:
    """Whether it is about attention itself, not weighted by what it carries."""
    return not is_weighted(result)


def layer_third(layers: pd.Series, top: int) -> pd.Series:
    """1, 2 or 3 for each layer of a model with `top` of them; 0 for the embeddings."""
    return -((-3 * layers) // top)


def taught(model: ModelRecord) -> str:
    """What its last training taught it: trees, spans (answers to questions), inference in three classes, or else what
    kind of task that was; empty where nothing is recorded."""
    data = model.trained_on
    if data is None:
        return ""
    return INFERENCE if set(data.labels) == _THREE_WAYS else data.kind
