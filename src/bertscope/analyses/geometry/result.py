"""The answer of `geometry`: tables and headline of what was found in each layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.geometry.figures import geometry_figures
from bertscope.analyses.geometry.layer import (
    BASELINE,
    INTRA,
    INTRINSIC,
    MEV,
    MEV_BASELINE,
    RANK,
    SELF,
    LayerGeometry,
    layer_geometry,
)
from bertscope.analyses.geometry.pairs import paired_texts
from bertscope.analyses.geometry.space import AS_IT_IS, STANDARDISED, TOP_REMOVED
from bertscope.analyses.geometry.words import Words, read_words
from bertscope.analyses.occurrences import left_out_notes
from bertscope.core.intervals import jackknife_interval
from bertscope.core.progress import progress
from bertscope.core.result import Number, Result

if TYPE_CHECKING:
    from bertscope.analyses.geometry.question import GeometryConfig
    from bertscope.core.examples import Examples
    from bertscope.models.states_store import StatesStore

_HEADLINE = (BASELINE, f"{SELF}*", f"{INTRA}*", f"{MEV}*", RANK, INTRINSIC)
_BOUNDED = (BASELINE, SELF, INTRA, MEV, MEV_BASELINE)
_UNITS = {RANK: "dimensions", INTRINSIC: "dimensions", f"{MEV}*": "share"}


def geometry_result(stores: dict[str, StatesStore], examples: Examples, config: GeometryConfig) -> Result:
    tables: dict[str, list[pd.DataFrame]] = {"layers": [], "words": [], "plain": [], "dimensions": [], "pairs": []}
    arrays: dict[str, list[np.ndarray]] = {}
    headline: list[Number] = []
    notes = [*examples.notes, *left_out_notes(stores)]
    same = ""
    with progress("layers", sum(len(store.layers) for store in stores.values())) as bar:
        for name, store in stores.items():
            words = read_words(store, examples, config)
            pairs = paired_texts(store, examples, config.same, config.sample, config.groups, config.seed)
            found = []
            for layer in store.layers:
                found.append(layer_geometry(store, layer, words, pairs, config))
                bar.advance()
            for measure, draws in _draws(found).items():
                arrays.setdefault(measure, []).append(draws)
            made = _tables(found) | {"words": _words_table(found[-1], words, config.listed)}
            for table, rows in made.items():
                tables[table].append(rows.assign(checkpoint=name))
            headline += _headline(found, f", {name}" if len(stores) > 1 else "")
            notes += _notes(name, store, words, config)
            same = pairs.said if pairs else ""
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items() if any(map(len, parts))}
    return Result(
        "geometry",
        3,
        tables=whole,
        arrays=_alike(arrays, len(stores)),
        headline=headline,
        figures=geometry_figures(whole, list(stores), same),
        subject={"model": " and ".join(stores)} | ({"task": examples.name} if examples.name else {}),
        notes=list(dict.fromkeys(notes)),
    )


def _draws(found: list[LayerGeometry]) -> dict[str, np.ndarray]:
    """Of each measure of the vectors as they are, each layer's value and those without each group of texts."""
    named = [{one.measure: one.draws for one in at.found if one.form == AS_IT_IS} for at in found]
    return {measure: np.stack([at[measure] for at in named]) for measure in named[0]}


def _alike(arrays: dict[str, list[np.ndarray]], checkpoints: int) -> dict[str, np.ndarray]:
    """[checkpoint, layer, 1 + groups] of the measures that all checkpoints have, in as many layers and groups."""
    return {
        measure: np.stack(draws)
        for measure, draws in arrays.items()
        if len(draws) == checkpoints and len({one.shape for one in draws}) == 1
    }


def _tables(found: list[LayerGeometry]) -> dict[str, pd.DataFrame]:
    """A row for each layer, form and measure."""
    rows: dict[str, list[dict[str, object]]] = {}
    for at in found:
        for one in at.found:
            if np.isnan(one.draws[0]):
                continue
            low, high = jackknife_interval(one.draws, **_range(one.measure))
            row = {"layer": at.layer, "form": one.form, "measure": one.measure, "value": one.draws[0]}
            rows.setdefault(one.table, []).append(row | {"low": float(low), "high": float(high), "n": one.n})
    return {name: pd.DataFrame(listed) for name, listed in rows.items()}


def _range(measure: str) -> dict[str, Any]:
    """Between what an interval can be: dimensions are positive, and what is left is a cosine, a share, a squared
    distance or a difference of two of them."""
    if measure in (RANK, INTRINSIC):
        return {"least": 0.0}
    if measure in _BOUNDED:
        return {"least": -1.0, "most": 1.0}
    return {}


def _words_table(last: LayerGeometry, words: Words, listed: int) -> pd.DataFrame:
    """The types whose occurrences differ most in the last layer, and least. They are ranked by the end of their
    interval that is nearer to the others, so that few occurrences don't make an extreme; those of one group of texts
    have no interval, and no place. Groups without a type say nothing of how it varies."""
    low, high = jackknife_interval(last.types, having=words.by_group > 0)
    known = np.flatnonzero(~np.isnan(low))
    few = min(listed, len(known) // 2)
    most, least = known[np.argsort(high[known], kind="stable")[:few]], known[np.argsort(-low[known])[:few][::-1]]
    at = np.concatenate([most, least])
    return pd.DataFrame(
        {
            "kind": ["most contextual"] * few + ["least contextual"] * few,
            "word": words.types[at], "layer": last.layer, "value": last.types[0, at], "low": low[at],
            "high": high[at], "n": words.counts[at],
        }
    )  # fmt: skip


def _headline(found: list[LayerGeometry], which: str) -> list[Number]:
    """The last layer's measures; and the baseline of its vectors once they are mended."""
    last = {(one.form, one.measure): one for one in found[-1].found}
    shown = [(AS_IT_IS, measure) for measure in _HEADLINE]
    shown += [(form, BASELINE) for form in (TOP_REMOVED, STANDARDISED)]
    numbers = []
    for form, measure in shown:
        if (form, measure) in last and not np.isnan(last[form, measure].draws[0]):
            one = last[form, measure]
            low, high = jackknife_interval(one.draws, **_range(measure))
            name = f"{measure}, last layer" + ("" if form == AS_IT_IS else f", {form}") + which
            ends = {} if np.isnan(low) else {"low": float(low), "high": float(high)}
            numbers.append(Number(name, float(one.draws[0]), n=one.n, unit=_UNITS.get(measure, "cosine"), **ends))
    return numbers


def _notes(name: str, store: StatesStore, words: Words, config: GeometryConfig) -> list[str]:
    directions = config.directions(store.dim)
    types = f"{len(words.types):,} word types occur {config.least} times or more"
    return [
        f"{name}: {len(store):,} words, special tokens left out; {types}"
        + ("" if len(words.types) else ": no SelfSim and no MEV"),
        f"{name}: top directions removed are the mean and {directions} of {store.dim}",
    ]
