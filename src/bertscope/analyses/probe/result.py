"""The answer of `probe`: tables, headline and figures of all targets that were asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from bertscope.analyses.probe.asked import Asked, Probed
from bertscope.analyses.probe.measures import expected_layer
from bertscope.analyses.probe.question import ProbeConfig, ProbeKind
from bertscope.analyses.probe.sample import PARTS, TRAIN, majority, usual_label
from bertscope.core.figure import Figure
from bertscope.core.intervals import drawn_number, interval
from bertscope.core.result import Number, Result

MAJORITY, USUAL = "majority", "the word's usual label"
_LABELS = {
    "low": "from", "high": "to", "series": "", "expected": "expected layer",
    "compression": "compression (uniform / online)",
}  # fmt: skip
_MEANT = {
    "pos": "part of speech", "relation": "of a word and its head", "frame": "that the word evokes",
    "entity": "kind of name that the word is in", "word": "which of the most frequent", "label": "the task's",
    "length": "of the text, in groups",
}  # fmt: skip


def make_result(asked: Sequence[Asked], config: ProbeConfig) -> Result:
    checkpoints = list(dict.fromkeys(found.checkpoint for one in asked for found in one.found))
    tables = {
        "probes": _table(_probe_rows(one) for one in asked),
        "targets": _table([_about(one)] for one in asked),
        "curves": _table(_curve_rows(one, config.probes[0], len(checkpoints)) for one in asked),
        "selectivity": _table(_selectivity_rows(one) for one in asked),
        "changes": _table(_change_rows(one, checkpoints) for one in asked),
        "mixes": _table(_mix_rows(one) for one in asked),
        "expected": _table(_expected_rows(one) for one in asked),
    }
    tables = {name: table for name, table in tables.items() if len(table)}
    return Result(
        "probe", 2, tables=tables, headline=_headline(asked, checkpoints, config.probes[0]),
        figures=[each for each in _figures(asked, config) if {*each.columns()} <= {*tables.get(each.table, ())}],
        notes=[*([f"the numbers are those of {checkpoints[-1]}"] if len(checkpoints) > 1 else []), *_notes(asked)],
    )  # fmt: skip


def _table(rows: Iterable[Iterable[dict[str, Any]]]) -> pd.DataFrame:
    """Rows of all targets, each a column's value or one for every layer; empty where there are none."""
    frames = [pd.DataFrame(row, index=None if _long(row) else [0]) for of_target in rows for row in of_target]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _long(row: dict[str, Any]) -> bool:
    return any(isinstance(value, (list, np.ndarray)) for value in row.values())


def _about(one: Asked) -> dict[str, Any]:
    """What there is to know of a target before any probe."""
    sample, target = one.sample, one.sample.target
    parts = {name: len(sample.items(part)) for part, name in enumerate(PARTS)}
    usual = float(usual_label(sample).mean()) if target.has_control else math.nan
    return (
        {"target": target.name, "unit": target.unit, "classes": len(target.classes)} | parts
        | {"texts": len(np.unique(target.example)), "majority": float(majority(sample).mean()), "usual_label": usual}
        | {"uniform_bits": parts["train"] * math.log2(len(target.classes))}
    )  # fmt: skip


def _where(one: Asked, found: Probed) -> dict[str, Any]:
    return {"checkpoint": found.checkpoint, "target": one.name, "probe": found.probe, "layer": found.layers}


def _with_interval(name: str, draws: np.ndarray) -> dict[str, np.ndarray]:
    low, high = interval(draws)
    return {name: draws[0], "low": low, "high": high}


def _probe_rows(one: Asked) -> Iterator[dict[str, Any]]:
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


def _curve_rows(one: Asked, kind: ProbeKind, checkpoints: int) -> Iterator[dict[str, Any]]:
    """The accuracies that one figure shows together, a line each."""
    target = {"target": one.name}
    for found in (found for found in one.found if found.probe == kind):
        name = found.checkpoint if checkpoints > 1 else "probe"
        yield target | {"series": name, "layer": found.layers} | _with_interval("accuracy", found.accuracy)
        if found.control is not None:
            name = f"control: {name}" if checkpoints > 1 else "control task"
            yield target | {"series": name, "layer": found.layers} | _with_interval("accuracy", found.control)
    about, layers = _about(one), max((found.layers for found in one.found), key=len)
    yield target | {"series": MAJORITY, "layer": layers, "accuracy": about["majority"]}
    if one.sample.target.has_control:
        yield target | {"series": USUAL, "layer": layers, "accuracy": about["usual_label"]}


