"""The answer of `geometry`: what was found in each layer, as tables, headline and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.geometry.question import HEADLINE, GeometryConfig, geometry
from bertscope.analyses.geometry.vectors import AS_IT_IS, STANDARDISED, TOP_REMOVED
from bertscope.analyses.geometry.words import Words
from bertscope.analyses.occurrences import left_out_notes
from bertscope.analyses.side_by_side import subject
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import jackknife_interval, jackknife_resamples
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, decimals, sure
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.core.examples import Examples
    from bertscope.models.states_store import StatesStore

BASELINE, SELF, INTRA, MEV, MEV_BASELINE = "baseline", "self_similarity", "intra_sentence", "mev", "mev_baseline"
RANK, ISOSCORE, INTRINSIC = "effective_rank", "isoscore", "intrinsic_dimension"
ALIGNMENT, UNIFORMITY = "alignment", "uniformity"
OF_SAMPLE = {measure: f"{measure}_of_sample" for measure in (RANK, ISOSCORE)}
"""As they are defined, of the words at hand: they move with their number."""
ADJUSTED = {measure: f"{measure}_adjusted" for measure in (SELF, INTRA, MEV)}
"""What is left of a measure beyond its baseline."""
_WORDS = geometry.words["measure"]
_BOUNDED = (BASELINE, SELF, INTRA, MEV, MEV_BASELINE)
_UNITS = {RANK: "dimensions", ISOSCORE: "score", INTRINSIC: "dimensions", ADJUSTED[MEV]: "share"}
_LABELS = {"checkpoint": "", "form": "", "kind": "", "word": "", "low": "from", "high": "to"}
_BAND = "Bands are 95% intervals by leaving groups of texts out."
_MEANINGS = (
    "Baseline: the mean cosine of two random words; 0 where words point everywhere, 1 where all point one way. The "
    "others are what is left beyond chance. SelfSim*: the mean cosine of two occurrences of a word, less the "
    "baseline; 0 where context decides everything. Intra-sentence*: the mean cosine of a word with its text, less "
    "the baseline. MEV*: how much of a few occurrences of a word one direction explains, less what it explains of "
    "as many random ones. SelfSim* and MEV* are of words that are frequent enough in a corpus of the size that a "
    "note gives."
)
_DIMENSIONS = {
    RANK: "The exponential of the entropy of the covariance's eigenvalues: to how many equally strong directions the "
    "spread of the words amounts. Extrapolated to endless texts: that of the sample itself, which the table has too, "
    "is lower the fewer its words.",
    ISOSCORE: "How evenly the words spread over all directions: 1 where all vary alike, 0 where one does. "
    "Extrapolated as the effective rank is.",
    INTRINSIC: "TwoNN, from the distances of sampled words to their two nearest neighbours: how many dimensions the "
    "surface has on which they lie. It moves with their number: compare it with that of as many.",
}


@dataclass(frozen=True)
class Measured:
    """A measure of a layer in one form: draws [1 + groups], and what it is a mean of."""

    table: str
    measure: str
    form: str
    draws: np.ndarray
    n: int


@dataclass(frozen=True)
class LayerGeometry:
    layer: int
    found: list[Measured]
    types: np.ndarray
    """SelfSim* of each type, of the vectors as they are [1 + groups, type]."""


@dataclass(frozen=True)
class CheckpointGeometry:
    key: str
    """What tables call it."""
    store: StatesStore
    words: Words
    layers: list[LayerGeometry]
    same: str
    """Which pairs of texts mean the same, in words; empty where there are none."""


def geometry_result(checkpoints: Sequence[CheckpointGeometry], examples: Examples, config: GeometryConfig) -> Result:
    tables: dict[str, list[pd.DataFrame]] = {"layers": [], "words": [], "plain": [], "dimensions": [], "pairs": []}
    arrays: dict[str, list[np.ndarray]] = {}
    headline: list[Number] = []
    models = records(one.store for one in checkpoints)
    names = model_names(models)
    notes = [*examples.notes, *left_out_notes({one.key: one.store for one in checkpoints})]
    for one in checkpoints:
        for measure, draws in _draws(one.layers).items():
            arrays.setdefault(measure, []).append(draws)
        found = _tables(one.layers) | {"words": _words_table(one.layers[-1], one.words, config.listed)}
        for table, rows in found.items():
            tables[table].append(rows.assign(checkpoint=one.key))
        headline += _headline(one.layers, one.key)
        notes += _notes(names[one.key], one.store, one.words, config)
    whole = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items() if any(map(len, parts))}
    return geometry.result(
        tables=whole,
        arrays=_alike(arrays, len(checkpoints)),
        headline=headline,
        figures=_figures(whole, names, checkpoints[-1].same),
        models=models,
        subject=subject(examples),
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
    if measure in (RANK, OF_SAMPLE[RANK], INTRINSIC):
        return {"least": 0.0}
    if measure in (ISOSCORE, OF_SAMPLE[ISOSCORE]):
        return {"least": 0.0, "most": 1.0}
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
            "kind": ["most_contextual"] * few + ["least_contextual"] * few,
            "word": words.types[at], "layer": last.layer, "value": last.types[0, at], "low": low[at],
            "high": high[at], "n": words.counts[at],
        }
    )  # fmt: skip


def _headline(found: list[LayerGeometry], checkpoint: str) -> list[Number]:
    """The last layer's measures; and the baseline of its vectors once they are mended."""
    last = {(one.form, one.measure): one for one in found[-1].found}
    shown = [(measure, AS_IT_IS, measure) for measure in HEADLINE]
    shown += [("baseline_mended", form, BASELINE) for form in (TOP_REMOVED, STANDARDISED)]
    numbers = []
    for key, form, measure in shown:
        if (form, measure) in last and not np.isnan(last[form, measure].draws[0]):
            one = last[form, measure]
            low, high = jackknife_interval(one.draws, **_range(measure))
            ends: dict[str, Any] = {} if np.isnan(low) else {"low": float(low), "high": float(high)}
            of = {"model": checkpoint, "layer": str(found[-1].layer), "form": form}
            unit = _UNITS.get(measure, "cosine")
            drawn = None if np.isnan(low) else jackknife_resamples(one.draws)
            numbers.append(Number(key, float(one.draws[0]), n=one.n, unit=unit, of=of, draws=drawn, **ends))
    return numbers


