"""The answer of `relations`: what the validation half chooses (head, direction, offset), scored on the test half."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.relations.pairs import OFFSETS
from bertscope.analyses.relations.question import RelationsConfig, relations
from bertscope.analyses.tables import tidy
from bertscope.core.figure import Figure
from bertscope.core.intervals import interval
from bertscope.core.number import Number
from bertscope.core.resampling import RunningMean
from bertscope.core.result import Result
from bertscope.core.statistics import holm, sign_flip_p

if TYPE_CHECKING:
    from bertscope.analyses.relations.measure import HeadSums, RelationReader
    from bertscope.models.observe import Passed

_LEVEL = 0.05
_DIRECTIONS = ("source to target", "target to source")
_FEW = 100  # sentences with frames, under which a note says that little can be found
_ROWS = 1024  # sentences resampled at a time
_TEST, _VALIDATION = 0, 1
_LABELS = {
    "low": "at least", "high": "at most", "by": "told by", "p_holm": "p (Holm)", "control": "in control pairs",
    "certain": "more than control pairs: p < .05, corrected (Holm)", "score": "frame score",
}  # fmt: skip


def relations_result(
    reader: RelationReader,
    passed: Passed,
    names: Sequence[str],
    config: RelationsConfig,
    *,
    subject: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Result:
    """What the reader found of the checkpoints of these names; `notes` are the corpus's."""
    best = _best_heads(reader, names, config.least)
    tables = {"best": best.table, "heads": _heads_table(reader, names, config.least), "compared": best.compared}
    frames = _frames_table(reader, names) if reader.pairs.framed.any() else None
    if frames is not None:
        tables["frames"] = frames
    return relations.result(
        tables=tables,
        headline=_headline(best, frames, names),
        figures=_figures(tables, names, config),
        subject=dict(subject or {}),
        notes=[*notes, *read_notes(passed), *_too_few(best.table, frames, config)],
    )


def _heads_table(reader: RelationReader, names: Sequence[str], least: int) -> pd.DataFrame:
    """Every head, relation and direction: accuracy on both halves, attention beside that in control pairs."""
    counts = np.asarray(reader.counts)[:, :, None, None]  # [half, R, 1, 1]
    parts = []
    for name, sums in zip(names, reader.sums, strict=True):
        differences, all_p = sums.difference.test()
        matched = np.asarray(sums.difference.size)[:, None, None]
        for layer, at in sums.layers.items():
            hits, difference, p = np.asarray(sums.hits)[..., at], differences[..., at], all_p[..., at]
            enough = np.broadcast_to(matched >= least, p.shape)
            control = _divided(np.asarray(sums.control)[..., at], matched)
            table = tidy(
                {"relation": reader.pairs.names, "direction": _DIRECTIONS, "head": range(1, hits.shape[-1] + 1)},
                validation_accuracy=_divided(hits[_VALIDATION], counts[_VALIDATION]),
                test_accuracy=_divided(hits[_TEST], counts[_TEST]),
                # Of pairs that have a control only, so that the three are of the same pairs.
                attention=control + difference,
                control=control,
                difference=difference,
                n=np.broadcast_to(matched, p.shape),
                p=np.where(enough, p, np.nan),
            )
            table.insert(0, "layer", layer)
            table.insert(0, "checkpoint", name)
            parts.append(table)
    whole = pd.concat(parts, ignore_index=True)
    whole["p_holm"] = whole.groupby(["checkpoint", "relation"])["p"].transform(_holm)
    return whole


@dataclass(frozen=True)
class _Best:
    """What the validation half chose for each relation, and how it does on the test half."""

    table: pd.DataFrame
    """A row for each checkpoint and relation."""
    compared: pd.DataFrame
    """The accuracy of the best head and of the best offset, a row each, for the relations that were tested."""
    draws: np.ndarray
    """[1 + repeats, checkpoint, (head, offset)]: the mean accuracy over the relations that were tested."""


