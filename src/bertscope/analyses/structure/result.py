"""The answer of `structure`: what was found, as tables, headline numbers and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.structure.findings import CHAIN, CONTROL, PROBE, Drawn, Findings
from bertscope.analyses.structure.metrics import (
    DSPR,
    DSPR_SENTENCES,
    LONGEST,
    METRICS,
    NSPR,
    NSPR_SENTENCES,
    ROOT_ACCURACY,
    SHORTEST,
    UUAS,
)
from bertscope.analyses.structure.probes import KINDS, Kind
from bertscope.analyses.structure.question import structure
from bertscope.core.estimate import Estimate
from bertscope.core.examples import ROOT
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent, sure
from bertscope.core.words import model_names

if TYPE_CHECKING:
    from bertscope.core.model_record import ModelRecord

_WORDS = structure.words["metric"]
_MEANINGS = {
    UUAS: "The share of the gold tree's edges, punctuation excluded, that are in the minimum spanning tree of the "
    "distances that the layer's probe predicts",
    DSPR_SENTENCES: "Spearman's correlation of a word's predicted and gold distances to all words of its sentence, "
    f"averaged over words, then over the sentences of {SHORTEST} to {LONGEST} words",
    ROOT_ACCURACY: "How often the word with the least predicted depth, punctuation excluded, is the root",
    NSPR_SENTENCES: "Spearman's correlation of predicted and gold depths of a sentence's words, averaged over the "
    f"sentences of {SHORTEST} to {LONGEST} words",
}
"""Of the metrics that are drawn: the paper's means over lengths are in the tables."""
_UNITS = {UUAS: "share of edges", ROOT_ACCURACY: "share of sentences"}
_FEW = 5  # sentences of a length: the mean of fewer is mostly luck
_LABELS = {"rank": "rank of the probe", "edge": "", "head": "head (0: root)", "checkpoint": ""}
BOTH, ONE = "in_both", "in_one"


def structure_result(
    findings: Findings, models: dict[str, ModelRecord], subject: dict[str, str], notes: list[str]
) -> Result:
    tables = {"scores": _scores(findings), "training": _training(findings)}
    if (changes := _changes(findings)) is not None:
        tables["changes"] = changes
    if findings.drawn:
        trees = pd.concat([_tree(drawn) for drawn in findings.drawn], ignore_index=True)
        tables["trees"] = trees.astype({"edge": pd.CategoricalDtype([BOTH, ONE], ordered=True)})
    return structure.result(
        tables=tables,
        headline=_headline(findings),
        figures=_figures(findings, tables, model_names(models)),
        models=models,
        subject=subject,
        notes=[*notes, *_notes(findings)],
    )


def _scores(findings: Findings) -> pd.DataFrame:
    """A row for each prediction and metric, baselines and controls among them."""
    parts = []
    for kind in KINDS:
        rows = []
        for arm in findings.arms[kind]:
            best = findings.chosen[arm.checkpoint, kind] if arm.name == PROBE and arm.checkpoint else None
            rows.append({
                "checkpoint": arm.checkpoint, "layer": arm.layer, "rank": arm.rank, "probe": kind, "arm": arm.name,
                "best_layer": best is not None and arm.layer == best.layer,
                "best_rank": best is not None and arm.rank == best.stack.rank,
            })  # fmt: skip
        frame = pd.DataFrame(rows).astype({"layer": "Int64", "rank": "Int64"})
        for metric in METRICS[kind]:
            draws = findings.draws[metric]
            low, high = interval(draws)
            parts.append(frame.assign(metric=metric, value=draws[0], low=low, high=high, n=_n(findings, metric)))
    whole = pd.concat(parts, ignore_index=True)
    return whole[["checkpoint", "layer", "rank", "probe", "arm", "metric", "value", "low", "high", "n", "best_layer",
                  "best_rank"]]  # fmt: skip


def _changes(findings: Findings) -> pd.DataFrame | None:
    """How much more each checkpoint's best probe finds than the first one's, on the same sentences: paired."""
    first, *others = findings.checkpoints
    rows: list[dict[str, Any]] = []
    for name in others:
        for metric in _WORDS:
            draws = _draws(findings, metric, PROBE, name) - _draws(findings, metric, PROBE, first)
            value, low, high = map(float, (draws[0], *interval(draws)))
            rows.append({"checkpoint": name, "against": first, "metric": metric, "value": value, "low": low,
                         "high": high, "n": _n(findings, metric)})  # fmt: skip
    return pd.DataFrame(rows) if rows else None


