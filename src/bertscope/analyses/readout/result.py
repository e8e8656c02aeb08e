"""The answer of `readout`: scores by layer and where texts settle, as tables, numbers, figures and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions, few_states
from bertscope.analyses.readout.question import (
    LATEST,
    PERMUTED,
    PLAIN,
    RANDOM,
    SHORTCUT,
    ReadoutConfig,
    readout,
)
from bertscope.core.figure import Figure
from bertscope.core.intervals import bootstrap_interval, drawn_number, mean_number, median_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, percent
from bertscope.data.answers_in_words import gold_in_words, predicted_in_words

if TYPE_CHECKING:
    from bertscope.core.estimate import Estimate
    from bertscope.core.predictions import Judged
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder

_LONGEST = 1000  # characters of a text that a table keeps
_FEWEST = 6  # texts whose median has an interval
_LABELS = {
    "layer": "layer (0: the embeddings)",
    "change": "difference to the final score",
    "change_low": "from",
    "change_high": "to",
    "loss_change": "difference to the final loss",
    "loss_change_low": "from",
    "loss_change_high": "to",
    "agreement": "share of texts with the final prediction",
    "settled": "share of texts that have settled",
    "penalty": "penalty, times the mean variance of the states",
    "explained": "share of the last states' variance that the shortcut explains (validation)",
    "settle": "layer from which the final prediction stays",
    "settle_plain": "settles, read plainly",
    "settle_shortcut": "settles, through the shortcut",
    "rank": "rank of the right piece (geometric mean)",
    "share": "share of texts",
}


@dataclass(frozen=True)
class Found:
    """What came of all readings."""

    judged: Judged
    """The first form is the model as it is."""
    fitted_on: int
    """Tokens that shortcuts are fitted on."""
    layers: pd.DataFrame
    settled: Mapping[str, np.ndarray]
    """By reading, the layer in which each text settles."""
    there: Mapping[str, Estimate | None]
    """By reading, the first layer from which on the score is near the final one."""
    most: Mapping[str, Estimate]
    """By reading, the layer in which most texts have settled."""
    mean_scores: Mapping[str, np.ndarray]
    """By reading, draws of the mean of the layers below the last."""
    leads: Mapping[str, np.ndarray]
    """By control, draws of what the shortcut scores more."""


def readout_result(model: Encoder, task: Task, found: Found, config: ReadoutConfig) -> Result:
    score = task.score_answers(found.judged.predicted[0], notes=task.label_notes(model.labels))
    rows = _rows(task, found)
    by_label = _by_label(task, found, config)
    tables = {
        "layers": found.layers,
        "settle": _settle(found, model.n_layers),
        **({"labels": by_label} if len(by_label) else {}),
        "latest": rows.sort_values(_order(found), ascending=False, kind="stable").head(LATEST).reset_index(drop=True),
        "rows": rows.head(config.rows),
    }
    return readout.result(
        tables=tables,
        headline=_headline(task, found, score, config),
        figures=_figures(task, found, score, by_label),
        models=records([model]),
        subject={"task": task.name},
        notes=[
            *task.notes,
            *score.notes,
            *_notes(model, task, found, config),
            *cautions(model, task, score, found.judged.truncated),
        ],
    )


def _notes(model: Encoder, task: Task, found: Found, config: ReadoutConfig) -> list[str]:
    notes = []
    if SHORTCUT in found.settled:
        drawn = min(config.fit, len(task.train))
        notes.append(f"shortcuts are fitted on {found.fitted_on:,} tokens of {drawn:,} training texts")
        better = "the shortcuts could be better with more training texts"
        notes += few_states(found.fitted_on, model.hidden_size, better)
    elif config.fit:
        notes.append(
            "shortcuts need training texts to be fitted on and validation texts to choose their penalty, and "
            f"{task.name} lacks some: layers are only read plainly"
        )
    if not task.can_flip:
        notes.append(
            f"a score settles where it stays within {config.close:g} standard deviations of the final scores around "
            "its final value"
        )
    if model.family.closing:
        notes.append("each layer is read plainly through the norm that closes the encoder")
    return notes


def _headline(task: Task, found: Found, score: Scores, config: ReadoutConfig) -> list[Number]:
    losses = found.judged.losses[0]
    numbers, share = [], {"share": percent(config.share)}
    told = [name for name in (SHORTCUT, PLAIN, PERMUTED, RANDOM) if name in found.settled]
    for key, by in (("settle_most", found.most), ("there", found.there)):
        numbers += [
            Number(key, one.value, one.low, one.high, score.n, of={"reading": name} | share)
            for name in told if (one := by.get(name)) is not None
        ]  # fmt: skip
    numbers += [_median(found.settled[name], name) for name in told if name in (SHORTCUT, PLAIN)]
    numbers += [score.keyed("score"), mean_number("loss", losses, task.output.loss)]
    numbers += [
        drawn_number(key, draws, score.n, task.metric, reading=name)
        for key, found_draws in (("mean_score", found.mean_scores), ("lead", found.leads))
        for name, draws in found_draws.items()
    ]
    if "rank" in found.layers:
        last = found.layers[found.layers["reading"] == PLAIN].iloc[-1]
        value, low, high = (float(last[column]) for column in ("rank", "rank_low", "rank_high"))
        numbers.append(Number("rank", value, low, high, score.n, "rank"))
    return numbers


def _median(settled: np.ndarray, name: str) -> Number:
    of = {"reading": name}
    if len(settled) < _FEWEST:
        return Number("settle", float(np.median(settled)), n=len(settled), of=of)
    return Number("settle", *median_interval(settled), n=len(settled), of=of)


def _settle(found: Found, layers: int) -> pd.DataFrame:
    """How many texts settle in each layer."""
    rows = []
    for name, settled in found.settled.items():
        counts = np.bincount(settled, minlength=layers + 1)
        rows += [
            {"reading": name, "layer": layer, "texts": int(count), "share": count / len(settled)}
            for layer, count in enumerate(counts)
        ]
    return pd.DataFrame(rows)


def _by_label(task: Task, found: Found, config: ReadoutConfig) -> pd.DataFrame:
    """The mean layer in which texts of each right label settle, where a text has one label."""
    gold, rows = task.output.gold(task.test), []
    if not task.labels or gold.ndim != 1:
        return pd.DataFrame()
    for name in (PLAIN, SHORTCUT):
        for place, label in enumerate(task.labels):
            own = found.settled[name][gold == place] if name in found.settled else np.zeros(0)
            if len(own):
                low, high = bootstrap_interval(
                    lambda means: means[..., 0], own[:, None].astype(float), repeats=config.repeats, seed=config.seed
                )
                row = {"label": label, "reading": name, "settle": own.mean(), "low": low, "high": high}
                rows.append(row | {"texts": len(own)})
    return pd.DataFrame(rows)


def _order(found: Found) -> list[str]:
    """By which rows are sorted: the shortcut's layer first, where there is one."""
    return [f"settle_{name}" for name in (SHORTCUT, PLAIN) if name in found.settled]


