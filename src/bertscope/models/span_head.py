"""Span answers: the library's task head for extractive questions, and how its scores become an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.nn.functional import pad as filled

from bertscope.core.errors import UserError
from bertscope.core.examples import Examples
from bertscope.core.progress import progress
from bertscope.models.batches import WINDOW, group_by_budget, pad
from bertscope.models.finite_pass import measuring
from bertscope.models.new_task_head import with_new_task_head
from bertscope.models.observe import default_budget
from bertscope.models.windows import Windows, windowed

if TYPE_CHECKING:
    from bertscope.models.encoder import Encoder

LONGEST_ANSWER = 30
"""Tokens, as in BERT's own code for SQuAD: longer spans aren't answers."""


def with_span_head(base: Encoder, **how: Any) -> Encoder:
    """A copy of the encoder with a new task head that points at a first and a last token; `how` as for
    `with_new_task_head`."""

    def build(config: Any) -> Any:
        config.id2label = {0: "start", 1: "end"}
        config.label2id = {"start": 0, "end": 1}
        config.problem_type = None
        try:
            return transformers.AutoModelForQuestionAnswering.from_config(config, dtype=torch.float32)
        except ValueError as error:
            raise UserError(
                f"transformers has no head for spans on a {config.model_type}; give a model of another family"
            ) from error

    return with_new_task_head(base, "span-qa", build, **how)


def predict_spans(
    encoder: Encoder, examples: Examples, *, tokens: int | None = None, window: int = WINDOW
) -> tuple[np.ndarray, int]:
    """Each question's best answer as characters of its text [example, 2], and how many questions were truncated."""
    if examples.pair is None:
        raise UserError(f"{encoder.name} answers questions about a text; give pairs, the question first")
    answers, truncated = np.zeros((len(examples), 2), dtype=np.int64), 0
    with measuring([encoder]), torch.inference_mode(), progress("answering", len(examples)) as bar:
        for first in range(0, len(examples), window):
            some = np.arange(first, min(first + window, len(examples)))
            windows = windowed(encoder.tokenizer, examples.take(some), encoder.max_length)
            answers[some] = _answers(encoder, windows, len(some), tokens or default_budget(encoder))
            truncated += windows.truncated
            bar.advance(len(some))
    return answers, truncated


def _answers(encoder: Encoder, windows: Windows, n: int, budget: int) -> np.ndarray:
    """The span with the highest score of all of an example's windows; (0, 0) where there is none."""
    score = np.zeros(len(windows))
    ends = np.zeros((len(windows), 2), dtype=np.int64)
    for rows in group_by_budget(windows.tokens.lengths, budget):
        batch = pad(windows.tokens, rows, pad_id=encoder.tokenizer.pad_token_id or 0, device=encoder.device)
        inside = (batch.segments == 1) & ~batch.added
        scores = encoder.model(**batch.inputs)
        best = best_spans(scores.start_logits.float(), scores.end_logits.float(), inside)
        score[rows], *places = (each.cpu().numpy() for each in best)
        starts = windows.tokens.starts[rows]
        ends[rows] = np.stack([windows.spans[starts + places[0], 0], windows.spans[starts + places[1], 1]], axis=1)
    order = np.lexsort((-score, windows.example))  # of equals the first window
    best_window = order[np.searchsorted(windows.example[order], np.arange(n))]
    return np.where(np.isfinite(score[best_window])[:, None], ends[best_window], 0)


def best_spans(
    starts: Tensor, ends: Tensor, inside: Tensor, longest: int = LONGEST_ANSWER
) -> tuple[Tensor, Tensor, Tensor]:
    """The best span of each row: its score, its first and its last token.

    A span's score is its first token's score as a start plus its last token's as an end. Both are inside, the first
    isn't behind the last, and there are at most `longest` tokens. Where no token is inside, the score is -inf.
    """
    starts, ends = (scores.masked_fill(~inside, -torch.inf) for scores in (starts, ends))
    reach = filled(ends, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)  # [row, first, length - 1]
    score, at = (starts[..., None] + reach).flatten(1).max(1)
    return score, at // longest, at // longest + at % longest
