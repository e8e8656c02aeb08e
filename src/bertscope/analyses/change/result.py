"""The answer of `change`: how much each head and layer moved, and from which shape to which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.change.question import change
from bertscope.analyses.side_by_side import is_weighted
from bertscope.analyses.tables import tidy, with_intervals
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.units import every, heads_of_layers

if TYPE_CHECKING:
    from bertscope.analyses.change.measure import ChangeReader
    from bertscope.core.model_record import ModelRecord
    from bertscope.models.observe import Passed

_LAST = 2  # the paper: fine-tuning changes the last two layers most
_LABELS = {"cosine": "cosine before to after", "divergence": "divergence (bits)"}
_CAPTIONS = {
    "cosine": "The cosine of a head's map before and after, averaged over the examples: 1 is no change.",
    "divergence": "The Jensen-Shannon divergence of a query's attention before and after, averaged over queries "
    "and examples: 0 bits is no change, 1 is attention to entirely other tokens.",
}
"""Of each measure, in the reader's order."""


def change_result(
    reader: ChangeReader,
    passed: Passed,
    *,
    models: Mapping[str, ModelRecord] | None = None,
    subject: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Result:
    """`models` are the one before and the one after, `notes` the corpus's."""
    draws = reader.heads.draws  # [1 + repeats, head, measure]
    places = heads_of_layers(reader.head_counts)
    layers = np.array(list(places))
    by_layer = np.stack([_mean(draws[:, at]) for at in places.values()], 1)  # [1 + repeats, layer, measure]
    overall = _mean(draws)  # [1 + repeats, measure]
    moved = np.stack([np.nansum(1 - draws[:, at, 0], 1) for at in places.values()], 1)
    counts = [count for count in reader.head_counts if count]
    headline = [
        drawn_number("cosine", overall[:, 0], passed.examples, "cosine"),
        drawn_number("divergence", overall[:, 1], passed.examples, "bits"),
        *_where_it_moved(by_layer[0, :, 0], moved, layers, counts, passed.examples),
    ]
    tables = {"heads": _heads_table(reader, draws), "layers": _layers_table(by_layer, moved, layers)}
    figures = _figures()
    if reader.classes:
        n = len(reader.classes)
        of_layers = reader.moves.draws[:, layers - 1].reshape(-1, len(layers), n, n).swapaxes(0, 1)
        moves = dict(zip(layers, of_layers, strict=True))
        whole = np.average(list(moves.values()), axis=0, weights=counts)
        tables["transitions"] = _moves_table(reader.classes, whole)
        tables["transitions_by_layer"] = pd.concat(
            [_moves_table(reader.classes, found).assign(layer=layer) for layer, found in moves.items()],
            ignore_index=True,
        )
        changed = (1 - np.trace(whole, axis1=1, axis2=2)).clip(0)
        headline.append(drawn_number("changed_class_share", changed, passed.examples, "share"))
        figures.append(_transitions_figure())
    return change.result(
        tables=tables,
        headline=headline,
        figures=figures,
        models=dict(models or {}),
        subject=dict(subject or {}),
        notes=[*notes, *read_notes(passed)],
    )


def _where_it_moved(
    cosine: np.ndarray, moved: np.ndarray, layers: np.ndarray, counts: Sequence[int], n: int
) -> list[Number]:
    """Which layers changed most; nothing to say of a model that didn't change, or has two layers."""
    if len(layers) <= _LAST or not moved[0].sum() > 0:
        return []
    first, second = layers[np.argsort(cosine, kind="stable")[:2]]
    share = _ratio(moved[:, -_LAST:].sum(1), moved.sum(1))
    return [
        drawn_number("last_two_share", share, n, "share"),
        Number("last_two_even_share", sum(counts[-_LAST:]) / sum(counts), unit="share"),
        Number("most_changed_layer", float(first), n=len(layers)),
        Number("second_most_changed_layer", float(second), n=len(layers)),
    ]


def sentence(result: Result) -> Statement | None:
    if is_weighted(result) or not result.numbers(key="last_two_share"):  # nothing changed
        return None
    share, even = result["last_two_share"], result["last_two_even_share"]
    first, second = (int(result[key].value) for key in ("most_changed_layer", "second_most_changed_layer"))
    told = (
        f"Fine-tuning changed the attention of layers {first} and {second} most; the last two layers hold "
        f"{sure(Estimate.of_number(share), percent)} of the change; had all changed alike, {percent(even.value)}."
    )
    return Statement(told, share.value, percent)


def _heads_table(reader: ChangeReader, draws: np.ndarray) -> pd.DataFrame:
    units = every("head", reader.head_counts)
    table = pd.DataFrame({"layer": [unit.layer for unit in units], "head": [unit.number for unit in units]})
    return table.assign(**with_intervals(draws, list(_CAPTIONS)), n=reader.heads.count.astype(int))


def _layers_table(by_layer: np.ndarray, moved: np.ndarray, layers: np.ndarray) -> pd.DataFrame:
    """Each layer's means, its share of the whole change, and its rank: 1 for the layer that changed most."""
    share = _ratio(moved, moved.sum(1, keepdims=True))
    ranks = rankdata(by_layer[:, :, 0], method="min", axis=1)
    rank_low, rank_high = interval(ranks)
    return pd.DataFrame(
        {"layer": layers} | with_intervals(by_layer, list(_CAPTIONS)) | with_intervals(share[..., None], ["share"])
        | {"rank": ranks[0].astype(int), "rank_low": rank_low, "rank_high": rank_high}
    )  # fmt: skip


def _moves_table(classes: Sequence[str], draws: np.ndarray) -> pd.DataFrame:
    """[1 + repeats, before, after] as rows."""
    low, high = interval(draws)
    return tidy({"before": classes, "after": classes}, share=draws[0], low=low, high=high)


def _mean(draws: np.ndarray) -> np.ndarray:
    """The mean over heads [1 + repeats, head, ...]; heads without a value are left out."""
    known = ~np.isnan(draws)
    return _ratio(np.where(known, draws, 0.0).sum(1), known.sum(1))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Part of whole; NaN where there is no whole."""
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def _figures() -> list[Figure]:
    grids = [
        Figure(
            "heatmap", "heads", x="head", y="layer", value=measure, low=f"{measure}_low", high=f"{measure}_high",
            title=f"Change of each head: {measure}", caption=caption, labels=_LABELS, key=f"heads_{measure}",
        )
        for measure, caption in _CAPTIONS.items()
    ]  # fmt: skip
    lines = [
        Figure(
            "lines", "layers", x="layer", y=measure, low=f"{measure}_low", high=f"{measure}_high",
            title=f"Change by layer: {measure}",
            caption=f"{caption} The mean over a layer's heads, with its 95% bootstrap interval over examples.",
            labels=_LABELS | {"share": "share of the whole change"}, key=f"layers_{measure}",
        )
        for measure, caption in _CAPTIONS.items()
    ]  # fmt: skip
    return [*grids, *lines]


def _transitions_figure() -> Figure:
    return Figure(
        "heatmap", "transitions", x="after", y="before", value="share", low="low", high="high",
        title="Classes before and after",
        caption="The share of all maps that had the class of the row before and have that of the column after.",
        labels={"share": "share of maps"}, key="transitions",
    )  # fmt: skip
