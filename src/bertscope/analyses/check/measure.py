"""`check`: one pass over the test set, and what the rows themselves say."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from bertscope.analyses.check.question import CheckConfig
from bertscope.analyses.check.result import Compared, check_result
from bertscope.core.errors import UserError
from bertscope.core.estimate import Estimate
from bertscope.core.examples import Examples
from bertscope.core.predictions import Predictions
from bertscope.core.result import Result
from bertscope.core.statistics import paired_effects
from bertscope.data.baselines import baselines
from bertscope.data.repeats import seen_in_training
from bertscope.data.scored import Scores
from bertscope.data.task import Task
from bertscope.models.batches import tokenise
from bertscope.models.encoder import Encoder
from bertscope.models.row_pass import row_pass

_READ = 2000
"""Test rows of which pieces are counted at most."""


def measure(model: Encoder, task: Task, config: CheckConfig) -> Result:
    task = task.asked_of(model)
    if not len(task.test):
        raise UserError(f"{task.name} has no test rows; give some")
    began = time.perf_counter()
    read = row_pass(model, task.output, task.test, label="test rows")
    took = time.perf_counter() - began
    own = task.moments(read.predictions)
    arms = baselines(task)
    others = np.stack([task.moments(outputs) for outputs in arms.values()])
    # Intervals alone: whether it is above one of them needs no p-value.
    found = paired_effects(task.value, own, others, repeats=config.repeats, permutations=0, seed=config.seed)
    ends = zip(found.effect, found.low, found.high, strict=True)
    compared = {
        name: Compared(task.score(outputs), -Estimate.of(*map(float, effect)))
        for (name, outputs), effect in zip(arms.items(), ends, strict=True)
    }
    seen, unseen = seen_in_training(task), None
    if seen.any() and not seen.all():
        unseen = _score_of(task, read.predictions, np.flatnonzero(~seen))
    return check_result(model, task, read, compared, seen, unseen, pieces_of(model, task.test), took)


def _score_of(task: Task, predicted: Predictions, rows: np.ndarray) -> Scores:
    """The score on some of the test rows."""
    some, answers = task.test.take(rows), task.outputs_to_predictions(predicted)[rows]
    if answers.ndim > 1:  # the longest sentence may not be among them: then all need less room
        answers = answers[:, : task.output.width(some)[0]]
    return task.score_answers(answers, some)


@dataclass(frozen=True)
class Pieces:
    """What a tokenizer makes of texts."""

    count: int
    unknown: int
    words: int

    @property
    def a_word(self) -> float:
        return self.count / max(1, self.words)


def pieces_of(model: Encoder, examples: Examples) -> Pieces:
    """Of the first rows, as many as say enough."""
    some = examples.take(range(min(len(examples), _READ)))
    tokens = tokenise(model.tokenizer, some, model.max_length)
    ids, own = tokens.fields["input_ids"], ~np.asarray(tokens.special, dtype=bool)
    unknown_id = model.tokenizer.unk_token_id
    is_unknown = np.zeros(len(ids), bool) if unknown_id is None else ids == unknown_id
    own = own | is_unknown  # some tokenizers call it special
    rows = np.repeat(np.arange(len(tokens)), tokens.lengths)
    words = np.asarray(tokens.words)
    starts = own & np.concatenate([[True], (words[1:] != words[:-1]) | (rows[1:] != rows[:-1])])
    return Pieces(int(own.sum()), int(is_unknown.sum()), int(starts.sum()))