def _rows(task: Task, found: Found) -> pd.DataFrame:
    test, output, predicted = task.test, task.output, found.judged.predicted[0]
    columns: dict[str, Any] = {
        "row": list(test.ids),
        "text": [text[:_LONGEST] for text in test.text],
        **({"pair": [text[:_LONGEST] for text in test.pair]} if test.pair is not None else {}),
        "gold": [told[:_LONGEST] for told in gold_in_words(output, test)],
        "predicted": [told[:_LONGEST] for told in predicted_in_words(output, test, predicted)],
    }
    correct = output.correct(predicted, output.gold(test))
    if not np.isnan(correct).all():
        columns["right"] = pd.array([None if np.isnan(one) else bool(one) for one in correct], dtype="boolean")
    columns |= {f"settle_{name}": found.settled[name] for name in (PLAIN, SHORTCUT) if name in found.settled}
    return pd.DataFrame(columns)


def _figures(task: Task, found: Found, score: Scores, by_label: pd.DataFrame) -> list[Figure]:
    ends = {"the model": score.value, task.output.blind_answer: score.chance}
    controls = " Controls: shortcuts fitted to the last states of other tokens, and from a model with random weights."
    told = controls if len(found.settled) > 2 else ""
    figures = [
        Figure(
            "lines", "layers", x="layer", y="score", color="reading", low="low", high="high", key="score",
            title="What the task head reads in each layer", labels={**_LABELS, "score": task.metric}, rules=ends,
            caption=f"The test set's {task.metric} if the states of a layer are given to the model's own task head, "
            f"in the last layer's place, with 95% bootstrap intervals.{told}",
        ),
        Figure(
            "lines", "layers", x="layer", y="settled", color="reading", low="settled_low", high="settled_high",
            key="settled", title="Where the answer settles", labels=_LABELS,
            caption="The share of texts whose final prediction stays from this layer on, or from one below it, with "
            "95% intervals. What settles in the controls settles by luck: a constant answer is often the final one.",
        ),
        Figure(
            "bars", "settle", x="share", y="layer", facet="reading", key="histogram", labels=_LABELS,
            title="In which layer texts settle",
            caption="The share of texts whose final prediction stays from exactly this layer on.",
        ),
        Figure(
            "lines", "layers", x="layer", y="loss", color="reading", low="loss_low", high="loss_high", key="loss",
            title="The loss by layer", labels=_LABELS, rules={"the model": float(found.judged.losses[0].mean())},
            caption=f"The mean {task.output.loss} of the same readings. Read plainly, layers far from the last can "
            "be worse than a guess: their states lie elsewhere.",
        ),
    ]  # fmt: skip
    if len(by_label):
        figures.append(
            Figure(
                "intervals", "labels", x="settle", y="label", low="low", high="high", color="reading", key="labels",
                title="Where the answer settles, by label", labels=_LABELS,
                caption="The mean layer in which texts of each right label settle, with its 95% bootstrap interval.",
            )
        )  # fmt: skip
    if "rank" in found.layers:
        figures.append(
            Figure(
                "lines", "layers", x="layer", y="rank", color="reading", low="rank_low", high="rank_high", key="rank",
                title="How far down the right piece stands", labels=_LABELS, log_y=True,
                caption="The rank of the right piece of a masked word among the vocabulary: the geometric mean over "
                "all masked pieces of the test set, with its 95% bootstrap interval.",
            )
        )  # fmt: skip
    return figures


def sentence(result: Result) -> Statement | None:
    most, there = (
        {number.of["reading"]: number for number in result.numbers(key=key)} for key in ("settle_most", "there")
    )
    name = SHORTCUT if SHORTCUT in most else PLAIN
    first = most[name]
    told = f"{first.of['share']} of the texts have their final prediction from layer {first.value:.0f} on"
    if name == SHORTCUT:
        told += f" through a linear shortcut, and from layer {most[PLAIN].value:.0f} on when read plainly"
    if PERMUTED in most:
        told += f" (through a shortcut to permuted states: layer {most[PERMUTED].value:.0f})"
    if name in there:
        lead = f"{there[name].of['share']} of its final lead over chance"
        told += f"; from layer {there[name].value:.0f} on, the score has {lead}"
    return Statement(f"{told}.", first.value, lambda value: f"layer {value:.0f}")
