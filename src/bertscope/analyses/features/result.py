"""The answer of `features`: attention to kinds of words, by layer and head, and between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.features.question import BOTH, BY, SPECIAL, features
from bertscope.analyses.side_by_side import figure_key, is_weighted
from bertscope.analyses.tables import over_half, tidy
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.features.means import LayerMeans
    from bertscope.analyses.features.measure import FeatureReader
    from bertscope.core.model_record import ModelRecord
    from bertscope.models.observe import Passed

Axes = dict[str, Sequence]
_FEW = 30  # texts with a feature, under which a note says so
_LABELS = {
    "low": "at least", "high": "at most", "over_uniform": "beyond uniform", "null": "as many random words",
    "by": "attention of", "n": "texts",
}  # fmt: skip


def features_result(
    reader: FeatureReader,
    passed: Passed,
    models: Mapping[str, ModelRecord],
    *,
    subject: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Result:
    """What the reader found of these models, in the order in which they were read. Later ones are compared with the
    first; `notes` are the corpus's."""
    tables = _tables(reader, list(models))
    having = tables["layers"].drop_duplicates("feature").set_index("feature")["n"].astype(int)
    called = features.words["feature"]
    rare = [f"{called.get(key, key)} ({n})" for key, n in having.items() if n < min(_FEW, passed.examples)]
    few = [f"few of the {passed.examples} texts have such words: {', '.join(rare)}"] if rare else []
    return features.result(
        tables=tables,
        headline=_headline({key: mostly_special(reader, which) for which, key in enumerate(models)}, passed.examples),
        figures=_figures(tables, model_names(models)),
        models=dict(models),
        subject=dict(subject or {}),
        notes=[*notes, *read_notes(passed), *few],
    )


def _headline(shares: Mapping[str, np.ndarray], n: int) -> list[Number]:
    """The share of heads that mostly attend to special tokens, by model, and how much it changed."""
    first, *others = shares
    unit = "share of heads"
    numbers = [drawn_number("mostly_on_special", shares[first], n, unit, model=first)]
    for key in others:
        change = shares[key] - shares[first]
        numbers += [
            drawn_number("mostly_on_special", shares[key], n, unit, model=key),
            drawn_number("mostly_on_special_change", change, n, unit, model=key, against=first),
        ]
    return numbers


def sentence(result: Result) -> Statement | None:
    if is_weighted(result):
        return None
    *_, (last, model) = result.models.items()
    (number,) = result.numbers(key="mostly_on_special", model=last)
    share = sure(Estimate.of_number(number), percent)
    told = f"{share} of {model.name}'s heads put more than half of their attention on [CLS] and [SEP]."
    return Statement(told, number.value, percent)


def _tables(reader: FeatureReader, keys: Sequence[str]) -> dict[str, pd.DataFrame]:
    """All tables of all checkpoints; what changed from the first to each other one, where there are several.

    layers           attention to each feature, the mean over heads
    heads            the same, head by head
    special          attention to the special tokens of a text together, and to each
    pairs            attention between words of two features, the mean over heads
    pairs_of_heads   the same, head by head, without intervals
    change_of_layers, change, change_of_pairs   the differences
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    first = reader.of(0)
    for which, checkpoint in enumerate(keys):
        for layer, means in reader.of(which).items():
            tables = _of_layer(reader, means)
            if which and layer in first and _comparable(first[layer], means):
                tables |= _changes(reader, first[layer], means)
            for key, table in tables.items():
                table.insert(0, "layer", layer)
                table.insert(0, "checkpoint", checkpoint)
                parts.setdefault(key, []).append(table)
    return {key: pd.concat(tables, ignore_index=True) for key, tables in parts.items()}


def mostly_special(reader: FeatureReader, which: int) -> np.ndarray:
    """The share of an encoder's heads that give more than half of their attention to [CLS] and [SEP], by resample."""
    together = [means.special[:, :2].sum(1) for means in reader.of(which).values()]
    return over_half(np.concatenate(together, axis=1))


def _of_layer(reader: FeatureReader, means: LayerMeans) -> dict[str, pd.DataFrame]:
    attention, between = means.attention, means.pairs_of_heads
    heads = range(1, attention.shape[-1] + 1)
    which: Axes = {"by": BY, "feature": reader.features}
    ends: Axes = {"from": reader.words, "to": reader.words}
    n, n_pairs = reader.n, reader.n_pairs
    return {
        "layers": _against_null(which, n, attention.mean(-1)),
        "heads": _against_null(which | {"head": heads}, n[..., None], np.moveaxis(attention, 3, -1)),
        "special": _special(reader, means.special),
        "pairs": _against_null(ends, n_pairs, means.pairs),
        "pairs_of_heads": tidy(
            ends | {"head": heads},
            n=_like(n_pairs[..., None], between[:, :, 0]),
            attention=between[:, :, 0],
            over_uniform=between[:, :, 1],
            null=between[:, :, 2],
        ),
    }


