"""Made-up results of experiments that train, as those of `planted_results`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bertscope.core.number import Number
from bertscope.core.result import Result
from planted_results import SURE, Planted, ends, result


def scratch(effect: str, runs: int = 5) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [{"effect": name, "runs": runs, "n": 400, **ends(by, reach, "difference")}
                for name, by in ((effect, value), ("other", 0.77))]  # fmt: skip
        return [of_base("scratch", {"effects": pd.DataFrame(rows)})]

    return results


def lottery(runs: int = 5, **tables: pd.DataFrame) -> Result:
    scores = [Number("full", 0.9, n=400), Number("majority", 0.5)]
    return result("lottery", {name: table.assign(runs=runs) for name, table in tables.items()}, scores)


def arm(method: str, name: str, stage: str, value: float, reach: float) -> dict:
    apart = ends(value, reach, "minus_full", "minus_full_low", "minus_full_high")
    return {"method": method, "arm": name, "stage": stage, **ends(value, reach, "score"), **apart}


def good(method: str, runs: int = 5) -> Planted:
    return lambda value, reach: [
        lottery(runs, arms=pd.DataFrame([arm(method, "good", "retrained", value, reach)]))
    ]  # fmt: skip


def compared(method: str, one: str, other: str, runs: int = 5) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        row = {
            "method": method,
            "arm": one,
            "against": other,
            "stage": "retrained",
            **ends(value, reach, "difference"),
        }
        return [lottery(runs, comparisons=pd.DataFrame([row]))]

    return results


def gained(value: float, reach: float) -> list[Result]:
    rows = [arm("m", "bad", "pruned", 0.5, reach / 2), arm("m", "bad", "retrained", 0.5 + value, reach / 2)]
    return [lottery(arms=pd.DataFrame(rows))]


def survivors(votes: np.ndarray, layers: np.ndarray) -> list[Result]:
    """Which heads survive with which seed, [seed, head]."""
    parts = pd.DataFrame({"kind": "head", "layer": layers})
    found = result("lottery", {"survivors": parts}, [Number("full", 0.9, n=400)])
    found.arrays["survivors"] = votes.astype(np.uint8)
    return [found]


def heads_left(value: float, reach: float) -> list[Result]:
    """Five seeds that keep the same share of a thousand heads, or shares all over the place."""
    shares = value + reach * np.linspace(-0.4, 0.4, 5) if reach > SURE else np.full(5, value)
    return survivors((np.arange(1000) + 0.5) / 1000 < shares[:, None], np.repeat(np.arange(10), 100))


def agreeing(value: float, reach: float) -> list[Result]:
    """Kappa 1 or 0 sure, or layers in which seeds agree beside layers in which they don't."""
    generator = np.random.default_rng(0)
    layers = np.repeat(np.arange(10), 60)
    alike = np.tile(generator.random(600) < 0.5, (5, 1))
    apart = generator.random((5, 600)) < 0.5
    share = {0.0: 0, 1.0: 10}.get(value, 4)
    return survivors(np.where(layers < share, alike, apart), layers)


def in_every_seed(value: float, reach: float) -> list[Result]:
    return agreeing(value, reach)


def weights_left(value: float, reach: float, runs: int = 5) -> list[Result]:
    from scipy.stats import t

    spread = reach / (t.ppf(0.975, 4) / 5**0.5)
    row = {"method": "m", "parts": "weights", "of": 1000, "survive": 1000 * value, "survive_sd": 1000 * spread}
    return [lottery(runs, agreement=pd.DataFrame([row]), arms=pd.DataFrame([arm("m", "good", "retrained", 0.9, 0)]))]


def shapes(value: float, reach: float) -> list[Result]:
    rows = [("heterogeneous", value), ("block", 1 - value)]
    table = pd.DataFrame({"class": kind, "share": share, "heads": 50} for kind, share in rows)
    return [lottery(classes=table.assign(attention="raw", of="survivors"))]


def bias(effect: str, on: str, runs: int = 5) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [
            {"effect": name, "on": part, "runs": runs, "n": 500,
             **ends(value if (name, part) == (effect, on) else 0.77, reach, "difference")}
            for name in ("cut", "size", "words") for part in ("slice", "rest", "all")
        ]  # fmt: skip
        return [of_base("bias", {"effects": pd.DataFrame(rows)})]

    return results


def truncate(value: float, reach: float, runs: int = 5) -> list[Result]:
    rows = [
        {"removed": removed, "from_top": from_top, "top": top, "runs": runs, "n": 500,
         **ends(by, reach, "effect", "effect_low", "effect_high")}
        for removed, from_top, top, by in
        ((0, True, "linear", 0.0), (1, True, "linear", value), (1, True, "relu", 0.7), (1, False, "linear", 0.7))
    ]  # fmt: skip
    latency = {"removed": 1, "from_top": True, "texts": 32, "rounds": 20, **ends(value, reach, "faster")}
    return [of_base("truncate", {"arms": pd.DataFrame(rows), "latency": pd.DataFrame([latency])})]


def freeze(value: float, reach: float, runs: int = 5) -> list[Result]:
    rows = [
        {"arm": frozen, "runs": runs, "n": 500, **ends(by, reach, "effect", "effect_low", "effect_high")}
        for frozen, by in (("whole", 0.0), ("embeddings,1-4", 0.7), ("embeddings,1-8", value), ("encoder", 0.7))
    ]
    return [of_base("freeze", {"arms": pd.DataFrame(rows), "movement": pd.DataFrame({"layer": range(13)})})]


def contrast(arm: str, against: str, runs: int = 5) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [
            {"arm": one, "against": other, "runs": runs,
             **ends(value if (one, other) == (arm, against) else 0.7, reach, "slope")}
            for one, other in (("before", ""), ("contrastive", "before"), ("contrastive", "shuffled"))
        ]  # fmt: skip
        return [of_base("contrast", {"slopes": pd.DataFrame(rows)}, pairs="unsupervised")]

    return results


def of_base(question: str, tables: dict, **subject: str) -> Result:
    """A result about the base."""
    from made_runs import BASE

    found = result(question, tables, **subject)
    found.models = {BASE.id: BASE}
    return found
