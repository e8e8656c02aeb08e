"""Learning to point at answers: cross-entropy over where they begin and where they end."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from bertscope.data.span_task import SpanTask
from bertscope.data.task import Scores
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.windows import targets, windowed


class Spans:
    """An `Objective`. Rows are windows; one without the answer has its first token for both ends, as in BERT's own
    code for SQuAD, so that the scores of different windows can be compared."""

    def __init__(self, encoder: Encoder, task: SpanTask) -> None:
        assert task.train.answers is not None
        self.encoder, self.task = encoder, task
        self.metric, self.fingerprint = task.metric, task.fingerprint
        self.chance = task.chance(task.validation)
        windows = windowed(encoder.tokenizer, task.train, encoder.max_length)
        self.tokens = windows.tokens
        gold = targets(windows, np.array([answers[0] for answers in task.train.answers]))
        self._targets = torch.from_numpy(gold).to(encoder.device)
        self.notes = _notes(
            len(task.train), len(windows), len(np.unique(windows.example[gold[:, 1] > 0])), windows.truncated
        )

    def loss(self, batch: Batch, rows: Tensor) -> Tensor:
        outputs = self.encoder.model(**batch.inputs)
        possible = (batch.segments == 1) & ~batch.added
        possible[:, 0] = True
        scores = (
            each.float().masked_fill(~possible, -torch.inf) for each in (outputs.start_logits, outputs.end_logits)
        )
        losses = [cross_entropy(each, gold) for each, gold in zip(scores, self._targets[rows].T, strict=True)]
        return torch.stack(losses).mean()

    def score(self) -> Scores:
        return self.task.score(self.encoder.predict(self.task.validation), self.task.validation)

    def finish(self) -> None:
        """The model is what it is to be."""


def _notes(questions: int, windows: int, answered: int, truncated: int) -> tuple[str, ...]:
    """What a reader must know of how the training set was read."""
    notes = []
    if windows > questions:
        notes.append(f"{questions:,} training questions are read in {windows:,} windows: their texts are long")
    if answered < questions:
        notes.append(f"{questions - answered:,} training answers have no token that the model reads")
    if truncated:
        notes.append(
            f"{truncated:,} training questions are longer than a quarter of what the model reads and were cut"
        )
    return tuple(notes)
