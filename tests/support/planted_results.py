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


def patterns(before: tuple[float, float], after: tuple[float, float], kind: str) -> list[Result]:
    rows = [
        {"checkpoint": name, "class": kind, **ends(*share, "share")}
        for name, share in ((BASE, before), (TUNED, after))
    ]
    return [result("patterns", {"models": pd.DataFrame(rows)}, [Number(kind, after[0], n=400)])]


def features(rows: list[dict], **more: pd.DataFrame) -> list[Result]:
    table = pd.DataFrame(rows).assign(by="all tokens", n=400, checkpoint=BASE)
    return [result("features", {"layers": table, "special": table, **more}, [Number("any", 0.0, n=400)])]


def attention(lower: dict[str, float], upper: dict[str, float], reach: float) -> list[Result]:
    """Six layers: the first two draw as `lower` says, the others as `upper`."""
    return features([
        {"layer": layer, "feature": feature, **ends(value, reach / 2, "attention")}
        for layer in range(1, 7)
        for feature, value in (lower if layer < 3 else upper).items()
    ])  # fmt: skip


def first_tokens(value: float, reach: float, seps: int = 1) -> list[Result]:
    """Six layers of two heads in which [CLS] draws so much more than one [SEP], of which a text has `seps`; in the
    upper layers the other way round."""
    (found,) = attention({"[CLS]": 0.3, "[SEP]": 0.9}, {"[CLS]": 0.1, "[SEP]": 0.1}, SURE)
    rows = [
        {"layer": layer, "head": head, "token": token, "each": one,
         **ends(count * one, count * reach / 2, "attention")}
        for layer in range(1, 7)
        for head in (1, 2)
        for token, count, one in (
            ("[CLS]", 1, 0.3 + (value if layer < 3 else -0.3)), ("[SEP]", seps, 0.3),
            ("[CLS] and [SEP]", 1, np.nan),
        )
    ]  # fmt: skip
    found.tables["special"] = pd.DataFrame(rows).assign(checkpoint=BASE)
    return [found]


def on_special(value: float, reach: float) -> list[Result]:
    (found,) = attention({}, {"[CLS]": 0.1}, SURE)
    name = "heads mostly on [CLS] and [SEP]"
    found.headline = [Number(name, value, value - reach, value + reach, 400)]
    return [found]


def gains(value: float, reach: float) -> list[Result]:
    rows = [
        {"checkpoint": TUNED, "layer": layer, "by": "all tokens", "feature": feature, **ends(change, reach, "change")}
        for layer in (1, 2)
        for feature, change in (("noun", value), ("verb", -0.5), ("[SEP]", 0.9))
    ]
    layers = [{"layer": 1, "feature": "noun", **ends(0.1, SURE, "attention")}]
    return features(layers, change_of_layers=pd.DataFrame(rows))


def change(**columns: list) -> list[Result]:
    layers = pd.DataFrame({"layer": range(1, len(next(iter(columns.values()))) + 1)} | columns)
    return [result("change", {"layers": layers}, [Number("cosine", 0.8, n=400)], f"{BASE} and {TUNED}")]


def ranks(value: float, reach: float) -> list[Result]:
    rank = np.array([9.0, 8.0, value, 1.0])
    return change(rank=rank, rank_low=rank - reach, rank_high=rank + reach)


def last_share(value: float, reach: float) -> list[Result]:
    (found,) = change(rank=[1, 2])
    named = (("share of the change in the last two layers", reach), ("the same if all heads changed alike", 0))
    found.headline += [
        Number(named[0][0], value, value - reach, value + reach, 400), Number(named[1][0], 0.2),
    ]  # fmt: skip
    return [found]


def unchanged(value: float, reach: float) -> list[Result]:
    """Of 100 heads, a share above a cosine of 0.9, and so many more or fewer by the ends of their intervals."""
    (found,) = change(rank=[1, 2])
    place = (np.arange(100) + 0.5) / 100
    found.tables["heads"] = pd.DataFrame(
        {name: np.where(place < share, 0.95, 0.5) for name, share in
         (("cosine", value), ("cosine_low", value - reach), ("cosine_high", value + reach))}
    )  # fmt: skip
    return [found]


def frames(value: float, reach: float) -> list[Result]:
    """Ten layers of ten heads; sure: the same share in each layer, unsure: in some layers all, in others none."""
    head, layer = np.meshgrid(np.arange(10), np.arange(10))
    certain = head < 10 * value if reach <= SURE else layer < 10 * value
    table = pd.DataFrame({"layer": layer.ravel() + 1, "head": head.ravel() + 1, "certain": certain.ravel()})
    return [
        result("relations", {"frames": table.assign(checkpoint=BASE, n=90), "best": relations().assign(p=np.nan)})
    ]


def relations(value: float = 0.1, reach: float = SURE) -> pd.DataFrame:
    effect = ends(value, reach, "difference", "difference_low", "difference_high")
    return pd.DataFrame([{"checkpoint": BASE, "relation": "obj", "p": 0.01, "test_pairs": 50, **effect}])


def redundancy(name: str) -> Planted:
    return lambda value, reach: [
        result("redundancy", {}, [Number(name, value, value - reach, value + reach, 400)])
    ]  # fmt: skip


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
