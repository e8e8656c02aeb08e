"""The part of `change` that reads maps, and the answer made of what it kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import torch
from scipy.stats import rankdata
from torch import Tensor

from bertscope.analyses.attention.maps import LayerMaps, View, entropy, inner, product, read_notes
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.result import Number, Result
from bertscope.core.units import every, heads_of_layers
from bertscope.models.observe import Passed

MEASURES = ("cosine", "divergence")
_LABELS = {"cosine": "cosine before to after", "divergence": "divergence (bits)"}
_LAST = 2  # the paper: fine-tuning changes the last two layers most


class ChangeReader:
    """Compares two encoders' maps, the one before and the one after, which have the same heads.

    classify   gives each map of a layer its class: [row, head], numbers of `classes`. With it, the reader also keeps
               how many maps go from each class before to each class after.
    """

    needs: frozenset[str] = frozenset()

    def __init__(
        self,
        ids: Sequence[str],
        head_counts: Sequence[int],
        *,
        repeats: int = 1000,
        seed: int = 0,
        classify: Callable[[LayerMaps], Tensor] | None = None,
        classes: Sequence[str] = (),
    ) -> None:
        self.resampling = Resampling(ids, repeats=repeats, seed=seed, product=product)
        self._head_counts, self._classify, self._classes = list(head_counts), classify, list(classes)
        self.heads = RunningMean(self.resampling)
        """[head of all layers, measure]."""
        self._moves = RunningMean(self.resampling)  # [layer, class before x class after]

    def read(self, layer: int, view: View, maps: Sequence[LayerMaps]) -> None:
        if layer == 0:
            self._found: list[Tensor] = []
            self._moved: list[Tensor] = []
        before, after = maps
        cosine = inner(before.flat, after.flat) / torch.sqrt(before.squares * after.squares)
        apart = entropy(view, before.flat, after.flat) - (before.entropy + after.entropy) / 2
        self._found.append(torch.stack([cosine, apart.clamp_min(0)], -1))
        if self._classify is not None:
            n = len(self._classes)
            move = self._classify(before) * n + self._classify(after)
            self._moved.append(torch.nn.functional.one_hot(move, n * n).sum(1))
        if layer + 1 == view.n_layers:
            self._take(view.rows)

    def _take(self, rows: np.ndarray) -> None:
        """Take in what the layers of a batch showed."""
        found = torch.cat(self._found, 1).cpu().numpy()
        known = ~np.isnan(found[..., 0])  # a head that moves nothing has no norm-weighted attention
        self.heads.add(rows, np.where(known[..., None], found, np.float32(0)), known)
        if self._moved:
            moved = torch.stack(self._moved, 1).cpu().numpy()
            self._moves.add(rows, moved, moved.sum(-1))
        del self._found, self._moved

    def result(self, passed: Passed) -> Result:
        draws = self.heads.draws  # [1 + repeats, head, measure]
        places = heads_of_layers(self._head_counts)
        layers = np.array(list(places))
        by_layer = np.stack([_mean(draws[:, at]) for at in places.values()], 1)  # [1 + repeats, layer, measure]
        overall = _mean(draws)  # [1 + repeats, measure]
        moved = np.stack([np.nansum(1 - draws[:, at, 0], 1) for at in places.values()], 1)
        headline = [
            drawn_number("cosine", overall[:, 0], passed.examples, "cosine"),
            drawn_number("divergence", overall[:, 1], passed.examples, "bits"),
            *self._where_it_moved(by_layer[0, :, 0], moved, layers, passed.examples),
        ]
        tables = {"heads": self._heads_table(draws), "layers": _layers_table(by_layer, moved, layers)}
        figures = _figures()
        if self._classify is not None:
            n = len(self._classes)
            draws = self._moves.draws[:, layers - 1].reshape(-1, len(layers), n, n).swapaxes(0, 1)
            moves = dict(zip(layers, draws, strict=True))
            whole = np.average(list(moves.values()), axis=0, weights=[count for count in self._head_counts if count])
            tables["transitions"] = self._moves_table(whole)
            tables["transitions_by_layer"] = pd.concat(
                [self._moves_table(draws).assign(layer=layer) for layer, draws in moves.items()], ignore_index=True
            )
            changed = (1 - np.trace(whole, axis1=1, axis2=2)).clip(0)
            headline.append(drawn_number("maps that change class", changed, passed.examples, "share"))
            figures.append(_transitions_figure())
        notes = read_notes(passed)
        return Result("change", 1, tables=tables, headline=headline, figures=figures, notes=notes)

    def _where_it_moved(self, cosine: np.ndarray, moved: np.ndarray, layers: np.ndarray, n: int) -> list[Number]:
        """Which layers changed most; nothing to say of a model that didn't change, or has two layers."""
        if len(layers) <= _LAST or not moved[0].sum() > 0:
            return []
        first, second = layers[np.argsort(cosine, kind="stable")[:2]]
        share = _ratio(moved[:, -_LAST:].sum(1), moved.sum(1))
        counts = [count for count in self._head_counts if count]
        return [
            drawn_number("share of the change in the last two layers", share, n, "share"),
            Number("the same if all heads changed alike", sum(counts[-_LAST:]) / sum(counts), unit="share"),
            Number("layer that changed most", float(first), n=len(layers)),
            Number("layer that changed second most", float(second), n=len(layers)),
        ]

    def _heads_table(self, draws: np.ndarray) -> pd.DataFrame:
        units = every("head", self._head_counts)
        table = pd.DataFrame({"layer": [unit.layer for unit in units], "head": [unit.number for unit in units]})
        return table.assign(**_columns(draws), n=self.heads.count.astype(int))

    def _moves_table(self, draws: np.ndarray) -> pd.DataFrame:
        """[1 + repeats, before, after] as rows."""
        low, high = interval(draws)
        names = pd.MultiIndex.from_product([self._classes, self._classes], names=["before", "after"])
        columns = {"share": draws[0].ravel(), "low": low.ravel(), "high": high.ravel()}
        return pd.DataFrame(columns, index=names).reset_index()


