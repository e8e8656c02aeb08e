"""Made-up results in which an effect is known: functions of that effect and of how far its interval reaches, with the
tables that the real question stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.step import Root, Step

BASE, TUNED, RANDOM, TASK = "pocket", "pocket tuned on toy", "pocket (random init)", "toy"
SURE = 1e-6
"""An interval that is all but a point."""
Planted = Callable[[float, float], list[Result]]


def result(question: str, tables: dict, headline: list[Number] = [], model: str = BASE, **subject: str) -> Result:  # noqa: B006
    return Result(question, 1, tables, headline=headline, subject={"model": model, "task": TASK} | subject)


def ends(value: float, reach: float, name: str = "value", low: str = "low", high: str = "high") -> dict:
    return {name: value, low: value - reach, high: value + reach}


def ablate(kind: str, best: bool) -> Planted:
    """A part with the effect, and one whose effect is certainly less (or more)."""

    def results(value: float, reach: float) -> list[Result]:
        other = -0.9 if best else 0.9
        rows = [
            {"kind": kind, "certain": wide < abs(effect), **ends(effect, wide, "effect")}
            for effect, wide in ((value, reach), (other, SURE))
        ]
        scores = [Number("score", 0.9, 0.88, 0.92, 400), Number("chance", 0.5)]
        return [result("ablate", {"effects": pd.DataFrame(rows)}, scores, mode="uniform")]

    return results


def taught(found: Result, *tasks: tuple[str, dict] | None) -> Result:
    """With the step it came of: models that were fine-tuned on these tasks, or on none."""
    base = Root("model", "pocket", "0" * 16)
    models = [
        Step("finetune", 1, {"seed": 0}, {"base": base, "task": Root("task", task[0], "1" * 16, task[1])})
        if task else base
        for task in tasks
    ]  # fmt: skip
    states = {f"states.{place}": Step("states", 1, {}, {"model": model}) for place, model in enumerate(models)}
    found.provenance["step"] = Step(found.question, 1, {}, states).to_json()
    return found


def similarity(other: str, by_layer: list[float], reach: float, corpus: str = TASK) -> Result:
    rows = [
        {"checkpoint": BASE, "other": other, "layer": layer, "other_layer": layer, "measure": "RSA", "n": 900,
         "corpus": corpus, **ends(value, reach / 2)}
        for layer, value in enumerate(by_layer)
    ]  # fmt: skip
    return result("similarity", {"layers": pd.DataFrame(rows)}, [Number("RSA, last layer", by_layer[-1], n=900)])


def elsewhere(value: float, reach: float) -> list[Result]:
    found = similarity(TUNED, [1.0, 0.9, 0.8], SURE)
    rows = [{"measure": "RSA", "layer": layer, "other": TUNED, **ends(by, reach, "difference")}
            for layer, by in ((1, 0.7), (2, value))]  # fmt: skip
    found.tables["corpora"] = pd.DataFrame(rows)
    return [found]


def structure(names: tuple[str, str], values: tuple[float, float], reach: float, chain: float = 0.2) -> list[Result]:
    """800 edges of 60 sentences."""
    rows = [
        {"checkpoint": name, "metric": metric, "arm": "probe", "best_layer": best, "best_rank": True, "n": n,
         **ends(value if best else 0.1, reach / 2)}
        for name, value in zip(names, values, strict=True) for best in (False, True)
        for metric, n in (("UUAS", 800), ("root accuracy", 60))
    ]  # fmt: skip
    neighbours = {"metric": "UUAS", "arm": "linear chain", "best_layer": False, "best_rank": False, "n": 800}
    return [result("structure", {"scores": pd.DataFrame([*rows, neighbours | ends(chain, SURE)])})]


def probe(**tables: pd.DataFrame) -> list[Result]:
    both = [{"checkpoint": name, "layer": layer, "n": 2000} for name in (BASE, TUNED) for layer in range(13)]
    texts = pd.DataFrame({"target": ["pos", "relation", "word", "length"], "texts": [300, 250, 280, 900]})
    return [result("probe", {"probes": pd.DataFrame(both), "targets": texts, **tables})]


def probed(value: float, reach: float) -> list[Result]:
    """The parts of speech change so, which word it is and how long the text is otherwise."""
    rows = [
        {"checkpoint": TUNED, "target": target, "layer": layer, **ends(change, reach, "change")}
        for layer in (1, 2)
        for target, change in (("pos", value), ("relation", value), ("word", 0.9), ("length", -0.9))
    ]
    return probe(changes=pd.DataFrame(rows))


def expected(value: float, reach: float) -> list[Result]:
    rows = [{"checkpoint": BASE, "target": target, **ends(12 * value, 12 * reach, "expected")}
            for target in ("pos", "relation")]  # fmt: skip
    return probe(expected=pd.DataFrame([*rows, {"checkpoint": BASE, "target": "sense", **ends(99.0, 0, "expected")}]))


def geometry(measure: str, by_layer: Callable[[float], list[float]], share: float = 0.5) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [
            {
                "checkpoint": BASE,
                "layer": layer,
                "form": form,
                "measure": measure,
                "n": 900,
                **ends(at, share * reach),
            }
            for form, shift in (("as it is", 0.0), ("standardised", 5.0))
            for layer, at in enumerate(shift + np.array(by_layer(value)))
        ]
        return [result("geometry", {"layers": pd.DataFrame(rows)})]

    return results
