"""The answer of `versus`: what the second model fixes and breaks, as numbers, tables, figures and a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.changed_predictions import ALL, LEVEL, Pair, agreement, distance
from bertscope.analyses.versus.question import VersusConfig, versus
from bertscope.core.estimate import Estimate, cell
from bertscope.core.figure import Figure
from bertscope.core.model_record import by_key, records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, in_points, number_of, p_told, points, sure
from bertscope.core.words import model_names
from bertscope.data.answers_in_words import gold_in_words, predicted_in_words

if TYPE_CHECKING:
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.scorer import Scorer

_LONGEST = 1000  # characters of a text that a table keeps


@dataclass(frozen=True)
class Compared:
    """All that was found of two models."""

    a: Scorer
    b: Scorer
    tasks: Sequence[Task]
    """As either answers it."""
    truncated: Sequence[int]
    pair: Pair
    tables: Mapping[str, pd.DataFrame]
    config: VersusConfig
    forms: bool
    """Whether one is a form of the other: cut, or written as ONNX."""

    @property
    def models(self) -> list[Scorer]:
        return [self.a, self.b]

    @property
    def keys(self) -> list[str]:
        return list(by_key(self.models))


def versus_result(found: Compared) -> Result:
    task, pair = found.tasks[0], found.pair
    scores = [
        each.score_answers(answers.predicted, notes=each.label_notes(model.labels))
        for each, answers, model in zip(found.tasks, (pair.a, pair.b), found.models, strict=True)
    ]
    return versus.result(
        tables={**found.tables, "rows": _rows(found)},
        headline=_headline(found, scores),
        figures=_figures(found),
        models=records(found.models),
        subject={"task": task.name},
        notes=_notes(found, scores),
    )


_CASES = ("fixed", "broken", "both_right", "both_wrong", "nearer", "further", "same")
"""What can become of a row."""


def _headline(found: Compared, scores: Sequence[Scores]) -> list[Number]:
    pair, metric, n = found.pair, found.tasks[0].metric, len(found.pair)
    counts = found.tables["outcomes"].set_index("rows_of").loc[ALL].set_index("outcome")["rows"]
    told = int(counts.sum())
    numbers = [Number(case, float(counts[case]), n=told) for case in _CASES if told and case in counts]
    by = found.tables["differences"].set_index("measure")
    numbers += [Number("rows_p", by.loc["rows", "p"], n=told)] if told else []
    numbers.append(_number("change", cell(by.loc["score"], "change", "low", "high"), n, metric))
    if not pair.a.output.counts_hits:  # otherwise it is the same test
        numbers.append(Number("score_p", by.loc["score", "p"], n=n))
    numbers += [score.keyed("score", model=key) for score, key in zip(scores, found.keys, strict=True)]
    numbers.append(Number("chance", scores[0].chance, n=n, unit=metric))
    if "loss" in by.index:
        numbers.append(_number("loss_change", cell(by.loc["loss"], "change", "low", "high"), n, pair.a.output.loss))
        numbers.append(Number("loss_p", by.loc["loss", "p"], n=n))
    kappa = "kappa" if pair.right_or_wrong else "r"
    units = {
        "agreement": kappa,
        "error_agreement": kappa,
        "flips": "share",
        "divergence": pair.a.output.divergence_key,
    }
    for key, told_as in {**agreement(pair), **distance(pair)}.items():
        numbers.append(_number(key, Estimate.of(*told_as), n, units[key]))
    if "labels" in found.tables:
        labels = found.tables["labels"]
        for measure, rows in labels.groupby("measure", sort=False):
            numbers.append(
                Number("labels_changed", float(rows["certain"].sum()), n=len(rows), of={"measure": str(measure)})
            )
    slices = found.tables["slices"]
    numbers.append(Number("slices_changed", float(slices["certain"].sum()), n=len(slices)))
    return numbers


def _number(key: str, of: Estimate, n: int, unit: str) -> Number:
    return Number(key, of.value, of.low, of.high, n, unit)


def _rows(found: Compared) -> pd.DataFrame:
    """Each row with what either model says of it."""
    pair, task = found.pair, found.tasks[0]
    test = task.test
    columns: dict[str, Sequence[object] | np.ndarray] = {
        "row": test.ids,
        "text": [text[:_LONGEST] for text in test.text],
        **({"pair": [text[:_LONGEST] for text in test.pair]} if test.pair is not None else {}),
        "gold": [text[:_LONGEST] for text in gold_in_words(task.output, test)],
        "outcome": pair.outcomes,
    }
    sides = tuple(zip("ab", found.tasks, (pair.a, pair.b), strict=True))
    for side, each, answers in sides:
        said = predicted_in_words(each.output, each.test, answers.predicted)
        columns[f"predicted_{side}"] = [text[:_LONGEST] for text in said]
    for side, _, answers in sides:
        if answers.decisions is not None:
            columns[f"p_{side}"] = answers.decisions.lowest(answers.decisions.confidence, len(test))
        if answers.losses is not None:
            columns[f"loss_{side}"] = answers.losses
    return pd.DataFrame(columns)


def _notes(found: Compared, scores: Sequence[Scores]) -> list[str]:
    pair, names = found.pair, list(model_names(records(found.models)).values())
    told = [f"A is {names[0]}, B is {names[1]}"]
    for task, score, model, name, cut in zip(found.tasks, scores, found.models, names, found.truncated, strict=True):
        told += [note for note in (*task.notes, *score.notes) if note not in told]
        if score.low <= score.chance:
            told.append(f"{name} is not clearly above chance ({score.chance:.3f})")
        if model.tuned_on not in (None, task.fingerprint):
            told.append(f"{name} was fine-tuned on another split or other data: it may have seen some test rows")
        if cut:
            long = number_of(cut, "test text is", "test texts are")
            told.append(f"{long} longer than the {model.max_length} tokens that {name} reads")
    if all(model.record.is_one_training for model in found.models) and not found.forms:
        told.append("each model is one training: another seed of either may fix and break other rows")
    if pair.losses is None:
        which = [name for name, one in zip(names, (pair.a, pair.b), strict=True) if one.losses is None]
        told.append(f"the loss is left out: the outputs of {' and '.join(which)} don't hold it")
    if "calibration" not in found.tables:
        told.append("calibration is left out: these answers have no probabilities")
    if "divergence" not in distance(pair):
        told.append("the divergence is left out: the answers as they are kept don't hold it")
    least, tried = 1 / (1 + found.config.permutations), len(found.tables["slices"])
    told.append(f"{tried} slices were tried; effects of those that are found are the largest of these")
    labels = found.tables.get("labels")
    if labels is not None and labels["label"].nunique() * least >= LEVEL:
        told.append(
            f"{found.config.permutations} permutations are too few for precision or F1 of a label to be certain"
        )
    return told


def _figures(found: Compared) -> list[Figure]:
    task, figures = found.tasks[0], list[Figure]()
    figures.append(
        Figure(
            "bars", "outcomes", x="share", y="rows_of", color="outcome",
            title="What becomes of the rows, from A to B",
            caption="The share of the test rows that B fixes, breaks, and leaves as they are; of all, and by the "
            "right label. Intervals are in the table.",
            labels={"share": "share of rows", "rows_of": "", "outcome": ""}, key="outcomes",
        )
    )  # fmt: skip
    if "labels" in found.tables:
        figures.append(
            Figure(
                "intervals", "labels", x="change", y="label", low="low", high="high", color="measure",
                title="The change by label",
                caption="Recall, precision and F1 in B less those in A, with 95% paired bootstrap intervals. What is "
                "certain after correction for the number of labels (Holm) is in the table.",
                labels={"change": "change from A to B", "label": "", "measure": ""}, middle=0.0, key="labels",
            )
        )  # fmt: skip
    if found.tables["slices"]["certain"].any():
        what = "share right" if found.pair.right_or_wrong else "loss (A less B)"
        figures.append(
            Figure(
                "intervals", "slices", x="difference", y="slice", low="low", high="high", color="kind",
                where={"certain": True}, title="Where more changes than elsewhere",
                caption=f"The mean change of the {what} in slices of the rows, less that of the other rows. Shown "
                "are the slices found after correction for all that were tried (max-T). Chosen among many, they "
                "look larger than they are.",
                labels={"difference": "change inside less outside", "slice": "", "kind": ""}, middle=0.0,
                key="slices",
            )
        )  # fmt: skip
    if "bins" in found.tables:
        figures.append(
            Figure(
                "points", "bins", x="confidence", y="accuracy", color="model", title="Calibration of both models",
                caption="Decisions in bins of equal size by their probability: the mean probability, and the share "
                "that is right. Where both are equal, a model is right as often as it says.",
                labels={"confidence": "probability of the answer", "accuracy": f"share right ({task.name})",
                        "model": ""}, key="calibration",
            )
        )  # fmt: skip
    return figures


def sentence(result: Result) -> Statement | None:
    names = list(model_names(result.models).values())
    change = result["change"]
    score = f"the score changes by {sure(Estimate.of_number(change), points)} points"
    by = result.tables["differences"].set_index("measure")
    told = _outcome(result, names)
    if "rows" not in by.index:
        told = f"{names[1]} beside {names[0]}"
    elif told:
        told = f"{told} ({p_told(by.loc['rows', 'p'])}){_most(result)}"
    elif change.value == 0:
        return Statement(f"{names[1]} and {names[0]} do equally well on every row.", change.value, in_points)
    else:  # a row of several answers may change without being right, or wrong, as a whole
        told = f"{names[1]} makes no row of {names[0]} right, or wrong, as a whole"
    return Statement(f"{told}; {score} ({p_told(by.loc['score', 'p'])}).", change.value, in_points)


def _outcome(result: Result, names: Sequence[str]) -> str:
    """How many rows become better and worse; nothing where none does."""
    right = "fixed" in result
    better, worse = (result[key] for key in (("fixed", "broken") if right else ("nearer", "further")))
    if not better.value and not worse.value:
        return ""
    if right:
        return (
            f"{names[1]} fixes {better.value:,.0f} and breaks {worse.value:,.0f} of {better.n:,} rows of {names[0]}"
        )
    return (
        f"{names[1]} is nearer to the right score in {better.value:,.0f} and further from it in {worse.value:,.0f} "
        f"of {better.n:,} rows than {names[0]}"
    )


def _most(result: Result) -> str:
    """The labels to which most of what is broken, and of what is fixed, belongs: of those whose recall changes for
    certain."""
    if "labels" not in result.tables:
        return ""
    labels = result.tables["labels"]
    certain = labels[(labels["measure"] == "recall") & labels["certain"]]
    moved = certain["change"] * certain["n"]
    told = []
    for case, size in (("broken", -moved), ("fixed", moved)):
        if (size > 0).any():
            told.append(_in_class(result, certain.loc[size.idxmax()], case))
    return "".join(f", {one}" for one in told)


def _in_class(result: Result, label: pd.Series, case: str) -> str:
    of = result.tables["outcomes"].set_index(["rows_of", "outcome"])["rows"]
    name = label["label"]
    # The label that moves most has no interval here: it was picked.
    recall = f"recall of {name} {points(label['change'])} points"
    surely = f"({recall}, {p_told(label['p_holm'])} corrected)"
    if (name, case) not in of.index:
        return f"above all in {name} {surely}"
    own, whole = of[name, case], of[ALL, case]
    part = "all" if own == whole else "most" if own > whole / 2 else f"{own:,}"
    return f"{part} of what is {case} in class {name} {surely}"