def _best_heads(reader: RelationReader, names: Sequence[str], least: int) -> _Best:
    """For each relation the head and direction, and the offset, that find most pairs of the validation half."""
    validation_pairs, test_pairs = np.asarray(reader.counts)[[_VALIDATION, _TEST]]
    known = validation_pairs > 0
    offsets = np.asarray(reader.near).reshape(len(validation_pairs), -1).argmax(1)  # direction x offset
    at = reader.test[reader.seen]
    relation = reader.pairs.relation[at]
    chosen = [_choose(sums) for sums in reader.sums]
    direction, offset = np.divmod(offsets, len(OFFSETS))
    hits = [_hits(sums, picked, relation, reader.seen) for sums, picked in zip(reader.sums, chosen, strict=True)]
    hits.append(reader.pairs.near[at, direction[relation]] >> offset[relation] & 1)
    sums, counts, rows = _by_sentence(reader, at, relation, np.stack(hits, 1))  # [sentence, R, ...]
    accuracy = _resampled(reader, rows, sums, counts)  # [1 + repeats, R, checkpoints + 1]
    accuracy[:, ~known] = np.nan  # nothing was chosen

    tested = known & (test_pairs >= least)
    parts, compared, means = [], [], []
    for which, (name, picked) in enumerate(zip(names, chosen, strict=True)):
        head, fixed = accuracy[..., which], accuracy[..., -1]
        apart = sums[..., which] - sums[..., -1]
        p = np.array([sign_flip_p(apart[:, r]) if tested[r] else np.nan for r in range(len(tested))])
        table = pd.DataFrame({
            "checkpoint": name, "relation": reader.pairs.names,
            "validation_pairs": validation_pairs.astype(int), "test_pairs": test_pairs.astype(int),
            **{key: pd.Series(picked[key], dtype="Int64").where(known) for key in ("layer", "head")},
            "direction": pd.Series(np.array(_DIRECTIONS)[picked["direction"]], dtype="str").where(known),
            **_ranged("", head),
            "offset": pd.Series(OFFSETS[offset], dtype="Int64").where(known),
            "offset_direction": pd.Series(np.array(_DIRECTIONS)[direction], dtype="str").where(known),
            **_ranged("offset_", fixed),
            **_ranged("", head - fixed, "difference"),
            "p": p,
        })  # fmt: skip
        table["p_holm"] = _holm(table["p"])
        table["beats"] = (table["difference"] > 0) & (table["p_holm"] < _LEVEL)
        parts.append(table)
        for what, draws in (("best head", head), ("best fixed offset", fixed)):
            one = pd.DataFrame({"checkpoint": name, "relation": reader.pairs.names, "by": what, **_ranged("", draws)})
            compared.append(one[tested])
        means.append([head[:, tested].mean(1), fixed[:, tested].mean(1)] if tested.any() else None)
    draws = np.array(means).transpose(2, 0, 1) if tested.any() else np.full((2, len(names), 2), np.nan)
    return _Best(pd.concat(parts, ignore_index=True), pd.concat(compared, ignore_index=True), draws)


def _frames_table(reader: RelationReader, names: Sequence[str]) -> pd.DataFrame:
    """Each head's frame score, beside that of the control pairs, and a paired test corrected for all heads."""
    parts = []
    for name, sums in zip(names, reader.sums, strict=True):
        differences, all_p = sums.score_difference.test()
        scores = sums.scores.draws
        for layer, at in sums.layers.items():
            draws, difference, p = scores[..., at], differences[..., at], all_p[..., at]
            low, high = interval(draws[:, 0])
            table = tidy(
                {"head": range(1, draws.shape[-1] + 1)},
                score=draws[0, 0], low=low, high=high, control=draws[0, 1], difference=difference[0], p=p[0],
            ).assign(n=int(sums.scores.count[0]), n_compared=int(sums.scores.count[1]))  # fmt: skip
            table.insert(0, "layer", layer)
            table.insert(0, "checkpoint", name)
            parts.append(table)
    whole = pd.concat(parts, ignore_index=True)
    whole["p_holm"] = whole.groupby("checkpoint")["p"].transform(_holm)
    whole["certain"] = (whole["p_holm"] < _LEVEL) & (whole["difference"] > 0)
    return whole


def _choose(sums: HeadSums) -> dict[str, np.ndarray]:
    """The head (its place among all, its layer, its number) and direction with most hits in the validation half, for
    each relation; the first of equals."""
    hits = np.asarray(sums.hits)[_VALIDATION].transpose(0, 2, 1)  # [R, head, direction]
    place, direction = np.divmod(hits.reshape(len(hits), -1).argmax(1), 2)
    layer, head = np.array([(unit.layer, unit.number) for unit in sums.heads])[place].T
    return {"place": place, "layer": layer, "head": head, "direction": direction}


