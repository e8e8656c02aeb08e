"""The answer of `relations`: the best head for each relation, every head, and every head's frame score."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.attention.maps import read_notes
from bertscope.analyses.relations.against_controls import (
    beyond_twins,
    found_by_chance,
    frames_table,
    heads_table,
    side_by_side_tables,
)
from bertscope.analyses.relations.best import Best, best_heads
from bertscope.analyses.relations.question import BEST_HEAD, BEST_OFFSET, RelationsConfig, relations
from bertscope.analyses.side_by_side import figure_key
from bertscope.core import null_panel
from bertscope.core.estimate import cell
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number
from bertscope.core.null_panel import panel
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, number_of, percent, sure
from bertscope.core.units import Unit
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.analyses.relations.measure import RelationReader
    from bertscope.core.model_record import ModelRecord
    from bertscope.models.observe import Passed

_FEW = 100  # sentences with frames, under which a note says that little can be found
_LABELS = {
    "low": "at least", "high": "at most", "by": "told by", "p_holm": "p (Holm)", "control": "in control pairs",
    "certain": "more than control pairs: p < .05, corrected (Holm)", "score": "beyond uniform",
    "maximum": "the most between two pieces (the paper's score)",
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
    known, twins = reader.sums_of[: len(keys)], reader.sums_of[len(keys) :]
    best = best_heads(reader, keys, known, config.least, null=config.null)
    of_twins = best_heads(reader, keys, twins, config.least).table if twins else None
    if of_twins is not None:
        best.table["random_weights"] = of_twins["accuracy"]
    of_heads = beyond_twins([heads_table(reader, sums, config.least) for sums in reader.sums_of], len(keys))
    framed = reader.sums_of if reader.pairs.has_frames else ()
    of_frames = beyond_twins([frames_table(reader, sums) for sums in framed], len(keys))
    tables = {"best": best.table, "heads": side_by_side_tables(of_heads, keys), "compared": best.compared}
    frames = None
    if of_frames:
        tables["frames"] = frames = side_by_side_tables(of_frames, keys)
    if config.null:
        tables[null_panel.TABLE] = _null_panel(reader, best, keys, config.least)
    return relations.result(
        tables=tables,
        headline=_headline(best, of_twins, of_heads, of_frames, keys),
        figures=_figures(tables, model_names(models), config),
        models=dict(models),
        subject=dict(subject or {}),
        notes=[*notes, *read_notes(passed), *_too_few(best.table, frames, config)],
    )


def _null_panel(reader: RelationReader, best: Best, models: Sequence[str], least: int) -> pd.DataFrame:
    """The families of tests that are corrected together: the heads of a relation, those for frames, and the best
    heads of all relations against offsets."""
    found: dict[Hashable, np.ndarray] = {}
    for model, sums, beaten in zip(models, reader.sums_of, best.by_chance, strict=False):
        found[model, "best", ""] = beaten
        for relation, counts in found_by_chance(reader, sums, least):
            found[model, "heads" if relation else "frames", relation] = counts
    return panel(found, ("checkpoint", "table", "relation"))


def _headline(
    best: Best,
    of_twins: pd.DataFrame | None,
    heads: Sequence[pd.DataFrame],
    frames: Sequence[pd.DataFrame],
    models: Sequence[str],
) -> list[Number]:
    """Of each model; beside it, where they were read, those of its twin with random weights."""
    numbers = []
    for which, model in enumerate(models):
        mine = best.table[best.table["checkpoint"] == model]
        tested = int(mine["p"].notna().sum())
        numbers.append(Number("beating_offset", float(mine["beats"].sum()), n=tested, of={"model": model}))
        if of_twins is not None:
            beats = of_twins.loc[of_twins["checkpoint"] == model, "beats"]
            numbers.append(Number("beating_offset_random", float(beats.sum()), n=tested, of={"model": model}))
        if tested:
            numbers += [
                drawn_number("mean_accuracy", draws, tested, "accuracy", by=by, model=model)
                for by, draws in zip((BEST_HEAD, BEST_OFFSET), best.draws[:, which].T, strict=True)
            ]
        certain = "above_controls", "above_controls_random"
        numbers += _of_twins(certain, heads, which, model, len(models))
        if frames:
            top = frames[which].nlargest(1, "score").iloc[0]
            of = {"unit": str(Unit("head", int(top["layer"]), int(top["head"]))), "model": model}
            # The highest of many gets no interval: the one that belongs to each row ignores that it was picked.
            score = Number("highest_frame_score", float(top["score"]), n=int(top["n"]), unit="attention", of=of)
            certain = "frame_heads", "frame_heads_random"
            numbers += [score, *_of_twins(certain, frames, which, model, len(models))]
    return numbers


def _of_twins(
    keys: tuple[str, str], tables: Sequence[pd.DataFrame], which: int, model: str, models: int
) -> list[Number]:
    """How many tests of a model are certain, and how many of its twin's; `keys` are the two numbers'."""
    numbers = []
    for name, at in zip(keys, (which, models + which), strict=True):
        if at < len(tables) and (tested := int(tables[at]["p"].notna().sum())):
            numbers.append(Number(name, float(tables[at]["certain"].sum()), n=tested, of={"model": model}))
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
            f"Of the words in the relation {_called(row['relation'])}, the best head finds {sure(head, percent)} and "
            f"the best fixed offset {sure(offset, percent)}."
        )
    else:
        told = (
            f"In {beats} of {len(tested)} relations, the best head finds more words than the best fixed offset "
            "(p < .05, Holm)."
        )
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
        notes.append(f"frames: a low-powered sample of {number_of(n, 'sentence', 'sentences')}; the paper has 473")
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
                middle=0.0, facet="checkpoint", title="From frame elements to what evokes the frame",
                caption=f"The attention from {elements} to the target, beyond that of a head that attends to all "
                "tokens alike, averaged over sentences. A dot: more than between other words of as many pieces at "
                "the same distance, by a paired t-test corrected for the number of heads (Holm).",
                labels=_LABELS, key="frames",
            )
        )  # fmt: skip
    return figures
