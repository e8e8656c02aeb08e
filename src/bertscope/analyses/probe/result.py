"""The answer of `probe`: tables, headline and figures of all targets that were probed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.probe.question import ProbeConfig, ProbeKind, probe
from bertscope.analyses.probe.sample import PARTS, TEST, TRAIN, Sample, majority, usual_label
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.model_record import ModelRecord
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.words import model_names

PROBE, CONTROL, MAJORITY, USUAL = "probe", "control", "majority", "usual_label"
_LABELS = {
    "low": "from", "high": "to", "series": "", "expected": "expected layer",
    "compression": "compression (uniform / online)",
}  # fmt: skip
_MEANT = {
    "pos": "part of speech", "relation": "of a word and its head", "frame": "that the word evokes",
    "entity": "kind of name that the word is in", "word": "which of the most frequent", "label": "the task's",
    "length": "of the text, in groups",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ProbedLayers:
    """What probes of one kind found in the layers of one checkpoint. Draws are [1 + repeats, layer]."""

    checkpoint: str
    probe: ProbeKind
    layers: list[int]
    accuracy: np.ndarray
    control: np.ndarray | None
    validation_loss: np.ndarray
    bits: np.ndarray | None


@dataclass(frozen=True, eq=False)
class ProbedTarget:
    """A target and what was found of it."""

    sample: Sample
    found: list[ProbedLayers]
    mixes: dict[str, tuple[list[int], np.ndarray]]
    """By checkpoint: layers, and draws of the accuracy of a mix of layers 0 to each."""

    @property
    def name(self) -> str:
        return self.sample.target.name

    @property
    def n(self) -> int:
        return len(self.sample.items(TEST))

    def best(self, checkpoint: str, probe: ProbeKind) -> tuple[int, np.ndarray]:
        """The layer with the lowest loss on validation, and draws of its accuracy on test."""
        one = next(found for found in self.found if (found.checkpoint, found.probe) == (checkpoint, probe))
        at = int(one.validation_loss.argmin())
        return one.layers[at], one.accuracy[:, at]


def probe_result(
    probed: Sequence[ProbedTarget], config: ProbeConfig, models: dict[str, ModelRecord], subject: dict[str, str],
    notes: list[str],
) -> Result:  # fmt: skip
    checkpoints, names = list(models), model_names(models)
    tables = {
        "probes": _table(_probe_rows(one) for one in probed),
        "targets": _table([_about(one)] for one in probed),
        "curves": _table(_curve_rows(one, config.probes[0], names) for one in probed),
        "selectivity": _table(_selectivity_rows(one) for one in probed),
        "changes": _table(_change_rows(one, checkpoints) for one in probed),
        "mixes": _table(_mix_rows(one) for one in probed),
        "expected": _table(_expected_rows(one) for one in probed),
    }
    tables = {name: table for name, table in tables.items() if len(table)}
    last = [f"the numbers are those of {names[checkpoints[-1]]}"] if len(checkpoints) > 1 else []
    return probe.result(
        tables=tables, models=models, subject=subject, headline=_headline(probed, checkpoints, config.probes[0]),
        figures=[each for each in _figures(probed, config) if {*each.columns()} <= {*tables.get(each.table, ())}],
        notes=[*notes, *last, *_notes(probed)],
    )  # fmt: skip


def _table(rows: Iterable[Iterable[dict[str, Any]]]) -> pd.DataFrame:
    """Rows of all targets, each a column's value or one for every layer; empty where there are none."""
    frames = [pd.DataFrame(row, index=None if _long(row) else [0]) for of_target in rows for row in of_target]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _long(row: dict[str, Any]) -> bool:
    return any(isinstance(value, (list, np.ndarray)) for value in row.values())


def _about(one: ProbedTarget) -> dict[str, Any]:
    """What there is to know of a target before any probe."""
    sample, target = one.sample, one.sample.target
    parts = {name: len(sample.items(part)) for part, name in enumerate(PARTS)}
    known = float(usual_label(sample).mean()) if target.has_control else math.nan
    return (
        {"target": target.name, "unit": target.unit, "classes": len(target.classes)} | parts
        | {"texts": len(np.unique(target.example)), "majority": float(majority(sample).mean()), "usual_label": known}
        | {"uniform_bits": parts["train"] * math.log2(len(target.classes))}
    )  # fmt: skip