def _hits(sums: HeadSums, picked: dict[str, np.ndarray], relation: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Whether each pair that was seen of the test half is found by the head that was chosen for its relation."""
    found = np.zeros(len(relation), dtype=np.int64)
    for r, (place, direction) in enumerate(zip(picked["place"], picked["direction"], strict=True)):
        mine = relation == r
        found[mine] = sums.hit(direction, place)[seen][mine]
    return found


def _by_sentence(
    reader: RelationReader, at: np.ndarray, relation: np.ndarray, hits: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hits [sentence, R, ...] and pairs [sentence, R] of each sentence of the test half, and which they are."""
    n_names = len(reader.pairs.names)
    rows, row = np.unique(np.searchsorted(reader.pairs.starts, at, side="right") - 1, return_inverse=True)
    sums = np.zeros((len(rows), n_names, hits.shape[1]), dtype=np.int32)
    counts = np.zeros((len(rows), n_names), dtype=np.int32)
    np.add.at(sums, (row, relation), hits)
    np.add.at(counts, (row, relation), 1)
    return sums, counts, rows


def _resampled(reader: RelationReader, rows: np.ndarray, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    if not len(rows):
        return np.full((1 + reader.resampling.repeats, *sums.shape[1:]), np.nan)
    mean = RunningMean(reader.resampling)
    for start in range(0, len(rows), _ROWS):
        part = slice(start, start + _ROWS)
        mean.add(rows[part], sums[part], counts[part])
    return mean.draws


def _ranged(prefix: str, draws: np.ndarray, name: str = "accuracy") -> dict[str, np.ndarray]:
    low, high = interval(draws)
    ends = (f"{name}_low", f"{name}_high") if name != "accuracy" else (f"{prefix}low", f"{prefix}high")
    return {f"{prefix}{name}": draws[0], ends[0]: low, ends[1]: high}


def _holm(p: pd.Series) -> pd.Series:
    """Corrected for those that were tested."""
    tested = p.notna()
    corrected = p.copy()
    if tested.any():
        corrected[tested] = holm(p[tested].to_numpy())
    return corrected


def _divided(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    counts = np.broadcast_to(counts, sums.shape)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan, dtype=float), where=counts > 0)


def _headline(best: _Best, frames: pd.DataFrame | None, names: Sequence[str]) -> list[Number]:
    numbers = []
    for which, name in enumerate(names):
        of = f", {name}" if which else ""
        mine = best.table[best.table["checkpoint"] == name]
        tested = int(mine["p"].notna().sum())
        numbers.append(Number(relations.main + of, float(mine["beats"].sum()), n=tested))
        if tested:
            for what, draws in zip(("best heads", "best offsets"), best.draws[:, which].T, strict=True):
                low, high = (float(end) for end in interval(draws))
                numbers.append(
                    Number(f"mean over relations, {what}{of}", float(draws[0]), low, high, tested, "accuracy")
                )
        if frames is not None:
            top = frames[frames["checkpoint"] == name].nlargest(1, "score").iloc[0]
            # The highest of many gets no interval: the one that belongs to each row ignores that it was picked.
            unit = f"head:{top['layer']}.{top['head']}"
            numbers.append(
                Number(f"highest frame score ({unit}){of}", float(top["score"]), n=int(top["n"]), unit="attention")
            )
    return numbers


def _too_few(best: pd.DataFrame, frames: pd.DataFrame | None, config: RelationsConfig) -> list[str]:
    notes = []
    if untested := sorted(set(best.loc[best["p"].isna(), "relation"])):
        notes.append(f"too rare to be tested (under {config.least} pairs to score): {', '.join(untested)}")
    if frames is not None and (n := int(frames["n"].max())) < _FEW:
        notes.append(f"frames: a low-powered sample of {n} sentences; the paper has 473")
    return notes


def _figures(tables: dict[str, pd.DataFrame], names: Sequence[str], config: RelationsConfig) -> list[Figure]:
    figures = [
        Figure(
            "intervals", "compared", x="accuracy", y="relation", color="by", low="low", high="high",
            where={"checkpoint": name},
            title="Relations by attention" + (f": {name}" if len(names) > 1 else ""),
            caption="How often the most attended other word is the right one, for the head and direction that did "
            "best on the validation half, beside the best fixed offset; accuracy on the test half with its 95% "
            "bootstrap interval over sentences.",
            labels=_LABELS,
        )
        for name in names
    ]  # fmt: skip
    if "frames" in tables:
        elements = "core frame elements" if config.core else "frame elements"
        figures.append(
            Figure(
                "heatmap", "frames", x="head", y="layer", value="score", low="low", high="high", mark="certain",
                facet="checkpoint", title="From frame elements to what evokes the frame",
                caption=f"The most attention from any token of the {elements} to any token of the target, averaged "
                "over sentences. A dot: more than between other words at the same distance, by a paired t-test "
                "corrected for the number of heads (Holm).",
                labels=_LABELS,
            )
        )  # fmt: skip
    return figures
