"""What `sentences` measures, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from bertscope.analyses.geometry.pairs import meaning_same, spread
from bertscope.core.figure import Figure
from bertscope.core.hashing import hashed
from bertscope.core.intervals import interval, jackknife_interval
from bertscope.core.progress import progress
from bertscope.core.resampling import group_bounds, rank_draws
from bertscope.core.result import Number, Result
from bertscope.models.evaluating import full_precision
from bertscope.models.sentence_vectors import TEXT_POOLS, sentence_vectors

if TYPE_CHECKING:
    from bertscope.analyses.sentences.question import SentencesConfig
    from bertscope.core.examples import Examples
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

_PAIRS = 1024  # read at a time: what is kept of a pair is small beside its vectors
SPEARMAN, ALIGNMENT, UNIFORMITY = "Spearman", "alignment", "uniformity"
_SAID = {
    SPEARMAN: "Spearman's correlation of the pairs' scores with the cosine of their two texts; 1 where the order is "
    "the same",
    ALIGNMENT: "The mean squared distance of {same}, at length 1; low is close",
    UNIFORMITY: "The logarithm of the mean of exp(-2 distance²) over all two texts; low is evenly spread",
}


@dataclass(frozen=True)
class _Read:
    """What is kept of the texts' vectors."""

    cosines: np.ndarray
    """[pool, layer, pair]"""
    texts: np.ndarray
    """[pool, layer, 2 x sampled pairs, d]: the vectors of some, two to a pair."""
    sampled: np.ndarray
    """[sampled pair]: which pairs those are."""
    truncated: int
    """Texts that are longer than the model reads, and were cut."""


def sentences_result(encoder: Encoder, task: Task, config: SentencesConfig) -> Result:
    pairs = task.test
    assert pairs.label is not None
    which = meaning_same(pairs, config.least_score)
    assert which is not None
    same, said = which
    read = _read(encoder, pairs, config)
    edges = group_bounds(np.arange(len(read.sampled)), config.groups)
    arrays = {"cosine": read.cosines, "gold": pairs.label.astype(np.float64)}
    arrays |= _spread(encoder, read, same[read.sampled], edges)
    table = _table(arrays, config, {ALIGNMENT: int(same[read.sampled].sum()), UNIFORMITY: 2 * len(read.sampled)})
    longest = f"{read.truncated} of the pairs' texts are longer than {encoder.max_length} tokens and were cut"
    cut = [longest] if read.truncated else []
    last = table[table["layer"] == encoder.n_layers]
    return Result(
        "sentences",
        1,
        tables={"layers": table},
        arrays=arrays,
        headline=[_number(row) for _, row in last.iterrows()],
        figures=[_figure(measure, words.format(same=said)) for measure, words in _SAID.items()],
        subject={"model": encoder.name, "task": task.name},
        notes=[*task.notes, *cut],
    )


def _read(encoder: Encoder, pairs: Examples, config: SentencesConfig) -> _Read:
    assert pairs.pair is not None
    layers = range(encoder.n_layers + 1)
    sampled = np.sort(np.argsort(hashed(pairs.ids, config.seed), kind="stable")[: config.sample // 2])
    cosines = np.empty((len(TEXT_POOLS), len(layers), len(pairs)), np.float32)
    kept, truncated = [], 0
    with progress("pairs", len(pairs)) as bar:
        for start in range(0, len(pairs), _PAIRS):
            some = slice(start, min(start + _PAIRS, len(pairs)))
            vectors, cut = sentence_vectors(encoder, [*pairs.text[some], *pairs.pair[some]], layers=layers)
            truncated += cut
            both = np.stack(np.split(vectors, 2, axis=2), 3)  # [pool, layer, pair, 2, d]
            both /= np.maximum(np.linalg.norm(both, axis=-1, keepdims=True), 1e-12)
            cosines[..., some] = (both[..., 0, :] * both[..., 1, :]).sum(-1)
            here = sampled[(sampled >= some.start) & (sampled < some.stop)] - start
            kept.append(both[:, :, here].reshape(*both.shape[:2], 2 * len(here), -1))
            bar.advance(some.stop - start)
    return _Read(cosines, np.concatenate(kept, axis=2), sampled, truncated)


def _spread(encoder: Encoder, read: _Read, same: np.ndarray, edges: np.ndarray) -> dict[str, np.ndarray]:
    """Alignment and uniformity, [pool, layer, 1 + groups] each."""
    with full_precision():
        found = [
            [spread(torch.from_numpy(texts).to(encoder.device), same, edges) for texts in of_pool]
            for of_pool in read.texts
        ]
    alignment, uniformity = np.moveaxis(np.array(found), 2, 0)
    return {ALIGNMENT: alignment, UNIFORMITY: uniformity}


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
    ends = {} if np.isnan(row["low"]) else {"low": float(row["low"]), "high": float(row["high"])}
    return Number(f"{row['measure']}, {row['pool']}", float(row["value"]), n=int(row["n"]), unit="last layer", **ends)


def _figure(measure: str, said: str) -> Figure:
    how = "bootstrap over pairs" if measure == SPEARMAN else "leaving groups of pairs out"
    return Figure(
        "lines", "layers", x="layer", y="value", low="low", high="high", color="pool", where={"measure": measure},
        title=measure.capitalize(),
        caption=f"{said}. A text's vector is its first token's (cls) or the mean of its tokens', special ones "
        f"excepted. Bands are 95% intervals ({how}).",
        labels={"value": measure, "pool": "vector"},
    )  # fmt: skip
