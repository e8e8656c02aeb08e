"""What records of several sources ask of a result: whose numbers these are, and which checkpoint came of which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bertscope.study.claims.claim import Estimate, Evidence
from bertscope.study.claims.estimates import trained

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.result import Number, Result

TUNED, UNTRAINED, CONTRASTED = " tuned on ", "(random init)", " contrasted on "


def reading(result: Result, effect: Estimate, n: int | None, over: str, **more: Any) -> Evidence:
    """About the result's own model and task, unless `more` says otherwise; a fine-tuned one is one training."""
    about = {"model": result.subject.get("model", ""), "task": result.subject.get("task", "")} | more
    about.setdefault("runs", 1 if TUNED in about["model"] else None)
    return Evidence(effect, n=n, over=over, **about)


def of_training(
    result: Result, effect: Estimate, runs: float, n: int | None, over: str = "seeds, then texts", **more: Any
) -> Evidence:
    """The effect of a training: with its interval only from five seeds on."""
    sure, why = trained(effect, int(runs))
    return reading(result, sure, n, over, runs=int(runs), why=why, **more)


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
