"""Made-up results of experiments that train, as those of `planted_results`."""

from __future__ import annotations

import pandas as pd

from bertscope.core.number import Number
from bertscope.core.result import Result
from planted_results import Planted, ends, result


def scratch(effect: str, runs: int = 5) -> Planted:
    def results(value: float, reach: float) -> list[Result]:
        rows = [{"effect": name, "runs": runs, "n": 400, **ends(by, reach, "difference")}
                for name, by in ((effect, value), ("other", 0.77))]  # fmt: skip
        return [of_base("scratch", {"effects": pd.DataFrame(rows)})]

    return results


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

    whole = Number("score", 0.9, 0.9, 0.9, 500, of={"arm": "whole"})  # 0.4 above chance
    found = result(question, tables, [whole, Number("chance", 0.5)], **subject)
    found.models = {BASE.id: BASE}
    return found