def _n(findings: Findings, metric: str) -> int:
    """How many edges, roots or sentences a metric is over."""
    kind = _kind_of(metric)
    scored = findings.scored[kind]
    if metric in (UUAS, ROOT_ACCURACY):
        return int(scored.to_find.sum())
    return int(scored.inside.sum())


def _kind_of(metric: str) -> Kind:
    return next(kind for kind in KINDS if metric in METRICS[kind])


def _training(findings: Findings) -> pd.DataFrame:
    return pd.DataFrame(
        {"checkpoint": probe.stack.checkpoint, "layer": probe.layer, "rank": probe.stack.rank,
         "probe": probe.stack.kind, "epochs": probe.epochs, "validation_loss": probe.loss,
         "validation_score": probe.score}
        for probe in findings.probes
    )  # fmt: skip


def _draws(findings: Findings, metric: str, name: str, checkpoint: str | None = None) -> np.ndarray:
    """[1 + repeats] of one arm: the linear chain's, or that of a checkpoint's best probe or its control."""
    kind = _kind_of(metric)
    probe = None if checkpoint is None else findings.chosen[checkpoint, kind]
    at = next(
        place for place, arm in enumerate(findings.arms[kind])
        if (arm.name, arm.checkpoint) == (name, checkpoint)
        and (probe is None or (arm.layer, arm.rank) == (probe.layer, probe.stack.rank))
    )  # fmt: skip
    return findings.draws[metric][:, at]


def _controlled(findings: Findings) -> bool:
    return any(arm.name == CONTROL for arm in findings.arms["distance"])


def _headline(findings: Findings) -> list[Number]:
    """The first checkpoint beside its baselines, then the others; each by the layer that validation chose for it."""

    def number(key: str, metric: str, draws: np.ndarray, **of: str) -> Number:
        return drawn_number(key, draws, _n(findings, metric), _UNITS.get(metric, "correlation"), **of)

    first, *others = findings.checkpoints
    found = _draws(findings, UUAS, PROBE, first)
    numbers = [number(UUAS, UUAS, found, model=first), number(CHAIN, UUAS, _draws(findings, UUAS, CHAIN))]
    if _controlled(findings):
        control = _draws(findings, UUAS, CONTROL, first)
        numbers.append(number("control", UUAS, control, model=first))
        numbers.append(number("selectivity", UUAS, found - control, model=first))
    numbers += [
        number(metric, metric, _draws(findings, metric, PROBE, first), model=first)
        for metric in _WORDS
        if metric != UUAS
    ]
    for kind in KINDS:
        layers = len({arm.layer for arm in findings.arms[kind] if arm.checkpoint == first})
        best = float(findings.chosen[first, kind].layer)
        numbers.append(Number("best_layer", best, n=layers, of={"model": first, "probe": kind}))
    for one in others:
        numbers += [number(metric, metric, _draws(findings, metric, PROBE, one), model=one) for metric in _WORDS]
    return numbers


def sentence(result: Result) -> Statement | None:
    (first, found), *others = ((result.models[number.of["model"]], number) for number in result.numbers(key=UUAS))
    chain, layer = result[CHAIN], int(result.numbers(key="best_layer", probe="distance")[0].value)
    after = [f"{sure(Estimate.of_number(number), percent)} in {model.name}" for model, number in others]
    further = "".join(f", {each}" for each in after)
    told = (
        f"A linear map finds {sure(Estimate.of_number(found), percent)} of the syntax trees' edges in layer {layer} "
        f"of {first.name}{further}; a chain of neighbours has {sure(Estimate.of_number(chain), percent)}."
    )
    return Statement(told, found.value, percent)