def _against_null(axes: Axes, n: np.ndarray, draws: np.ndarray) -> pd.DataFrame:
    """A table of draws [1 + repeats, axes ..., (attention, beyond uniform, null)]."""
    attention, excess = draws[..., 0], draws[..., 1] - draws[..., 2]
    low, high = interval(attention)
    excess_low, excess_high = interval(excess)
    return tidy(
        axes, n=_like(n, attention[0]), attention=attention[0], low=low, high=high,
        over_uniform=draws[0, ..., 1], null=draws[0, ..., 2],
        excess=excess[0], excess_low=excess_low, excess_high=excess_high,
    )  # fmt: skip


def _special(reader: FeatureReader, draws: np.ndarray) -> pd.DataFrame:
    cls, sep, each = np.moveaxis(draws, 1, 0)
    together = np.stack([cls, sep, cls + sep], 1)  # [1 + repeats, token, head]
    low, high = interval(together)
    uniform_cls, uniform_sep, _ = reader.special_share.value
    uniform = np.array([uniform_cls, uniform_sep, uniform_cls + uniform_sep])
    return tidy(
        {"token": (*SPECIAL, BOTH), "head": range(1, draws.shape[-1] + 1)},
        attention=together[0], low=low, high=high,
        each=np.stack([cls[0], each[0], np.full_like(cls[0], np.nan)]),
        uniform=_like(uniform[:, None], together[0]),
    )  # fmt: skip


def _comparable(before: LayerMeans, after: LayerMeans) -> bool:
    """Heads that were cut have nothing to be compared with, nor is it known which are left."""
    return before.attention.shape == after.attention.shape


def _changes(reader: FeatureReader, before: LayerMeans, after: LayerMeans) -> dict[str, pd.DataFrame]:
    by_head = after.attention[..., 0, :] - before.attention[..., 0, :]
    which: Axes = {"by": BY, "feature": reader.features}
    heads: Axes = {"head": range(1, by_head.shape[-1] + 1)}
    between = after.pairs[..., 0] - before.pairs[..., 0]
    return {
        "change_of_layers": _changed(which, by_head.mean(-1)),
        "change": _changed(which | heads, by_head),
        "change_of_pairs": _changed({"from": reader.words, "to": reader.words}, between),
    }


def _changed(axes: Axes, draws: np.ndarray) -> pd.DataFrame:
    low, high = interval(draws)
    return tidy(axes, change=draws[0], low=low, high=high)


def _like(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.broadcast_to(value, other.shape)


def _figures(tables: Mapping[str, pd.DataFrame], names: Mapping[str, str]) -> list[Figure]:
    of = {key: f": {name}" if len(names) > 1 else "" for key, name in names.items()}
    first, last = (list(names)[at] for at in (0, -1))
    by_layer = [
        Figure(
            "lines", "layers", x="layer", y="attention", color="feature", low="low", high="high",
            where={"checkpoint": model, "by": by}, title=f"{title}{of[model]}",
            caption=f"{whose} to the strongest word of each kind in a text, averaged over heads and over the texts "
            "that have such a word, with its 95% bootstrap interval over texts. The table also has what that word "
            "gets beyond uniform attention, and what the strongest of as many random words would get: a maximum "
            "grows with their number.",
            labels=_LABELS, key=figure_key(f"layers_{by}", model, names),
        )
        for model in names
        for by, title, whose in (
            ("all_tokens", "Attention to kinds of words", "The attention of all tokens"),
            ("cls", "Attention of [CLS] to kinds of words", "The attention of [CLS]"),
        )
    ]  # fmt: skip
    grids = [
        Figure(
            "heatmap", "heads", x="head", y="layer", value="attention", low="low", high="high", facet="feature",
            where={"checkpoint": last, "by": "all_tokens"},
            title=f"Attention to kinds of words, head by head{of[last]}",
            caption="What the strongest word of each kind receives, averaged over all tokens' attention and over the "
            "texts that have one.",
            labels=_LABELS, key="heads",
        )
    ]  # fmt: skip
    if "change" in tables:
        grids.append(
            Figure(
                "heatmap", "change", x="head", y="layer", value="change", low="low", high="high", middle=0.0,
                facet="feature", where={"checkpoint": last, "by": "all_tokens"},
                title="Change of the attention to kinds of words",
                caption=f"What the strongest word of each kind receives in {names[last]}, minus what it "
                f"receives in {names[first]}, on the same texts.",
                labels=_LABELS, key="change",
            )
        )  # fmt: skip
    between = Figure(
        "heatmap", "pairs", x="to", y="from", value="excess", low="excess_low", high="excess_high", middle=0.0,
        facet="layer", where={"checkpoint": last}, title=f"From words to words{of[last]}",
        caption="The attention from a word of one kind to another word of one kind, averaged over all such pairs "
        "of a text, over texts and over heads, beyond uniform attention, minus that between any two words.",
        labels=_LABELS | {"null": "between any two words", "excess": "more than between any two words"},
        key="pairs",
    )  # fmt: skip
    kinds_known = tables["pairs"]["from"].nunique() > 1  # any word to any word is 0 by definition
    return [*by_layer, *grids, *([between] if kinds_known else [])]
