"""What records of several sources ask of a result: whose numbers these are, which model came of which, and what it
was taught. All of it is read off the models' records (`core/model_record.py`), nothing off a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from bertscope.analyses.side_by_side import is_weighted
from bertscope.core import lineage
from bertscope.core.estimate import Estimate
from bertscope.core.step import Root, Step
from bertscope.study.claims.records.claim import Evidence

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.model_record import ModelRecord, Origin
    from bertscope.core.number import Number
    from bertscope.core.result import Result

TREES, SPANS, INFERENCE = "trees", "spans", "inference"
_THREE_WAYS = {"entailment", "neutral", "contradiction"}
_FINE_TUNING = ("", "finetune")
"""What makes a fine-tuned model: the question, or somebody else, of whose work only the base is known."""
_ON_TOP = ("new", "bare")
"""What gives a model another top, and leaves its encoder as it is."""


def evidence(result: Result, effect: Estimate, n: int | None, over: str, **more: Any) -> Evidence:
    """About the result's task, and of its models the one that was given last, unless `more` says otherwise. A
    fine-tuned model is one training."""
    about = {"model": last_model(result), "task": result.subject.get("task", "")} | more
    model: ModelRecord | None = about["model"]
    about.setdefault("runs", 1 if model and model.is_one_training else None)
    return Evidence(effect, n=n, over=over, **about)


def of_training(
    result: Result, effect: Estimate, runs: float, n: int | None, over: str = "seeds and texts", **more: Any
) -> Evidence:
    """The effect of a training, over so many of them."""
    return evidence(result, effect, n, over, runs=int(runs), **more)


def of_tuned(result: Result, tuned: ModelRecord, effect: Estimate, n: int | None, over: str, **more: Any) -> Evidence:
    """What one fine-tuning did, if that is what made the model of the first one: `TunedFromFirst` asks that."""
    return evidence(result, effect, n, over, **({"model": tuned, "runs": 1} | more))


def after_first(result: Result) -> list[ModelRecord]:
    """A result's models but the first, which the others are compared with."""
    return list(result.models.values())[1:]


def fine_tuned_from(model: ModelRecord, first: ModelRecord) -> bool | None:
    """Whether fine-tuning, and nothing else, made a model of another one; None where that isn't recorded."""
    if model.is_same(first) or model.is_random:
        return False
    came = model.came_of(first)
    if not came:
        return came
    made = [origin.by for origin in _origins_since(model, first)]
    return any(by in _FINE_TUNING for by in made) and all(by in (*_FINE_TUNING, *_ON_TOP) for by in made)


def held_still(model: ModelRecord, first: ModelRecord) -> bool:
    """Whether layers were frozen, or left out, since it was the first one: what moved was chosen then."""
    return any(origin.frozen or origin.removed for origin in _origins_since(model, first))


def _origins_since(model: ModelRecord, first: ModelRecord) -> Iterator[Origin]:
    """How it, and what it was made from, was made, down to the first one."""
    for one in model.descent():
        if one.is_same(first):
            return
        if one.origin:
            yield one.origin


def task_corpus(result: Result, model: ModelRecord) -> Literal["here", "there"] | None:
    """Of two corpora, `here` and `there`, the one whose task the model was fine-tuned on: by what the result noted of
    their content, or by the step, which says what both were read from. None where it isn't known, or not one."""
    noted = result.tables["corpora"]
    if "own" in noted:
        own = set(noted.loc[noted["other"] == model.id, "own"]) - {""}
        if own == {"here"} or own == {"there"}:
            return own.pop()
    if "step" not in result.provenance:
        return None
    step = Step.from_json(result.provenance["step"])
    read = {one.digest for one in lineage.data_read(step, but=("against",))}
    other = {one.digest for one in lineage.data_read(step, but=("examples",))}
    learned = {one.digest for one in _trained_on(step, result, model)}
    here, there = bool(learned & read), bool(learned & other)
    return None if here == there else "here" if here else "there"


def _trained_on(step: Step, result: Result, model: ModelRecord) -> list[Root]:
    """What the step that made the model read, where it was made by one: models and steps come in the same order."""
    made = [one for name, one in step.inputs.items() if name.startswith("states.") and isinstance(one, Step)]
    of_model = dict(zip(result.models, made, strict=False))[model.id] if len(made) == len(result.models) else None
    trained = [one for one in lineage.models_read(of_model) if isinstance(one, Step)] if of_model else []
    return [root for one in trained for root in lineage.data_read(one)]


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
