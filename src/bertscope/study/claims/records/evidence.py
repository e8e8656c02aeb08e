"""What records of several sources ask of a result: whose numbers these are, which checkpoint came of which, and what
it was taught: by what the task is, not by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bertscope.core import lineage
from bertscope.core.step import Step
from bertscope.study.claims.records.claim import Estimate, Evidence
from bertscope.study.claims.records.estimates import trained

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Number, Result

TUNED, UNTRAINED, CONTRASTED = " tuned on ", "(random init)", " contrasted on "
TREES, SPANS, INFERENCE = "trees", "spans", "inference"
_THREE_WAYS = {"entailment", "neutral", "contradiction"}


def evidence(result: Result, effect: Estimate, n: int | None, over: str, **more: Any) -> Evidence:
    """About the result's own model and task, unless `more` says otherwise; a fine-tuned one is one training."""
    about = {"model": result.subject.get("model", ""), "task": result.subject.get("task", "")} | more
    about.setdefault("runs", 1 if TUNED in about["model"] else None)
    return Evidence(effect, n=n, over=over, **about)


def of_training(
    result: Result, effect: Estimate, runs: float, n: int | None, over: str = "seeds, then texts", **more: Any
) -> Evidence:
    """The effect of a training: with its interval only from five seeds on."""
    sure, why = trained(effect, int(runs))
    return evidence(result, sure, n, over, runs=int(runs), why=why, **more)


def numbers(result: Result, name: str) -> Iterator[tuple[str, Number]]:
    """The headline number of that name, of each model: results of several call it `name, model`."""
    for number in result.headline:
        if number.name == name:
            yield result.subject.get("model", ""), number
        elif number.name.startswith(f"{name}, "):
            yield number.name.removeprefix(f"{name}, "), number


def estimate(number: Number) -> Estimate:
    return Estimate(number.value, number.low, number.high)


def checkpoints(table: pd.DataFrame) -> list[str]:
    """In the order in which they were named."""
    return list(dict.fromkeys(table["checkpoint"].dropna()))


def by_name(table: pd.DataFrame, column: str) -> dict[str, pd.Series]:
    """The rows by what they are called in a column; the first of a name."""
    return {str(row[column]): row for _, row in table.drop_duplicates(column).iterrows()}


def studied(name: str) -> bool:
    """Whether the papers speak of such a model: a pretrained one, perhaps fine-tuned; not one that began with random
    weights, or that an experiment trained otherwise."""
    return UNTRAINED not in name and CONTRASTED not in name


def tuned_from(base: str, names: Sequence[str]) -> list[str]:
    """Those that are the first one, fine-tuned."""
    return [name for name in names if name.startswith(f"{base}{TUNED}")]


def compared(result: Result) -> str:
    """What a result about a model before and after is about: the model after, if its name says what it came of."""
    before, _, after = result.subject["model"].partition(" and ")
    return after if after.startswith(f"{before}{TUNED}") else result.subject["model"]


_WHOLE = {"ablate": "score", "truncate": "nothing removed", "freeze": "nothing frozen", "lottery": "full"}
"""What the questions that take something away call the score of the whole model."""
_BLIND = ("chance", "majority")
"""What they call that of an answer which looks at no text."""


def at_chance(result: Result, others: Sequence[Result]) -> bool:
    """Whether the whole model is not clearly above chance, so that what it can do without shows nothing. What
    `redundancy` switches off is told by `ablate` of the same model and task."""
    same = [one for one in others if one.question == "ablate" and _subject(one) == _subject(result)]
    for one in [result] if result.question in _WHOLE else same:
        lows = [
            number.low for number in one.headline if number.name == _WHOLE[one.question] and number.low is not None
        ]
        chances = [number.value for number in one.headline if number.name in _BLIND]
        if lows and chances and lows[0] <= chances[0]:
            return True
    return False


def _subject(result: Result) -> tuple[str | None, str | None]:
    return result.subject.get("model"), result.subject.get("task")


def raw(result: Result) -> bool:
    """Whether it is about attention itself, not weighted by what it carries."""
    return "attention" not in result.subject


def layer_third(layers: pd.Series, top: int) -> pd.Series:
    """1, 2 or 3 for each layer of a model with `top` of them; 0 for the embeddings."""
    return -((-3 * layers) // top)


def lesson(source: str, options: Mapping[str, Any]) -> str:
    """What is learned from data that is read so: trees, spans (answers to questions), inference in three classes, or
    else what kind of task it is; empty where only its rows would tell.

    >>> lesson("/data/ewt", {"kind": "trees"}), lesson("glue/mnli@/data/MNLI", {}), lesson("demo/qa", {})
    ('trees', 'inference', 'spans')
    """
    from bertscope.data import demo
    from bertscope.data.tasks import declared

    name = source.partition("@")[0]
    kind: str = options.get("kind", "")
    labels: tuple[str, ...] = ()
    if name in demo.NAMES:
        kind, labels = demo.kind_and_labels(name)
    elif not kind and (known := declared(name)):
        kind, labels = SPANS if known.kind == "answers" else known.kind, known.labels
    return INFERENCE if set(labels) == _THREE_WAYS else kind


def lessons(result: Result, names: Sequence[str]) -> dict[str, str]:
    """What each of a result's models learned in fine-tuning, in the order in which the question was given them;
    without the result's step, what the name of a known task tells."""
    step = Step.from_json(result.provenance["step"]) if "step" in result.provenance else None
    models = lineage.models_read(step) if step else []
    known = dict(zip(names, models, strict=False))
    found = {}
    for name in names:
        _, tuned, task = name.rpartition(TUNED)
        if trained := lineage.trained_on(known[name], "task") if name in known else []:
            found[name] = lesson(trained[0].source, trained[0].options)
        else:
            found[name] = lesson(task, {}) if tuned else ""
    return found
