"""The tables of `features`, from the means that its reader kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from bertscope.analyses.features.reader import BY, SPECIAL, FeatureReader, LayerMeans
from bertscope.analyses.tables import over_half, tidy
from bertscope.core.resampling import interval

Axes = dict[str, Sequence]
_BOTH = " and ".join(SPECIAL)


def make_tables(reader: FeatureReader, names: Sequence[str]) -> dict[str, pd.DataFrame]:
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
    for which, name in enumerate(names):
        for layer, means in reader.of(which).items():
            tables = _of_layer(reader, means)
            if which and layer in first and _comparable(first[layer], means):
                tables |= _changes(reader, first[layer], means)
            for key, table in tables.items():
                table.insert(0, "layer", layer)
                table.insert(0, "checkpoint", name)
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
            null=between[:, :, 1],
        ),
    }


def _against_null(axes: Axes, n: np.ndarray, draws: np.ndarray) -> pd.DataFrame:
    """A table of draws [1 + repeats, axes ..., (attention, null)]."""
    attention, excess = draws[..., 0], draws[..., 0] - draws[..., 1]
    low, high = interval(attention)
    excess_low, excess_high = interval(excess)
    return tidy(
        axes, n=_like(n, attention[0]), attention=attention[0], low=low, high=high, null=draws[0, ..., 1],
        excess=excess[0], excess_low=excess_low, excess_high=excess_high,
    )  # fmt: skip


def _special(reader: FeatureReader, draws: np.ndarray) -> pd.DataFrame:
    cls, sep, each = np.moveaxis(draws, 1, 0)
    together = np.stack([cls, sep, cls + sep], 1)  # [1 + repeats, token, head]
    low, high = interval(together)
    uniform_cls, uniform_sep, _ = reader.special_share.value
    uniform = np.array([uniform_cls, uniform_sep, uniform_cls + uniform_sep])
    return tidy(
        {"token": (*SPECIAL, _BOTH), "head": range(1, draws.shape[-1] + 1)},
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