def _tree(drawn: Drawn) -> pd.DataFrame:
    """Both trees of a sentence, a row for each word of each: its governor, 0 for the root, none for punctuation."""
    edges = {"gold": _edges(drawn.gold, drawn.outside), "predicted": _edges(drawn.predicted, drawn.outside)}
    there_are, found = (
        sum(ROOT not in edge for edge in some) for some in (edges["gold"], edges["gold"] & edges["predicted"])
    )
    rows: list[dict[str, Any]] = []
    for tree, governors in (("gold", drawn.gold), ("predicted", drawn.predicted)):
        for word, governor in enumerate(governors):
            edge = frozenset((word, int(governor)))
            there = edge in edges[tree]
            rows.append({
                "checkpoint": drawn.checkpoint, "layer": drawn.layer, "sentence": drawn.id,
                "picture": f"{drawn.id} · {found} of {there_are} edges", "tree": tree, "position": word + 1,
                "word": drawn.words[word], "head": int(governor) + 1 if there else None,
                "edge": (BOTH if all(edge in some for some in edges.values()) else ONE) if there else None,
            })  # fmt: skip
    return pd.DataFrame(rows).astype({"head": "Int64"})


def _edges(governors: np.ndarray, outside: np.ndarray) -> set[frozenset[int]]:
    """Both ends of each edge between words that aren't punctuation; the root's is to `ROOT`."""
    inside = [(word, int(governor)) for word, governor in enumerate(governors) if not outside[word]]
    return {frozenset(edge) for edge in inside if edge[1] == ROOT or not outside[edge[1]]}


def _figures(findings: Findings, tables: dict[str, pd.DataFrame], names: dict[str, str]) -> list[Figure]:
    several = len({probe.stack.rank for probe in findings.probes}) > 1
    figures = []
    for metric in _MEANINGS:
        figures.append(
            _lines(
                findings, metric, "layer", where={"best_rank": True},
                more="Layer 0 is the embeddings' output. Dashed: the tree in which each word hangs on the one before "
                "it, and the best layer's probe trained and scored on random trees of the same shapes.",
            )
        )  # fmt: skip
        if several:
            more = "Each checkpoint at its best layer; dashed as above."
            figures.append(_lines(findings, metric, "rank", where={"best_layer": True}, more=more))
    return [*figures, *([_pictures(findings, names)] if "trees" in tables else [])]


def _lines(findings: Findings, metric: str, x: str, *, where: dict[str, Any], more: str) -> Figure:
    """A metric of every checkpoint against the layer or the rank, baselines as rules."""
    first, what = findings.checkpoints[0], _WORDS[metric]
    rules = {structure.words["arm"][CHAIN]: float(_draws(findings, metric, CHAIN)[0])}
    if _controlled(findings):
        rules |= {"random trees": float(_draws(findings, metric, CONTROL, first)[0])}
    return Figure(
        "lines", "scores", key=f"{metric}_by_{x}", x=x, y="value", color="checkpoint", low="low", high="high",
        log_x=x == "rank", where={"metric": metric, "arm": PROBE} | where,
        title=f"{what[0].upper()}{what[1:]} by {x}",
        caption=f"{_MEANINGS[metric]}; with its 95% bootstrap interval over sentences. {more}",
        labels=_LABELS | {"value": what}, rules=rules,
    )  # fmt: skip


def _pictures(findings: Findings, names: dict[str, str]) -> Figure:
    first = findings.checkpoints[0]
    return Figure(
        "trees", "trees", key="trees", x="position", y="head", token="word", side="tree", color="edge",
        facet="picture", where={"checkpoint": first}, title="Gold trees and predicted trees",
        caption="Above the words is the gold tree, below them the spanning tree of the distances that the probe on "
        f"layer {findings.chosen[first, 'distance'].layer} of {names[first]} predicts. The root of each has a stem; "
        "punctuation isn't attached. Sentences that weren't named are chosen by a hash of their ids, not by score.",
        labels=_LABELS,
    )  # fmt: skip


def _notes(findings: Findings) -> list[str]:
    scored = findings.scored["distance"]
    outside, many = int((~scored.inside).sum()), np.bincount(scored.lengths[scored.inside])
    notes = [
        "layers and ranks were chosen on the validation sentences: by UUAS for distances, root accuracy for depths"
    ]
    if outside:
        notes.append(f"DSpr and NSpr leave out {outside:,} sentences of under {SHORTEST} or over {LONGEST} words")
    if rare := int(((many > 0) & (many < _FEW)).sum()):
        notes.append(
            f"{_WORDS[DSPR]} and {_WORDS[NSPR]} (the paper's) are means over {int((many > 0).sum())} of "
            f"{LONGEST - SHORTEST + 1} lengths, {rare} of them with fewer than {_FEW} sentences: they move with the "
            "number of sentences, and the means over sentences don't"
        )
    return notes
