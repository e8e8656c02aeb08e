"""`circuit`: parts ranked on the validation set, and what the model does with the best of them alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.circuit.question import CircuitConfig
from bertscope.analyses.circuit.result import PLURAL, Found, circuit_result
from bertscope.analyses.one_by_one import Fall, Orders, fall
from bertscope.analyses.part_rankings import rank_parts
from bertscope.analyses.without_parts import WithoutParts
from bertscope.core.equivalence import SHARE, allowing_for_few, judged, margin, surely_within
from bertscope.core.errors import UserError
from bertscope.core.estimate import Estimate
from bertscope.core.intervals import interval, interval_from_one_more
from bertscope.core.onset import stays_from
from bertscope.core.ranking import RANDOM, Ranking, places, rank_correlation, stored_rankings
from bertscope.core.result import Result
from bertscope.core.units import Unit, columns, heads_and_mlps
from bertscope.data.task import Task
from bertscope.models.encoder import Encoder

FAITHFUL = "faithful"
_ROUNDING = 1e-12  # a score that is at the margin itself is within it


def measure(model: Encoder, task: Task, config: CircuitConfig, rankings: Sequence[Result] = ()) -> Result:
    task = task.asked_of(model)
    units = heads_and_mlps(model.head_counts, model.neuron_counts)
    kinds = list[str](dict.fromkeys(config.units))
    if gone := [kind for kind in kinds if not _of_kind(units, kind)]:
        raise UserError(f"{model.name} has no {PLURAL[gone[0]]} left; leave them out of --units")
    stored = [one for result in rankings for one in stored_rankings(result, model.record, units)]
    if not config.by and not stored:
        raise UserError("no ranking to follow; name some with --by, or give results with --rankings")
    if config.mode == "uniform":
        with model.gates(mode="uniform"):  # refused where it can't be, before anything is computed
            pass
    without = WithoutParts(model, task, config.mode, seed=config.seed)
    ranked = rank_parts(without, config.by, nodes=config.nodes, seed=config.seed)
    every = _named_apart([*ranked.rankings, *stored])
    orders = {(kind, one.by): [one.rising(kind)] for kind in kinds for one in every if one.has(_of_kind(units, kind))}
    how: dict[str, Any] = {"steps": config.steps, "repeats": config.repeats, "seed": config.seed}
    beside = _beside_random(orders, units, kinds, config)
    by_test = fall(without, task.test, beside, quantities=("score", "loss", "kl"), **how)
    by_validation = fall(without, task.validation, orders, quantities=("score",), **how)
    along = {key: {**each, FAITHFUL: faithful(each["kl"])} for key, each in by_test.along.items()}
    fell = replace(by_test, along=along)
    return circuit_result(
        model, task, config,
        Found(
            rankings=every,
            parts=_parts(every),
            curves=_curves(fell),
            areas=_areas(fell),
            smallest=_smallest(task, by_validation, fell),
            reliability=_reliability(every, units, kinds),
            correlations=_correlations(every, units, kinds),
            judged=by_test.judged,
            missed=ranked.missed,
        ),
    )  # fmt: skip


def _of_kind(units: Sequence[Unit], kind: str) -> list[Unit]:
    return [units[place] for place in places(units, kind)]


def _named_apart(rankings: Sequence[Ranking]) -> list[Ranking]:
    """Two results of one question rank by the same thing: the second is called so."""
    met = Counter[str]()
    found = []
    for one in rankings:
        met[one.by] += 1
        found.append(one if met[one.by] == 1 else replace(one, by=f"{one.by}_{met[one.by]}"))
    return found


def _beside_random(orders: Orders, units: Sequence[Unit], kinds: Sequence[str], config: CircuitConfig) -> Orders:
    """These orders, and random ones of each kind."""
    generator = np.random.default_rng(config.seed)
    random = {
        (kind, RANDOM): [
            Ranking(RANDOM, tuple(units), values).rising(kind)
            for values in generator.random((config.random, len(units)))
        ]
        for kind in kinds
    }
    return {**orders, **random}


def faithful(kl: np.ndarray) -> np.ndarray:
    """From divergences [..., points], the last with all parts off, to how much of that the kept parts undo: 1 for
    the whole model, 0 for none of its parts. NaN where parts that are off change nothing."""
    most = kl[..., -1:]
    return 1 - np.divide(kl, most, out=np.full_like(kl, np.nan), where=most > 0)


def _curves(fell: Fall) -> pd.DataFrame:
    """By how many parts are kept: from none to all."""
    table = fell.curves.rename(columns={"order": "ranking", "off": "kept"})
    parts = table.groupby("kind")["kept"].transform("max")
    table["kept"] = parts - table["kept"]
    table["share"] = table["kept"] / parts
    return table.iloc[::-1].sort_values(["kind", "ranking"], key=_as_met(fell), kind="stable", ignore_index=True)


def _as_met(fell: Fall) -> Any:
    """The order in which kinds and rankings are told."""
    met = {name: place for place, name in enumerate(dict.fromkeys(name for key in fell.along for name in key))}
    return lambda column: column.map(met)


def _areas(fell: Fall) -> pd.DataFrame:
    table = fell.areas.rename(columns={"order": "ranking"})
    for by in next(iter(fell.along.values())):
        of = "" if by == "score" else f"{by}_"
        ends = [
            interval_from_one_more(
                fell.area(kind, name, by) - fell.area(kind, RANDOM, by), fell.area_of_each(kind, RANDOM, by)
            )
            if name != RANDOM else (np.nan, np.nan)
            for kind, name in fell.along
        ]  # fmt: skip
        table[[f"{of}one_more_low", f"{of}one_more_high"]] = np.array(ends)
    return table


def _smallest(task: Task, validation: Fall, test: Fall) -> pd.DataFrame:
    """Of each ranking the fewest parts from which on the validation set's score stays within the margin, and what the
    test set says of them. Where the whole model has no skill there is nothing to stay within."""
    chance = {name: task.chance(getattr(task, name)) for name in ("validation", "test")}
    rows = []
    for (kind, name), along in validation.along.items():
        scores, off = along["score"][:, 0], validation.off[kind]
        may_lose = margin(scores[0, 0], chance["validation"])
        if not may_lose or interval(scores[:, 0] - chance["validation"])[0] <= 0:
            continue  # not clearly above chance: there is nothing to keep
        lowest = scores[:, :1] - SHARE * np.maximum(scores[:, :1] - chance["validation"], 0)
        surely = surely_within(scores[0, 0] - scores[0], len(task.validation), may_lose)
        # From none kept to all, which is within the margin.
        enough = stays_from((lowest - _ROUNDING - scores)[None, :, ::-1], surely=surely[::-1])
        kept, at = enough.among(off[-1] - off[::-1]), len(off) - 1 - enough.place
        tested = test.along[kind, name]["score"][:, 0]
        change, within = tested[:, at] - tested[:, 0], margin(tested[0, 0], chance["test"])
        low, high = interval(change)
        rows.append(
            {"kind": kind, "ranking": name, "kept": int(kept.value), "kept_low": kept.low,
             "kept_high": kept.high, "of": int(off[-1]), "validation_score": scores[0, at],
             "validation_area": float(validation.area(kind, name, "score")[0]), "score": tested[0, at],
             **_changed(Estimate.of(change[0], low, high), len(task.test), within)}
        )  # fmt: skip
    names = ("kind", "ranking", "kept", "of", "change", "low", "high", "margin", "verdict")
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(names))


def _changed(bootstrapped: Estimate, n: int, within: float) -> dict[str, float | str | None]:
    """What the score changes by in so many texts, and whether that is as good."""
    change = allowing_for_few(bootstrapped, n)
    return {"change": change.value, "low": change.low, "high": change.high, "margin": within,
            "verdict": judged(change, within)}  # fmt: skip


def _parts(rankings: Sequence[Ranking]) -> pd.DataFrame:
    tables = []
    for one in rankings:
        table = pd.DataFrame({**columns(one.units), "ranking": one.by, "value": one.values})
        table["rank"] = (
            table.groupby("kind")["value"].rank(ascending=False, method="min").astype(int)
        )  # 1 for the most
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _reliability(rankings: Sequence[Ranking], units: Sequence[Unit], kinds: Sequence[str]) -> pd.DataFrame:
    """Of every ranking of every kind; NaN where it isn't known, or there are fewer than 3 parts."""
    rows = [
        (kind, one.by, *_of_halves(one, kind), len(_of_kind(units, kind)), one.split)
        for kind in kinds for one in rankings if one.has(_of_kind(units, kind))
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["kind", "ranking", "pearson", "spearman", "parts", "split"])


def _of_halves(ranking: Ranking, kind: str) -> tuple[float, float]:
    found = ranking.reliability.get(kind)
    return (found.pearson, found.spearman) if found else (np.nan, np.nan)


def _correlations(rankings: Sequence[Ranking], units: Sequence[Unit], kinds: Sequence[str]) -> pd.DataFrame:
    """Spearman's correlation of each two rankings, in both directions, and of each with itself."""
    rows = []
    for kind in kinds:
        here = _of_kind(units, kind)
        values = {one.by: one.of(here) for one in rankings if one.has(here)}
        of = {(one, other): _correlation(values[one], values[other]) for one, other in combinations(values, 2)}
        of |= {(other, one): value for (one, other), value in of.items()} | {(one, one): 1.0 for one in values}
        rows += [(kind, one, other, of[one, other], len(here)) for one in values for other in values]
    return pd.DataFrame(rows, columns=["kind", "ranking", "other", "correlation", "parts"])


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    return float(rank_correlation(one[None], other[None])[0])
