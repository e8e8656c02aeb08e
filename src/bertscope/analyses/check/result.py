"""The answer of `check`: numbers, a picture of the scores, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bertscope.analyses.caveats import cautions
from bertscope.analyses.check.question import check
from bertscope.core.estimate import Estimate
from bertscope.core.figure import Figure
from bertscope.core.intervals import share_interval
from bertscope.core.model_record import records
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.core.statement import Statement, decimals, in_points, points, sure
from bertscope.data.repeats import contradicted

if TYPE_CHECKING:
    from bertscope.analyses.check.measure import Pieces
    from bertscope.data.scored import Scores
    from bertscope.data.task import Task
    from bertscope.models.encoder import Encoder
    from bertscope.models.row_pass import RowPass


@dataclass(frozen=True)
class Compared:
    """A baseline."""

    score: Scores
    above: Estimate
    """How far the model's score is above it, on the same rows."""


def check_result(
    model: Encoder,
    task: Task,
    read: RowPass,
    compared: Mapping[str, Compared],
    seen: np.ndarray,
    unseen: Scores | None,
    pieces: Pieces,
    took: float,
) -> Result:
    """`took` is how many seconds the pass over the test set did: what else can be asked in a time follows from it."""
    score = task.score(read.predictions)
    arms = {"model": score} | {name: one.score for name, one in compared.items()}
    rows = {split: getattr(task, split) for split in ("train", "validation", "test")}
    splits = [{"split": name, "rows": len(examples)} for name, examples in rows.items()]
    return check.result(
        tables={
            "scores": pd.DataFrame([{"arm": name, **one.row} for name, one in arms.items()]),
            "splits": pd.DataFrame(splits),
        },
        headline=[*_scores(score, compared, unseen), *_rows(task, read, seen), *_tokenizer(model, pieces)],
        figures=[
            Figure(
                "intervals", "scores", x="score", y="arm", low="low", high="high", key="scores",
                title="The model beside what needs no model", labels={"score": task.metric, "arm": ""},
                caption="The test set's score with its 95% bootstrap interval over rows.",
            )
        ],
        models=records([model]),
        subject={"task": task.name},
        notes=[*task.notes, *score.notes, *cautions(model, task, score, read.predictions.truncated)],
        provenance={"pass_seconds": took, "shape": [int(count) for count in model.head_counts]},
    )  # fmt: skip


def best_baseline(result: Result) -> Number:
    """The one that is hardest to beat."""
    return max(result.numbers(key="baseline"), key=lambda number: number.value)


def _scores(score: Scores, compared: Mapping[str, Compared], unseen: Scores | None) -> list[Number]:
    numbers = [score.keyed("score")]
    for name, one in compared.items():
        above = one.above
        numbers.append(one.score.keyed("baseline", arm=name))
        numbers.append(Number("above_baseline", above.value, above.low, above.high, score.n, score.metric,
                              of={"arm": name}))  # fmt: skip
    return numbers if unseen is None else [*numbers, unseen.keyed("score_unseen")]


def _rows(task: Task, read: RowPass, seen: np.ndarray) -> list[Number]:
    shares = {"seen_share": (int(seen.sum()), len(seen)), "truncated_share": (int(read.truncated.sum()), len(seen))}
    if (both := contradicted(task))[1]:
        shares["contradicted_share"] = both
    numbers = []
    for key, (count, of) in shares.items():
        low, high = share_interval(np.array([count / of]), of)
        numbers.append(Number(key, count / of, float(low[0]), float(high[0]), of, "share"))
    return numbers


def _tokenizer(model: Encoder, pieces: Pieces) -> list[Number]:
    share = pieces.unknown / max(1, pieces.count)
    rows = model.model.get_input_embeddings().weight.shape[0]
    return [
        Number("unknown_share", share, n=pieces.count, unit="share"),
        Number("pieces_a_word", pieces.a_word, n=pieces.words, unit="pieces"),
        Number("vocabulary_share", len(model.tokenizer) / rows, n=rows, unit="share"),
    ]


def sentence(result: Result) -> Statement | None:
    score, best = result["score"], best_baseline(result)
    (above,) = result.numbers(key="above_baseline", arm=best.of["arm"])
    name = check.words["arm"][best.of["arm"]]
    told = (
        f"Its {score.unit} is {sure(Estimate.of_number(score), decimals)}, {sure(Estimate.of_number(above), points)} "
        f"points above that of the best answer without an encoder ({name}: {best.value:.3f})."
    )
    return Statement(told, above.value, in_points)
