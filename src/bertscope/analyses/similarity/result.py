"""The answer of `similarity`: tables and headline of what was compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.occurrences import left_out_notes
from bertscope.analyses.similarity.question import SimilarityConfig, similarity
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import jackknife_interval, jackknife_interval_of_difference, jackknife_resamples
from bertscope.core.model_record import ModelRecord, records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, decimals, sure
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.similarity.measure import Corpus

RSA, DEBIASED, CKA, PROCRUSTES, PLAIN = "rsa", "debiased_cka", "cka", "procrustes", "plain_cosine"
_MOVE = (CKA, PROCRUSTES)  # with the number of words
_WORDS = similarity.words["measure"]
_KEYS = {
    RSA: ("rsa_last_layer", "rsa_mean", "rsa_below_last_layer", "rsa_below_mean"),
    DEBIASED: ("debiased_cka_last_layer", "debiased_cka_mean", "debiased_cka_below_last_layer",
               "debiased_cka_below_mean"),
    CKA: ("cka_last_layer", "cka_mean", "cka_below_last_layer", "cka_below_mean"),
    PROCRUSTES: ("procrustes_last_layer", "procrustes_mean", "procrustes_below_last_layer", "procrustes_below_mean"),
    PLAIN: ("plain_cosine_last_layer", "plain_cosine_mean", "plain_cosine_below_last_layer",
            "plain_cosine_below_mean"),
}  # fmt: skip
"""The last layer's and the mean; then the same of a single checkpoint, each layer beside the one below."""
_UNITS = {RSA: "correlation", DEBIASED: "alignment", CKA: "alignment", PROCRUSTES: "distance", PLAIN: "cosine"}
_LABELS = {
    "value": "similarity", "other_layer": "layer", "n": "words", "series": "", "measure": "", "low": "from",
    "high": "to",
}  # fmt: skip
_MEANINGS = {
    RSA: "RSA correlates the cosines between all sampled words in one with those in the other; 1 is no change.",
    DEBIASED: "Debiased CKA compares the vectors themselves, up to rotation and scale; 1 is no change, 0 unrelated.",
    CKA: "Plain CKA is the same with its bias: the fewer words, the higher.",
    PROCRUSTES: "The Procrustes distance is what the best rotation leaves, 0 to 2; the fewer words, the lower.",
    PLAIN: "The plain cosine of a word's two vectors falls with any rotation of the space, which loses nothing.",
}
_BAND = "Bands are 95% intervals by leaving groups of texts out."


@dataclass(frozen=True, order=True)
class Space:
    checkpoint: str
    layer: int


@dataclass(frozen=True)
class Sides:
    """Two spaces to compare."""

    one: Space
    other: Space

    @property
    def pair(self) -> tuple[str, str]:
        """The two checkpoints."""
        return self.one.checkpoint, self.other.checkpoint


@dataclass(frozen=True)
class Compared:
    """Comparisons of spaces, and what they gave."""

    sides: list[Sides]
    draws: dict[str, np.ndarray]
    """By measure, [1 + groups, comparison]; NaN where there is nothing to compare."""
    n: int
    """Words."""


def similarity_result(
    corpora: list[Corpus], layers: list[Compared], settling: list[Compared], grid: Compared | None,
    config: SimilarityConfig,
) -> Result:  # fmt: skip
    """`layers` are compared in each corpus; `settling`, in growing parts of the sample, and `grid` in the first."""
    models, texts = records(corpora[0].stores.values()), corpora[0].examples.name
    names = model_names(models)
    tables = {"layers": _layers_table(layers, corpora, names, config)}
    if len(corpora) > 1:
        tables["corpora"] = _corpora_table(layers, corpora, names)
    tables["by_words"] = _settling_table(settling, names)
    if grid is not None:
        tables["grid"] = _table(grid, names, between=" · and ")
    against = {"against": corpora[1].name} if len(corpora) > 1 else {}
    return similarity.result(
        tables=tables,
        headline=_headline(layers, corpora),
        figures=_figures(tables, list(names.values()), config.pairs),
        models=models,
        subject=({"task": texts} if texts else {}) | against,
        notes=_notes(corpora, names, config),
    )


