"""The answer of `sentences`: how vectors of texts follow their meanings, by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.sentences.question import SentencesConfig, sentences
from bertscope.core.figure import Figure
from bertscope.core.intervals import interval, jackknife_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.rank_resampling import rank_draws
from bertscope.core.result import Result
from bertscope.models.sentence_vectors import TEXT_POOLS

if TYPE_CHECKING:
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

SPEARMAN, ALIGNMENT, UNIFORMITY = "spearman", "alignment", "uniformity"
OWN = "own"
"""Under `pool`: the vectors as the model's maker defined them."""
_KEYS: dict[str, dict[str, str]] = {
    "cls": {SPEARMAN: "spearman_cls_pool", ALIGNMENT: "alignment_cls_pool", UNIFORMITY: "uniformity_cls_pool"},
    "mean": {SPEARMAN: "spearman_mean_pool", ALIGNMENT: "alignment_mean_pool", UNIFORMITY: "uniformity_mean_pool"},
    OWN: {SPEARMAN: "spearman_own", ALIGNMENT: "alignment_own", UNIFORMITY: "uniformity_own"},
}
_MEANINGS = {
    SPEARMAN: "Spearman's correlation of the pairs' scores with the cosine of their two texts; 1 where the order is "
    "the same",
    ALIGNMENT: "The mean squared distance of {same}, at length 1; low is close",
    UNIFORMITY: "The logarithm of the mean of exp(-2 distance²) over all pairs of texts; low is evenly spread",
}


def sentences_result(
    encoder: Encoder, task: Task, arrays: dict[str, np.ndarray], sizes: dict[str, int], same: str, truncated: int,
    config: SentencesConfig,
) -> Result:  # fmt: skip
    """`same` says in words which pairs mean the same; `sizes` are what alignment and uniformity are means of."""
    table = _table(arrays, config, sizes, encoder.n_layers)
    longer = [f"{truncated} of the pairs' texts are longer than {encoder.max_length} tokens and were cut"]
    last = table[table["layer"] == encoder.n_layers]
    return sentences.result(
        tables={"layers": table},
        arrays=arrays,
        headline=[_number(row) for _, row in last.iterrows()],
        figures=[_figure(measure, meaning.format(same=same), encoder) for measure, meaning in _MEANINGS.items()],
        models=records([encoder]),
        subject={"task": task.name},
        notes=[*task.notes, *(longer if truncated else [])],
    )


def own(array: str) -> str:
    """What the array of the model's own vectors is called beside another."""
    return f"{array}_{OWN}"


def _table(arrays: dict[str, np.ndarray], config: SentencesConfig, sizes: dict[str, int], last: int) -> pd.DataFrame:
    """A row for each pooling, layer and measure; the model's own vectors are of the last layer."""
    rows = []
    for at, pool in enumerate(TEXT_POOLS):
        of_layers = {name: arrays[name][at] for name in ("cosine", *sizes)}
        rows += _rows(pool, range(len(of_layers["cosine"])), of_layers, arrays["gold"], config, sizes)
    if own("cosine") in arrays:
        of_last = {name: arrays[own(name)][None] for name in ("cosine", *sizes)}
        rows += _rows(OWN, [last], of_last, arrays["gold"], config, sizes)
    return pd.DataFrame(rows)


def _rows(
    pool: str, layers: Sequence[int], found: dict[str, np.ndarray], gold: np.ndarray, config: SentencesConfig,
    sizes: dict[str, int],
) -> list[dict[str, Any]]:  # fmt: skip
    """`found` has each measure by layer."""
    rows: list[dict[str, Any]] = []
    draws = rank_draws(found["cosine"], gold, repeats=config.repeats, seed=config.seed)
    low, high = interval(draws)
    for place, layer in enumerate(layers):
        about = {"pool": pool, "layer": layer}
        ends = {"low": float(low[place]), "high": float(high[place])}
        rows.append(about | {"measure": SPEARMAN, "value": draws[0, place], **ends, "n": len(gold)})
        for measure, n in sizes.items():
            if np.isnan((values := found[measure][place])[0]):
                continue
            ends = dict(zip(("low", "high"), map(float, jackknife_interval(values)), strict=True))
            rows.append(about | {"measure": measure, "value": values[0], **ends, "n": n})
    return rows


def _number(row: pd.Series) -> Number:
    low, high = (None if np.isnan(row[end]) else float(row[end]) for end in ("low", "high"))
    key, of = _KEYS[row["pool"]][row["measure"]], {"pool": row["pool"], "layer": str(row["layer"])}
    return Number(key, float(row["value"]), low, high, int(row["n"]), "last layer", of=of)


def _figure(measure: str, meaning: str, encoder: Encoder) -> Figure:
    its_own = f"; own: the model's own vectors ({encoder.sentence.in_words()})" if encoder.sentence else ""
    how = "bootstrap over pairs" if measure == SPEARMAN else "leaving groups of pairs out"
    words = sentences.words["measure"][measure]
    return Figure(
        "lines", "layers", key=measure, x="layer", y="value", low="low", high="high", color="pool",
        where={"measure": measure}, title=words.capitalize(),
        caption=f"{meaning}. A text's vector is its first token's (cls) or the mean of its tokens', special ones "
        f"excepted{its_own}. Bands are 95% intervals ({how}).",
        labels={"value": words, "pool": "vector"},
    )  # fmt: skip
