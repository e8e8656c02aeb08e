"""What the validation half chooses for each relation (head, direction, offset), scored on the test half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.relations.pairs import OFFSETS
from bertscope.analyses.relations.question import BEST_HEAD, BEST_OFFSET, DIRECTIONS
from bertscope.core.hashing import mixed
from bertscope.core.intervals import interval
from bertscope.core.null_panel import DRAWS
from bertscope.core.resampling import Resampling, RunningMean
from bertscope.core.statistics import holm, sign_flip_p, sign_flip_ps

if TYPE_CHECKING:
    from bertscope.analyses.relations.batch import HeadSums, TestHalf
    from bertscope.analyses.relations.measure import RelationReader

LEVEL = 0.05
TEST, VALIDATION = 0, 1
_ROWS = 1024  # sentences resampled at a time
_EXCHANGE = np.uint64(2**33)  # apart from the numbers of resamples


@dataclass(frozen=True)
class Best:
    """What the validation half chose for each relation, and how it does on the test half."""

    table: pd.DataFrame
    """A row for each checkpoint and relation."""
    compared: pd.DataFrame
    """The accuracy of the best head and of the best offset, a row each, for the relations that were tested."""
    draws: np.ndarray
    """[1 + repeats, checkpoint, (head, offset)]: the mean accuracy over the relations that were tested."""
    by_chance: np.ndarray
    """[checkpoint, draw]: in how many relations one of the two is better where head and offset are exchanged at
    random; no draws unless they are asked for."""


def best_heads(
    reader: RelationReader, models: Sequence[str], sums: Sequence[HeadSums], least: int, *, null: bool = False
) -> Best:
    """For each relation the head and direction, and the offset, that find most pairs of the validation half."""
    validation_pairs, test_pairs = np.asarray(reader.counts)[[VALIDATION, TEST]]
    known = validation_pairs > 0
    offsets = np.asarray(reader.near).reshape(len(validation_pairs), -1).argmax(1)  # direction x offset
    half = reader.test_half
    relation = half.relation
    chosen = [_choose(one) for one in sums]
    direction, offset = np.divmod(offsets, len(OFFSETS))
    hits = [_hits(one, picked, half) for one, picked in zip(sums, chosen, strict=True)]
    hits.append(half.near[np.arange(len(relation)), direction[relation]] >> offset[relation] & 1)
    found, counts = _by_sentence(half, len(known), np.stack(hits, 1))  # [sentence, R, ...]
    accuracy = _resampled(reader.resampling.of(half.keys), found, counts)  # [1 + repeats, R, checkpoints + 1]
    accuracy[:, ~known] = np.nan  # nothing was chosen

    tested = known & (test_pairs >= least)
    signs = exchanged(half.keys) if null else np.zeros((0, len(half.keys)))
    parts, compared, means, by_chance = [], [], [], []
    for which, (model, picked) in enumerate(zip(models, chosen, strict=True)):
        head, fixed = accuracy[..., which], accuracy[..., -1]
        apart = found[..., which] - found[..., -1]
        p = np.array([sign_flip_p(apart[:, r]) if tested[r] else np.nan for r in range(len(tested))])
        table = pd.DataFrame({
            "checkpoint": model, "relation": reader.pairs.names,
            "validation_pairs": validation_pairs.astype(int), "test_pairs": test_pairs.astype(int),
            **{key: pd.Series(picked[key], dtype="Int64").where(known) for key in ("layer", "head")},
            "direction": pd.Series(np.array(list(DIRECTIONS))[picked["direction"]], dtype="str").where(known),
            **_ranged("", head),
            "offset": pd.Series(OFFSETS[offset], dtype="Int64").where(known),
            "offset_direction": pd.Series(np.array(list(DIRECTIONS))[direction], dtype="str").where(known),
            **_ranged("offset_", fixed),
            **_ranged("", head - fixed, "difference"),
            "p": p,
        })  # fmt: skip
        table["p_holm"] = holm_of_tested(table["p"])
        table["beats"] = (table["difference"] > 0) & (table["p_holm"] < LEVEL)
        parts.append(table)
        by_chance.append(_beaten_by_chance(signs, apart[:, tested]))
        for what, draws in ((BEST_HEAD, head), (BEST_OFFSET, fixed)):
            one = pd.DataFrame(
                {"checkpoint": model, "relation": reader.pairs.names, "by": what, **_ranged("", draws)}
            )
            compared.append(one[tested])
        means.append([head[:, tested].mean(1), fixed[:, tested].mean(1)] if tested.any() else None)
    draws = np.array(means).transpose(2, 0, 1) if tested.any() else np.full((2, len(models), 2), np.nan)
    return Best(
        pd.concat(parts, ignore_index=True), pd.concat(compared, ignore_index=True), draws, np.stack(by_chance)
    )


def exchanged(keys: np.ndarray) -> np.ndarray:
    """[draw, thing]: 1, or -1 where it is exchanged with what it is compared with; by the things' own numbers."""
    drawn = mixed(keys, _EXCHANGE + np.arange(DRAWS, dtype=np.uint64)[:, None])
    return np.where(drawn >> np.uint64(63), 1.0, -1.0)