def _layers_table(
    layers: list[Compared], corpora: list[Corpus], names: dict[str, str], config: SimilarityConfig
) -> pd.DataFrame:
    """`series` says what a line is of, in the words that tell it from the others."""
    tables = []
    for corpus, compared in zip(corpora, layers, strict=True):
        table = _table(compared, names).assign(corpus=corpus.name)
        table["series"] = table["pair"] if config.pairs == "all" else table["other"].map(names)
        if len(corpora) > 1:
            table["series"] = table["series"] + f", {corpus.name}" if table["series"].nunique() > 1 else corpus.name
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _corpora_table(layers: list[Compared], corpora: list[Corpus], names: dict[str, str]) -> pd.DataFrame:
    """The difference of two corpora, which are independent samples; `own` says which of them is the task's."""
    tables, models = [], records(corpora[0].stores.values())
    own = {key: _own(model, corpora) for key, model in models.items()}
    for measure in _comparable(layers):
        here, there = (compared.draws[measure] for compared in layers)
        low, high = jackknife_interval_of_difference(here, there)
        table = _named(layers[0].sides, names).assign(
            measure=measure, here=here[0], there=there[0], difference=here[0] - there[0], low=low, high=high
        )
        tables.append(table[table["difference"].notna()])
    table = pd.concat(tables, ignore_index=True).assign(corpus=corpora[0].name, against=corpora[1].name)
    return table.assign(own=table["other"].map(own))


def _own(model: ModelRecord, corpora: list[Corpus]) -> str:
    """Which corpus is of the task that a model was trained on, by content: `here` or `there`; empty where it isn't
    known, or not one of the two."""
    learned = model.trained_on.id if model.trained_on else ""
    here, there = (bool(learned) and corpus.examples.task == learned for corpus in corpora)
    return "" if here == there else "here" if here else "there"


def _comparable(layers: list[Compared]) -> list[str]:
    """The measures that say the same of all corpora: where they aren't of as many words, some don't."""
    alike = len({compared.n for compared in layers}) == 1
    return [measure for measure in layers[0].draws if alike or measure not in _MOVE]


def _settling_table(settling: list[Compared], names: dict[str, str]) -> pd.DataFrame:
    """The measures of three layers from parts of the sample, each of which holds the one before."""
    table = pd.concat([_table(compared, names) for compared in settling], ignore_index=True)
    several = table["pair"].nunique() > 1
    return table.assign(panel=table["measure"].map(_WORDS) + (" · " + table["pair"] if several else ""))


def _table(compared: Compared, names: dict[str, str], between: str = " and ") -> pd.DataFrame:
    """A row for each comparison and measure."""
    tables = []
    for measure, values in compared.draws.items():
        low, high = _interval(measure, values)
        table = _named(compared.sides, names, between).assign(
            measure=measure, value=values[0], low=low, high=high, n=compared.n
        )
        tables.append(table[table["value"].notna()])
    return pd.concat(tables, ignore_index=True)


def _named(sides: list[Sides], names: dict[str, str], between: str = " and ") -> pd.DataFrame:
    """`pair` has both checkpoints in words, for figures."""
    return pd.DataFrame(
        {
            "pair": [between.join(names[key] for key in dict.fromkeys(each.pair)) for each in sides],
            "checkpoint": [each.one.checkpoint for each in sides],
            "other": [each.other.checkpoint for each in sides],
            "layer": [each.one.layer for each in sides],
            "other_layer": [each.other.layer for each in sides],
        }
    )


def _headline(layers: list[Compared], corpora: list[Corpus]) -> list[Number]:
    sides, numbers = layers[0].sides, list[Number]()
    alone = len(corpora[0].stores) == 1
    lowest_key = "lowest_rsa_below_layer" if alone else "lowest_rsa_layer"
    for pair in dict.fromkeys(each.pair for each in sides):
        blocks = [at for at, each in enumerate(sides) if each.pair == pair and each.one.layer > 0]
        last = {"layer": str(sides[blocks[-1]].one.layer)}
        models = {"model": pair[1]} | ({} if alone else {"against": pair[0]})
        for corpus, compared in zip(corpora, layers, strict=True):
            of, n = models | {"corpus": corpus.name}, compared.n
            for measure, values in compared.draws.items():
                of_last, of_mean = _KEYS[measure][2:] if alone else _KEYS[measure][:2]
                numbers += [
                    _number(of_last, measure, values[:, blocks[-1]], n, of | last),
                    _number(of_mean, measure, values[:, blocks].mean(1), n, of),
                ]
            rsa = compared.draws[RSA][0, blocks]
            lowest = np.nan if np.isnan(rsa).all() else sides[blocks[int(np.nanargmin(rsa))]].one.layer
            numbers.append(Number(lowest_key, float(lowest), n=len(blocks), of=of))
    return [number for number in numbers if not np.isnan(number.value)]


def _number(key: str, measure: str, draws: np.ndarray, n: int, of: dict[str, str]) -> Number:
    low, high = (None if np.isnan(end) else float(end) for end in _interval(measure, draws))
    drawn = None if low is None else jackknife_resamples(draws)
    return Number(key, float(draws[0]), low, high, n, _UNITS[measure], of=of, draws=drawn)


