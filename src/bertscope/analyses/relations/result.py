"""The answer of `relations`: the best head for each relation, every head, and every head's frame score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.relations.best import LEVEL, TEST, VALIDATION, Best, best_heads, holm_of_tested
from bertscope.analyses.relations.question import BEST_HEAD, BEST_OFFSET, DIRECTIONS, RelationsConfig, relations
from bertscope.analyses.side_by_side import figure_key
from bertscope.analyses.tables import tidy
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.units import Unit
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.relations.measure import RelationReader
    from bertscope.core.model_record import ModelRecord
    from bertscope.models.observe import Passed

_FEW = 100  # sentences with frames, under which a note says that little can be found
_LABELS = {
    "low": "at least", "high": "at most", "by": "told by", "p_holm": "p (Holm)", "control": "in control pairs",
    "certain": "more than control pairs: p < .05, corrected (Holm)", "score": "frame score",
}  # fmt: skip


def relations_result(
    reader: RelationReader,
    passed: Passed,
    models: Mapping[str, ModelRecord],
    config: RelationsConfig,
    *,
    subject: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Result:
    """What the reader found of these models, in the order in which they were read; `notes` are the corpus's."""
    keys = list(models)
    best = best_heads(reader, keys, config.least)
    tables = {"best": best.table, "heads": _heads_table(reader, keys, config.least), "compared": best.compared}
    frames = _frames_table(reader, keys) if reader.pairs.framed.any() else None
    if frames is not None:
        tables["frames"] = frames
    return relations.result(
        tables=tables,
        headline=_headline(best, frames, keys),
        figures=_figures(tables, model_names(models), config),
        models=dict(models),
        subject=dict(subject or {}),
        notes=[*notes, *read_notes(passed), *_too_few(best.table, frames, config)],
    )


def _heads_table(reader: RelationReader, models: Sequence[str], least: int) -> pd.DataFrame:
    """Every head, relation and direction: accuracy on both halves, attention beside that in control pairs."""
    counts = np.asarray(reader.counts)[:, :, None, None]  # [half, R, 1, 1]
    parts = []
    for model, sums in zip(models, reader.sums, strict=True):
        differences, all_p = sums.difference.test()
        matched = np.asarray(sums.difference.size)[:, None, None]
        for layer, at in sums.layers.items():
            hits, difference, p = np.asarray(sums.hits)[..., at], differences[..., at], all_p[..., at]
            enough = np.broadcast_to(matched >= least, p.shape)
            control = _divided(np.asarray(sums.control)[..., at], matched)
            table = tidy(
                {"relation": reader.pairs.names, "direction": list(DIRECTIONS), "head": range(1, hits.shape[-1] + 1)},
                validation_accuracy=_divided(hits[VALIDATION], counts[VALIDATION]),
                test_accuracy=_divided(hits[TEST], counts[TEST]),
                # Of pairs that have a control only, so that the three are of the same pairs.
                attention=control + difference,
                control=control,
                difference=difference,
                n=np.broadcast_to(matched, p.shape),
                p=np.where(enough, p, np.nan),
            )
            table.insert(0, "layer", layer)
            table.insert(0, "checkpoint", model)
            parts.append(table)
    whole = pd.concat(parts, ignore_index=True)
    whole["p_holm"] = whole.groupby(["checkpoint", "relation"])["p"].transform(holm_of_tested)
    return whole


def _frames_table(reader: RelationReader, models: Sequence[str]) -> pd.DataFrame:
    """Each head's frame score, beside that of the control pairs, and a paired test corrected for all heads."""
    parts = []
    for model, sums in zip(models, reader.sums, strict=True):
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
            table.insert(0, "checkpoint", model)
            parts.append(table)
    whole = pd.concat(parts, ignore_index=True)
    whole["p_holm"] = whole.groupby("checkpoint")["p"].transform(holm_of_tested)
    whole["certain"] = (whole["p_holm"] < LEVEL) & (whole["difference"] > 0)
    return whole


def _divided(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    counts = np.broadcast_to(counts, sums.shape)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan, dtype=float), where=counts > 0)


def _headline(best: Best, frames: pd.DataFrame | None, models: Sequence[str]) -> list[Number]:
    numbers = []
    for which, model in enumerate(models):
        mine = best.table[best.table["checkpoint"] == model]
        tested = int(mine["p"].notna().sum())
        numbers.append(Number("beating_offset", float(mine["beats"].sum()), n=tested, of={"model": model}))
        if tested:
            numbers += [
                drawn_number("mean_accuracy", draws, tested, "accuracy", by=by, model=model)
                for by, draws in zip((BEST_HEAD, BEST_OFFSET), best.draws[:, which].T, strict=True)
            ]
        if frames is not None:
            top = frames[frames["checkpoint"] == model].nlargest(1, "score").iloc[0]
            of = {"unit": str(Unit("head", int(top["layer"]), int(top["head"]))), "model": model}
            # The highest of many gets no interval: the one that belongs to each row ignores that it was picked.
            score = Number("highest_frame_score", float(top["score"]), n=int(top["n"]), unit="attention", of=of)
            numbers.append(score)
    return numbers


def sentence(result: Result) -> Statement | None:
    """Of the first model."""
    best = result.tables["best"]
    best = best[best["checkpoint"] == next(iter(result.models))]
    tested, beats = best[best["p"].notna()], int(best["beats"].sum())
    if tested.empty:
        return None
    if len(tested) == 1:
        row = tested.iloc[0]
        head = cell(row, "accuracy", "low", "high")
        offset = cell(row, "offset_accuracy", "offset_low", "offset_high")
        told = (
            f"Of the words in the relation {_called(row['relation'])} the best head finds {sure(head, percent)}, the "
            f"best fixed offset {sure(offset, percent)}."
        )
    else:
        told = f"In {beats} of {len(tested)} relations a head finds more words than any fixed offset (p < .05, Holm)."
    return Statement(told, beats / len(tested), percent)


def _called(relation: str) -> str:
    return relations.words["relation"].get(relation, relation)


def _too_few(best: pd.DataFrame, frames: pd.DataFrame | None, config: RelationsConfig) -> list[str]:
    notes = []
    if untested := sorted(set(best.loc[best["p"].isna(), "relation"])):
        notes.append(
            f"too rare to be tested (under {config.least} pairs to score): {', '.join(map(_called, untested))}"
        )
    if frames is not None and (n := int(frames["n"].max())) < _FEW:
        notes.append(f"frames: a low-powered sample of {n} sentences; the paper has 473")
    return notes


def _figures(tables: dict[str, pd.DataFrame], names: Mapping[str, str], config: RelationsConfig) -> list[Figure]:
    figures = [
        Figure(
            "intervals", "compared", x="accuracy", y="relation", color="by", low="low", high="high",
            where={"checkpoint": model}, key=figure_key("relations", model, names),
            title="Relations by attention" + (f": {name}" if len(names) > 1 else ""),
            caption="How often the most attended other word is the right one, for the head and direction that did "
            "best on the validation half, beside the best fixed offset; accuracy on the test half with its 95% "
            "bootstrap interval over sentences.",
            labels=_LABELS,
        )
        for model, name in names.items()
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
                labels=_LABELS, key="frames",
            )
        )  # fmt: skip
    return figures
