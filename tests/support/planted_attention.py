"""Made-up results about attention in which an effect is known, with the tables that the real question stores: of a
model, and of what one fine-tuning made of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bertscope.core.model_record import DataRecord, ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from planted_results import BASE, SURE, TASK, TUNED, Planted, ends

PRETRAINED = ModelRecord(BASE, BASE)
_TRAINING = Origin("finetune", PRETRAINED, DataRecord("toy", TASK, "classification", ("no", "yes")), seed=0)
MODELS = {BASE: PRETRAINED, TUNED: ModelRecord(TUNED, TUNED, _TRAINING, "classifier")}


def result(question: str, tables: dict, headline: list[Number] = [], *models: str) -> Result:  # noqa: B006
    """Of these models, or of the pretrained one."""
    about = {key: MODELS[key] for key in models or (BASE,)}
    return Result(question, 1, tables, headline=headline, models=about, subject={"task": TASK})


def patterns(before: tuple[float, float], after: tuple[float, float], kind: str) -> list[Result]:
    rows = [
        {"checkpoint": name, "class": kind, **ends(*share, "share")}
        for name, share in ((BASE, before), (TUNED, after))
    ]
    reach = np.hypot(before[1], after[1])
    change = {"checkpoint": TUNED, "class": kind, **ends(after[0] - before[0], reach, "change")}
    tables = {"models": pd.DataFrame(rows), "changes": pd.DataFrame([change])}
    return [result("patterns", tables, [Number(kind, after[0], n=400)], BASE, TUNED)]


def features(rows: list[dict], *models: str, **more: pd.DataFrame) -> list[Result]:
    models = models or (BASE,)
    table = pd.DataFrame(rows).assign(by="all_tokens", n=400, checkpoint=BASE)
    shares = [Number("mostly_on_special", 0.0, n=400, of={"model": model}) for model in models]
    return [result("features", {"layers": table, "special": table, **more}, shares, *models)]


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
    (found,) = attention({"cls": 0.3, "sep": 0.9}, {"cls": 0.1, "sep": 0.1}, SURE)
    rows = [
        {"layer": layer, "head": head, "token": token, "each": one,
         **ends(count * one, count * reach / 2, "attention")}
        for layer in range(1, 7)
        for head in (1, 2)
        for token, count, one in (
            ("cls", 1, 0.3 + (value if layer < 3 else -0.3)), ("sep", seps, 0.3), ("both", 1, np.nan),
        )
    ]  # fmt: skip
    found.tables["special"] = pd.DataFrame(rows).assign(checkpoint=BASE)
    return [found]


def on_special(value: float, reach: float) -> list[Result]:
    (found,) = attention({}, {"cls": 0.1}, SURE)
    found.headline = [Number("mostly_on_special", value, value - reach, value + reach, 400, of={"model": BASE})]
    return [found]


def gains(value: float, reach: float) -> list[Result]:
    rows = [
        {"checkpoint": TUNED, "layer": layer, "by": "all_tokens", "feature": feature, **ends(change, reach, "change")}
        for layer in (1, 2)
        for feature, change in (("noun", value), ("verb", -0.5), ("pronoun", -0.5), ("sep", 0.9))
    ]
    layers = [{"layer": 1, "feature": "noun", **ends(0.1, SURE, "attention")}]
    return features(layers, BASE, TUNED, change_of_layers=pd.DataFrame(rows))


def change(**columns: list) -> list[Result]:
    layers = pd.DataFrame({"layer": range(1, len(next(iter(columns.values()))) + 1)} | columns)
    return [result("change", {"layers": layers}, [Number("cosine", 0.8, n=400)], BASE, TUNED)]


def ranks(value: float, reach: float) -> list[Result]:
    rank = np.array([9.0, 8.0, value, 1.0])
    return change(rank=rank, rank_low=rank - reach, rank_high=rank + reach)


def last_share(value: float, reach: float) -> list[Result]:
    (found,) = change(rank=[1, 2])
    found.headline += [
        Number("last_two_share", value, value - reach, value + reach, 400), Number("last_two_even_share", 0.2),
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


def related(value: float, reach: float) -> list[Result]:
    return [result("relations", {"best": relations(value, reach)})]


def relations(value: float = 0.1, reach: float = SURE) -> pd.DataFrame:
    effect = ends(value, reach, "difference", "difference_low", "difference_high")
    return pd.DataFrame([{"checkpoint": BASE, "relation": "obj", "p": 0.01, "test_pairs": 50, **effect}])


def redundancy(key: str) -> Planted:
    return lambda value, reach: [
        result("redundancy", {}, [Number(key, value, value - reach, value + reach, 400, of={"model": BASE})])
    ]