def sentence(result: Result) -> Statement | None:
    key, model = next(iter(result.models.items()))
    rows = result.tables["layers"].sort_values("layer")
    rows = rows[(rows["checkpoint"] == key) & (rows["measure"] == BASELINE) & (rows["form"] == AS_IT_IS)]
    first, last = (cell(rows.iloc[at], "value", "low", "high") for at in (0, -1))
    told = (
        f"Two random words have a cosine of {sure(first)} in {model.name}'s embeddings and {sure(last)} in its last "
        "layer."
    )
    return Statement(told, last.value, decimals)


def _notes(name: str, store: StatesStore, words: Words, config: GeometryConfig) -> list[str]:
    directions = config.directions(store.dim)
    types = f"{len(words.types):,} word types occur {config.least} times or more"
    few = ": fewer than were asked for, and both move with that number" if words.corpus < config.words else ""
    return [
        f"{name}: {len(store):,} words, special tokens left out; {types}"
        + ("" if len(words.types) else ": no SelfSim and no MEV"),
        f"{name}: SelfSim and MEV are those of a corpus of {words.corpus:,} words{few}",
        f"{name}: top directions removed are the mean and {directions} of {store.dim}",
    ]


def _figures(tables: dict[str, pd.DataFrame], names: dict[str, str], same: str) -> list[Figure]:
    figures = [
        Figure(
            "lines", "layers", key="cone", x="layer", y="value", low="low", high="high", color="checkpoint",
            facet="measure", where={"form": AS_IT_IS}, title="The cone, and how contextual words are in it",
            caption=f"{_MEANINGS} {_BAND}", labels=_LABELS | {"value": "cosine, or share"},
        )
    ]  # fmt: skip
    figures += [_mended(key, names) for key in names]
    figures += [_by_layer("dimensions", measure, meaning) for measure, meaning in _DIMENSIONS.items()]
    if "pairs" in tables:
        figures += _pairs(same)
    if len(tables.get("words", ())):
        figures += [_words(key, names) for key in names]
    return figures


def _mended(checkpoint: str, names: dict[str, str]) -> Figure:
    return Figure(
        "lines", "layers", key=_of(checkpoint, "mended", names), x="layer", y="value", low="low", high="high",
        color="form", facet="measure", where={"checkpoint": checkpoint},
        title="After mending" + _which(checkpoint, names),
        caption="The same measures of the vectors as they are, without their mean and top directions, and with every "
        f"dimension brought to mean 0 and variance 1. {_BAND}",
        labels=_LABELS | {"value": "cosine, or share"},
    )  # fmt: skip


def _of(checkpoint: str, figure: str, names: dict[str, str]) -> str:
    """The key of a figure that each of several checkpoints has."""
    return f"{figure}_{checkpoint}" if len(names) > 1 else figure


def _which(checkpoint: str, names: dict[str, str]) -> str:
    return f": {names[checkpoint]}" if len(names) > 1 else ""


def _by_layer(table: str, measure: str, meaning: str) -> Figure:
    words = _WORDS[measure]
    return Figure(
        "lines", table, key=measure, x="layer", y="value", low="low", high="high", color="checkpoint",
        where={"measure": measure}, title=f"{words[0].upper()}{words[1:]}", caption=f"{meaning} {_BAND}",
        labels=_LABELS | {"value": words},
    )  # fmt: skip


def _pairs(same: str) -> list[Figure]:
    read = (
        "A text is the mean of its words, at length 1. The two texts of a pair are read together and see each other."
    )
    return [
        _by_layer("pairs", ALIGNMENT, f"The mean squared distance of {same}; low is close. {read}"),
        _by_layer(
            "pairs", UNIFORMITY,
            f"The logarithm of the mean of exp(-2 distance²) over all two texts; low is evenly spread. {read}",
        ),
    ]  # fmt: skip


def _words(checkpoint: str, names: dict[str, str]) -> Figure:
    return Figure(
        "intervals", "words", key=_of(checkpoint, "words", names), x="value", y="word", low="low", high="high",
        color="kind", where={"checkpoint": checkpoint},
        title="Most and least contextual words" + _which(checkpoint, names),
        caption="SelfSim* in the last layer: the mean cosine of two occurrences of the word, less the baseline. "
        "Shown are the words whose intervals have the lowest upper and the highest lower ends. Bars are 95% "
        "intervals by leaving groups of texts out.",
        labels=_LABELS | {"value": _WORDS[ADJUSTED[SELF]]},
    )  # fmt: skip