def _where(one: ProbedTarget, found: ProbedLayers) -> dict[str, Any]:
    return {"checkpoint": found.checkpoint, "target": one.name, "probe": found.probe, "layer": found.layers}


def _with_interval(name: str, draws: np.ndarray) -> dict[str, np.ndarray]:
    low, high = interval(draws)
    return {name: draws[0], "low": low, "high": high}


def _probe_rows(one: ProbedTarget) -> Iterator[dict[str, Any]]:
    for found in one.found:
        row = _where(one, found) | _with_interval("accuracy", found.accuracy)
        row |= {"n": one.n, "validation_loss": found.validation_loss}
        if found.bits is not None:
            uniform, train = _about(one)["uniform_bits"], len(one.sample.items(TRAIN))
            row |= {
                "codelength": found.bits,
                "bits_per_label": found.bits / train,
                "compression": uniform / found.bits,
            }
        yield row


def _curve_rows(one: ProbedTarget, kind: ProbeKind, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The accuracies that one figure shows together, a line each; of several checkpoints `series` says whose, in
    words."""
    target = {"target": one.name}
    for found in (found for found in one.found if found.probe == kind):
        name = names[found.checkpoint]
        probes, control = (name, f"control: {name}") if len(names) > 1 else (PROBE, CONTROL)
        yield target | {"series": probes, "layer": found.layers} | _with_interval("accuracy", found.accuracy)
        if found.control is not None:
            yield target | {"series": control, "layer": found.layers} | _with_interval("accuracy", found.control)
    about, layers = _about(one), max((found.layers for found in one.found), key=len)
    yield target | {"series": MAJORITY, "layer": layers, "accuracy": about["majority"]}
    if one.sample.target.has_control:
        yield target | {"series": USUAL, "layer": layers, "accuracy": about["usual_label"]}


def _selectivity_rows(one: ProbedTarget) -> Iterator[dict[str, Any]]:
    for found in one.found:
        if found.control is not None:
            both = {"accuracy": found.accuracy[0], "control": found.control[0]}
            yield _where(one, found) | both | _with_interval("selectivity", found.accuracy - found.control)


def _change_rows(one: ProbedTarget, checkpoints: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What each later checkpoint's layers have more than the first's."""
    first = {found.probe: found for found in one.found if found.checkpoint == checkpoints[0]}
    for found in one.found:
        before = first[found.probe]
        if found is not before and found.layers == before.layers:
            yield _where(one, found) | _with_interval("change", found.accuracy - before.accuracy)


def _mix_rows(one: ProbedTarget) -> Iterator[dict[str, Any]]:
    for name, (layers, draws) in one.mixes.items():
        gain = {"gain": np.diff(draws[0], prepend=np.nan)}
        where = {"checkpoint": name, "target": one.name, "layer": layers}
        yield where | _with_interval("accuracy", draws) | gain


def _expected_rows(one: ProbedTarget) -> Iterator[dict[str, Any]]:
    """The expected layer, where the gain of the whole mix over its first layer is known to within half of itself: a
    mean over gains that may be noise could be anything."""
    for name, (layers, draws) in one.mixes.items():
        gain, found = draws[:, -1] - draws[:, 0], expected_layer(draws, layers)
        gain_low, gain_high = interval(gain)
        known = gain_low > gain[0] / 2 > 0
        low, high = interval(found) if known else (np.nan, np.nan)
        yield {
            "checkpoint": name, "target": one.name,
            "expected": found[0] if known else np.nan, "low": float(low), "high": float(high),
            "gain": gain[0], "gain_low": float(gain_low), "gain_high": float(gain_high),
        }  # fmt: skip


def expected_layer(scores: np.ndarray, layers: Sequence[int]) -> np.ndarray:
    """Where on average a mix of layers gains its score (Tenney et al. 2019): sum(l delta_l) / sum(delta_l).

    scores   [..., layer]: of mixes of layers 0 to l; delta_l is what layer l adds to the mix below it. What the first
             layer of all has is nobody's gain. NaN where the whole mix is no better than that layer.
    """
    gains = np.diff(scores, axis=-1)
    whole = gains.sum(-1)
    weighted = (gains * np.asarray(layers, dtype=np.float64)[1:]).sum(-1)
    return np.divide(weighted, whole, out=np.full_like(whole, np.nan), where=whole > 0)


def _headline(probed: Sequence[ProbedTarget], checkpoints: Sequence[str], kind: ProbeKind) -> list[Number]:
    """The last checkpoint's: of two, the one after. Each target at the layer that validation chooses."""
    of = {"model": checkpoints[-1], "probe": kind}
    best = {one.name: one.best(checkpoints[-1], kind) for one in probed}
    mean = np.mean([draws for _, draws in best.values()], axis=0)
    numbers = [drawn_number("mean_accuracy", mean, sum(one.n for one in probed), "accuracy", **of)]
    for one in probed:
        layer, draws = best[one.name]
        about = of | {"target": one.name, "layer": str(layer)}
        numbers.append(drawn_number("accuracy", draws, one.n, "accuracy", **about))
    return numbers


def _notes(probed: Sequence[ProbedTarget]) -> list[str]:
    texts = [one.name for one in probed if one.sample.target.unit == "text"]
    words = [one.name for one in probed if one.sample.target.unit != "text" and not one.sample.target.has_control]
    notes = []
    if texts:
        notes.append(
            f"no control task for {', '.join(texts)}: texts have no types whose labels could be learned by heart"
        )
    if words:
        notes.append(
            f"no control task for {', '.join(words)}: the type is the label, and a control by type would be the "
            "same task"
        )
    return notes


def _figures(probed: Sequence[ProbedTarget], config: ProbeConfig) -> list[Figure]:
    kind = config.probes[0]
    meant = "; ".join(f"{one.name}: {_MEANT[one.name]}" for one in probed if one.name in _MEANT)
    such = "a linear probe" if kind == "linear" else "a probe with one hidden layer"
    accuracy = Figure(
        "lines", "curves", key="accuracy", x="layer", y="accuracy", low="low", high="high", color="series",
        facet="target", title="What each layer knows",
        caption=f"How often {such} reads the label off a layer's vectors, on texts that it was not trained on, with "
        "its 95% bootstrap interval over texts. Control task: every word has a random label of its own; what a "
        "probe reaches there, it learnt by heart. Layer 0 is the output of the embeddings, which knows no context."
        + (f" What is read: {meant}." if meant else ""),
        labels=_LABELS,
    )  # fmt: skip
    by_checkpoint = replace(accuracy, color="checkpoint", where={"probe": kind})
    return [
        accuracy,
        replace(
            by_checkpoint, key="changes", table="changes", y="change", middle=0.0, title="Before and after",
            caption="Each later checkpoint's accuracy minus the first's, on the same words, with its paired 95% "
            "bootstrap interval over texts.",
        ),
        replace(
            by_checkpoint, key="selectivity", table="selectivity", y="selectivity", title="Selectivity",
            caption="Accuracy minus that of the control task (Hewitt & Liang 2019), with its 95% bootstrap interval "
            "over texts: high where the label is in the vectors, low where a probe could as well learn any label by "
            "heart.",
        ),
        replace(
            by_checkpoint, key="compression", table="probes", y="compression", low=None, high=None, middle=1.0,
            log_y=True, title="How easily it is read",
            caption="How many times shorter an online code of the labels is than a uniform one (Voita & Titov 2020), "
            "in factors: 1 is no gain. A code is short if few examples teach a probe to read the label.",
        ),
        Figure(
            "intervals", "expected", key="expected", x="expected", y="target", low="low", high="high",
            color="checkpoint", title="Expected layer",
            caption="The layer at which a mix of all layers up to it gains its accuracy, on average over the gains "
            "(Tenney et al. 2019, cumulative scores), with its 95% bootstrap interval over texts. None is given "
            "where the gain of all layers over layer 0 isn't known to within half of itself.",
            labels=_LABELS,
        ),
    ]  # fmt: skip
