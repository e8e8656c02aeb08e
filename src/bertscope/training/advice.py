"""What to try where a training ended no better than an answer without a model: read off how its loss and its score on
validation went, beside what the recipe `auto` would have done.

Measured on six data sets (docs/findings/recipe.md): a loss that fell by less than a tenth had one of three causes, a
learning rate far above auto's, one far below it, or too few steps. Where it fell and the score is still that of a
constant answer, the rows were learnt by heart; where it is only that of a better baseline, something was learnt.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from bertscope.core.config import from_json
from bertscope.core.consequence import is_above
from bertscope.training.finetune.question import BASELINES, FinetuneConfig

if TYPE_CHECKING:
    import pandas as pd

    from bertscope.core.number import Number
    from bertscope.core.result import Result

_FELL = 0.1
"""The share of itself by which a loss must have fallen at least to have fallen."""
_FAR = 1.5
"""How many times another learning rate is far from it."""
_LOOK = "bertscope errors {model} --on {data}"


@dataclass(frozen=True)
class Shortfall:
    """What a training isn't above: a baseline."""

    baseline: str
    """Its key."""
    score: Number
    """What it has."""
    after: Number

    @property
    def is_open(self) -> bool:
        """Whether more of the test set could show that it is above it after all."""
        return self.after.value > self.score.value and is_above(self.after, self.score.value) is None


@dataclass(frozen=True)
class Advice:
    seen: str
    """What the training showed: a clause."""
    todo: str
    """What to try, as one would say it."""
    flags: str = ""
    """The training to try, as `finetune` takes it; empty where no other training would help."""

    @property
    def command(self) -> str:
        """The same to be copied; `{base}`, `{model}` and `{data}` are what the result is about."""
        return f"bertscope finetune {{base}} --on {{data}} {self.flags}" if self.flags else _LOOK


def shortfall(result: Result) -> Shortfall | None:
    """The constant answer, if a training isn't above it for certain; else the best other baseline, if it isn't above
    that, unless all it says is right."""
    after, others = result["after"], [key for key in BASELINES if key != "chance" and key in result]
    best = max(others, key=lambda key: result[key].value, default="chance")
    for key in ("chance", best):
        if key in result and not is_above(after, result[key].value) and (key == "chance" or after.value < 1):
            return Shortfall(key, result[key], after)
    return None


def advice(result: Result) -> Advice:
    """What to try after a training that fell short."""
    settings, auto = (from_json(FinetuneConfig, result.provenance[key]) for key in ("settings", "auto"))
    epochs, loss = result.tables["epochs"], _Loss(result.tables["steps"])
    assert settings.epochs and settings.learning_rate is not None and auto.epochs and auto.learning_rate
    ran, meant, rate = int(epochs["epoch"].max()), settings.epochs, settings.learning_rate
    if settings.keep != "best" and (best := _best_before_the_end(epochs)):
        seen = f"validation was best after epoch {best} of {ran}"
        return Advice(seen, "stop there", _flags(settings, keep="best"))
    longer = max(auto.epochs, meant)
    by_auto = _flags(settings, epochs=longer, learning_rate=auto.learning_rate, warmup=auto.warmup)
    if not loss.fell:
        if rate > _FAR * auto.learning_rate:
            return Advice(f"{loss}, at {rate / auto.learning_rate:.2g} times auto's learning rate",
                          "try a smaller learning rate", by_auto)  # fmt: skip
        if meant < auto.epochs:
            return Advice(f"{loss} in {_epochs(ran)}", f"try more steps, {_epochs(auto.epochs)}", by_auto)
        if rate < auto.learning_rate / _FAR:
            return Advice(f"{loss}, at {rate / auto.learning_rate:.2g} times auto's learning rate",
                          "try a larger learning rate", by_auto)  # fmt: skip
        slower = _flags(settings, epochs=2 * meant, learning_rate=float(f"{rate / 3:.2g}"), warmup=auto.warmup)
        return Advice(loss.words, "try a smaller learning rate, unless the texts don't tell what is right", slower)
    if meant < auto.epochs:
        return Advice(f"{loss}, but training was short", f"try more steps, {_epochs(auto.epochs)}", by_auto)
    if ran == meant and _still_rises(epochs):
        more = _flags(settings, epochs=2 * ran)
        return Advice(f"{loss}, and validation still rose at the end", f"try more steps, {_epochs(2 * ran)}", more)
    short = shortfall(result)
    if short is not None and short.baseline != "chance":
        return Advice(loss.words, "what needs no model may be enough here; otherwise get more rows, or a larger base")
    seen = f"{loss}, but what was learnt of these rows doesn't hold for others"
    return Advice(seen, "there is little signal; get more rows, or look whether their labels are right")


def note(result: Result) -> str | None:
    """What a result says of a training that fell short, in a line."""
    short = shortfall(result)
    if short is None:
        return None
    told = advice(result)
    than = "perhaps no better than" if short.is_open else "no better than"
    bar = "a constant answer" if short.baseline == "chance" else BASELINES[short.baseline]
    flags = f" ({told.flags})" if told.flags else ""
    return f"{than} {bar} ({short.after.value:.3f}, {short.score.value:.3f}): {told.seen}; {told.todo}{flags}"


class _Loss:
    """How the loss on the training set went: its means over the first and the last tenth of the curve."""

    def __init__(self, steps: pd.DataFrame) -> None:
        values = steps["loss"].to_numpy()
        few = max(1, len(values) // 10)
        self.first, self.last = float(np.mean(values[:few])), float(np.mean(values[-few:]))
        self.fell = self.last < (1 - _FELL) * self.first
        how = "fell" if self.fell else "hardly fell" if self.last < self.first else "didn't fall"
        self.words = f"the loss {how} ({self.first:.3g} to {self.last:.3g})"

    def __str__(self) -> str:
        return self.words


def _best_before_the_end(epochs: pd.DataFrame) -> int:
    """The epoch whose score is above all that the last one's may be; 0 where none is."""
    trained = epochs[epochs["epoch"] > 0]
    best, last = trained.loc[trained["score"].fillna(-np.inf).idxmax()], trained.iloc[-1]
    return int(best["epoch"]) if best["score"] > last["high"] else 0


def _still_rises(epochs: pd.DataFrame) -> bool:
    """Whether the last epoch's score is above all that the middle one's may be."""
    middle, last = epochs.iloc[len(epochs) // 2], epochs.iloc[-1]
    return bool(last["score"] > middle["high"])


def _epochs(n: int) -> str:
    return "1 epoch" if n == 1 else f"{n} epochs"


def _flags(settings: FinetuneConfig, **changed: Any) -> str:
    """The training once more with some settings changed; the others as they were."""
    plain, words = FinetuneConfig(head_rate=1.0), list[str]()
    for one in fields(FinetuneConfig):
        if one.name == "recipe":  # what it fills in is told
            continue
        value = changed.get(one.name, getattr(settings, one.name))
        if value == getattr(plain, one.name):
            continue
        flag = one.name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag} {value:g}" if isinstance(value, float) else f"--{flag} {value}")
    return " ".join(words)