def _mean(draws: np.ndarray) -> np.ndarray:
    """The mean over heads [1 + repeats, head, ...]; heads without a value are left out."""
    known = ~np.isnan(draws)
    return _ratio(np.where(known, draws, 0.0).sum(1), known.sum(1))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Part of whole; NaN where there is no whole."""
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def _columns(draws: np.ndarray) -> dict[str, np.ndarray]:
    """The measures and their intervals from draws [1 + repeats, row, measure]."""
    low, high = interval(draws)
    return {
        f"{measure}{suffix}": values[:, place]
        for place, measure in enumerate(MEASURES)
        for suffix, values in (("", draws[0]), ("_low", low), ("_high", high))
    }


def _layers_table(by_layer: np.ndarray, moved: np.ndarray, layers: np.ndarray) -> pd.DataFrame:
    """Each layer's means, its share of the whole change, and its rank: 1 for the layer that changed most."""
    share = _ratio(moved, moved.sum(1, keepdims=True))
    ranks = rankdata(by_layer[:, :, 0], method="min", axis=1)
    (share_low, share_high), (rank_low, rank_high) = interval(share), interval(ranks)
    return pd.DataFrame(
        {"layer": layers} | _columns(by_layer)
        | {"share": share[0], "share_low": share_low, "share_high": share_high}
        | {"rank": ranks[0].astype(int), "rank_low": rank_low, "rank_high": rank_high}
    )  # fmt: skip


def _figures() -> list[Figure]:
    said = {
        "cosine": "The cosine of a head's map before and after, averaged over the examples: 1 is no change.",
        "divergence": "The Jensen-Shannon divergence of a query's attention before and after, averaged over queries "
        "and examples: 0 bits is no change, 1 is attention to entirely other tokens.",
    }
    grids = [
        Figure(
            "heatmap", "heads", x="head", y="layer", value=measure, low=f"{measure}_low", high=f"{measure}_high",
            title=f"Change of each head: {measure}", caption=said[measure], labels=_LABELS,
        )
        for measure in MEASURES
    ]  # fmt: skip
    lines = [
        Figure(
            "lines", "layers", x="layer", y=measure, low=f"{measure}_low", high=f"{measure}_high",
            title=f"Change by layer: {measure}",
            caption=f"{said[measure]} The mean over a layer's heads, with its 95% bootstrap interval over examples.",
            labels=_LABELS | {"share": "share of the whole change"},
        )
        for measure in MEASURES
    ]  # fmt: skip
    return [*grids, *lines]


def _transitions_figure() -> Figure:
    return Figure(
        "heatmap", "transitions", x="after", y="before", value="share", low="low", high="high",
        title="Classes before and after",
        caption="The share of all maps that had the class of the row before and have that of the column after.",
        labels={"share": "share of maps"},
    )  # fmt: skip
