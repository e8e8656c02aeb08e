"""The answer of `sentences`: how vectors of texts follow their meanings, by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.sentences.question import SentencesConfig, sentences
from bertscope.core.figure import Figure
from bertscope.core.intervals import interval, jackknife_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.resampling import rank_draws
from bertscope.core.result import Result
from bertscope.models.sentence_vectors import TEXT_POOLS, TextPool

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

SPEARMAN, ALIGNMENT, UNIFORMITY = "spearman", "alignment", "uniformity"
_KEYS: dict[TextPool, dict[str, str]] = {
    "cls": {SPEARMAN: "spearman_cls_pool", ALIGNMENT: "alignment_cls_pool", UNIFORMITY: "uniformity_cls_pool"},
    "mean": {SPEARMAN: "spearman_mean_pool", ALIGNMENT: "alignment_mean_pool", UNIFORMITY: "uniformity_mean_pool"},
}
_MEANINGS = {
    SPEARMAN: "Spearman's correlation of the pairs' scores with the cosine of their two texts; 1 where the order is "
    "the same",
    ALIGNMENT: "The mean squared distance of {same}, at length 1; low is close",
    UNIFORMITY: "The logarithm of the mean of exp(-2 distance²) over all two texts; low is evenly spread",
}


def sentences_result(
    encoder: Encoder, task: Task, arrays: dict[str, np.ndarray], sizes: dict[str, int], same: str, truncated: int,
    config: SentencesConfig,
) -> Result:  # fmt: skip
    """`same` says in words which pairs mean the same; `sizes` are what alignment and uniformity are means of."""
    table = _table(arrays, config, sizes)
    longer = [f"{truncated} of the pairs' texts are longer than {encoder.max_length} tokens and were cut"]
    last = table[table["layer"] == encoder.n_layers]
    return sentences.result(
        tables={"layers": table},
        arrays=arrays,
        headline=[_number(row) for _, row in last.iterrows()],
        figures=[_figure(measure, meaning.format(same=same)) for measure, meaning in _MEANINGS.items()],
        models=records([encoder]),
        subject={"task": task.name},
        notes=[*task.notes, *(longer if truncated else [])],
    )


def _table(arrays: dict[str, np.ndarray], config: SentencesConfig, sizes: dict[str, int]) -> pd.DataFrame:
    """A row for each pooling, layer and measure."""
    rows = []
    for at, pool in enumerate(TEXT_POOLS):
        draws = rank_draws(arrays["cosine"][at], arrays["gold"], repeats=config.repeats, seed=config.seed)
        low, high = interval(draws)
        for layer in range(draws.shape[1]):
            about = {"pool": pool, "layer": layer}
            ends = {"low": float(low[layer]), "high": float(high[layer])}
            rows.append(about | {"measure": SPEARMAN, "value": draws[0, layer], **ends, "n": len(arrays["gold"])})
            for measure, n in sizes.items():
                if np.isnan((found := arrays[measure][at, layer])[0]):
                    continue
                ends = dict(zip(("low", "high"), map(float, jackknife_interval(found)), strict=True))
                rows.append(about | {"measure": measure, "value": found[0], **ends, "n": n})
    return pd.DataFrame(rows)


def _number(row: pd.Series) -> Number:
    low, high = (None if np.isnan(row[end]) else float(row[end]) for end in ("low", "high"))
    key, of = _KEYS[row["pool"]][row["measure"]], {"pool": row["pool"], "layer": str(row["layer"])}
    return Number(key, float(row["value"]), low, high, int(row["n"]), "last layer", of=of)


def _figure(measure: str, meaning: str) -> Figure:
    how = "bootstrap over pairs" if measure == SPEARMAN else "leaving groups of pairs out"
    words = sentences.words["measure"][measure]
    return Figure(
        "lines", "layers", key=measure, x="layer", y="value", low="low", high="high", color="pool",
        where={"measure": measure}, title=words.capitalize(),
        caption=f"{meaning}. A text's vector is its first token's (cls) or the mean of its tokens', special ones "
        f"excepted. Bands are 95% intervals ({how}).",
        labels={"value": words, "pool": "vector"},
    )  # fmt: skip
