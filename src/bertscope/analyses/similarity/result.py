"""The answer of `similarity`: tables and headline of what was compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.occurrences import left_out_notes
from bertscope.analyses.similarity.figures import similarity_figures
from bertscope.analyses.similarity.sample import (
    CKA,
    PLAIN,
    RSA,
    Corpus,
    Sample,
    Sides,
    by_layer,
    every_two_layers,
    three_layers,
)
from bertscope.core.errors import UserError
from bertscope.core.intervals import jackknife_interval, jackknife_interval_of_difference
from bertscope.core.result import Number, Result

if TYPE_CHECKING:
    from bertscope.analyses.similarity.question import SimilarityConfig

_FEWEST = 50  # words: fewer say nothing
_HALVINGS = 4  # of the sample, to see how the value settles
_UNITS = {RSA: "correlation", CKA: "alignment", PLAIN: "cosine"}

Draws = dict[str, np.ndarray]


def similarity_result(corpora: list[Corpus], config: SimilarityConfig) -> Result:
    stores, texts = corpora[0].stores, corpora[0].examples.name
    _refuse_few(corpora)
    sides = by_layer(stores, config.pairs)
    draws = [Sample(corpus, config.words, config.groups).compare(sides, plain=True) for corpus in corpora]
    tables = {"layers": _layers_table(sides, draws, corpora, config)}
    if len(corpora) > 1:
        tables["corpora"] = _corpora_table(sides, draws, corpora)
    tables["by_words"] = _settling_table(sides, corpora[0], config)
    if config.grid:
        tables["grid"] = _grid_table(corpora[0], config)
    against = {"against": corpora[1].name} if len(corpora) > 1 else {}
    return Result(
        "similarity",
        1,
        tables=tables,
        headline=_headline(sides, draws, corpora, config),
        figures=similarity_figures(tables, list(stores), config.pairs),
        subject={"model": " and ".join(stores)} | ({"task": texts} if texts else {}) | against,
        notes=_notes(corpora, config),
    )


def _layers_table(
    sides: list[Sides], draws: list[Draws], corpora: list[Corpus], config: SimilarityConfig
) -> pd.DataFrame:
    """`series` says what a line is of, in the words that tell it from the others."""
    tables = []
    for corpus, found in zip(corpora, draws, strict=True):
        table = _table(sides, found, corpus.size(config.words)).assign(corpus=corpus.name)
        table["series"] = table["pair"] if config.pairs == "all" else table["other"]
        if len(corpora) > 1:
            table["series"] = table["series"] + f", {corpus.name}" if table["series"].nunique() > 1 else corpus.name
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _corpora_table(sides: list[Sides], draws: list[Draws], corpora: list[Corpus]) -> pd.DataFrame:
    """The difference of two corpora, which are independent samples."""
    tables = []
    for measure, here in draws[0].items():
        there = draws[1][measure]
        difference = here[0] - there[0]
        low, high = jackknife_interval_of_difference(here, there)
        table = _named(sides).assign(
            measure=measure, here=here[0], there=there[0], difference=difference, low=low, high=high
        )
        tables.append(table[table["difference"].notna()])
    return pd.concat(tables, ignore_index=True).assign(corpus=corpora[0].name, against=corpora[1].name)


def _settling_table(sides: list[Sides], corpus: Corpus, config: SimilarityConfig) -> pd.DataFrame:
    """RSA and CKA of three layers from parts of the sample, each of which holds the one before."""
    chosen = three_layers(sides)
    whole = corpus.size(config.words)
    sizes = [n for n in sorted(whole >> halvings for halvings in range(_HALVINGS + 1)) if n >= _FEWEST]
    tables = [_table(chosen, Sample(corpus, n, config.groups).compare(chosen), n) for n in sizes]
    table = pd.concat(tables, ignore_index=True)
    several = table["pair"].nunique() > 1
    return table.assign(panel=table["measure"] + (" · " + table["pair"] if several else ""))


def _grid_table(corpus: Corpus, config: SimilarityConfig) -> pd.DataFrame:
    sides = every_two_layers(corpus.stores, config.pairs)
    found = Sample(corpus, config.words, config.groups).compare(sides)
    return _table(sides, found, corpus.size(config.words))


def _table(sides: list[Sides], draws: Draws, n: int) -> pd.DataFrame:
    """A row for each comparison and measure."""
    tables = []
    for measure, values in draws.items():
        low, high = jackknife_interval(values, least=-1.0, most=1.0)
        table = _named(sides).assign(measure=measure, value=values[0], low=low, high=high, n=n)
        tables.append(table[table["value"].notna()])
    return pd.concat(tables, ignore_index=True)


def _named(sides: list[Sides]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pair": [each.pair for each in sides],
            "checkpoint": [each.one.checkpoint for each in sides],
            "other": [each.other.checkpoint for each in sides],
            "layer": [each.one.layer for each in sides],
            "other_layer": [each.other.layer for each in sides],
        }
    )


def _headline(
    sides: list[Sides], draws: list[Draws], corpora: list[Corpus], config: SimilarityConfig
) -> list[Number]:
    pairs = list(dict.fromkeys(each.pair for each in sides))
    below = " with the layer below" if len(corpora[0].stores) == 1 else ""
    numbers = []
    for pair in pairs:
        blocks = [at for at, each in enumerate(sides) if each.pair == pair and each.one.layer > 0]
        depths = {store.n_layers for store in corpora[0].stores.values()}
        last = "last layer" if len(depths) == 1 else f"layer {sides[blocks[-1]].one.layer}"
        for corpus, found in zip(corpora, draws, strict=True):
            which = (f", {pair}" if len(pairs) > 1 else "") + (f", {corpus.name}" if corpus is not corpora[0] else "")
            n = corpus.size(config.words)
            for measure, values in found.items():
                numbers += [
                    _number(f"{measure}{below}, {last}{which}", values[:, blocks[-1]], n, _UNITS[measure]),
                    _number(f"{measure}{below}, mean{which}", values[:, blocks].mean(1), n, _UNITS[measure]),
                ]
            lowest = sides[blocks[int(np.argmin(found[RSA][0, blocks]))]].one.layer
            numbers.append(Number(f"layer with the lowest RSA{which}", float(lowest), n=len(blocks)))
    return [number for number in numbers if not np.isnan(number.value)]


def _number(name: str, draws: np.ndarray, n: int, unit: str) -> Number:
    low, high = jackknife_interval(draws, least=-1.0, most=1.0)
    if np.isnan(low):
        return Number(name, float(draws[0]), n=n, unit=unit)
    return Number(name, float(draws[0]), float(low), float(high), n, unit)


def _refuse_few(corpora: list[Corpus]) -> None:
    for corpus in corpora:
        if (found := corpus.words.shape[1]) < _FEWEST:
            raise UserError(
                f"only {found} words of {corpus.name} are words for all checkpoints, and {_FEWEST} are needed; give "
                "more texts, or checkpoints of one tokenizer"
            )
        stores = corpus.stores.values()
        if len(corpus.stores) == 1 and len(next(iter(stores)).layers) < 2:
            raise UserError("one layer of one checkpoint has nothing to be compared with; keep two layers or more")
        if not any(layer > 0 for layer in set.intersection(*(set(store.layers) for store in stores))):
            raise UserError(f"{' and '.join(corpus.stores)} have no layer in common; keep the same layers of all")


def _notes(corpora: list[Corpus], config: SimilarityConfig) -> list[str]:
    notes = []
    if len(depths := {store.n_layers for store in corpora[0].stores.values()}) > 1:
        said = " and ".join(map(str, sorted(depths)))
        notes.append(
            f"the checkpoints have {said} layers: by layer, layer k of one stands beside layer k of the other, as "
            "far as both go; `grid` has every two"
        )
    for corpus in corpora:
        notes += [*corpus.examples.notes, *left_out_notes(corpus.stores)]
        shared = corpus.words.shape[1]
        notes += [
            f"of {len(store):,} words of {name}, {shared:,} are words for all checkpoints; the others were left out"
            for name, store in corpus.stores.items()
            if len(store) != shared
        ]
        if shared < config.words:
            notes.append(f"{corpus.name} has {shared:,} words: all are compared")
    return notes
