"""Made-up results in which an effect is known: functions of that effect and of how far its interval reaches, with the
tables that the real question stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from bertscope.core.number import Number
from bertscope.core.result import Result

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


def redundancy(name: str) -> Planted:
    return lambda value, reach: [
        result("redundancy", {}, [Number(name, value, value - reach, value + reach, 400)])
    ]  # fmt: skip