def _beaten_by_chance(signs: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """[draw]: in how many relations one of the two is better; `apart` [sentence, relation] is in how many pairs more
    the head is right."""
    sums = np.rint(signs @ apart)
    p = np.ones_like(sums)
    for relation, differences in enumerate(apart.T):
        p[:, relation] = sign_flip_ps(differences, sums[:, relation])
    return findings(p)


def findings(p: np.ndarray) -> np.ndarray:
    """[draw]: how many of the p-values [draw, ...] are small, corrected for all of a draw."""
    return np.array([(holm(of_draw.ravel()) < LEVEL).sum() for of_draw in p], dtype=int)


def _choose(sums: HeadSums) -> dict[str, np.ndarray]:
    """The head (its place among all, its layer, its number) and direction with most hits in the validation half, for
    each relation; the first of equals."""
    hits = sums.hits.value[VALIDATION].transpose(0, 2, 1)  # [R, head, direction]
    place, direction = np.divmod(hits.reshape(len(hits), -1).argmax(1), 2)
    layer, head = np.array([(unit.layer, unit.number) for unit in sums.heads])[place].T
    return {"place": place, "layer": layer, "head": head, "direction": direction}


def _hits(sums: HeadSums, picked: dict[str, np.ndarray], half: TestHalf) -> np.ndarray:
    """Whether each pair of the test half is found by the head that was chosen for its relation."""
    found = np.zeros(len(half.relation), dtype=np.int64)
    for r, (place, direction) in enumerate(zip(picked["place"], picked["direction"], strict=True)):
        mine = half.relation == r
        found[mine] = half.hit(sums, direction, place)[mine]
    return found


def _by_sentence(half: TestHalf, n_names: int, hits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Hits [sentence, R, ...] and pairs [sentence, R] of each sentence of the test half."""
    sums = np.zeros((len(half.keys), n_names, hits.shape[1]), dtype=np.int32)
    counts = np.zeros((len(half.keys), n_names), dtype=np.int32)
    np.add.at(sums, (half.sentence, half.relation), hits)
    np.add.at(counts, (half.sentence, half.relation), 1)
    return sums, counts


def _resampled(resampling: Resampling, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    if not len(sums):
        return np.full((1 + resampling.repeats, *sums.shape[1:]), np.nan)
    mean = RunningMean(resampling)
    for start in range(0, len(sums), _ROWS):
        part = slice(start, start + _ROWS)
        mean.add(np.arange(len(sums))[part], sums[part], counts[part])
    return mean.draws


def _ranged(prefix: str, draws: np.ndarray, name: str = "accuracy") -> dict[str, np.ndarray]:
    low, high = interval(draws)
    ends = (f"{name}_low", f"{name}_high") if name != "accuracy" else (f"{prefix}low", f"{prefix}high")
    return {f"{prefix}{name}": draws[0], ends[0]: low, ends[1]: high}


def holm_of_tested(p: pd.Series) -> pd.Series:
    """Corrected for those that were tested."""
    tested = p.notna()
    corrected = p.copy()
    if tested.any():
        corrected[tested] = holm(p[tested].to_numpy())
    return corrected