def _selectivity_rows(one: Asked) -> Iterator[dict[str, Any]]:
    for found in one.found:
        if found.control is not None:
            both = {"accuracy": found.accuracy[0], "control": found.control[0]}
            yield _where(one, found) | both | _with_interval("selectivity", found.accuracy - found.control)


def _change_rows(one: Asked, checkpoints: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What each later checkpoint's layers have more than the first's."""
    first = {found.probe: found for found in one.found if found.checkpoint == checkpoints[0]}
    for found in one.found:
        before = first[found.probe]
        if found is not before and found.layers == before.layers:
            yield _where(one, found) | _with_interval("change", found.accuracy - before.accuracy)


def _mix_rows(one: Asked) -> Iterator[dict[str, Any]]:
    for name, (layers, draws) in one.mixes.items():
        gain = {"gain": np.diff(draws[0], prepend=np.nan)}
        where = {"checkpoint": name, "target": one.name, "layer": layers}
        yield where | _with_interval("accuracy", draws) | gain


def _expected_rows(one: Asked) -> Iterator[dict[str, Any]]:
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


def _headline(asked: Sequence[Asked], checkpoints: Sequence[str], kind: ProbeKind) -> list[Number]:
    """The last checkpoint's: of two, the one after. Each target at the layer that validation chooses."""
    last = checkpoints[-1]
    best = {one.name: one.best(last, kind) for one in asked}
    mean = np.mean([draws for _, draws in best.values()], axis=0)
    numbers = [drawn_number("mean accuracy", mean, sum(one.n for one in asked), "accuracy")]
    for one in asked:
        layer, draws = best[one.name]
        numbers.append(drawn_number(f"{one.name}, layer {layer}", draws, one.n, "accuracy"))
    return numbers


def _notes(asked: Sequence[Asked]) -> list[str]:
    texts = [one.name for one in asked if one.sample.target.unit == "text"]
    words = [one.name for one in asked if one.sample.target.unit != "text" and not one.sample.target.has_control]
    notes = []
    if texts:
        notes.append(
            f"no control task for {', '.join(texts)}: texts have no types whose labels could be learned by heart"
        )
    if words:
        notes.append(
            f"no control task for {', '.join(words)}: the type is the label, and a control by type the same task"
        )
    return notes


def _figures(asked: Sequence[Asked], config: ProbeConfig) -> list[Figure]:
    kind = config.probes[0]
    meant = "; ".join(f"{one.name}: {_MEANT[one.name]}" for one in asked if one.name in _MEANT)
    said = "a linear probe" if kind == "linear" else "a probe with one hidden layer"
    accuracy = Figure(
        "lines", "curves", x="layer", y="accuracy", low="low", high="high", color="series", facet="target",
        title="What each layer knows",
        caption=f"How often {said} reads the label off a layer's vectors, on texts that it was not trained on, with "
        "its 95% bootstrap interval over texts. Control task: every word has a random label of its own; what a probe "
        "reaches there it learned by heart. Layer 0 is the output of the embeddings, which knows no context."
        + (f" What is read: {meant}." if meant else ""),
        labels=_LABELS,
    )  # fmt: skip
    by_checkpoint = replace(accuracy, color="checkpoint", where={"probe": kind})
    return [
        accuracy,
        replace(
            by_checkpoint, table="changes", y="change", middle=0.0, title="Before and after",
            caption="Each later checkpoint's accuracy minus the first's, on the same words, with its paired 95% "
            "bootstrap interval over texts.",
        ),
        replace(
            by_checkpoint, table="selectivity", y="selectivity", title="Selectivity",
            caption="Accuracy minus that of the control task (Hewitt & Liang 2019), with its 95% bootstrap interval "
            "over texts: high where the label is in the vectors, low where a probe could as well learn any label by "
            "heart.",
        ),
        replace(
            by_checkpoint, table="probes", y="compression", low=None, high=None, middle=1.0, log_y=True,
            title="How easily it is read",
            caption="How many times shorter an online code of the labels is than a uniform one (Voita & Titov 2020), "
            "in factors: 1 is no gain. A code is short if few examples teach a probe to read the label.",
        ),
        Figure(
            "intervals", "expected", x="expected", y="target", low="low", high="high", color="checkpoint",
            title="Expected layer",
            caption="The layer at which a mix of all layers up to it gains its accuracy, on average over the gains "
            "(Tenney et al. 2019, cumulative scores), with its 95% bootstrap interval over texts. None is given "
            "where the gain of all layers over layer 0 isn't known to within half of itself.",
            labels=_LABELS,
        ),
    ]  # fmt: skip