def _interval(measure: str, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between what the measure can be."""
    least, most = (0.0, 2.0) if measure == PROCRUSTES else (-1.0, 1.0)
    return jackknife_interval(draws, least=least, most=most)


def sentence(result: Result) -> Statement | None:
    """Of two checkpoints, the second of which may have come of the first."""
    last, moved = (result.numbers(key=key) for key in ("rsa_last_layer", "lowest_rsa_layer"))
    if len(result.models) != 2 or not (last and moved):  # none is known of a layer that tells no words apart
        return None
    before, after = result.models.values()
    if after.came_of(before) is False:
        return None
    told = (
        f"Layer {int(moved[0].value)} moved farthest in fine-tuning; the last layer's RSA with what it was before is "
        f"{sure(Estimate.of_number(last[0]))}."
    )
    return Statement(told, last[0].value, decimals)


def _notes(corpora: list[Corpus], names: dict[str, str], config: SimilarityConfig) -> list[str]:
    notes = []
    if len(depths := {store.n_layers for store in corpora[0].stores.values()}) > 1:
        counts = " and ".join(map(str, sorted(depths)))
        notes.append(
            f"the checkpoints have {counts} layers: layer k of one is set beside layer k of the other, as far as "
            "both go; `grid` has all pairs of layers"
        )
    for corpus in corpora:
        notes += [*corpus.examples.notes, *left_out_notes(corpus.stores)]
        shared = corpus.words.shape[1]
        notes += [
            f"of {len(store):,} words of {names[key]}, {shared:,} are words for all checkpoints; the others were "
            "left out"
            for key, store in corpus.stores.items()
            if len(store) != shared
        ]
        if shared < config.words:
            notes.append(f"{corpus.name} has {shared:,} words: all are compared")
    return [*notes, _moving([corpus.size(config.words) for corpus in corpora])]


def _moving(sizes: list[int]) -> str:
    """What can't be set beside the same of another number of words."""
    counts, which = " and ".join(f"{n:,}" for n in dict.fromkeys(sizes)), " and ".join(_WORDS[one] for one in _MOVE)
    if len(set(sizes)) > 1:
        return f"{which} move with the number of words, and the corpora have {counts}: they can't be compared"
    return f"{which} are of {counts} words and move with that number: compare them only with others of as many"


def _figures(tables: dict[str, pd.DataFrame], checkpoints: list[str], pairs: str) -> list[Figure]:
    figures = [_by_layer(tables["layers"], checkpoints, pairs)]
    if "grid" in tables:
        figures += [_grid(tables["grid"], measure) for measure in (RSA, DEBIASED)]
    return [*figures, _settling()]


def _by_layer(table: pd.DataFrame, checkpoints: list[str], pairs: str) -> Figure:
    alone = table["series"].nunique() == 1
    meanings = [_MEANINGS[measure] for measure in table["measure"].unique()]
    if len(checkpoints) > 2 and pairs == "first":
        meanings.insert(0, f"Each checkpoint beside {checkpoints[0]}.")
    return Figure(
        "lines", "layers", key="layers", x="layer", y="value", low="low", high="high",
        color="measure" if alone else "series", facet=None if alone else "measure",
        title="Similarity by layer" if len(checkpoints) > 1 else "Similarity of each layer with the one below",
        caption=" ".join([*meanings, _BAND]), labels=_LABELS,
    )  # fmt: skip


def _grid(table: pd.DataFrame, measure: str) -> Figure:
    several = table["pair"].nunique() > 1
    order = " Rows are layers of the checkpoint named first, columns of the second." if several else ""
    return Figure(
        "heatmap", "grid", key=f"grid_{measure}", x="other_layer", y="layer", value="value", low="low", high="high",
        facet="pair" if several else None, where={"measure": measure}, title=f"{_WORDS[measure]} of every two layers",
        caption=f"{_MEANINGS[measure]} Layer 0 is the embedding output.{order}",
        labels=_LABELS | {"value": _WORDS[measure]},
    )  # fmt: skip


def _settling() -> Figure:
    return Figure(
        "lines", "by_words", key="by_words", x="n", y="value", low="low", high="high", color="layer", facet="panel",
        log_x=True, title="As more words are taken",
        caption="The same measure from parts of the sample, each holding the one before. Where a line is flat, "
        "more words would change nothing. Plain CKA of few words is too high, and the Procrustes distance too low: "
        f"with no more words than dimensions, any two spaces look alike. {_BAND}",
        labels=_LABELS,
    )  # fmt: skip
