"""Made-up results about what a model can do without, in which an effect is known, with the tables that the real
question stores: parts that are switched off, subnetworks that are trained again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from planted_results import BASE, SURE, TASK, Planted, ends

FULL = Number("score", 0.9, 0.9, 0.9, 400, of={"arm": "full"})
"""What the full model of a lottery scores: 0.4 above chance, which it is known to have."""


def result(question: str, tables: dict, headline: list[Number], **subject: str) -> Result:
    models = {BASE: ModelRecord(BASE, BASE)}
    return Result(question, 1, tables, headline=headline, models=models, subject={"task": TASK} | subject)


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


def lottery(runs: int = 5, **tables: pd.DataFrame) -> Result:
    found = {name: table.assign(runs=runs) for name, table in tables.items()}
    return result("lottery", found, [FULL, Number("chance", 0.5)])


def arm(method: str, name: str, stage: str, value: float, reach: float) -> dict:
    apart = ends(value, reach, "minus_full", "minus_full_low", "minus_full_high")
    return {"method": method, "arm": name, "stage": stage, **ends(value, reach, "score"), **apart}


def retrained(method: str, name: str, runs: int = 5) -> Planted:
    return lambda value, reach: [
        lottery(runs, arms=pd.DataFrame([arm(method, name, "retrained", value, reach)]))
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


def gained(name: str) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [
            {"method": method, "arm": name, **ends(by, reach, "gain")} for method, by in (("m", value), ("s", 0.77))
        ]
        return [lottery(gains=pd.DataFrame(rows))]

    return results


def survivors(votes: np.ndarray) -> list[Result]:
    """Which heads survive with which seed, [seed, head]."""
    parts = pd.DataFrame({"kind": ["head"] * votes.shape[1]})
    found = result("lottery", {"survivors": parts}, [FULL, Number("chance", 0.5)])
    found.arrays["survivors"] = votes.astype(np.uint8)
    return [found]


def heads_left(value: float, reach: float) -> list[Result]:
    """Five seeds that keep nearly the same share of a thousand heads, or shares all over the place."""
    shares = value + (reach * np.linspace(-0.4, 0.4, 5) if reach > SURE else np.linspace(-0.002, 0.002, 5))
    return survivors((np.arange(1000) + 0.5) / 1000 < shares[:, None])


def agreeing(key: str, runs: int = 5) -> Planted:
    """How much seeds agree on the heads, by one of its measures, beside what they agree on of MLPs."""

    def results(value: float, reach: float) -> list[Result]:
        rows = [
            {"method": "s", "parts": parts, "of": of, **ends(by, wide, key, f"{key}_low", f"{key}_high")}
            for parts, of, by, wide in (("heads", 144, value, reach), ("mlps", 12, 0.77, SURE))
        ]
        return [lottery(runs, agreement=pd.DataFrame(rows))]

    return results


def weights_left(value: float, reach: float, runs: int = 5) -> list[Result]:
    from scipy.stats import t

    spread = reach / (t.ppf(0.975, 4) / 5**0.5)
    row = {"method": "m", "parts": "weights", "of": 1000, "survive": 1000 * value, "survive_sd": 1000 * spread}
    return [lottery(runs, agreement=pd.DataFrame([row]), arms=pd.DataFrame([arm("m", "good", "retrained", 0.9, 0)]))]


def shapes(value: float, reach: float, runs: int = 5) -> list[Result]:
    rows = [("heterogeneous", value), ("block", 1 - value)]
    table = pd.DataFrame({"class": kind, "share": share, "heads": 50} for kind, share in rows)
    unsure = np.nan if runs < 5 else reach
    table = table.assign(low=table["share"] - unsure, high=table["share"] + unsure, runs=runs)
    return [lottery(runs, classes=table.assign(attention="raw", of="survivors"))]
